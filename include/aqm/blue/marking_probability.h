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
 * struct marking_params - configuration
 * @freeze: minimum time between two rises, and between two falls, in ns; not 0
 * @up: d1, Q0.32; not 0
 * @down: d2, Q0.32; not 0
 */
struct marking_params {
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

/* A packet was lost, or the queue is longer than L: raise p. Return: whether p rose. */
static inline bool marking_lost(const struct marking_params *p,
				struct marking_probability *v, u64 now)
{
	if (v->p == U32_MAX || now < v->rise_at)
		return false;
	/* Idle time with p = 0 does not count. */
	if (!v->p)
		v->idle_since = now;
	v->p += min_t(u32, p->up, U32_MAX - v->p);
	v->rise_at = now + p->freeze;
	return true;
}

/* The link becomes idle. This call can be skipped while p is 0. */
static inline void marking_idle(struct marking_probability *v, u64 now)
{
	v->idle_since = now;
}

/*
 * The link was idle until @now: apply the falls that are due. The first is due at
 * max(idle_since, fall_at), the others a freeze time apart. Return: their number.
 */
static inline u32 marking_idled(const struct marking_params *p,
				struct marking_probability *v, u64 now)
{
	u64 first = max(v->idle_since, v->fall_at);
	u32 to_zero, n = 1;

	if (!v->p || now < first)
		return 0;
	to_zero = (v->p - 1) / p->down + 1;
	if (now - first >= p->freeze)
		n = min_t(u64, 1 + div64_u64(now - first, p->freeze),
			  to_zero);
	v->p = n == to_zero ? 0 : v->p - n * p->down;
	v->fall_at = first + n * p->freeze;
	return n;
}

/* Return whether marking_chosen() needs a random number: 0 < p < 1. */
static inline bool marking_open(const struct marking_probability *v)
{
	return v->p && v->p != U32_MAX;
}

/* Return whether an arrival is chosen. @random is uniform over 0 to 2^32 - 1. */
static inline bool marking_chosen(const struct marking_probability *v,
				  u32 random)
{
	return v->p == U32_MAX || random < v->p;
}

/* Switch to new parameters. No step is delayed longer than they allow. */
static inline void marking_change(const struct marking_params *p,
				  struct marking_probability *v, u64 now)
{
	v->rise_at = min(v->rise_at, now + p->freeze);
	v->fall_at = min(v->fall_at, now + p->freeze);
}

#endif /* _AQM_MARKING_PROBABILITY_H */
