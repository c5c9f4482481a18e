/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cut a GSO packet up before it is queued, so that a discipline decides about
 * the packets that the wire will carry.
 *
 * Each segment goes through the discipline's own enqueue, which returns
 * NET_XMIT_SUCCESS if, and only if, it queues the segment and its flow loses
 * nothing, and tells the parents nothing. They are told once, of all segments
 * together: <aqm/parents.h>.
 */
#ifndef _AQM_SPLIT_GSO_H
#define _AQM_SPLIT_GSO_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <aqm/held.h>
#include <aqm/kind.h>
#include <aqm/parents.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif

/*
 * A segment has what the packet's control block held, and over it what
 * skb_gso_segment() wrote there: set what the core sets when a packet arrives.
 */
static inline void split_gso_prepare(struct sk_buff *segment)
{
	skb_mark_not_on_list(segment);
	qdisc_skb_cb(segment)->pkt_len = segment->len;
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(segment)->pkt_segs = 1;
#endif
	tcf_set_qdisc_drop_reason(segment, QDISC_DROP_GENERIC);
	tc_skb_cb(segment)->zone = 0;
	tc_skb_cb(segment)->mru = 0;
}

/* Queue the segments of a packet. Return: what its sender is to hear. */
static inline int
split_gso_segments(struct sk_buff *segments, struct Qdisc *sch,
		   struct sk_buff **to_free,
		   int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				  struct sk_buff **to_free, u32 segments))
{
	int verdict, result = NET_XMIT_SUCCESS;
	struct sk_buff *segment, *next;
	u32 qlen = sch->q.qlen;

	skb_list_walk_safe(segments, segment, next) {
		split_gso_prepare(segment);
		verdict = enqueue(segment, sch, to_free, 1);
		if (verdict != NET_XMIT_SUCCESS)
			result = verdict;
	}
	/* Not DROP if one is queued: a sender would send all of it again. */
	if (result == NET_XMIT_DROP && sch->q.qlen > qlen)
		return NET_XMIT_CN;
	return result;
}

/**
 * split_gso_enqueue() - queue a GSO packet
 * @skb: the packet
 * @sch: the discipline
 * @to_free: list that takes what is discarded
 * @untold: see parents_tell()
 * @counters: its counters
 * @split: cut it up
 * @enqueue: the discipline's enqueue of one packet of so many segments
 *
 * One that there is no need to cut up is queued whole. One that cannot be cut up
 * is dropped, as by cake and tbf: the driver could not send it either.
 *
 * Return: the verdict.
 */
static noinline int
split_gso_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, u32 *untold,
		  struct aqm_counters *counters, bool split,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments))
{
	struct parents_before before = parents_before(sch);
	u32 len = qdisc_pkt_len(skb);
	netdev_features_t features;
	struct sk_buff *segments = NULL;
	int verdict;

	if (split) {
		features = netif_skb_features(skb);
		segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	}
	if (IS_ERR(segments)) {
		verdict = aqm_drop(skb, sch, counters, AQM_DROP_MEMORY, to_free);
	} else if (!segments) {
		verdict = enqueue(skb, sch, to_free, held_segments(skb));
	} else {
		verdict = split_gso_segments(segments, sch, to_free, enqueue);
		consume_skb(skb);
	}
	return parents_tell(sch, untold, &before, len, verdict);
}

/**
 * split_gso_arrival() - queue a packet, which is one segment in most cases
 * @skb: the packet
 * @sch: the discipline
 * @to_free: list that takes what is discarded
 * @untold: see parents_tell()
 * @counters: its counters
 * @split: cut it up if it is a GSO packet
 * @enqueue: the discipline's enqueue of one packet of so many segments; where it is
 *	__always_inline, it is compiled for one segment here
 *
 * For a discipline whose enqueue loses nothing that is held.
 *
 * Return: the verdict.
 */
static __always_inline int
split_gso_arrival(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, u32 *untold,
		  struct aqm_counters *counters, bool split,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments))
{
	if (unlikely(held_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, untold, counters,
					 split, enqueue);
	return enqueue(skb, sch, to_free, 1);
}

#endif /* _AQM_SPLIT_GSO_H */
