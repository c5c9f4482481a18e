/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The persistent queue: what stays in a queue for longer than a round trip,
 * without the bursts that come and go within one. Three estimators.
 *
 * K. Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, December 2001, chapter 5. q is the queue's length
 * in packets; a GSO packet is as many as the wire will carry.
 *
 * ABSMIN (5.2.3): the least q of the last 15 fifteenths of the interval that
 *	have ended, looked up when one ends. The fifteenth under way does not
 *	count. q is followed through departures too, so it is the least of all
 *	times and not only of those at which a packet came; a fifteenth without
 *	packets has the q that stood throughout. Fifteenths end at the multiples
 *	of their length of the caller's clock. The clock is read for arrivals,
 *	and for a departure that leaves a new least: any other counts as if it
 *	came with the event before it, which matters only where a fifteenth
 *	passes without either.
 * EWMA (5.2.1): at each arrival avg += w (q - avg), q before it, with
 *	w = 1 - exp(-1 / pipe) (equation 3.3): a time constant of one interval
 *	when packets come at the link's rate. The thesis has no rule for an empty
 *	queue; here it counts as a sample of 0 for each packet that the link
 *	could have sent, as in RED. What is less than a packet's time is kept
 *	for the next time that the queue is empty.
 * EWMA' (5.2.2): EWMA, but never above q after a departure. The thesis prints
 *	the inequality of equation 5.3 the other way round, which would push the
 *	average up while the queue drains.
 *
 * The estimate is Q32.32 in u64. EWMA's weight is within 2^-32 of what it
 * should be for the pipe in whole packets (<aqm/gentle_red.h>), which is 1 in
 * 5000 for 100 Gb/s and 100 ms.
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
 * @estimator: which
 * @interval: ns, 1 ms to 10 s: a round trip
 * @fifteenth: of @interval, ns
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
 * @since: ABSMIN: when the fifteenth under way began; else, while the queue is
 *	empty, up to when the average or @owed has been told; ns
 * @owed: averages: time that the queue was empty and the average has not been
 *	told of, less than a packet's; ns
 * @lowest: least q of the fifteenth under way, packets
 * @oldest: which of @minima is replaced next
 * @minima: least q of each fifteenth that has ended, packets
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

/* A queue that has been empty since the clock began. */
static inline void persistent_queue_init(struct persistent_queue *pq)
{
	*pq = (struct persistent_queue) {};
}

static inline void persistent_queue_minimum(struct persistent_queue *pq, u32 q)
{
	pq->minima[pq->oldest] = q;
	pq->oldest = (pq->oldest + 1) % PERSISTENT_QUEUE_MINIMA;
}

/* ABSMIN: end the fifteenths that have passed; @q has stood since the last call. */
static noinline void
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

/* EWMA: take off the average what an empty queue has earned since @since. */
static noinline void
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
 * persistent_queue_advance() - bring the estimate up to a moment at which
 * nothing happens
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

/* EWMA: @packets arrivals that find @q. */
static noinline void
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

/* @packets come at once; @q is the length before them, queued or not. */
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
 * Until when an arrival does not change the estimate, unless a departure is noted
 * before, ns; 0: each may.
 */
static inline u64
persistent_queue_stands(const struct persistent_queue *pq,
			const struct persistent_queue_params *p)
{
	return p->estimator == PERSISTENT_QUEUE_ABSMIN ?
	       pq->since + p->fifteenth : 0;
}

/*
 * Whether a departure that leaves @q makes a difference. Only then is
 * persistent_queue_departure() called, and the time needed.
 */
static inline bool
persistent_queue_notes(const struct persistent_queue *pq,
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

/* @packets have left at once; @q is the length after that. */
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
 * persistent_queue_change() - go over to another configuration
 * @pq: state
 * @old: configuration so far
 * @new: configuration from now on
 * @q: length of the queue, packets
 * @now: ns
 *
 * The estimate stays, also from one estimator to another; where ABSMIN lacks
 * minima of its own it starts as if all were the estimate.
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
