/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED with a gentle slope, two ways to space the drops, and Adaptive RED.
 *
 * S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion
 * Avoidance", 1993; S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An
 * Algorithm for Increasing the Robustness of RED's Active Queue Management",
 * August 2001. The caller chooses the unit of queue lengths and thresholds,
 * bytes or packets.
 *
 * At each arrival, where q is the queue's length before it:
 *
 *	avg = avg + w (q - avg)			while the queue is not empty
 *	avg = avg (1 - w)^m			after it was empty for m ptime
 *
 *	avg < min		p_b = 0
 *	min <= avg < max	p_b = max_p (avg - min) / (max - min)
 *	max <= avg < 2 max	p_b = max_p + (1 - max_p) (avg - max) / max
 *				(gentle; else p_b = 1)
 *	2 max <= avg		p_b = 1
 *
 * The n-th arrival since the last drop (or since avg reached min) is dropped if
 *
 *	n p_b > R		R uniform over 0 to 1, drawn anew for n = 1
 *
 * This spaces drops uniformly over 1 to 1/p_b arrivals (1993, section 7). With
 * "wait", the condition is
 *
 *	n p_b > 1 + R
 *
 * and the spacing is uniform over 1/p_b + 1 to 2/p_b.
 *
 * The 1993 paper computes it in this way (figure 17), and so does mainline:
 * with one random number per drop. There is one difference. When avg enters the
 * range, from below or from above, their first arrival passes and is not
 * counted. Here it is n = 1, as in section 7.
 *
 * At a constant p_b, if the n-th arrival is reached, it is dropped with
 * probability p_b / (1 - (n - 1) p_b), or with "wait" p_b / (2 - (n - 1) p_b)
 * for n > 1/p_b. If some arrivals pass without a random decision, p_b is not
 * constant. Then each of the other arrivals needs a new random number: see
 * gentle_red_chance().
 *
 * Adaptive RED, each 0.5 s, with d = max - min:
 *
 *	avg > min + 0.6 d, max_p < top:		max_p += min(0.01, max_p / 4)
 *	avg < min + 0.4 d, max_p > bottom:	max_p *= 0.9
 *
 * There is no timer. An arrival makes all the steps that have come due since
 * the last arrival, each with the current average.
 *
 * Why not <net/red.h>? It has no gentle slope and no "wait". Its weight is a
 * power of two. Its idle decay is a table of 256 shifts that user space must
 * compute. It draws its own random numbers, so runs cannot be repeated. Its
 * max_p needs a timer. We could use nothing of it.
 *
 * Fixed point and its errors:
 *	avg	Q32.32, u64. A sample rounds towards 0 by less than 2^-32: avg is
 *		within 2^-32 / w units of the exact recursion. The decay factor
 *		is Q0.64, by repeated squaring: within m 2^-63, m < 2^32.
 *	w	Q0.32
 *	p	Q0.32 in u64, because 1 is a possible value. p_b is within 2^-31
 *		of exact. Up to max it is not a division, but a product with
 *		max_p / (max - min), Q0.64. The comparison with the random number
 *		has no rounding.
 * No product exceeds 64 bits for lengths below 2^32 and max below 2^31.
 *
 * The arithmetic uses no sk_buff and no Qdisc. The caller provides the time,
 * the queue's length and the random numbers.
 */
#ifndef _AQM_GENTLE_RED_H
#define _AQM_GENTLE_RED_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <aqm/seeded_random.h>

#define GENTLE_RED_ONE		0x100000000ULL	/* 1 in Q0.32 */
#define GENTLE_RED_PERCENT	42949673U	/* 0.01 in Q0.32, rounded */

#define GENTLE_RED_INTERVAL	500000000ULL	/* ns between adaptations */
#define GENTLE_RED_ALPHA	GENTLE_RED_PERCENT	/* largest step up */
#define GENTLE_RED_BOTTOM	GENTLE_RED_PERCENT	/* usual lower bound of max_p */
#define GENTLE_RED_TOP		(50 * GENTLE_RED_PERCENT)
#define GENTLE_RED_MIN_BOTTOM	4096U	/* below, rounding would stop max_p / 4 */
#define GENTLE_RED_MAX_TH	0x7fffffffU

