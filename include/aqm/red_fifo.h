/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FIFO under RED from which any packet can be removed. Packets can be drawn
 * at random if the qdisc asks for it.
 *
 * Each function that adds or removes a packet updates the qdisc's qlen and
 * backlog, struct queued and RED's idle time. Lengths are in packets on the wire:
 * a GSO packet counts its segments. A packet that a parent has peeked at, or
 * that the driver handed back, is not in the FIFO: it is not drawn, and does
 * not count in the average or the limit.
 *
 * Idle time, for this FIFO and any other queue under RED: a queue becomes idle
 * when its last packet is removed, for whatever reason. An arrival that is not
 * queued does not end the idle time. A packet that waits with a parent does not
 * delay it. We read the clock only when the queue becomes idle and when an
 * arrival finds it idle, and not at all while the average is 0, because there is
 * nothing to decay.
 */
#ifndef _AQM_RED_FIFO_H
#define _AQM_RED_FIFO_H

#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <aqm/congestion_signal.h>
#include <aqm/delay.h>
#include <aqm/fifo_limit.h>
#include <aqm/gentle_red.h>
#include <aqm/queued.h>
#include <aqm/kind.h>
#include <aqm/parents.h>
#include <aqm/random_draw.h>
#include <aqm/seeded_random.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"

/**
 * struct red_fifo - the FIFO; under the qdisc lock. A packet uses the two cache
 *	lines before the results of @delay.
 * @packets: the packets, in order of arrival
 * @draw: array of the same packets for random draws, if used
 * @queued: queued packets and memory
 * @limit: limit in force, packets on the wire
 * @memory_limit: limit in force, bytes
 * @red: RED's state for the whole queue
 * @delay: sampled waiting times
 * @random: generator for RED and for the draws
 * @unreported: see parents_report()
 * @counters: drops and marks
 */
struct red_fifo {
	struct sk_buff_head	packets;
	struct random_draw	draw;
	struct queued		queued;
	u32			limit;
	u32			memory_limit;
	struct gentle_red_vars	red;
	struct delay_sample	delay;
	struct seeded_random	random;
	u32			unreported;
	struct aqm_counters	counters;
} ____cacheline_aligned;

/**
 * struct red_fifo_cb - values stored with a queued packet
 * @queued: see struct queued_cb
 * @tag: value for the qdisc's own use
 * @slot: its slot in red_fifo.draw
 */
struct red_fifo_cb {
	struct queued_cb	queued;
	u32		tag;
	u32		slot;
};

static inline struct red_fifo_cb *red_fifo_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct red_fifo_cb));
	return (struct red_fifo_cb *)qdisc_skb_cb(skb)->data;
}

/* Parameters that depend on the rate of the link. */

/*
 * Return the weight for a link of @rate bytes/s, packets of @avpkt bytes, and a
 * queue of @limit packets. w = 1 - exp(-1 / n) remembers n packets, with
 *
 *	n = min(1 s of packets, 3 limit)
 *
 * Adaptive RED's authors advise 1 s, ten round trips of 100 ms. A fixed weight is
 * right at one rate only. 1/512 remembers 6 s at 1 Mb/s, so that TCP is punished
 * long after it has slowed down. At 10 Gb/s it remembers 0.6 ms, so that each burst
 * counts as congestion.
 *
 * The bound 3 limit: a flow roughly halves its window in each round trip in which
 * it loses a packet, and a full queue takes about one round trip to drain. An
 * average that remembers many full queues goes on dropping after the queue has
 * drained, and reduces the windows of a few flows to nothing. We measured 10 limit
 * with one CUBIC flow: after the first slow start cbt did not fill a link of 1 Gb/s
 * for 17 s.
 */
static inline u32 red_fifo_weight(u64 rate, u32 avpkt, u32 limit)
{
	u64 packets = min_t(u64, div_u64(rate, avpkt), 3ULL * limit);

	return gentle_red_auto_weight(min_t(u64, packets, U32_MAX));
}

/* Return the ns to send @bytes at @rate bytes/s, at least 1; U32_MAX: over 4 s. */
static inline u32 red_fifo_ptime(u64 rate, u32 bytes)
{
	return clamp_t(u64, div64_u64((u64)bytes * NSEC_PER_SEC, rate), 1,
		       U32_MAX);
}

/**
 * red_fifo_check() - reject invalid parameters, and warn about useless ones
 * @sch: the qdisc
 * @red: RED's parameters; max_th is 0 if it is set later
 * @signal: marking policy
 * @limit: packets
 * @memory_limit: bytes
 * @extack: gets the message
 *
 * Return: 0 or an error
 */
static inline int red_fifo_check(const struct Qdisc *sch,
				 const struct gentle_red_params *red,
				 const struct congestion_policy *signal,
				 u32 limit, u32 memory_limit,
				 struct netlink_ext_ack *extack)
{
	if (red->ptime == U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack,
				   "avpkt takes more than 4 s at this bandwidth: raise bandwidth");
		return -EINVAL;
	}
	if (red->max_th && red->min_th >= red->max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (!aqm_policy_is_right(signal, extack))
		return -EINVAL;
	if (!aqm_warn_of_memory(sch, memory_limit, extack) &&
	    limit <= red->min_th)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above min: no early drops");
	return 0;
}

