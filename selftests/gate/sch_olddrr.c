// SPDX-License-Identifier: GPL-2.0
/*
 * A parent for tests that is as strict as drr, qfq, htb and hfsc were before
 * the fixes of spring 2025. They added a class to the list of active classes
 * when a packet reached an empty child. They removed it without a check when the
 * child reported by qdisc_tree_reduce_backlog() that it had become empty. A child
 * that reported this twice, or before it was active, corrupted the list.
 *
 * This parent has one class, 1, with one child, and a flag instead of the list.
 * Whenever those parents would have corrupted memory, it increments
 * /sys/module/sch_olddrr/parameters/wrong. It warns once.
 */
#include <linux/module.h>
#include <net/pkt_sched.h>
#include <compat.h>

#define OLDDRR_CLASS	1UL

static unsigned int wrong;
module_param(wrong, uint, 0644);
MODULE_PARM_DESC(wrong, "number of reports that would have corrupted a list");

/**
 * struct olddrr - private part of the qdisc
 * @child: the qdisc that holds the packets
 * @active: whether the class would be on the list of active classes
 * @busy: whether the child enqueues or dequeues. At other times, for example
 *	when a child is replaced, newer cores call qlen_notify() for an empty child.
 */
struct olddrr {
	struct Qdisc	*child;
	bool		active;
	bool		busy;
};

static void olddrr_set_active(struct olddrr *q, bool active, const char *event)
{
	if (q->active == active && q->busy) {
		wrong++;
		WARN_ONCE(1, "%s of %s although its class is %s\n", event,
			  q->child->ops->id, active ? "active" : "not active");
	}
	q->active = active;
}

static int olddrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct olddrr *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	bool first = !q->child->q.qlen;
	int err;

	q->busy = true;
	err = qdisc_enqueue(skb, q->child, to_free);
	if (err == NET_XMIT_SUCCESS && first)
		olddrr_set_active(q, true, "first packet");
	q->busy = false;
	if (err != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(err))
			qdisc_qstats_drop(sch);
		return err;
	}
	qstats_backlog_add(sch, len);
	qdisc_qlen_inc(sch);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *olddrr_dequeue(struct Qdisc *sch)
{
	struct olddrr *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!q->active || !q->child->ops->peek(q->child))
		return NULL;
	q->busy = true;
	skb = qdisc_dequeue_peeked(q->child);
	if (skb && !q->child->q.qlen)
		olddrr_set_active(q, false, "last packet");
	q->busy = false;
	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	return skb;
}

static int olddrr_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct olddrr *q = qdisc_priv(sch);

	q->child = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
				     sch->handle | OLDDRR_CLASS, extack);
	if (!q->child)
		return -ENOMEM;
	qdisc_hash_add(q->child, true);
	return 0;
}

static void olddrr_reset(struct Qdisc *sch)
{
	struct olddrr *q = qdisc_priv(sch);

	qdisc_reset(q->child);
	q->active = false;
}

static void olddrr_destroy(struct Qdisc *sch)
{
	struct olddrr *q = qdisc_priv(sch);

	qdisc_put(q->child);
}

static int olddrr_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
			struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct olddrr *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *olddrr_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct olddrr *q = qdisc_priv(sch);

	return q->child;
}

static void olddrr_qlen_notify(struct Qdisc *sch, unsigned long cl)
{
	olddrr_set_active(qdisc_priv(sch), false, "qlen_notify()");
}

static unsigned long olddrr_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == OLDDRR_CLASS ? OLDDRR_CLASS : 0;
}

static void olddrr_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop && walker->count++ >= walker->skip &&
	    walker->fn(sch, OLDDRR_CLASS, walker) < 0)
		walker->stop = 1;
}

static int olddrr_dump_class(struct Qdisc *sch, unsigned long cl,
			     struct sk_buff *skb, struct tcmsg *tcm)
{
	struct olddrr *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(cl);
	tcm->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops olddrr_class_ops = {
	.graft		= olddrr_graft,
	.leaf		= olddrr_leaf,
	.qlen_notify	= olddrr_qlen_notify,
	.find		= olddrr_find,
	.walk		= olddrr_walk,
	.dump		= olddrr_dump_class,
};

static struct Qdisc_ops olddrr_qdisc_ops __read_mostly = {
	.cl_ops		= &olddrr_class_ops,
	.id		= "olddrr",
	.priv_size	= sizeof(struct olddrr),
	.enqueue	= olddrr_enqueue,
	.dequeue	= olddrr_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= olddrr_init,
	.reset		= olddrr_reset,
	.destroy	= olddrr_destroy,
	.owner		= THIS_MODULE,
};

static int __init olddrr_module_init(void)
{
	return register_qdisc(&olddrr_qdisc_ops);
}

static void __exit olddrr_module_exit(void)
{
	unregister_qdisc(&olddrr_qdisc_ops);
}

module_init(olddrr_module_init)
module_exit(olddrr_module_exit)
MODULE_ALIAS_NET_SCH("olddrr");
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Test parent that detects reports which corrupted older parents");
MODULE_LICENSE("GPL");
