// SPDX-License-Identifier: GPL-2.0
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
 *
 * Why does a child correct the counts of its parents? Nobody else can. A parent adds the
 * length of the arrival after we return, whatever we queued of it, and its only other
 * source is qdisc_tree_reduce_backlog(). tbf and cake call it with negative numbers, too,
 * when they split a packet.
 */
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>
#include <aqm/queue.h>
#include "internal.h"

/*
 * Report the bytes that the parents and the qdisc's own backlog count too many,
 * because a GSO packet arrived at an empty queue and only one segment of it was
 * queued. Call while the parents count at least one packet of the qdisc.
 */
void parents_settle(struct Qdisc *sch)
{
	struct aqm_queue *q = aqm_queue(sch);
	u32 bytes = q->unreported;

	q->unreported = 0;
	qstats_backlog_sub(sch, bytes);
	qdisc_tree_reduce_backlog(sch, 0, bytes);
}
EXPORT_SYMBOL_GPL(parents_settle);

/* The last packet leaves: settle. Below most old parents, old_parents_dequeue() does it. */
void parents_settle_last(struct Qdisc *sch)
{
	if (old_parents_settle(sch))
		aqm_queue(sch)->unreported = 0;
	else
		parents_settle(sch);
}
EXPORT_SYMBOL_GPL(parents_settle_last);

/**
 * parents_report_any() - report changes by an arrival that the verdict does not report
 * @sch: the discipline
 * @before: counts before the arrival
 * @len: length of the arrival in bytes
 * @verdict: NET_XMIT_SUCCESS; NET_XMIT_CN if the arrival's flow lost a packet; or
 *	any verdict on an arrival that was freed
 *
 * parents_report() calls it if a parent counts. Otherwise the verdict goes to the sender,
 * unchanged. The parents' counts can require another one:
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
int parents_report_any(struct Qdisc *sch, const struct parents_before *before,
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
EXPORT_SYMBOL_GPL(parents_report_any);

/**
 * parents_report_trim() - report the packets dropped by a change
 * @sch: the discipline
 * @before: counts before the change
 */
static void parents_report_trim(struct Qdisc *sch,
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
void aqm_queue_trim(struct Qdisc *sch,
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
EXPORT_SYMBOL_GPL(aqm_queue_trim);
