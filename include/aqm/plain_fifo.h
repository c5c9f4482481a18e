/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FIFO that drops only arrivals, for qdiscs that signal by chance.
 *
 * The packets are in the qdisc's own list, sch->q. This header adds the limits,
 * the waiting times and the counters. Lengths are in packets on the wire: a GSO
 * packet counts its segments. A packet that a parent has peeked at is still in
 * the queue. A packet that the driver handed back is not.
 *
 * To enqueue, call plain_fifo_full(), and then plain_fifo_add() or
 * plain_fifo_drop(). If there is a RED signal, plain_fifo_try_drop() does all of
 * this except the adding. To dequeue, call plain_fifo_remove() and
 * plain_fifo_sent().
 */
#ifndef _AQM_PLAIN_FIFO_H
#define _AQM_PLAIN_FIFO_H

#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <aqm/congestion_signal.h>
#include <aqm/delay.h>
#include <aqm/queued.h>
#include <aqm/kind.h>
#include <aqm/parents.h>
#include <aqm/split_gso.h>
#include "../compat.h"

/**
 * struct plain_fifo - the FIFO; under the qdisc lock
 * @queued: queued packets and memory
 * @limit: limit in force, packets on the wire
 * @memory_limit: limit in force, bytes
 * @delay: sampled waiting times
 * @unreported: see parents_report()
 * @counters: drops and marks
 */
struct plain_fifo {
	struct queued		queued;
	u32			limit;
	u32			memory_limit;
	struct delay_sample	delay;
	u32			unreported;
	struct aqm_counters	counters;
};

/* Set the limits of a new FIFO. */
static inline void plain_fifo_init(struct Qdisc *sch, struct plain_fifo *f,
				   u32 limit, u32 memory_limit)
{
	f->limit = limit;
	f->memory_limit = memory_limit;
	sch->limit = limit;
}

/* Check if an arrival of @packets fits: see queued_full(). */
static inline enum aqm_drop plain_fifo_full(const struct plain_fifo *f,
					    const struct sk_buff *skb,
					    u32 packets)
{
	return queued_full(&f->queued, packets, skb->truesize, f->limit,
			   f->memory_limit);
}

/*
 * Add an arrival of @packets that fits. @now is the time in ns, 0 if the caller has
 * not read the clock.
 */
static inline int plain_fifo_add(struct Qdisc *sch, struct plain_fifo *f,
				 struct sk_buff *skb, u32 packets, u64 now)
{
	queued_add(&f->queued, skb, packets);
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
plain_fifo_try_drop(struct Qdisc *sch, struct plain_fifo *f, struct sk_buff *skb,
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

/* Remove the first packet to send it. Return: NULL if there is none. */
static inline struct sk_buff *plain_fifo_remove(struct Qdisc *sch,
						struct plain_fifo *f)
{
	struct sk_buff *skb = sch->q.head;

	if (likely(skb)) {
		queued_sub(sch, &f->queued, &f->unreported, skb);
		__qdisc_dequeue_head(&sch->q);
		qdisc_qstats_backlog_dec(sch, skb);
	}
	return skb;
}

/* Account for a packet that is sent after plain_fifo_remove(). */
static inline void plain_fifo_sent(struct Qdisc *sch, struct plain_fifo *f,
				   const struct sk_buff *skb)
{
	aqm_sent(sch, &f->delay, skb);
	if (delay_timed(&f->delay, skb))
		delay_end(&f->delay, ktime_get_ns());
}

/* Dequeue a packet, and call @departed after it has left the queue. */
static __always_inline struct sk_buff *
plain_fifo_dequeue(struct Qdisc *sch, struct plain_fifo *f,
		   void (*departed)(struct Qdisc *sch,
				    const struct sk_buff *skb))
{
	struct sk_buff *skb = plain_fifo_remove(sch, f);

	if (!skb)
		return NULL;
	departed(sch, skb);
	plain_fifo_sent(sch, f, skb);
	return skb;
}

/**
 * plain_fifo_resize() - change the limits
 * @sch: the qdisc
 * @f: the FIFO
 * @limit: packets on the wire
 * @memory_limit: bytes
 * @departed: called for each dropped packet, after it has left the queue
 *
 * The oldest packets are dropped until the rest fits. A single packet that is
 * larger than the limit stays, because it would be accepted into an empty queue.
 */
static inline void
plain_fifo_resize(struct Qdisc *sch, struct plain_fifo *f, u32 limit,
		  u32 memory_limit,
		  void (*departed)(struct Qdisc *sch,
				   const struct sk_buff *skb))
{
	struct parents_before before = parents_before(sch, &f->unreported);
	struct sk_buff *skb;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	f->limit = limit;
	f->memory_limit = memory_limit;
	WRITE_ONCE(sch->limit, limit);
	while ((f->queued.segments > limit && sch->q.head != sch->q.tail) ||
	       f->queued.truesize > memory_limit) {
		skb = sch->q.head;
		queued_sub(sch, &f->queued, &f->unreported, skb);
		__qdisc_dequeue_head(&sch->q);
		qdisc_qstats_backlog_dec(sch, skb);
		aqm_drop_count(sch, &f->counters, skb, AQM_DROP_CHANGE);
		delay_lost(&f->delay, skb);
		departed(sch, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	parents_report_trim(sch, &before);
}

/* Purge all packets without counting drops. */
static inline void plain_fifo_reset(struct Qdisc *sch, struct plain_fifo *f)
{
	queued_reset(&f->queued, &f->unreported);
	qdisc_reset_queue(sch);
	delay_reset(&f->delay);
}

/* The statistics that every qdisc has. */
static inline void plain_fifo_stats(void *stats, const struct plain_fifo *f,
				    u64 bandwidth)
{
	aqm_common_stats(stats, &f->counters, bandwidth, f->limit,
			 f->memory_limit, &f->queued, &f->delay);
}

/**
 * PLAIN_FIFO_QDISC() - define x_enqueue() and x_dequeue()
 * @x: prefix of the functions and structs
 * @fifo: the member of struct x_vars
 *
 * x_arrival() queues a packet, and x_departed() is called after one has left.
 */
#define PLAIN_FIFO_QDISC(x, fifo)					\
static int x##_enqueue(struct sk_buff *skb, struct Qdisc *sch,		\
		       struct sk_buff **to_free)			\
{									\
	struct x##_sched_data *q = qdisc_priv(sch);			\
									\
	return split_gso_arrival(skb, sch, to_free,			\
				 &q->vars.fifo.unreported,		\
				 &q->vars.fifo.counters,		\
				 q->params.split_gso, x##_arrival);	\
}									\
									\
static struct sk_buff *x##_dequeue(struct Qdisc *sch)			\
{									\
	struct x##_sched_data *q = qdisc_priv(sch);			\
									\
	return plain_fifo_dequeue(sch, &q->vars.fifo, x##_departed);	\
}

#endif /* _AQM_PLAIN_FIFO_H */
