/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Report changes during an enqueue to the parent qdiscs.
 *
 * A parent counts an arrival if and only if the verdict is NET_XMIT_SUCCESS.
 * Only this verdict activates its class. Every other change of qlen, backlog and
 * drops must be reported by qdisc_tree_reduce_backlog(), which calls
 * qlen_notify() for each level whose child is empty at that moment. So:
 *
 *  - No level may reach 0 in between if it has packets at the end. Otherwise a
 *    grandparent deactivates the class, and hfsc does not activate it again. We
 *    report everything at once, after the last packet was queued.
 *  - We report nothing while the parents know of no packet of ours. Otherwise
 *    they deactivate a class that is not active, on which sch_drr, sch_hfsc and
 *    sch_htb could crash before the fixes of spring 2025.
 *
 * If the enqueue of a discipline can drop queued packets, it calls
 * parents_before() first and passes its verdict through parents_report(). If it
 * drops only arrivals there is nothing to report, except for GSO packets that it
 * splits (see <aqm/split_gso.h>).
 */
#ifndef _AQM_PARENTS_H
#define _AQM_PARENTS_H

#include <net/sch_generic.h>
#include "queue.h"

/**
 * struct parents_before - counts of the qdisc when a packet arrives
 * @qlen: queued packets
 * @backlog: queued bytes
 * @drops: dropped packets
 */
struct parents_before {
	u32	qlen;
	u32	backlog;
	u32	drops;
};

/* Return the counts, after the bytes that an earlier enqueue left unreported. */
static __always_inline struct parents_before
parents_before(struct Qdisc *sch)
{
	if (unlikely(aqm_queue(sch)->unreported))
		parents_settle(sch);
	return (struct parents_before) {
		.qlen		= sch->q.qlen,
		.backlog	= sch->qstats.backlog,
		.drops		= sch->qstats.drops,
	};
}

/*
 * Return whether a parent counts the packets of @sch. The root has none. The parent
 * of a qdisc for one transmit queue (mq, mqprio, offloaded htb and taprio) keeps no
 * counts: qdisc_tree_reduce_backlog() stops there, and the sender gets the verdict.
 * taprio in software mode sets the flag, too. It counts an arrival before we answer,
 * and hears nothing (docs/upstream/taprio-count). <aqm/split_gso.h> does not split there.
 */
static inline bool parents_count(const struct Qdisc *sch)
{
	return sch->parent != TC_H_ROOT && !(sch->flags & TCQ_F_NOPARENT);
}

/* See parents_report(). */
static noinline int
parents_report_any(struct Qdisc *sch, const struct parents_before *before,
		   u32 len, int verdict)
{
	u32 drops = sch->qstats.drops - before->drops;
	u32 qlen = sch->q.qlen, bytes;
	int n;

	if (qlen && !before->qlen)
		verdict = NET_XMIT_SUCCESS;
	else if (verdict == NET_XMIT_SUCCESS && qlen <= 1)
		verdict = NET_XMIT_CN;

	n = before->qlen - qlen;
	bytes = before->backlog - sch->qstats.backlog;
	if (verdict == NET_XMIT_SUCCESS) {
		n++;
		bytes += len;
	} else {
		drops -= net_xmit_drop_count(verdict);
	}

	if (!before->qlen && qlen <= 1) {
		aqm_queue(sch)->unreported = bytes;
		qstats_backlog_add(sch, bytes);
		return verdict;
	}
	/*
	 * The core counts each packet that we subtract as a drop. If more
	 * packets were dropped than are missing (the arrival took the place of
	 * one), first add the difference, then subtract all drops.
	 */
	if (qlen && (int)drops > max(n, 0)) {
		qdisc_tree_reduce_backlog(sch, n - drops, bytes);
		n = drops;
		bytes = 0;
	}
	if (n || bytes)
		qdisc_tree_reduce_backlog(sch, n, bytes);
	return verdict;
}

/**
 * parents_report() - report changes by an arrival that the verdict does not report
 * @sch: the discipline
 * @before: counts before the arrival
 * @len: length of the arrival in bytes
 * @verdict: NET_XMIT_SUCCESS; NET_XMIT_CN if the arrival's flow lost a packet; or
 *	any verdict on an arrival that was freed
 *
 * A qdisc without counting parents (see parents_count()) returns the verdict to
 * the sender, unchanged. Otherwise the parents' counts can require another one:
 *
 *	qlen before	qlen now	@verdict	result
 *	0		> 0		any		NET_XMIT_SUCCESS: it
 *							activates the class
 *	> 0		1		SUCCESS		NET_XMIT_CN: the count
 *							stays above 0
 *	any		0		SUCCESS		NET_XMIT_CN
 *	otherwise			any		@verdict
 *
 * Each loss counts once at every parent; the verdict reports one of them. The
 * exception is a GSO packet of which at most one segment was queued.
 *
 * If only one segment of a GSO packet was queued and the queue was empty before,
 * each parent will count the length of the whole packet. We report the excess at
 * the next enqueue or before the queue becomes empty again. Until then our own
 * backlog has it, too. When the core purges us or a parent, it subtracts the count
 * of the purged qdisc from the counts of all parents above.
 *
 * Return: the verdict for the parent.
 */
static inline int parents_report(struct Qdisc *sch,
				 const struct parents_before *before, u32 len,
				 int verdict)
{
	if (!parents_count(sch))
		return verdict;
	return parents_report_any(sch, before, len, verdict);
}

/**
 * parents_report_trim() - report the packets dropped by a change
 * @sch: the discipline
 * @before: counts before the change
 */
static inline void parents_report_trim(struct Qdisc *sch,
				       const struct parents_before *before)
{
	if (before->qlen != sch->q.qlen)
		qdisc_tree_reduce_backlog(sch, before->qlen - sch->q.qlen,
					  before->backlog -
					  sch->qstats.backlog);
}

/**
 * aqm_queue_trim() - drop packets that no longer fit after a change
 * @sch: the qdisc
 * @evict: take a packet out of the queue, with aqm_queue_remove(); NULL if the rest
 *	fits, see aqm_queue_is_over(). @again is false for the first packet.
 *
 * Under the tree lock.
 */
static inline void aqm_queue_trim(struct Qdisc *sch,
				  struct sk_buff *(*evict)(struct Qdisc *sch, bool again))
{
	struct parents_before before = parents_before(sch);
	struct sk_buff *skb;
	bool again = false;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	for (; (skb = evict(sch, again)); again = true) {
		aqm_queue_lost(sch, skb, AQM_DROP_CHANGE);
		rtnl_kfree_skbs(skb, skb);
	}
	parents_report_trim(sch, &before);
}

#endif /* _AQM_PARENTS_H */
