/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One FIFO, from which packets leave in the order in which they came.
 *
 * The packets are in the discipline's own list, sch->q; here stands what goes
 * with it: what is held and may be, how long packets wait, what was lost.
 * Lengths are packets on the wire: a GSO packet counts its segments. A packet
 * that a parent has peeked at has not left; one that the driver handed back has.
 *
 * An enqueue asks plain_fifo_full(), and ends with plain_fifo_add() or
 * plain_fifo_drop(); after RED's signal plain_fifo_lose() does both but the adding. A
 * dequeue is plain_fifo_take() and plain_fifo_sent().
 */
#ifndef _AQM_PLAIN_FIFO_H
#define _AQM_PLAIN_FIFO_H

#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <aqm/congestion_signal.h>
#include <aqm/delay.h>
#include <aqm/held.h>
#include <aqm/kind.h>
#include <aqm/parents.h>
#include "../compat.h"

/**
 * struct plain_fifo - the FIFO; under the qdisc lock
 * @held: what the packets come to
 * @limit: packets on the wire, in force
 * @memory_limit: bytes, in force
 * @delay: how long packets wait
 * @untold: see parents_tell()
 * @stats: what was lost, and signalled
 */
struct plain_fifo {
	struct held		held;
	u32			limit;
	u32			memory_limit;
	struct delay_sample	delay;
	u32			untold;
	struct aqm_common_stats	stats;
};

/* Limits of a FIFO that is not in use yet. */
static inline void plain_fifo_init(struct Qdisc *sch, struct plain_fifo *f,
				   u32 limit, u32 memory_limit)
{
	f->limit = limit;
	f->memory_limit = memory_limit;
	sch->limit = limit;
}

/*
 * The counter of arrivals of @packets that have no room, for this reason; NULL:
 * it has.
 */
static inline u64 *plain_fifo_full(struct plain_fifo *f,
				   const struct sk_buff *skb, u32 packets)
{
	return held_lacks(&f->held, packets, skb->truesize, f->limit,
			  f->memory_limit, &f->stats.drop_limit,
			  &f->stats.drop_memory);
}

/*
 * Add an arrival of @packets, for which there is room, at @now, ns; 0: nobody has
 * looked.
 */
static inline int plain_fifo_add(struct Qdisc *sch, struct plain_fifo *f,
				 struct sk_buff *skb, u32 packets, u64 now)
{
	held_add(&f->held, skb, packets);
	if (unlikely(delay_due(&f->delay)))
		delay_start(&f->delay, skb, now ?: ktime_get_ns());
	return qdisc_enqueue_tail(skb, sch);
}

/* Drop an arrival, whose cause has been counted. */
static inline int plain_fifo_drop(struct Qdisc *sch, struct plain_fifo *f,
				  struct sk_buff *skb,
				  enum qdisc_drop_reason reason,
				  struct sk_buff **to_free)
{
	f->stats.dropped_bytes += qdisc_pkt_len(skb);
	tcf_set_qdisc_drop_reason(skb, reason);
	return qdisc_drop(skb, sch, to_free);
}

/*
 * Lose an arrival of @packets to RED's @signal, or for want of room; if not, it is to
 * be added. Counts what becomes of it. Return: 0, or the verdict on one that is lost.
 */
static __always_inline int
plain_fifo_lose(struct Qdisc *sch, struct plain_fifo *f, struct sk_buff *skb,
		u32 packets, enum congestion_signal signal, bool forced,
		struct congestion_stats *st, struct sk_buff **to_free)
{
	u64 *full;

	if (signal == CONGESTION_DROP) {
		congestion_count(st, signal, forced);
		plain_fifo_drop(sch, f, skb, QDISC_DROP_CONGESTED, to_free);
		return NET_XMIT_CN;
	}
	full = plain_fifo_full(f, skb, packets);
	if (unlikely(full)) {
		++*full;
		return plain_fifo_drop(sch, f, skb, QDISC_DROP_OVERLIMIT,
				       to_free);
	}
	congestion_count(st, signal, forced);
	return 0;
}

/* Take the first packet, for the link. Return: NULL if there is none. */
static inline struct sk_buff *plain_fifo_take(struct Qdisc *sch,
					      struct plain_fifo *f)
{
	struct sk_buff *skb = sch->q.head;

	if (likely(skb)) {
		held_sub(sch, &f->held, &f->untold, skb);
		__qdisc_dequeue_head(&sch->q);
		qdisc_qstats_backlog_dec(sch, skb);
	}
	return skb;
}

/* A packet that was taken leaves for the link. */
static inline void plain_fifo_sent(struct Qdisc *sch, struct plain_fifo *f,
				   const struct sk_buff *skb)
{
	held_sent(sch, skb);
	if (delay_timed(&f->delay, skb))
		delay_end(&f->delay, ktime_get_ns());
}

/**
 * plain_fifo_resize() - hold no more than other limits allow
 * @sch: the discipline
 * @f: the FIFO
 * @limit: packets on the wire
 * @memory_limit: bytes
 * @departed: told of each packet that went; it is held no more
 *
 * The oldest packets go. A single one that is larger than the limit stays, as it
 * would have been let in.
 */
static inline void
plain_fifo_resize(struct Qdisc *sch, struct plain_fifo *f, u32 limit,
		  u32 memory_limit,
		  void (*departed)(struct Qdisc *sch,
				   const struct sk_buff *skb))
{
	struct parents_before before = parents_before(sch);
	struct sk_buff *skb;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	f->limit = limit;
	f->memory_limit = memory_limit;
	WRITE_ONCE(sch->limit, limit);
	while ((f->held.segments > limit && sch->q.head != sch->q.tail) ||
	       f->held.truesize > memory_limit) {
		skb = sch->q.head;
		held_sub(sch, &f->held, &f->untold, skb);
		__qdisc_dequeue_head(&sch->q);
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_qstats_drop(sch);
		f->stats.drop_change++;
		f->stats.dropped_bytes += qdisc_pkt_len(skb);
		delay_lost(&f->delay, skb);
		departed(sch, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	parents_tell_trim(sch, &before);
}

/* Forget all packets, uncounted. */
static inline void plain_fifo_reset(struct Qdisc *sch, struct plain_fifo *f)
{
	held_reset(sch, &f->held, &f->untold);
	qdisc_reset_queue(sch);
	delay_reset(&f->delay);
}

/* The statistics that all kinds have. */
static inline void plain_fifo_stats(void *stats, const struct plain_fifo *f,
				    u64 bandwidth)
{
	struct aqm_common_stats *st = stats;

	*st = f->stats;
	aqm_common_stats(st, bandwidth, f->limit, f->memory_limit, &f->held,
			 &f->delay);
}

#endif /* _AQM_PLAIN_FIFO_H */