/**
 * struct gentle_red_params - configuration
 * @min_th: lower threshold, units
 * @max_th: upper threshold, units; above @min_th, at most GENTLE_RED_MAX_TH
 * @max_p: drop probability at @max_th, Q0.32; with @adaptive where it starts
 * @bottom: lower bound of max_p, Q0.32, at least GENTLE_RED_MIN_BOTTOM; @adaptive
 *	only
 * @top: upper bound of max_p, Q0.32; @adaptive only
 * @weight: w of the average, Q0.32, not 0
 * @ptime: time in which an empty queue counts as one sample, ns, not 0: the
 *	transmission time of an average packet
 * @gentle: p_b rises to 1 between @max_th and 2 @max_th
 * @wait: no drop until 1/p_b arrivals have passed since the last drop
 * @adaptive: max_p follows the average
 */
struct gentle_red_params {
	u32	min_th;
	u32	max_th;
	u32	max_p;
	u32	bottom;
	u32	top;
	u32	weight;
	u32	ptime;
	bool	gentle;
	bool	wait;
	bool	adaptive;
};

/**
 * struct gentle_red_vars - state
 * @avg: average queue length, units, Q32.32
 * @slope: slope of p_b between min and max, per unit, Q0.64
 * @idle_since: time at which the queue became empty, or of the last arrival that
 *	was not queued, ns; valid while the queue is empty and @avg is not 0
 * @count: arrivals that passed since the last drop, while avg >= min
 * @random: R, Q0.32; valid while @count is not 0
 * @rest: idle time before @idle_since that has not reduced @avg yet, below ptime
 * @max_p: max_p in force, Q0.32
 * @adapt_at: time of the next adaptation, ns
 */
struct gentle_red_vars {
	u64	avg;
	u64	slope;
	u64	idle_since;
	u32	count;
	u32	random;
	u32	rest;
	u32	max_p;
	u64	adapt_at;
};

/**
 * struct gentle_red_stats - counters of Adaptive RED
 * @raised: steps of max_p up
 * @lowered: steps of max_p down
 */
struct gentle_red_stats {
	u64	raised;
	u64	lowered;
};

enum gentle_red_verdict {
	GENTLE_RED_PASS,
	GENTLE_RED_EARLY,	/* drop by chance, min <= avg < max */
	GENTLE_RED_GENTLE,	/* drop by chance, max <= avg < 2 max */
	GENTLE_RED_FORCED,	/* drop without chance, p_b = 1 */
};

/**
 * gentle_red_check() - check a configuration
 * @p: the configuration
 *
 * Return: NULL if it is valid, otherwise an error message.
 */
static inline const char *gentle_red_check(const struct gentle_red_params *p)
{
	if (p->max_th > GENTLE_RED_MAX_TH)
		return "max must be below 2^31";
	if (p->min_th >= p->max_th)
		return "min must be below max";
	if (!p->weight)
		return "the weight of the average must not be 0";
	if (!p->ptime)
		return "the time per packet must not be 0";
	if (p->adaptive && p->bottom < GENTLE_RED_MIN_BOTTOM)
		return "the lower bound of max_p is too small";
	if (p->adaptive && p->bottom > p->top)
		return "the bounds of max_p are the wrong way round";
	return NULL;
}

/* Set max_p and the slope. The slope is 0 if max is not above min. */
static inline void gentle_red_set(const struct gentle_red_params *p,
				  struct gentle_red_vars *v, u32 max_p)
{
	v->max_p = max_p;
	v->slope = p->max_th > p->min_th ?
		   div_u64((u64)max_p << 32, p->max_th - p->min_th) : 0;
}

/* Initialize for an empty queue at time @now, ns. */
static inline void gentle_red_init(struct gentle_red_vars *v,
				   const struct gentle_red_params *p, u64 now)
{
	*v = (struct gentle_red_vars) {
		.idle_since	= now,
		.adapt_at	= now + GENTLE_RED_INTERVAL,
	};
	gentle_red_set(p, v, p->adaptive ? clamp(p->max_p, p->bottom, p->top) :
					   p->max_p);
}

/**
 * gentle_red_change() - switch to a new configuration
 * @v: state
 * @old: old configuration
 * @new: new configuration
 *
 * The average stays. An adapted max_p stays unless the option max_p changes.
 */
static inline void gentle_red_change(struct gentle_red_vars *v,
				     const struct gentle_red_params *old,
				     const struct gentle_red_params *new)
{
	u32 max_p = v->max_p;

	if (new->max_p != old->max_p || !new->adaptive)
		max_p = new->max_p;
	if (new->adaptive)
		max_p = clamp(max_p, new->bottom, new->top);
	gentle_red_set(new, v, max_p);
}

