// SPDX-License-Identifier: GPL-2.0
/*
 * Parents for tests that are as strict, or as wrong, as older kernels' were. Each has one
 * class, 1, with one child.
 *
 * olddrr is as strict as drr, qfq, htb and hfsc were before the fixes of spring 2025. They
 * added a class to the list of active classes when a packet reached an empty child. They
 * removed it without a check when the child reported by qdisc_tree_reduce_backlog() that it
 * had become empty. A child that reported this twice, or before it was active, corrupted
 * the list. olddrr has a flag instead of the list. Whenever those parents would have
 * corrupted memory, it increments /sys/module/sch_oldparents/parameters/wrong. It warns
 * once.
 *
 * oldhfsc is also as hfsc with a real-time curve was: it peeks at the child before it
 * counts the packet. If the child reports bytes from within this peek, the count of oldhfsc
 * is 0, and the core tells an olddrr above it that its child is empty.
 *
 * oldred is as red and sfb were before 2026: if the parent above has peeked at a packet,
 * oldred takes the next packet of the child instead, and the first one stays.
 */
#include <linux/module.h>
#include <net/pkt_sched.h>
#include <compat.h>
#include <compat_5.h>

#define OLDPARENT_CLASS	1UL

static unsigned int wrong;
module_param(wrong, uint, 0644);
MODULE_PARM_DESC(wrong, "number of reports that would have corrupted a list");

/**
 * struct oldparent - private part of the qdisc
 * @child: the qdisc that holds the packets
 * @active: whether the class would be on the list of active classes
 * @busy: whether the child enqueues or dequeues. At other times, for example
 *	when a child is replaced, newer cores call qlen_notify() for an empty child.
 */
struct oldparent {
	struct Qdisc	*child;
	bool		active;
	bool		busy;
};

static struct Qdisc_ops oldhfsc_qdisc_ops, oldred_qdisc_ops;

static void oldparent_set_active(struct oldparent *q, bool active, const char *event)
{
	if (q->active == active && q->busy) {
		wrong++;
		WARN_ONCE(1, "%s of %s although its class is %s\n", event,
			  q->child->ops->id, active ? "active" : "not active");
	}
	q->active = active;
}

static int oldparent_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free)
{
	struct oldparent *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	bool first = !q->child->q.qlen;
	int err;

	q->busy = true;
	err = qdisc_enqueue(skb, q->child, to_free);
	if (err == NET_XMIT_SUCCESS && first)
		oldparent_set_active(q, true, "first packet");
	if (err == NET_XMIT_SUCCESS && first && sch->ops == &oldhfsc_qdisc_ops)
		q->child->ops->peek(q->child);
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

static struct sk_buff *oldparent_dequeue(struct Qdisc *sch)
{
	struct oldparent *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (sch->ops != &oldred_qdisc_ops &&
	    (!q->active || !q->child->ops->peek(q->child)))
		return NULL;
	q->busy = true;
	skb = sch->ops == &oldred_qdisc_ops ? q->child->dequeue(q->child) :
					      qdisc_dequeue_peeked(q->child);
	if (skb && !q->child->q.qlen)
		oldparent_set_active(q, false, "last packet");
	q->busy = false;
	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	return skb;
}

static struct sk_buff *oldred_peek(struct Qdisc *sch)
{
	struct oldparent *q = qdisc_priv(sch);

	return q->child->ops->peek(q->child);
}

static int oldparent_init(struct Qdisc *sch, struct nlattr *opt,
			  struct netlink_ext_ack *extack)
{
	struct oldparent *q = qdisc_priv(sch);

	q->child = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
				     sch->handle | OLDPARENT_CLASS, extack);
	if (!q->child)
		return -ENOMEM;
	qdisc_hash_add(q->child, true);
	return 0;
}

static void oldparent_reset(struct Qdisc *sch)
{
	struct oldparent *q = qdisc_priv(sch);

	qdisc_reset(q->child);
	q->active = false;
}

static void oldparent_destroy(struct Qdisc *sch)
{
	struct oldparent *q = qdisc_priv(sch);

	qdisc_put(q->child);
}

static int oldparent_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
			   struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct oldparent *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *oldparent_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct oldparent *q = qdisc_priv(sch);

	return q->child;
}

static void oldparent_qlen_notify(struct Qdisc *sch, unsigned long cl)
{
	oldparent_set_active(qdisc_priv(sch), false, "qlen_notify()");
}

static unsigned long oldparent_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == OLDPARENT_CLASS ? OLDPARENT_CLASS : 0;
}

static void oldparent_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop && walker->count++ >= walker->skip &&
	    walker->fn(sch, OLDPARENT_CLASS, walker) < 0)
		walker->stop = 1;
}

static int oldparent_dump_class(struct Qdisc *sch, unsigned long cl,
				struct sk_buff *skb, struct tcmsg *tcm)
{
	struct oldparent *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(cl);
	tcm->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops oldparent_class_ops = {
	.graft		= oldparent_graft,
	.leaf		= oldparent_leaf,
	.qlen_notify	= oldparent_qlen_notify,
	.find		= oldparent_find,
	.walk		= oldparent_walk,
	.dump		= oldparent_dump_class,
};

#define OLDPARENT(name, peeking) {					\
	.cl_ops		= &oldparent_class_ops,				\
	.id		= name,						\
	.priv_size	= sizeof(struct oldparent),			\
	.enqueue	= oldparent_enqueue,				\
	.dequeue	= oldparent_dequeue,				\
	.peek		= peeking,					\
	.init		= oldparent_init,				\
	.reset		= oldparent_reset,				\
	.destroy	= oldparent_destroy,				\
	.owner		= THIS_MODULE,					\
}

static struct Qdisc_ops olddrr_qdisc_ops __read_mostly =
	OLDPARENT("olddrr", qdisc_peek_dequeued);
static struct Qdisc_ops oldhfsc_qdisc_ops __read_mostly =
	OLDPARENT("oldhfsc", qdisc_peek_dequeued);
static struct Qdisc_ops oldred_qdisc_ops __read_mostly =
	OLDPARENT("oldred", oldred_peek);

static struct Qdisc_ops *all_ops[] = {
	&olddrr_qdisc_ops, &oldhfsc_qdisc_ops, &oldred_qdisc_ops,
};

static void oldparents_unregister(int n)
{
	while (n--)
		unregister_qdisc(all_ops[n]);
}

static int __init oldparents_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++) {
		err = register_qdisc(all_ops[i]);
		if (err) {
			oldparents_unregister(i);
			return err;
		}
	}
	return 0;
}

static void __exit oldparents_exit(void)
{
	oldparents_unregister(ARRAY_SIZE(all_ops));
}

module_init(oldparents_init)
module_exit(oldparents_exit)
MODULE_ALIAS_NET_SCH("olddrr");
MODULE_ALIAS_NET_SCH("oldhfsc");
MODULE_ALIAS_NET_SCH("oldred");
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Test parents that behave as those of older kernels");
MODULE_LICENSE("GPL");
