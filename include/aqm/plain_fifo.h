/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FIFO that drops only arrivals, for qdiscs that signal by chance.
 *
 * The packets are in the qdisc's own list, sch->q. A packet that a parent has
 * peeked at is still in the queue. A packet that the driver handed back is not.
 *
 * To enqueue, call aqm_queue_full(), and then plain_fifo_add() or aqm_drop(). If
 * there is a RED signal, plain_fifo_try_drop() does all of this except the adding.
 * To dequeue, call plain_fifo_remove() and aqm_queue_sent().
 */
#ifndef _AQM_PLAIN_FIFO_H
#define _AQM_PLAIN_FIFO_H

#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <aqm/congestion_signal.h>
#include <aqm/kind.h>
#include <aqm/parents.h>
#include <aqm/queue.h>
#include <aqm/split_gso.h>
#include "../compat.h"

/*
 * Add an arrival of @segments that fits. @now is the time in ns, 0 if the caller has
 * not read the clock.
 */
static inline int plain_fifo_add(struct Qdisc *sch, struct sk_buff *skb,
				 u32 segments, u64 now)
{
	__aqm_queue_add(aqm_queue(sch), skb, segments, now);
	return qdisc_enqueue_tail(skb, sch);
}

/*
 * Drop an arrival of @segments if RED's @signal says so, or if there is no room.
 * Otherwise count the signal. Return: 0, or the verdict on a dropped arrival.
 */
static __always_inline int
plain_fifo_try_drop(struct Qdisc *sch, struct sk_buff *skb, u32 segments,
		    enum congestion_signal signal, bool forced,
		    struct sk_buff **to_free)
{
	struct aqm_queue *q = aqm_queue(sch);
	enum aqm_drop cause = signal == CONGESTION_DROP ?
			      aqm_drop_signal(forced) :
			      aqm_queue_full(q, skb, segments);

	if (unlikely(cause))
		return aqm_drop(skb, sch, cause, to_free);
	congestion_count(&q->signal, signal, forced);
	return 0;
}

/* Remove the first packet. Return: NULL if there is none. */
static inline struct sk_buff *plain_fifo_remove(struct Qdisc *sch)
{
	struct sk_buff *skb = sch->q.head;

	if (likely(skb)) {
		__aqm_queue_remove(sch, skb);
		__qdisc_dequeue_head(&sch->q);
		qdisc_qstats_backlog_dec(sch, skb);
	}
	return skb;
}

/* Dequeue a packet, and call @departed after it has left the queue. */
static __always_inline struct sk_buff *
plain_fifo_dequeue(struct Qdisc *sch,
		   void (*departed)(struct Qdisc *sch,
				    const struct sk_buff *skb))
{
	struct sk_buff *skb = plain_fifo_remove(sch);

	if (!skb)
		return NULL;
	departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static inline struct sk_buff *plain_fifo_evict(struct Qdisc *sch)
{
	return aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;
}

/* Purge all packets without counting drops. */
static inline void plain_fifo_reset(struct Qdisc *sch)
{
	aqm_queue_reset(sch);
	qdisc_reset_queue(sch);
}

/**
 * PLAIN_FIFO_QDISC() - define x_enqueue(), x_dequeue() and x_evict()
 * @x: prefix of the functions and structs
 *
 * x_arrival() queues a packet, and x_departed() is called after one has left.
 */
#define PLAIN_FIFO_QDISC(x)						\
static int x##_enqueue(struct sk_buff *skb, struct Qdisc *sch,		\
		       struct sk_buff **to_free)			\
{									\
	struct x##_sched_data *q = qdisc_priv(sch);			\
									\
	return split_gso_arrival(skb, sch, to_free,			\
				 q->params.split_gso, x##_arrival);	\
}									\
									\
static struct sk_buff *x##_dequeue(struct Qdisc *sch)			\
{									\
	return plain_fifo_dequeue(sch, x##_departed);			\
}									\
									\
static struct sk_buff *x##_evict(struct Qdisc *sch, bool again)		\
{									\
	struct sk_buff *skb = plain_fifo_evict(sch);			\
									\
	if (skb)							\
		x##_departed(sch, skb);					\
	return skb;							\
}

#endif /* _AQM_PLAIN_FIFO_H */
