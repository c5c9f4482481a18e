/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a discipline holds, in the two measures that its limits are given in.
 *
 * A limit in packets counts what the wire will carry: a GSO packet is as many
 * packets as the device or the stack will cut it into. Both a packet's number
 * of segments and its truesize can change while it waits (a clone is freed, a
 * filter pulls data), so what was added is remembered with the packet and the
 * same is taken off again.
 *
 * Packets that have left for a parent's peek, or that a driver handed back,
 * are held by somebody else: they do not count here.
 */
#ifndef _AQM_HELD_H
#define _AQM_HELD_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <aqm/drops.h>

/**
 * struct held - what the queues of a discipline hold
 * @segments: packets that the wire will carry
 * @truesize: memory, bytes
 */
struct held {
	u32	segments;
	u32	truesize;
};

/**
 * struct held_cb - what is remembered with a packet while it is held
 * @segments: packets that it counts as
 * @truesize: bytes that it counts as
 *
 * A discipline that remembers more puts this first in its own structure.
 */
struct held_cb {
	u32	segments;
	u32	truesize;
};

static inline struct held_cb *held_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct held_cb));
	return (struct held_cb *)qdisc_skb_cb(skb)->data;
}

/*
 * Whether an arrival is more than one packet on the wire. Newer kernels say so
 * in the control block; the shared info is a cache line that another CPU may have
 * written.
 */
static inline bool held_is_gso(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return qdisc_skb_cb(skb)->pkt_segs > 1;
#else
	return skb_is_gso(skb);
#endif
}

/* Packets on the wire that @skb will become. */
static inline u32 held_segments(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return max_t(u32, qdisc_skb_cb(skb)->pkt_segs, 1);
#else
	const struct skb_shared_info *shinfo = skb_shinfo(skb);

	if (likely(!shinfo->gso_size))
		return 1;
	/* What comes from a guest may name a size and leave the count out. */
	return shinfo->gso_segs ?:
	       max(DIV_ROUND_UP(skb->len, shinfo->gso_size), 1U);
#endif
}

/*
 * Whether there is room for an arrival. An arrival that alone exceeds the limit
 * fits into an empty queue. Otherwise its flow could never send.
 *
 * Return: AQM_DROP_NONE, AQM_DROP_LIMIT or AQM_DROP_MEMORY
 */
static inline enum aqm_drop held_full(const struct held *held, u32 segments,
				      u32 truesize, u32 limit, u32 memory_limit)
{
	if (unlikely((u64)held->segments + segments > limit) && held->segments)
		return AQM_DROP_LIMIT;
	if (unlikely((u64)held->truesize + truesize > memory_limit))
		return AQM_DROP_MEMORY;
	return AQM_DROP_NONE;
}

/* Add a packet of @segments. */
static inline void held_add(struct held *held, const struct sk_buff *skb,
			    u32 segments)
{
	struct held_cb *cb = held_cb(skb);
	u32 truesize = skb->truesize;

	cb->segments = segments;
	cb->truesize = truesize;
	held->segments += segments;
	held->truesize += truesize;
}

/*
 * Bytes that the parents count too many, because of a GSO packet that found the
 * queue empty and left one segment in it: <aqm/parents.h>. They are told before the
 * last packet leaves, when no parent reads 0.
 */
static noinline void held_settle(struct Qdisc *sch, u32 *untold)
{
	u32 bytes = *untold;

	*untold = 0;
	if (bytes)
		qdisc_tree_reduce_backlog(sch, 0, bytes);
}

/* A packet is about to leave: it is still in qlen and backlog. */
static inline void held_sub(struct Qdisc *sch, struct held *held, u32 *untold,
			    const struct sk_buff *skb)
{
	const struct held_cb *cb = held_cb(skb);

	held->segments -= cb->segments;
	held->truesize -= cb->truesize;
	if (unlikely(!held->segments) && *untold)
		held_settle(sch, untold);
}

/* All that is held is about to go, uncounted. */
static inline void held_reset(struct Qdisc *sch, struct held *held, u32 *untold)
{
	held_settle(sch, untold);
	*held = (struct held) {};
}

/* A packet that was held has left for the link. */
static inline void held_sent(struct Qdisc *sch, const struct sk_buff *skb)
{
	_bstats_update(&sch->bstats, qdisc_pkt_len(skb),
		       held_cb(skb)->segments);
}

#endif /* _AQM_HELD_H */