/* Return x 2^-32 factor, rounded down. */
static inline u64 gentle_red_scale(u64 x, u32 factor)
{
	return mul_u64_u32_shr(x, factor, 32);
}

/* Return avg + w (length - avg), rounded towards 0; w > 0. */
static inline u64 gentle_red_fold(u64 avg, u32 weight, u32 length)
{
	u64 q = (u64)length << 32;

	if (q >= avg)
		return avg + gentle_red_scale(q - avg, weight);
	return q + gentle_red_scale(avg - q, -weight);
}

/* Return avg (1 - w)^m. */
static inline u64 gentle_red_decay(u64 avg, u32 weight, u32 m)
{
	u64 power = -((u64)weight << 32);	/* 1 - w, Q0.64 */

	for (; m && avg; m >>= 1) {
		if (m & 1)
			avg = mul_u64_u64_shr(avg, power, 64);
		power = mul_u64_u64_shr(power, power, 64);
	}
	return avg;
}

/* Return w = 1 - exp(-1/rate) for @rate packets a second, at least 2 (2001), Q0.32. */
static inline u32 gentle_red_auto_weight(u32 rate)
{
	u64 x = div_u64(GENTLE_RED_ONE, max(rate, 2U));
	u64 x2 = (x * x) >> 32;
	u64 x3 = (x2 * x) >> 32;
	u64 x4 = (x3 * x) >> 32;

	/* Error: at most x^5 / 120, below 3e-4, and rounding, 5 2^-32. */
	return x - x2 / 2 + div_u64(x3, 6) - div_u64(x4, 24);
}

static inline void gentle_red_adapt(const struct gentle_red_params *p,
				    struct gentle_red_vars *v,
				    struct gentle_red_stats *st, u64 now)
{
	u64 ticks, d = p->max_th - p->min_th;
	u64 above = v->avg - min(v->avg, (u64)p->min_th << 32);
	u32 max_p = v->max_p;

	if (likely(now < v->adapt_at))
		return;
	ticks = div64_u64(now - v->adapt_at, GENTLE_RED_INTERVAL) + 1;
	v->adapt_at += ticks * GENTLE_RED_INTERVAL;
	if (!p->adaptive)
		return;

	/* At most about 250 iterations, from one bound to the other. */
	if (5 * (above >> 3) > 3 * (d << 29)) {
		for (; ticks && max_p < p->top; ticks--, st->raised++)
			max_p += min3(GENTLE_RED_ALPHA, max_p / 4,
				      p->top - max_p);
	} else if (5 * (above >> 3) < 2 * (d << 29)) {
		for (; ticks && max_p > p->bottom; ticks--, st->lowered++)
			max_p = max_t(u32, p->bottom,
				      div_u64(9ULL * max_p, 10));
	}
	gentle_red_set(p, v, max_p);
}

/*
 * The queue has become empty. If the average is 0, it cannot decay, and @now is
 * ignored here and at the next arrival.
 */
static inline void gentle_red_idle(struct gentle_red_vars *v, u64 now)
{
	v->idle_since = now;
}

/**
 * gentle_red_average() - update the average at an arrival
 * @p: configuration
 * @v: state
 * @length: length of the queue before the arrival, units
 * @now: ns; used only if the queue is empty
 *
 * A remainder of the idle time below one ptime is kept for the next idle time.
 * Otherwise the average would never decay if the queue is empty for less than one
 * ptime at a time.
 */
static inline void gentle_red_average(const struct gentle_red_params *p,
				      struct gentle_red_vars *v, u32 length,
				      u64 now)
{
	u64 m;

	if (likely(length)) {
		v->avg = gentle_red_fold(v->avg, p->weight, length);
		return;
	}
	if (!v->avg)
		return;
	m = div_u64_rem(v->rest + now - v->idle_since, p->ptime, &v->rest);
	v->avg = gentle_red_decay(v->avg, p->weight, min_t(u64, m, U32_MAX));
	v->idle_since = now;
	if (!v->avg)
		v->rest = 0;
}

/*
 * Call before the configuration changes, with the present @length of the queue. The
 * idle time so far counts with the old ptime. If ptime changes we discard the
 * remainder, because it could be many ptimes of a faster link.
 */
static inline void gentle_red_settle(struct gentle_red_vars *v,
				     const struct gentle_red_params *old,
				     const struct gentle_red_params *new,
				     u32 length, u64 now)
{
	if (!length)
		gentle_red_average(old, v, 0, now);
	if (new->ptime != old->ptime)
		v->rest = 0;
}