/* The average, with idle time. */

/* Update the average for an arrival at a queue of @length. */
static inline void red_queue_arrival(const struct gentle_red_params *p,
				     struct gentle_red_vars *v, u32 length)
{
	if (likely(length))
		v->avg = gentle_red_fold(v->avg, p->weight, length);
	else if (v->avg)
		gentle_red_average(p, v, 0, ktime_get_ns());
}

/* Call after a packet was removed, with the number of remaining @packets. */
static inline void red_queue_removed(struct gentle_red_vars *v, u32 packets)
{
	if (unlikely(!packets) && v->avg)
		gentle_red_idle(v, ktime_get_ns());
}

/* Mark, spare or drop an arrival that RED has chosen. */
static noinline enum congestion_signal
red_queue_chosen(struct Qdisc *sch, struct sk_buff *skb,
		 const struct congestion_policy *policy, bool forced)
{
	qdisc_qstats_overlimit(sch);
	return congestion_signal(policy, skb, forced);
}

/**
 * red_queue_signal() - apply RED to an arrival
 * @sch: the qdisc
 * @skb: the arrival; red_queue_arrival() has been called for it
 * @p: configuration
 * @v: RED's state
 * @random: generator; used once per drop that chance decides
 * @policy: marking policy for arrivals that RED chooses
 * @forced: set to true if RED chose the arrival without chance
 *
 * Return: the signal, which the caller also passes to congestion_count().
 */
static inline enum congestion_signal
red_queue_signal(struct Qdisc *sch, struct sk_buff *skb,
		 const struct gentle_red_params *p, struct gentle_red_vars *v,
		 struct seeded_random *random,
		 const struct congestion_policy *policy, bool *forced)
{
	enum gentle_red_verdict verdict = gentle_red_verdict(p, v, random);

	*forced = verdict == GENTLE_RED_FORCED;
	if (likely(verdict == GENTLE_RED_PASS))
		return CONGESTION_PASS;
	return red_queue_chosen(sch, skb, policy, *forced);
}

/* The FIFO. */

/*
 * Allocate @slots for draws from a FIFO of @limit packets. There is nothing to do
 * unless the qdisc @draws, or if @rf has the right number of slots.
 *
 * Return: 0, or an error
 */
static inline int red_fifo_alloc(const struct red_fifo *rf, u32 limit,
				 bool draws, void **slots,
				 struct netlink_ext_ack *extack)
{
	if (!draws || (rf->draw.slots && limit == rf->limit))
		return 0;
	*slots = kvmalloc_array(limit, sizeof(void *), GFP_KERNEL_ACCOUNT);
	if (*slots)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the queue");
	return -ENOMEM;
}

/* Initialize an empty FIFO; @slots are from red_fifo_alloc(). */
static inline void red_fifo_init(struct Qdisc *sch, struct red_fifo *rf,
				 void **slots, u32 limit, u32 memory_limit,
				 const struct gentle_red_params *p, u32 seed)
{
	__skb_queue_head_init(&rf->packets);
	rf->draw.slots = slots;
	rf->limit = limit;
	rf->memory_limit = memory_limit;
	sch->limit = limit;
	gentle_red_init(&rf->red, p, ktime_get_ns());
	seeded_random_init(&rf->random, seed);
}

/* Safe after a failed init. */
static inline void red_fifo_destroy(struct red_fifo *rf)
{
	kvfree(rf->draw.slots);
}

/* Return the number of packets in the FIFO. */
static inline u32 red_fifo_count(const struct red_fifo *rf)
{
	return rf->packets.qlen;
}

/* Check if an arrival of @segments fits: see queued_full(). */
static inline enum aqm_drop red_fifo_full(const struct red_fifo *rf,
					  const struct sk_buff *skb,
					  u32 segments)
{
	return queued_full(&rf->queued, segments, skb->truesize, rf->limit,
			   rf->memory_limit);
}

/*
 * Return whether an arrival alone exceeds a limit. To queue it, all other packets
 * would have to be dropped.
 */
static inline bool red_fifo_is_oversize(const struct red_fifo *rf,
					const struct sk_buff *skb)
{
	return queued_segments(skb) > rf->limit ||
	       skb->truesize > rf->memory_limit;
}

/* Add an arrival of @segments that fits. */
static inline void red_fifo_add(struct Qdisc *sch, struct red_fifo *rf,
				struct sk_buff *skb, u32 segments, u32 tag)
{
	__skb_queue_tail(&rf->packets, skb);
	red_fifo_cb(skb)->tag = tag;
	if (rf->draw.slots)
		red_fifo_cb(skb)->slot = random_draw_add(&rf->draw, skb);
	queued_add(&rf->queued, skb, segments);
	if (unlikely(delay_due(&rf->delay)))
		delay_start(&rf->delay, skb, ktime_get_ns());
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
}

