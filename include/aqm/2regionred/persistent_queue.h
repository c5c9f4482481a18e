/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Three estimators of the persistent queue: the part of a queue that lasts longer
 * than a round trip, without shorter bursts.
 *
 * K. Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, December 2001, chapter 5. q is the queue's length
 * in wire packets.
 *
 * ABSMIN (5.2.3): the minimum of q over the last 15 complete fifteenths of the
 *	interval, computed when a fifteenth ends. q includes departures, so this
 *	is the minimum over all times, not only over arrivals. A fifteenth
 *	without packets has its constant q. Fifteenths end at multiples of their
 *	length on the caller's clock. The clock is read for arrivals, and for
 *	departures that give a new minimum. Other departures count as if they
 *	came with the event before, which makes a difference only if a whole
 *	fifteenth passes without such an event.
 * EWMA (5.2.1): at each arrival avg += w (q - avg), q before it, with
 *	w = 1 - exp(-1 / pipe) (equation 3.3): a time constant of one interval
 *	when packets arrive at the link's rate. The thesis has no rule for an
 *	empty queue. Here each packet that the link could have sent counts as a
 *	sample of 0, as in RED. Less than the time of one packet is kept for the
 *	next time that the queue is empty.
 * EWMA' (5.2.2): EWMA, but never above q after a departure. The thesis prints
 *	the inequality of equation 5.3 in the wrong direction, which would raise
 *	the average while the queue drains.
 *
 * The estimate is Q32.32 in u64. EWMA's weight has an error of at most 2^-32 for a
 * pipe in whole packets (<aqm/gentle_red.h>). That is 1 in 5000 for 100 Gb/s and
 * 100 ms.
 */
#ifndef _AQM_PERSISTENT_QUEUE_H
#define _AQM_PERSISTENT_QUEUE_H

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <aqm/gentle_red.h>

#define PERSISTENT_QUEUE_MINIMA	15

/* After this many intervals without a packet an average is below e^-64. */
#define PERSISTENT_QUEUE_FORGOTTEN	64

enum persistent_queue_estimator {
	PERSISTENT_QUEUE_ABSMIN,
	PERSISTENT_QUEUE_EWMA,
	PERSISTENT_QUEUE_EWMA_DRAIN,	/* EWMA' */
};

/**
 * struct persistent_queue_params - configuration
 * @estimator: the estimator
 * @interval: a round trip in ns, 1 ms to 10 s
 * @fifteenth: a fifteenth of @interval, in ns
 * @pipe: packets that the link sends in @interval, 2 to 2^23
 * @weight: w, Q0.32
 */
struct persistent_queue_params {
	enum persistent_queue_estimator	estimator;
	u64				interval;
	u64				fifteenth;
	u32				pipe;
	u32				weight;
};

/**
 * struct persistent_queue - state
 * @estimate: packets, Q32.32
 * @since: ABSMIN: start of the current fifteenth; otherwise, for an empty queue,
 *	the time up to which the average or @owed includes it; in ns
 * @owed: averages: time with an empty queue that the average does not include
 *	yet, less than that of one packet; in ns
 * @lowest: minimum of q in the current fifteenth, in packets
 * @oldest: index of the next of @minima to be replaced
 * @minima: minimum of q in each complete fifteenth, in packets
 */
struct persistent_queue {
	u64	estimate;
	u64	since;
	u64	owed;
	u32	lowest;
	u32	oldest;
	u32	minima[PERSISTENT_QUEUE_MINIMA];
};

static inline void persistent_queue_set(struct persistent_queue_params *p,
					enum persistent_queue_estimator e,
					u64 interval, u32 pipe)
{
	*p = (struct persistent_queue_params) {
		.estimator	= e,
		.interval	= interval,
		.fifteenth	= div_u64(interval, PERSISTENT_QUEUE_MINIMA),
		.pipe		= pipe,
		.weight		= gentle_red_auto_weight(pipe),
	};
}

/* Initialize for a queue that was always empty. */
static inline void persistent_queue_init(struct persistent_queue *pq)
{
	*pq = (struct persistent_queue) {};
}

static inline void persistent_queue_minimum(struct persistent_queue *pq, u32 q)
{
	pq->minima[pq->oldest] = q;
	pq->oldest = (pq->oldest + 1) % PERSISTENT_QUEUE_MINIMA;
}

/* ABSMIN: end past fifteenths. The length was @q since the last call. */
static inline void
persistent_queue_end_fifteenths(struct persistent_queue *pq,
				const struct persistent_queue_params *p,
				u32 q, u64 now)
{
	u64 n = div64_u64(now - pq->since, p->fifteenth);
	u32 i, lowest = U32_MAX;

	pq->since += n * p->fifteenth;
	persistent_queue_minimum(pq, pq->lowest);
	for (i = 1; i < min_t(u64, n, PERSISTENT_QUEUE_MINIMA + 1); i++)
		persistent_queue_minimum(pq, q);
	pq->lowest = q;
	for (i = 0; i < PERSISTENT_QUEUE_MINIMA; i++)
		lowest = min(lowest, pq->minima[i]);
	pq->estimate = (u64)lowest << 32;
}

