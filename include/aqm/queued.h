/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queued packets and memory of a discipline, the two quantities that its limits
 * bound.
 *
 * A limit in packets counts wire packets: a GSO packet counts as its number of
 * segments. Both this number and the truesize can change while a packet waits
 * (a clone is freed, a filter pulls data). So we store the values with the
 * packet when we add it, and subtract the same values later.
 *
 * Packets that a parent has peeked at or that a driver handed back belong to
 * somebody else and do not count.
 */
#ifndef _AQM_QUEUED_H
#define _AQM_QUEUED_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <aqm/drops.h>

/**
 * struct queued - queued packets of a discipline
 * @segments: number of wire packets
 * @truesize: memory in bytes
 */
struct queued {
	u32	segments;
	u32	truesize;
};

/**
 * struct queued_cb - values stored with a queued packet
 * @segments: number of packets that it counts as
 * @truesize: number of bytes that it counts as
 *
 * A qdisc that stores more embeds this as the first member of its structure.
 */
struct queued_cb {
	u32	segments;
	u32	truesize;
};

static inline struct queued_cb *queued_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct queued_cb));
	return (struct queued_cb *)qdisc_skb_cb(skb)->data;
}

/*
 * Return whether an arrival is more than one wire packet. Newer kernels say this
 * in the control block. The shared info is in a cache line that another CPU may
 * have written, so we avoid it.
 */
static inline bool queued_is_gso(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return qdisc_skb_cb(skb)->pkt_segs > 1;
#else
	return skb_is_gso(skb);
#endif
}

/* Return the number of wire packets in @skb. */
static inline u32 queued_segments(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return max_t(u32, qdisc_skb_cb(skb)->pkt_segs, 1);
#else
	const struct skb_shared_info *shinfo = skb_shinfo(skb);

	if (likely(!shinfo->gso_size))
		return 1;
	/* A packet from a guest may have a segment size but no count. */
	return shinfo->gso_segs ?:
	       max(DIV_ROUND_UP(skb->len, shinfo->gso_size), 1U);
#endif
}

/*
 * Check whether an arrival fits. An arrival that alone exceeds the limit
 * fits into an empty queue. Otherwise its flow could never send.
 *
 * Return: AQM_DROP_NONE, AQM_DROP_LIMIT or AQM_DROP_MEMORY
 */
static inline enum aqm_drop queued_full(const struct queued *queued, u32 segments,
					u32 truesize, u32 limit, u32 memory_limit)
{
	if (unlikely((u64)queued->segments + segments > limit) && queued->segments)
		return AQM_DROP_LIMIT;
	if (unlikely((u64)queued->truesize + truesize > memory_limit))
		return AQM_DROP_MEMORY;
	return AQM_DROP_NONE;
}

/* Add a packet of @segments. */
static inline void queued_add(struct queued *queued, const struct sk_buff *skb,
			      u32 segments)
{
	struct queued_cb *cb = queued_cb(skb);
	u32 truesize = skb->truesize;

	cb->segments = segments;
	cb->truesize = truesize;
	queued->segments += segments;
	queued->truesize += truesize;
}

/*
 * Bytes that the parents and the qdisc's own backlog count too many, because a GSO
 * packet arrived at an empty queue and only one segment of it was queued (see
 * <aqm/parents.h>). Call while the parents count at least one packet of the qdisc.
 */
static noinline void queued_settle(struct Qdisc *sch, u32 *unreported)
{
	u32 bytes = *unreported;

	*unreported = 0;
	qstats_backlog_sub(sch, bytes);
	qdisc_tree_reduce_backlog(sch, 0, bytes);
}

/* The last packet leaves: settle. With old parents, old_parents_dequeue() does it. */
static inline void queued_settle_last(struct Qdisc *sch, u32 *unreported)
{
#ifdef AQM_OLD_PARENTS
	*unreported = 0;
#else
	queued_settle(sch, unreported);
#endif
}

/* Call before a packet leaves, while qlen and backlog still include it. */
static inline void queued_sub(struct Qdisc *sch, struct queued *queued, u32 *unreported,
			      const struct sk_buff *skb)
{
	const struct queued_cb *cb = queued_cb(skb);

	queued->segments -= cb->segments;
	queued->truesize -= cb->truesize;
	if (unlikely(!queued->segments) && *unreported)
		queued_settle_last(sch, unreported);
}

/* All queued packets are purged without counting them. The core resets the backlog. */
static inline void queued_reset(struct queued *queued, u32 *unreported)
{
	*unreported = 0;
	*queued = (struct queued) {};
}

#endif /* _AQM_QUEUED_H */