/* Return @x @to / @from, which must be below 2^64. Error: 1 + @x 2^-24. @from, @to: 1 to 2^40 */
static inline u64 gentle_red_ratio(u64 x, u64 to, u64 from)
{
	return mul_u64_u64_shr(x, div64_u64(to << 24, from), 24);
}

/**
 * gentle_red_follow() - let the average follow a new rate of the link
 * @v: state
 * @old: a threshold for the old rate, at most 2^40; 0: unknown
 * @new: the same for the new rate
 * @length: length of the queue, units
 *
 * Thresholds that are derived from the rate stay the same as delays, and so does the
 * average. Otherwise, on a link that became slower, it would be far above the new
 * thresholds for a time constant, and every arrival would be dropped. On a faster link it
 * rises to the present length at most, because a queue becomes short there. If the
 * thresholds were given in packets, they do not change, and the average stays.
 */
static inline void gentle_red_follow(struct gentle_red_vars *v, u64 old, u64 new,
				     u32 length)
{
	u64 most = (u64)length << 32;

	if (!old || !new)
		return;
	if (new <= old)
		v->avg = gentle_red_ratio(v->avg, new, old);
	else if (v->avg < gentle_red_ratio(most, old, new))
		v->avg = gentle_red_ratio(v->avg, new, old);
	else
		v->avg = max(v->avg, most);
}

/*
 * Return the state for a dump: as an arrival at @now finds it with a queue of
 * @length, without the sample of the arrival.
 */
static inline struct gentle_red_vars
gentle_red_snapshot(const struct gentle_red_params *p,
		    const struct gentle_red_vars *v, u32 length, u64 now)
{
	struct gentle_red_vars seen = *v;

	if (!length)
		gentle_red_average(p, &seen, 0, now);
	return seen;
}

/* Return p_b for the present average, Q0.32, at most GENTLE_RED_ONE. */
static inline u64 gentle_red_probability(const struct gentle_red_params *p,
					 const struct gentle_red_vars *v)
{
	u64 min_th = (u64)p->min_th << 32;
	u64 max_th = (u64)p->max_th << 32;

	if (v->avg < min_th)
		return 0;
	if (v->avg < max_th)
		return mul_u64_u64_shr(v->avg - min_th, v->slope, 64);
	if (!p->gentle || v->avg >= 2 * max_th)
		return GENTLE_RED_ONE;
	return v->max_p + (((GENTLE_RED_ONE - v->max_p) *
			    div_u64(v->avg - max_th, p->max_th)) >> 32);
}

/* Return whether chance drops an arrival after @count passed since the last drop. */
static inline bool gentle_red_chance(u64 p_b, u32 count, u32 random)
{
	u64 spent = p_b * count;	/* c p_b, Q32.32 */

	return spent >= GENTLE_RED_ONE ||
	       random * (GENTLE_RED_ONE - spent) < p_b << 32;
}

/* Record the random decision about an arrival. Return: the verdict. */
static inline enum gentle_red_verdict
gentle_red_decided(const struct gentle_red_params *p, struct gentle_red_vars *v,
		   bool drop)
{
	if (likely(!drop)) {
		v->count += v->count < U32_MAX;
		return GENTLE_RED_PASS;
	}
	v->count = 0;
	return v->avg < (u64)p->max_th << 32 ? GENTLE_RED_EARLY :
					       GENTLE_RED_GENTLE;
}

/**
 * gentle_red_verdict() - decide whether to drop (or mark) an arrival
 * @p: configuration
 * @v: state, after gentle_red_average()
 * @random: generator; used once per drop
 *
 * Return: the verdict.
 */
static inline enum gentle_red_verdict
gentle_red_verdict(const struct gentle_red_params *p, struct gentle_red_vars *v,
		   struct seeded_random *random)
{
	u64 one = p->wait ? GENTLE_RED_ONE : 0;
	u64 p_b;

	if (v->avg < (u64)p->min_th << 32) {
		v->count = 0;
		return GENTLE_RED_PASS;
	}
	p_b = gentle_red_probability(p, v);
	if (unlikely(p_b >= GENTLE_RED_ONE)) {
		v->count = 0;
		return GENTLE_RED_FORCED;
	}
	if (unlikely(!v->count))
		v->random = seeded_random_u32(random);
	return gentle_red_decided(p, v, p_b * (v->count + 1ULL) > one + v->random);
}

#endif /* _AQM_GENTLE_RED_H */
