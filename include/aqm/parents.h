/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an enqueue tells the qdiscs above it.
 *
 * A parent counts an arrival if, and only if, the verdict is NET_XMIT_SUCCESS.
 * Only that verdict activates its class. Every other change of qlen, backlog and
 * drops has to be told by qdisc_tree_reduce_backlog(), which calls qlen_notify()
 * for each level whose child holds nothing at that moment. Two rules follow:
 *
 *  - No level may read 0 on the way while it holds something at the end: a
 *    grandparent would take the class out of service, and hfsc would not put it
 *    back. So all is told at once, after the last packet has been queued.
 *  - Nothing is told while the parents know of no packet of ours: they would
 *    deactivate a class that is not active. sch_drr, sch_hfsc and sch_htb did
 *    not bear that before the fixes of spring 2025.
 *
 * A discipline whose enqueue loses packets that it held notes with
 * parents_before() what it holds, and passes its verdict through parents_tell().
 * One that loses only arrivals has nothing to tell, except of a GSO packet that
 * it cuts up: see <aqm/split_gso.h>.
 */
#ifndef _AQM_PARENTS_H
#define _AQM_PARENTS_H

#include <net/sch_generic.h>
#include "held.h"

/**
 * struct parents_before - what the parents know when a packet arrives
 * @qlen: packets
 * @backlog: bytes
 * @drops: packets
 */
struct parents_before {
	u32	qlen;
	u32	backlog;
	u32	drops;
};

static __always_inline struct parents_before
parents_before(const struct Qdisc *sch)
{
	return (struct parents_before) {
		.qlen		= sch->q.qlen,
		.backlog	= sch->qstats.backlog,
		.drops		= sch->qstats.drops,
	};
}

/**
 * parents_tell() - tell the parents what an arrival changed beyond the verdict
 * @sch: the discipline
 * @untold: takes what can be told only later, bytes: held_sub()
 * @before: what it held before the arrival
 * @len: length of the arrival, bytes
 * @verdict: NET_XMIT_SUCCESS; NET_XMIT_CN if the arrival's flow lost a packet; or
 *	any verdict on an arrival that is gone
 *
 * The verdict changes where only another one keeps the parents' counts right:
 *
 *	held before	held now	verdict
 *	0		> 0		NET_XMIT_SUCCESS: it activates the class
 *	> 0		1, others lost	NET_XMIT_CN: the count stays above 0
 *	any		0		NET_XMIT_CN
 *
 * Each loss counts once at every parent, one of them through the verdict. The
 * exceptions are losses of a GSO packet that leave at most one packet held.
 *
 * If one segment is left of a GSO packet that found the queue empty, no parent
 * knows of a packet yet, and each will count the length of the whole. The excess
 * is told when the queue is about to be empty again.
 *
 * Return: the verdict for the parent.
 */
static noinline int parents_tell(struct Qdisc *sch, u32 *untold,
				 const struct parents_before *before, u32 len,
				 int verdict)
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
		*untold = bytes;
		return verdict;
	}
	/* It counts as drops what is taken off, and no more. */
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
 * parents_tell_trim() - tell the parents what a change has cost
 * @sch: the discipline
 * @before: what it held before the change
 */
static inline void parents_tell_trim(struct Qdisc *sch,
				     const struct parents_before *before)
{
	if (before->qlen != sch->q.qlen)
		qdisc_tree_reduce_backlog(sch, before->qlen - sch->q.qlen,
					  before->backlog -
					  sch->qstats.backlog);
}

#endif /* _AQM_PARENTS_H */
