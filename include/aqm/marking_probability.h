/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BLUE's drop probability, which rises with losses and falls with idle time.
 *
 * W. Feng, D. D. Kandlur, D. Saha, K. G. Shin, "BLUE: A New Class of Active Queue
 * Management Algorithms", U. Michigan CSE-TR-387-99, April 1999:
 *
 *	loss, or queue longer than L:
 *		if now - last rise >= freeze_time:	p = p + d1
 *	link idle:
 *		if now - last fall >= freeze_time:	p = p - d2
 *
 * with 0 <= p <= 1. Our decisions:
 *  - Rises and falls have separate freeze times. The paper's figure has one "last
 *    update" for both; its authors' simulator has two.
 *  - While the link is idle, p falls once per freeze time. There is no timer: the
 *    next reader applies the falls that are due.
 *  - A rise at 1 or a fall at 0 does not count and does not delay the next one.
 *
 * p, d1 and d2 are Q0.32 in u32, where U32_MAX means 1. Sums are exact and stop at
 * the bounds. Times are in ns.
 *
 * This header uses no sk_buff and no Qdisc.
 */
#ifndef _AQM_MARKING_PROBABILITY_H
#define _AQM_MARKING_PROBABILITY_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct marking_law - configuration
 * @freeze: minimum time between two rises, and between two falls, in ns; not 0
 * @up: d1, Q0.32; not 0
 * @down: d2, Q0.32; not 0
 */
struct marking_law {
	u64	freeze;
	u32	up;
	u32	down;
};

/**
 * struct marking_probability - state; all 0 at first
 * @rise_at: no rise before this time, in ns
 * @fall_at: no fall before this time, in ns
 * @idle_since: time at which the link became idle, or p left 0, in ns
 * @p: Q0.32
 */
struct marking_probability {
	u64	rise_at;
	u64	fall_at;
	u64	idle_since;
	u32	p;
};

/* A packet was lost, or the queue is longer than L. Return: whether p rose. */
static inline bool marking_lost(const struct marking_law *law,
				struct marking_probability *v, u64 now)
{
	if (v->p == U32_MAX || now < v->rise_at)
		return false;
	/* Idle time with p = 0 does not count. */
	if (!v->p)
		v->idle_since = now;
	v->p += min_t(u32, law->up, U32_MAX - v->p);
	v->rise_at = now + law->freeze;
	return true;
}

/* The link becomes idle. Need not be called while p is 0. */
static inline void marking_idle(struct marking_probability *v, u64 now)
{
	v->idle_since = now;
}

/*
 * The link has been idle until @now: the falls that have come due, the first at
 * max(idle_since, fall_at), the others a freeze time apart. Return: how many.
 */
static inline u32 marking_idled(const struct marking_law *law,
				struct marking_probability *v, u64 now)
{
	u64 first = max(v->idle_since, v->fall_at);
	u32 to_zero, n = 1;

	if (!v->p || now < first)
		return 0;
	to_zero = (v->p - 1) / law->down + 1;
	if (now - first >= law->freeze)
		n = min_t(u64, 1 + div64_u64(now - first, law->freeze),
			  to_zero);
	v->p = n == to_zero ? 0 : v->p - n * law->down;
	v->fall_at = first + n * law->freeze;
	return n;
}

/* Whether chance decides: then marking_chosen() wants a random number. */
static inline bool marking_open(const struct marking_probability *v)
{
	return v->p && v->p != U32_MAX;
}

/* Whether an arrival is chosen, @random being uniform over 0 to 2^32 - 1. */
static inline bool marking_chosen(const struct marking_probability *v,
				  u32 random)
{
	return v->p == U32_MAX || random < v->p;
}

/* Another law: nothing is put off for longer than it allows. */
static inline void marking_change(const struct marking_law *law,
				  struct marking_probability *v, u64 now)
{
	v->rise_at = min(v->rise_at, now + law->freeze);
	v->fall_at = min(v->fall_at, now + law->freeze);
}

#endif /* _AQM_MARKING_PROBABILITY_H */