/* Remove a packet. */
static inline void red_fifo_remove(struct Qdisc *sch, struct red_fifo *rf,
				   struct sk_buff *skb)
{
	u32 slot = red_fifo_cb(skb)->slot;

	__skb_unlink(skb, &rf->packets);
	if (rf->draw.slots)
		red_fifo_cb(random_draw_remove(&rf->draw, slot))->slot = slot;
	queued_sub(sch, &rf->queued, &rf->unreported, skb);
	red_queue_removed(&rf->red, red_fifo_count(rf));
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
}

/* Draw a packet at random. The FIFO must not be empty. */
static inline struct sk_buff *red_fifo_drawn(struct red_fifo *rf)
{
	return rf->draw.slots[seeded_random_below(&rf->random, rf->draw.count)];
}

/* Account for a removed packet that is sent. */
static inline void red_fifo_sent(struct Qdisc *sch, struct red_fifo *rf,
				 struct sk_buff *skb)
{
	if (delay_timed(&rf->delay, skb))
		delay_end(&rf->delay, ktime_get_ns());
	aqm_sent(sch, &rf->delay, skb);
}

/* Count a drop, of an arrival or of a removed packet. */
static inline void red_fifo_count_drop(struct Qdisc *sch, struct red_fifo *rf,
				       struct sk_buff *skb, enum aqm_drop cause)
{
	aqm_drop_count(sch, &rf->counters, skb, cause);
	delay_lost(&rf->delay, skb);
}

/* Replace the slots for draws; NULL: no draws. Return: the old slots. */
static inline void **red_fifo_draw(struct red_fifo *rf, void **slots)
{
	void **old = rf->draw.slots;
	struct sk_buff *skb;

	if (old && slots)
		return random_draw_move(&rf->draw, slots);
	rf->draw = (struct random_draw) { .slots = slots };
	if (slots)
		skb_queue_walk(&rf->packets, skb)
			red_fifo_cb(skb)->slot = random_draw_add(&rf->draw, skb);
	return old;
}

/**
 * red_fifo_resize() - change the limits
 * @sch: the qdisc
 * @rf: the FIFO
 * @slots: from red_fifo_alloc()
 * @limit: packets on the wire
 * @memory_limit: bytes
 * @draws: the qdisc draws packets at random
 * @evict: removes a packet and counts it
 *
 * The newest packets are dropped until the rest fits. A single packet that is
 * larger than the limit stays, because it would be accepted into an empty queue.
 *
 * Return: slots to free after the tree is unlocked, or NULL.
 */
static inline void **
red_fifo_resize(struct Qdisc *sch, struct red_fifo *rf, void **slots, u32 limit,
		u32 memory_limit, bool draws,
		void (*evict)(struct Qdisc *sch, struct sk_buff *skb))
{
	struct parents_before before = parents_before(sch, &rf->unreported);
	struct sk_buff *skb;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	while ((rf->queued.segments > limit && red_fifo_count(rf) > 1) ||
	       rf->queued.truesize > memory_limit) {
		skb = skb_peek_tail(&rf->packets);
		evict(sch, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	parents_report_trim(sch, &before);
	rf->limit = limit;
	rf->memory_limit = memory_limit;
	WRITE_ONCE(sch->limit, limit);
	return slots || !draws ? red_fifo_draw(rf, slots) : NULL;
}

/* Purge all packets uncounted, and restart RED. Safe after a failed init. */
static inline void red_fifo_reset(struct Qdisc *sch, struct red_fifo *rf,
				  const struct gentle_red_params *p)
{
	struct sk_buff *skb;

	queued_reset(&rf->queued, &rf->unreported);
	while ((skb = __skb_dequeue(&rf->packets)))
		rtnl_kfree_skbs(skb, skb);
	rf->draw.count = 0;
	delay_reset(&rf->delay);
	gentle_red_init(&rf->red, p, ktime_get_ns());
}

/*
 * Fill in RED's statistics: @c counters, @p parameters, @v state, @length packets
 * waiting.
 */
#define RED_FIFO_STATS(st, c, p, v, length) do {			\
	AQM_SIGNAL_STATS(st, c);					\
	(st)->avg = (v)->avg;						\
	(st)->max_p = (v)->max_p;					\
	(st)->probability = min_t(u64, gentle_red_probability(p, v),	\
				  U32_MAX);				\
	(st)->segments = (length);					\
	(st)->min_th = (p)->min_th;					\
	(st)->max_th = (p)->max_th;					\
	(st)->weight = (p)->weight;					\
	(st)->ptime = (p)->ptime;					\
	(st)->count = (v)->count;					\
} while (0)

/* The statistics that every qdisc has. */
static inline void red_fifo_stats(void *stats, const struct red_fifo *rf,
				  u64 bandwidth)
{
	aqm_common_stats(stats, &rf->counters, bandwidth, rf->limit,
			 rf->memory_limit, &rf->queued, &rf->delay);
}

#endif /* _AQM_RED_FIFO_H */
