/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cut a GSO packet up before it is queued, so that a discipline decides about
 * the packets that the wire will carry.
 *
 * Each segment goes through the discipline's own enqueue, which tells the
 * parents what it discards and expects them to count the segment if, and only
 * if, it returns NET_XMIT_SUCCESS. The parents were given one packet, though,
 * and must never read 0 while they are active. So of the segments queued one
 * is left for the verdict to count, and the others are told to the parents:
 *
 *  - The discipline held something before: each segment at once, but the last.
 *    While that one is queued the parents know all that is held, so the rule of
 *    every enqueue keeps them above 0.
 *  - It was empty, and no parent is active: each segment when the next has been
 *    queued. The verdict is NET_XMIT_SUCCESS, as only that activates a parent.
 *
 * A loss among the segments is told with NET_XMIT_CN where it can be. Each loss
 * counts once at every parent: one through the verdict, the others by telling
 * them of a packet and of its loss.
 */
#ifndef _AQM_SPLIT_GSO_H
#define _AQM_SPLIT_GSO_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <aqm/held.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif

/* A segment, which nobody has given a length yet. */
static inline void split_gso_prepare(struct sk_buff *segment)
{
	skb_mark_not_on_list(segment);
	qdisc_skb_cb(segment)->pkt_len = segment->len;
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(segment)->pkt_segs = 1;
#endif
}

/**
 * split_gso_enqueue() - queue a GSO packet, segment by segment
 * @skb: the packet
 * @sch: the discipline
 * @to_free: list that takes what is discarded
 * @split: cut it up
 * @enqueue: the discipline's enqueue of one packet of so many segments
 *
 * A packet that cannot be cut up, for want of memory or because nothing needs
 * it, is queued whole.
 *
 * Return: the verdict.
 */
static noinline int
split_gso_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, bool split,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments))
{
	struct sk_buff *segment, *segments = NULL, *next;
	u32 segment_len, untold_len = 0, lost = 0;
	bool was_empty = !sch->q.qlen;
	u32 len = qdisc_pkt_len(skb);
	netdev_features_t features;
	bool untold = false, queued = false;
	int verdict, result;

	if (split) {
		features = netif_skb_features(skb);
		segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	}
	if (IS_ERR_OR_NULL(segments))
		return enqueue(skb, sch, to_free, held_segments(skb));

	result = NET_XMIT_SUCCESS;
	skb_list_walk_safe(segments, segment, next) {
		split_gso_prepare(segment);
		segment_len = qdisc_pkt_len(segment);
		verdict = enqueue(segment, sch, to_free, 1);
		if (verdict != NET_XMIT_SUCCESS) {
			lost += net_xmit_drop_count(verdict);
			result = verdict;
			continue;
		}
		queued = true;
		if (untold)
			qdisc_tree_reduce_backlog(sch, -1, -untold_len);
		untold = was_empty || !next;
		untold_len = segment_len;
		if (!untold)
			qdisc_tree_reduce_backlog(sch, -1, -segment_len);
	}
	consume_skb(skb);

	if (untold && (was_empty || result == NET_XMIT_SUCCESS)) {
		qdisc_tree_reduce_backlog(sch, 0, len - untold_len);
		result = NET_XMIT_SUCCESS;
	} else if (queued) {
		if (untold)
			qdisc_tree_reduce_backlog(sch, -1, -untold_len);
		/* Not DROP: a sender would send all of it again. */
		result = NET_XMIT_CN;
	}
	/* The parents count one for a verdict that is no NET_XMIT_SUCCESS. */
	if (lost && result != NET_XMIT_SUCCESS)
		lost -= net_xmit_drop_count(result);
	if (lost) {
		qdisc_tree_reduce_backlog(sch, -lost, 0);
		qdisc_tree_reduce_backlog(sch, lost, 0);
	}
	return result;
}

/**
 * split_gso_arrival() - queue a packet, which is one segment in most cases
 * @skb: the packet
 * @sch: the discipline
 * @to_free: list that takes what is discarded
 * @split: cut it up if it is a GSO packet
 * @enqueue: the discipline's enqueue of one packet of so many segments; where it
 *	is __always_inline, it is compiled for one segment here
 *
 * Return: the verdict.
 */
static __always_inline int
split_gso_arrival(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, bool split,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments))
{
	if (likely(!skb_is_gso(skb)))
		return enqueue(skb, sch, to_free, 1);
	return split_gso_enqueue(skb, sch, to_free, split, enqueue);
}

#endif /* _AQM_SPLIT_GSO_H */
