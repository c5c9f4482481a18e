// SPDX-License-Identifier: GPL-2.0
/*
 * Protections for kernels whose classful qdiscs lack the fixes of 2025 and 2026.
 *
 *  - sch_red and sch_sfb peeked at a packet and then called dequeue(), until 2026. Our
 *    dequeue() returns the peeked packet; otherwise that packet would stay.
 *  - sch_hfsc peeked at a packet before it counted it, until 2025. A report of bytes
 *    from within this peek met a count of 0 packets: the core warned, or it deactivated
 *    the class above hfsc. So a dequeue reports no bytes.
 *  - drr, ets, hfsc, htb and qfq crashed if a child reported that it became empty while
 *    its class was not active, until 2025. frame/parents.c never does so, on any kernel,
 *    but other qdiscs in other classes can. So we warn. tbf can, too: it splits a GSO
 *    packet that is longer than its burst, and counts the segments after the last one. If
 *    its child drops one before, the core tells the parent of tbf that tbf is empty.
 *  - cbs and netem never peek at a child, and call its ops->dequeue(), also on new
 *    kernels. They would bypass a replaced dequeue(), so below them a dequeue reports
 *    bytes as it does below new parents. Their own count includes the packet then.
 *
 * Kbuild defines AQM_OLD_PARENTS if the kernel lacks the fixes of 2025. The fix of red
 * and sfb leaves no trace in headers, so below these two the first protection is always
 * on. A qdisc that needs no protection keeps its own dequeue(), at no cost.
 */
#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/sch_generic.h>
#include <aqm/frame.h>
#include "internal.h"

#ifdef AQM_OLD_PARENTS
#define OLD_PARENTS	true
#else
#define OLD_PARENTS	false
#endif

/* Parents that call ops->dequeue(), so a replacement of dequeue() would not be called. */
static const char * const old_parents_direct[] = { "cbs", "netem" };

/*
 * Return the packet that a parent has peeked at, or dequeue one.
 *
 * If the queue is empty now and its backlog is not, the backlog is what the parents
 * count too much (see aqm_queue.unreported). We add it to the length of the packet, so that
 * each parent subtracts what it has added. This keeps all counts right. The price is that
 * a shaper charges the packet for the lost segments, too.
 */
static struct sk_buff *old_parents_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb;

	if (sch->gso_skb.qlen)
		return qdisc_dequeue_peeked(sch);
	skb = sch->ops->dequeue(sch);
	if (skb && !sch->q.qlen && sch->qstats.backlog) {
		qdisc_skb_cb(skb)->pkt_len += sch->qstats.backlog;
		qstats_backlog_sub(sch, sch->qstats.backlog);
	}
	return skb;
}

/*
 * Return whether old_parents_dequeue() reports the bytes that the parents of @sch count too
 * many. Otherwise the dequeue of the qdisc reports them.
 */
bool old_parents_settle(const struct Qdisc *sch)
{
	return OLD_PARENTS && sch->dequeue == old_parents_dequeue;
}

/* Return the parent of @sch, or NULL; under RTNL. */
static const struct Qdisc *old_parents_find(const struct Qdisc *sch)
{
	struct net_device *dev = qdisc_dev(sch);
	const struct Qdisc *q = rtnl_dereference(dev->qdisc);
	u32 handle = TC_H_MAJ(sch->parent);
	int i;

	/* The root qdisc is not in the hash table. */
	if (q && q->handle == handle)
		return q;
	hash_for_each(dev->qdisc_hash, i, q, hash)
		if (q->handle == handle)
			return q;
	return NULL;
}

static bool old_parents_is(const struct Qdisc *sch, const char *id)
{
	return !strcmp(sch->ops->id, id);
}

/* Return whether @parent calls ops->dequeue() of its child. Then it never peeks at it. */
static bool old_parents_is_direct(const struct Qdisc *parent)
{
	u32 i;

	for (i = 0; parent && i < ARRAY_SIZE(old_parents_direct); i++)
		if (old_parents_is(parent, old_parents_direct[i]))
			return true;
	return false;
}

/*
 * Return whether @sch or a qdisc above it is a tbf that has a parent; under RTNL. noop and
 * the children of a default mq have no parent with a handle.
 */
static bool old_parents_has_tbf(const struct Qdisc *sch)
{
	for (; sch && TC_H_MAJ(sch->parent) && sch->parent != TC_H_ROOT;
	     sch = old_parents_find(sch))
		if (old_parents_is(sch, "tbf"))
			return true;
	return false;
}

/*
 * Protect a new qdisc from its parents; under RTNL. A qdisc never moves from the root to
 * a class.
 */
void old_parents_init(struct Qdisc *sch,
		      struct netlink_ext_ack *extack)
{
	const struct Qdisc *parent;

	if (sch->parent == TC_H_ROOT)
		return;
	parent = old_parents_find(sch);
	if ((OLD_PARENTS && !old_parents_is_direct(parent)) ||
	    (parent && (old_parents_is(parent, "red") ||
			old_parents_is(parent, "sfb"))))
		sch->dequeue = old_parents_dequeue;
	if (OLD_PARENTS && parent &&
	    (old_parents_is(parent, "drr") || old_parents_is(parent, "ets") ||
	     old_parents_is(parent, "hfsc") || old_parents_is(parent, "htb") ||
	     old_parents_is(parent, "qfq")))
		NL_SET_ERR_MSG_MOD(extack,
				   "the parent lacks fixes of 2025: some qdiscs of this kernel, in any of its classes, can crash it");
	else if (OLD_PARENTS && old_parents_has_tbf(parent))
		NL_SET_ERR_MSG_MOD(extack,
				   "a tbf that splits GSO packets can crash its parent, which lacks fixes of 2025: give it burst 100kb");
}