/* EWMA: decay the average for an empty queue since @since. */
static inline void
persistent_queue_idle(struct persistent_queue *pq,
		      const struct persistent_queue_params *p, u64 now)
{
	u64 idle = pq->owed + now - pq->since;
	u64 m;

	pq->since = now;
	pq->owed = idle;
	if (idle >= PERSISTENT_QUEUE_FORGOTTEN * p->interval) {
		pq->estimate = 0;
		pq->owed = 0;
		return;
	}
	if (idle * p->pipe < p->interval)
		return;
	m = div64_u64(idle * p->pipe, p->interval);
	pq->estimate = gentle_red_decay(pq->estimate, p->weight, m);
	pq->owed -= div_u64(m * p->interval, p->pipe);
}

/**
 * persistent_queue_advance() - update the estimate at a time without an event
 * @pq: state
 * @p: configuration
 * @q: length of the queue since the last call, packets
 * @now: ns
 */
static inline void
persistent_queue_advance(struct persistent_queue *pq,
			 const struct persistent_queue_params *p, u32 q,
			 u64 now)
{
	if (p->estimator != PERSISTENT_QUEUE_ABSMIN) {
		if (!q)
			persistent_queue_idle(pq, p, now);
	} else if (unlikely(now - pq->since >= p->fifteenth)) {
		persistent_queue_end_fifteenths(pq, p, q, now);
	}
}

/* EWMA: count @packets arrivals that find a queue of @q. */
static inline void
persistent_queue_fold(struct persistent_queue *pq,
		      const struct persistent_queue_params *p, u32 q,
		      u32 packets)
{
	u64 length = (u64)q << 32;

	if (likely(packets == 1))
		pq->estimate = gentle_red_fold(pq->estimate, p->weight, q);
	else if (length < pq->estimate)
		pq->estimate = length + gentle_red_decay(pq->estimate - length,
							 p->weight, packets);
	else
		pq->estimate = length - gentle_red_decay(length - pq->estimate,
							 p->weight, packets);
}

/* Count @packets that arrive at once, queued or not. @q is the length before them. */
static inline void
persistent_queue_arrival(struct persistent_queue *pq,
			 const struct persistent_queue_params *p, u32 q,
			 u32 packets, u64 now)
{
	persistent_queue_advance(pq, p, q, now);
	if (p->estimator != PERSISTENT_QUEUE_ABSMIN && q)
		persistent_queue_fold(pq, p, q, packets);
}

/*
 * Return the time in ns before which neither an arrival nor a departure changes the
 * estimate. 0: any of them may change it.
 */
static inline u64
persistent_queue_steady_until(const struct persistent_queue *pq,
			      const struct persistent_queue_params *p)
{
	return p->estimator == PERSISTENT_QUEUE_ABSMIN ?
	       pq->since + p->fifteenth : 0;
}

/*
 * Return whether a departure that leaves @q changes the estimate. Only then call
 * persistent_queue_departure(), which needs the time.
 */
static inline bool
persistent_queue_changes(const struct persistent_queue *pq,
			 const struct persistent_queue_params *p, u32 q)
{
	switch (p->estimator) {
	case PERSISTENT_QUEUE_ABSMIN:
		return q < pq->lowest;
	case PERSISTENT_QUEUE_EWMA_DRAIN:
		return !q || pq->estimate > (u64)q << 32;
	default:
		return !q;
	}
}

/* Count @packets that left at once. @q is the length after them. */
static inline void
persistent_queue_departure(struct persistent_queue *pq,
			   const struct persistent_queue_params *p, u32 q,
			   u32 packets, u64 now)
{
	if (p->estimator == PERSISTENT_QUEUE_ABSMIN) {
		persistent_queue_advance(pq, p, q + packets, now);
		pq->lowest = min(pq->lowest, q);
		return;
	}
	if (p->estimator == PERSISTENT_QUEUE_EWMA_DRAIN)
		pq->estimate = min(pq->estimate, (u64)q << 32);
	if (!q)
		pq->since = now;
}

/**
 * persistent_queue_change() - switch to a new configuration
 * @pq: state
 * @old: old configuration
 * @new: new configuration
 * @q: length of the queue, packets
 * @now: ns
 *
 * The estimate stays, even if the estimator changes. ABSMIN without minima starts
 * as if all of them were the estimate.
 */
static inline void
persistent_queue_change(struct persistent_queue *pq,
			const struct persistent_queue_params *old,
			const struct persistent_queue_params *new,
			u32 q, u64 now)
{
	u64 rest;
	u32 i;

	persistent_queue_advance(pq, old, q, now);
	if (old->estimator == new->estimator && old->interval == new->interval)
		return;
	if (old->estimator != PERSISTENT_QUEUE_ABSMIN)
		for (i = 0; i < PERSISTENT_QUEUE_MINIMA; i++)
			pq->minima[i] = pq->estimate >> 32;
	pq->lowest = q;
	pq->owed = 0;
	pq->since = now;
	if (new->estimator == PERSISTENT_QUEUE_ABSMIN) {
		div64_u64_rem(now, new->fifteenth, &rest);
		pq->since -= rest;
	}
}

#endif /* _AQM_PERSISTENT_QUEUE_H */
