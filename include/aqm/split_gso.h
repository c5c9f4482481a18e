/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Split a GSO packet before it is queued, so that a discipline decides about
 * single wire packets: each segment is an arrival. With nosplit_gso the whole
 * packet is one arrival. Its segments count in all lengths, averages and limits in
 * both cases, because these are in packets on the wire.
 *
 * Each segment goes through the discipline's enqueue. This returns
 * NET_XMIT_SUCCESS if and only if it queues the segment and drops no packet of its
 * flow, as far as the discipline knows flows. It does not report to the parents. We
 * report once for all segments (see frame/parents.c).
 */
#ifndef _AQM_SPLIT_GSO_H
#define _AQM_SPLIT_GSO_H

#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include "queue.h"

struct sk_buff *split_gso(struct sk_buff *skb, struct Qdisc *sch, bool split);

/* Queue the segments of a packet. Return: the verdict for its sender. */
static inline int
split_gso_segments(struct sk_buff *segments, struct Qdisc *sch,
		   struct sk_buff **to_free, u32 class,
		   int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				  struct sk_buff **to_free, u32 segments,
				  u32 class))
{
	int verdict, result = NET_XMIT_SUCCESS;
	struct sk_buff *segment, *next;
	u32 qlen = sch->q.qlen;

	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		verdict = enqueue(segment, sch, to_free, 1, class);
		if (verdict != NET_XMIT_SUCCESS)
			result = verdict;
	}
	/* Not DROP if a segment was queued. Otherwise the sender would resend all of them. */
	if (result == NET_XMIT_DROP && sch->q.qlen > qlen)
		return NET_XMIT_CN;
	return result;
}

/**
 * split_gso_enqueue() - queue a GSO packet
 * @skb: the packet
 * @sch: the discipline
 * @to_free: list of packets to free
 * @split: split it
 * @class: passed on to @enqueue; 0 for a qdisc without classes
 * @enqueue: the discipline's enqueue of one packet with its number of segments. It is
 *	inlined here: a call by its address from sch_aqm takes 35 instructions more for
 *	each segment, 3 %.
 *
 * A packet that need not be split is queued whole. A packet that cannot be split
 * is dropped, as in cake and tbf, because the driver could not send it either.
 *
 * Return: the verdict.
 */
static noinline __maybe_unused int
split_gso_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, bool split, u32 class,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments,
				 u32 class))
{
	struct parents_before before = parents_before(sch);
	/* A list that GRO has made is split in place: @skb becomes the first segment. */
	u32 len = qdisc_pkt_len(skb);
	struct sk_buff *segments = split_gso(skb, sch, split);
	int verdict;

	if (IS_ERR(segments)) {
		verdict = aqm_drop(skb, sch, AQM_DROP_MEMORY, to_free);
	} else if (!segments) {
		verdict = enqueue(skb, sch, to_free, queued_segments(skb),
				  class);
	} else {
		verdict = split_gso_segments(segments, sch, to_free, class,
					     enqueue);
		consume_skb(skb);
	}
	return parents_report(sch, &before, len, verdict);
}

#endif /* _AQM_SPLIT_GSO_H */
