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
 * plain_fifo_drop(); after RED's signal plain_fifo_lose() does all but the adding. A
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
 * @counters: drops and marks
 */
struct plain_fifo {
	struct held		held;
	u32			limit;
	u32			memory_limit;
	struct delay_sample	delay;
	u32			untold;
	struct aqm_counters	counters;
};

/* Limits of a FIFO that is not in use yet. */
static inline void plain_fifo_init(struct Qdisc *sch, struct plain_fifo *f,
				   u32 limit, u32 memory_limit)
{
	f->limit = limit;
	f->memory_limit = memory_limit;
	sch->limit = limit;
}

/* Whether there is room for an arrival of @packets: see held_full(). */
static inline enum aqm_drop plain_fifo_full(const struct plain_fifo *f,
					    const struct sk_buff *skb,
					    u32 packets)
{
	return held_full(&f->held, packets, skb->truesize, f->limit,
			 f->memory_limit);
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

/* Drop an arrival. Return: the verdict. */
static noinline int plain_fifo_drop(struct sk_buff *skb, struct Qdisc *sch,
				    struct plain_fifo *f, enum aqm_drop cause,
				    struct sk_buff **to_free)
{
	return aqm_drop(skb, sch, &f->counters, cause, to_free);
}

/*
 * Drop an arrival of @packets if RED's @signal says so, or if there is no room.
 * Otherwise count the signal. Return: 0, or the verdict on a dropped arrival.
 */
static __always_inline int
plain_fifo_lose(struct Qdisc *sch, struct plain_fifo *f, struct sk_buff *skb,
		u32 packets, enum congestion_signal signal, bool forced,
		struct sk_buff **to_free)
{
	enum aqm_drop cause = signal == CONGESTION_DROP ?
			      aqm_drop_signal(forced) :
			      plain_fifo_full(f, skb, packets);

	if (unlikely(cause))
		return plain_fifo_drop(skb, sch, f, cause, to_free);
	congestion_count(&f->counters.signal, signal, forced);
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

/* Dequeue. @departed: told of the packet, which is no longer in the queue */
static __always_inline struct sk_buff *
plain_fifo_dequeue(struct Qdisc *sch, struct plain_fifo *f,
		   void (*departed)(struct Qdisc *sch,
				    const struct sk_buff *skb))
{
	struct sk_buff *skb = plain_fifo_take(sch, f);

	if (!skb)
		return NULL;
	departed(sch, skb);
	plain_fifo_sent(sch, f, skb);
	return skb;
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
		aqm_drop_count(sch, &f->counters, skb, AQM_DROP_CHANGE);
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

/* The statistics that every qdisc has. */
static inline void plain_fifo_stats(void *stats, const struct plain_fifo *f,
				    u64 bandwidth)
{
	aqm_common_stats(stats, &f->counters, bandwidth, f->limit,
			 f->memory_limit, &f->held, &f->delay);
}

#endif /* _AQM_PLAIN_FIFO_H */
