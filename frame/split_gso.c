// SPDX-License-Identifier: GPL-2.0
/*
 * Split a GSO packet before it is queued, so that a discipline decides about
 * single wire packets: each segment is an arrival. With nosplit_gso the whole
 * packet is one arrival. Its segments count in all lengths, averages and limits in
 * both cases, because these are in packets on the wire.
 *
 * Each segment goes through the discipline's enqueue. This returns
 * NET_XMIT_SUCCESS if and only if it queues the segment and drops no packet of its
 * flow, as far as the discipline knows flows. It does not report to the parents. We
 * report once for all segments (see <aqm/parents.h>).
 */
#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif
#include <aqm/frame.h>

#ifndef QDISC_PKT_LEN_MAX	/* older kernels have no limit */
#define QDISC_PKT_LEN_MAX	INT_MAX
#endif

/* Return the parent of @sch; the root of its transmit queue if it is not listed. */
static const struct Qdisc *split_gso_parent(const struct Qdisc *sch)
{
	u32 handle = TC_H_MAJ(sch->parent);
	const struct Qdisc *q;

	hash_for_each_possible_rcu(qdisc_dev(sch)->qdisc_hash, q, hash, handle,
				   rcu_read_lock_bh_held())
		if (q->handle == handle)
			return q;
	return qdisc_root_bh(sch);
}

/*
 * Return the size table (tc's stab) by which the core charged a packet that reached
 * @sch, or NULL. Newer kernels accept one only at the root of a transmit queue. Older
 * ones apply the table of each qdisc on the way, so the nearest one counts.
 */
static const struct qdisc_size_table *
split_gso_size_table(const struct Qdisc *sch)
{
	const struct Qdisc *root = qdisc_root_bh(sch);
	const struct qdisc_size_table *stab;

	while (!(stab = rcu_dereference_bh(sch->stab)) && sch != root)
		sch = split_gso_parent(sch);
	return stab;
}

/*
 * Return whether every parent that counts an arrival of @sch can be told that it
 * became several packets. taprio in software mode cannot, and would subtract more
 * packets than it added.
 */
static bool split_gso_can_report(const struct Qdisc *sch)
{
	const struct Qdisc *root = qdisc_root_bh(sch);

	for (; sch != root; sch = split_gso_parent(sch))
		if (sch->flags & TCQ_F_NOPARENT)
			return false;
	return true;
}

/*
 * Return the length that the core charges for a packet of @len bytes. This repeats
 * __qdisc_calculate_pkt_len(), which is not exported.
 */
static u32 split_gso_charge(const struct qdisc_size_table *stab, u32 len)
{
	const struct tc_sizespec *s = &stab->szopts;
	int charge = len + s->overhead;
	u32 slot;

	if (s->tsize) {
		slot = max(charge + s->cell_align, 0) >> s->cell_log;
		charge = stab->data[slot % s->tsize];
		if (slot >= s->tsize)
			charge += stab->data[s->tsize - 1] * (slot / s->tsize);
		charge = (u32)charge << s->size_log;
	}
	return clamp(charge, 1, QDISC_PKT_LEN_MAX);
}

/*
 * A segment has the packet's control block, partly overwritten by
 * skb_gso_segment(). Set the fields that the core sets for an arriving packet, so
 * that a shaper charges for it what it charges for a packet of this length.
 */
static void split_gso_prepare(struct sk_buff *segment,
			      const struct qdisc_size_table *stab)
{
	skb_mark_not_on_list(segment);
	qdisc_skb_cb(segment)->pkt_len = stab ? split_gso_charge(stab, segment->len) :
						segment->len;
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(segment)->pkt_segs = 1;
#endif
	tcf_set_qdisc_drop_reason(segment, QDISC_DROP_GENERIC);
	aqm_clear_conntrack(segment);
}

/* Queue the segments of a packet. Return: the verdict for its sender. */
static int
split_gso_segments(struct sk_buff *segments, struct Qdisc *sch,
		   struct sk_buff **to_free, u32 class,
		   int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				  struct sk_buff **to_free, u32 segments,
				  u32 class))
{
	const struct qdisc_size_table *stab = split_gso_size_table(sch);
	int verdict, result = NET_XMIT_SUCCESS;
	struct sk_buff *segment, *next;
	u32 qlen = sch->q.qlen;

	skb_list_walk_safe(segments, segment, next) {
		split_gso_prepare(segment, stab);
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
 * @enqueue: the discipline's enqueue of one packet with its number of segments
 *
 * A packet that need not be split is queued whole. A packet that cannot be split
 * is dropped, as in cake and tbf, because the driver could not send it either.
 *
 * Return: the verdict.
 */
int
split_gso_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		  struct sk_buff **to_free, bool split, u32 class,
		  int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				 struct sk_buff **to_free, u32 segments,
				 u32 class))
{
	struct parents_before before = parents_before(sch);
	u32 len = qdisc_pkt_len(skb);
	netdev_features_t features;
	struct sk_buff *segments = NULL;
	int verdict;

	if (split && split_gso_can_report(sch)) {
		features = netif_skb_features(skb);
		segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	}
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
EXPORT_SYMBOL_GPL(split_gso_enqueue);
