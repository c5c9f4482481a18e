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
#include <aqm/frame.h>
#include <aqm/queue.h>
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
static inline int
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

/* Purge all packets without counting drops. */
static inline void plain_fifo_reset(struct Qdisc *sch)
{
	aqm_queue_reset(sch);
	qdisc_reset_queue(sch);
}

#endif /* _AQM_PLAIN_FIFO_H */
