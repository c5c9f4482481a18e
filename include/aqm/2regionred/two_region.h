/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of 2RegionRED: thresholds, phases, and the High-N controller.
 *
 * K. Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, December 2001, chapter 4. sch_2regionred.c has the
 * rule, and our decisions for points that the thesis leaves open.
 *
 * Numbers are Q32.32 in u64, except counts. Bounds:
 *	pipe (the thesis's DB)	10 to 2^23 packets
 *	queue, thresholds	below 2^24 packets
 *	PPD			10 to pipe
 *	W			sqrt(20/3) to sqrt(2/3 pipe)
 *	packets of an arrival	1 to 2^16: a GSO packet counts its segments
 * Relative errors: a quotient 2^-30 (plus 2^-32 absolute), a square root 2^-31.
 * The controller subtracts drop rates of up to (pipe + q) / 10 and uses the
 * difference only if it is at least 1. If PPD, PPDold and W are exact, the new PPD
 * has a relative error of at most (pipe + q) 2^-32 + 2^-30. That is 5e-4 for
 * 100 Gb/s, 100 ms, packets of 1500 bytes and a queue of 1.5 pipe.
 *
 * This header uses no sk_buff and no Qdisc. The caller provides the time.
 */
#ifndef _AQM_TWO_REGION_H
#define _AQM_TWO_REGION_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <aqm/seeded_random.h>

#define TWO_REGION_ONE		BIT_ULL(32)
#define TWO_REGION_SLACK	BIT_ULL(12)	/* more than 1.5 pipe is off by */
#define TWO_REGION_MIN_PIPE	10U		/* packets */
#define TWO_REGION_MAX_PIPE	BIT(23)	/* packets */
#define TWO_REGION_MAX_QUEUE	(BIT(24) - 1)	/* packets */
#define TWO_REGION_MIN_PPD	10U		/* "10 % or worst-case" */

#define TWO_REGION_DELAY	100000U	/* us: of a full queue, by default */
#define TWO_REGION_LEAST_LIMIT	8U	/* packets */
#define TWO_REGION_OVERHEAD	1024U	/* bytes of memory beside a packet's own */

/* W's average has forgotten two thirds of what it knew after this many RTTs. */
#define TWO_REGION_W_MEMORY	10

/* Figure 4-4. */
enum two_region_phase {
	TWO_REGION_QUIET,	/* I: below Bmin */
	TWO_REGION_LOW,		/* II: Bmin to Bflat, Low-N region */
	TWO_REGION_HIGH,	/* III: Bflat to Bmax, High-N region */
	TWO_REGION_MAX,		/* IV: Bmax and above */
	TWO_REGION_PHASES
};

/**
 * struct two_region_params - configuration
 * @pipe: DB, packets, Q32.32
 * @bmin: packets, at least 1
 * @bflat: packets, above @bmin
 * @target: packets, at least @bflat
 * @bmax: packets, above @target
 * @rtt: canonical round trip, us
 * @gentle: the drop rate rises from 0.1 to 1 between Bmax and 2 Bmax
 * @literal: use figure 4-7 as printed, with its negative drop rates
 */
struct two_region_params {
	u64	pipe;
	u32	bmin;
	u32	bflat;
	u32	target;
	u32	bmax;
	u32	rtt;
	bool	gentle;
	bool	literal;
};

/**
 * struct two_region_vars - state; each arrival reads the last members
 * @ppd: packets per drop, Q32.32
 * @ppd_old: @ppd of the interval before, Q32.32
 * @window: W, packets, Q32.32
 * @q_old: estimated queue when the controller last ran, packets, Q32.32
 * @update_at: next run of the controller, ns
 * @quiet_until: end of the Low-N hold-off, ns
 * @left_at: time of the last arrival before the queue fell below Bflat, ns
 * @random: random numbers for the hold-off, the jitter and the spacing
 * @draw: position of the spacing to the next signal in its range, Q0.32
 * @entered: whether High-N was ever entered
 * @q: estimated queue for which the following members are valid, packets, Q32.32
 * @check_at: end of their validity if the estimate stays, ns
 * @phase: phase at the last arrival
 * @last: time of the last arrival, ns
 * @count: packets since the last signal
 * @due: signal the arrival that reaches this count; U64_MAX: none
 */
struct two_region_vars {
	u64			ppd;
	u64			ppd_old;
	u64			window;
	u64			q_old;
	u64			update_at;
	u64			quiet_until;
	u64			left_at;
	struct seeded_random	random;
	u32			draw;
	bool			entered;
	u64			q;
	u64			check_at;
	enum two_region_phase	phase;
	u64			last;
	u64			count;
	u64			due;
};

/**
 * struct two_region_stats - counters
 * @entered: number of entries into each phase
 * @updates: number of runs of the controller
 * @negative: number of runs whose new drop rate was not positive
 */
struct two_region_stats {
	u64	entered[TWO_REGION_PHASES];
	u64	updates;
	u64	negative;
};

/* Return a / b in Q32.32. a and b have the same format; the quotient is below 2^31. */
static inline u64 two_region_ratio(u64 a, u64 b)
{
	int up = 64 - fls64(a);		/* normalise a to 64 bits, */
	int down = max(fls64(b) - 32, 0);	/* and b to at most 32 */
	int shift = up + down - 32;
	u64 q;

	if (!a)
		return 0;
	q = div64_u64(a << up, b >> down);
	return shift >= 0 ? q >> shift : q << -shift;
}

/* Return a * b in Q32.32, at most 2^30. */
static inline u64 two_region_mul(u64 a, u64 b)
{
	if (fls64(a) + fls64(b) > 94)
		return TWO_REGION_ONE << 30;
	return mul_u64_u64_shr(a, b, 32);
}

/* Return sqrt(x) in Q32.32 for x >= 1. */
static inline u64 two_region_sqrt(u64 x)
{
	int up = (64 - fls64(x)) & ~1;

	return (u64)int_sqrt64(x << up) << (16 - up / 2);
}

/* Equation 4.15: window for a drop rate. */
static inline u64 two_region_window_of(u64 ppd)
{
	return two_region_sqrt(div_u64(2 * ppd, 3));
}

/**
 * two_region_pipe() - DB
 * @bandwidth: bytes/s; at most 2^40
 * @rtt: us; at most 2^24
 * @avpkt: bytes, not 0; at most 2^16
 *
 * Return: packets, Q32.32, or U64_MAX for TWO_REGION_MAX_PIPE or more.
 */
static inline u64 two_region_pipe(u64 bandwidth, u32 rtt, u32 avpkt)
{
	u64 bytes = bandwidth * rtt;	/* millionths */
	u64 packet = mul_u32_u32(avpkt, 1000000);

	if (bytes >= packet * TWO_REGION_MAX_PIPE)
		return U64_MAX;
	return two_region_ratio(bytes, packet);
}

/* Equation 4.3: window after a drop, and the queue that it needs. */
static inline u64 two_region_window(u64 pipe, u32 flows)
{
	return div64_u64(2 * pipe, 3ULL * flows - 1);
}

/* Equation 4.9, RPD: round trips per drop for window W, Q32.32 */
static inline u64 two_region_rtts_per_drop(u64 pipe, u64 window)
{
	u64 rpd = two_region_mul(two_region_ratio(window, pipe + window / 2),
				 window + TWO_REGION_ONE);

	return rpd + rpd / 2;
}

/* Equation 4.10: flows that need one drop per round trip, Q32.32 */
static inline u64 two_region_n_1dpr(u64 pipe)
{
	return two_region_window_of(pipe);
}

/* Round to whole packets, correcting rounding errors just below a whole number. */
static inline u32 two_region_floor(u64 x)
{
	return (x + TWO_REGION_SLACK) >> 32;
}

static inline u32 two_region_ceil(u64 x)
{
	return (x + TWO_REGION_ONE - 1 - TWO_REGION_SLACK) >> 32;
}

/* Equation 4.12, to the nearest packet. */
static inline u32 two_region_bmin(u64 pipe, u32 flows)
{
	u64 w = two_region_window(pipe, flows);

	return max_t(u32, two_region_floor(w + TWO_REGION_ONE / 2), 1);
}

/* Equation 4.13, rounded up. Only this rounding gives table 6.1. */
static inline u32 two_region_bflat(u32 bmin, u64 n_1dpr)
{
	return bmin + two_region_ceil(n_1dpr + n_1dpr / 2);
}

/* N_Bmin: 10 as in the thesis, but at most the number of flows that need one drop
 * per round trip, which is the condition on Bmin in section 4.3.1.
 */
static inline u32 two_region_flows(u64 n_1dpr)
{
	return clamp(two_region_floor(n_1dpr), 1U, 10U);
}

/* Table 6.4 has Bflat + 100 for N_1DPR = 74.5. Other links get a proportional value. */
static inline u32 two_region_target(u32 bflat, u64 n_1dpr)
{
	return bflat + two_region_floor(n_1dpr + div_u64(7 * n_1dpr, 20));
}

/* DB as in table 6.4. On slow links phase III is as wide as the phases below. */
static inline u32 two_region_bmax(u64 pipe, u32 target)
{
	return max(two_region_floor(pipe), 2 * target);
}

/* 1.5 DB as in table 6.7, so at least half of phase IV's slope can be reached. */
static inline u32 two_region_limit(u64 pipe, u32 bmax)
{
	return min_t(u64, TWO_REGION_MAX_QUEUE,
		     max_t(u64, two_region_floor(pipe + pipe / 2),
			   (u64)bmax + bmax / 2));
}

/* Upper bound of the default limit: the packets of TWO_REGION_DELAY, and the packets
 * that fit into memory, but with room for four thresholds.
 */
static inline u32 two_region_most(u64 bandwidth, u32 avpkt, u32 memory)
{
	u64 pipe = two_region_pipe(bandwidth, TWO_REGION_DELAY, avpkt);
	u32 most = pipe == U64_MAX ? TWO_REGION_MAX_PIPE :
				     two_region_floor(pipe);

	most = min(most, memory / (avpkt + TWO_REGION_OVERHEAD));
	return max(most, TWO_REGION_LEAST_LIMIT);
}

/* Fit the thresholds into a buffer of @limit >= 8 that is too short for them. Each
 * phase keeps a part of it. Phase IV gets at most an eighth: table 6.4 has DB for
 * Bmax and for the limit, and with a lower Bmax the controller pushes so hard that
 * the queue oscillates.
 */
static inline void two_region_squeeze(struct two_region_params *p, u32 limit)
{
	p->bmin = min(p->bmin, limit / 4);
	p->bflat = min(p->bflat, 3 * limit / 8);
	p->target = min(p->target, limit / 2);
	p->bmax = min(p->bmax, 7 * limit / 8);
}

static inline void two_region_init(struct two_region_vars *v, u32 seed)
{
	*v = (struct two_region_vars) {};
	seeded_random_init(&v->random, seed);
}

/* Reset to an empty queue without a past. The random numbers continue. */
static inline void two_region_reset(struct two_region_vars *v)
{
	struct seeded_random random = v->random;

	*v = (struct two_region_vars) { .random = random };
}

/* Figure 4-7: run the controller once for the estimate @q, Q32.32. */
static inline void two_region_update(const struct two_region_params *p,
				     struct two_region_vars *v,
				     struct two_region_stats *st, u64 q)
{
	u64 effective = (v->ppd + v->ppd_old) / 2;
	u64 target = (u64)p->target << 32;
	u64 arriving = p->pipe + v->q_old;
	u64 distance = max(q, target) - target;
	u64 ppd;
	s64 dpr;

	st->updates++;
	v->window = div_u64(9 * v->window + two_region_window_of(effective) + 5,
			    10);

	dpr = two_region_ratio(arriving, effective);
	if (q >= v->q_old)
		dpr += two_region_ratio(q - v->q_old, v->window);
	else
		dpr -= two_region_ratio(v->q_old - q, v->window);
	dpr += two_region_mul(div_u64(distance, p->bmax - p->target),
			      two_region_ratio(distance, v->window));

	/* Below 1 the upper bound of PPD applies. A negative rate means no
	 * drops; as printed it leads to the lower bound.
	 */
	if (dpr <= 0)
		st->negative++;
	if (dpr < 0 && p->literal)
		ppd = 0;
	else if (dpr <= (s64)TWO_REGION_ONE)
		ppd = p->pipe;
	else
		ppd = min(two_region_ratio(arriving, dpr), p->pipe);

	v->q_old = q;
	v->ppd_old = v->ppd;
	v->ppd = max(ppd, (u64)TWO_REGION_MIN_PPD << 32);
}

/* 144 ms for a round trip of 100 ms; ns */
static inline u64
two_region_longest_interval(const struct two_region_params *p)
{
	return 1000ULL * (p->rtt + p->rtt / 25 * 11);
}

/* 96 to 144 ms for a round trip of 100 ms; ns */
static inline u64 two_region_interval(const struct two_region_params *p,
				      struct two_region_vars *v)
{
	return 1000ULL * (p->rtt - p->rtt / 25 +
			  seeded_random_below(&v->random, p->rtt / 25 * 12 + 1));
}

/* 1.5 to 2 round trips; ns */
static inline u64 two_region_hold_off(const struct two_region_params *p,
				      struct two_region_vars *v)
{
	return 1000ULL * (p->rtt + p->rtt / 2 +
			  seeded_random_below(&v->random, p->rtt / 2 + 1));
}

/* Section 4.3.2: the state when the queue first crosses Bflat. */
static inline void two_region_enter_high(const struct two_region_params *p,
					 struct two_region_vars *v, u64 q,
					 u64 now)
{
	u64 memory = 1000ULL * TWO_REGION_W_MEMORY * p->rtt;

	if (!v->entered || now - v->left_at >= memory)
		v->window = two_region_window_of(p->pipe);
	v->entered = true;
	v->ppd = p->pipe;
	v->ppd_old = p->pipe;
	v->q_old = q;
	v->update_at = now + two_region_interval(p, v);
	v->count = 0;
	v->draw = seeded_random_u32(&v->random);
}

static inline enum two_region_phase
two_region_phase(const struct two_region_params *p, u64 q)
{
	if (q < (u64)p->bmin << 32)
		return TWO_REGION_QUIET;
	if (q < (u64)p->bflat << 32)
		return TWO_REGION_LOW;
	if (q < (u64)p->bmax << 32)
		return TWO_REGION_HIGH;
	return TWO_REGION_MAX;
}

/* Phase IV: one drop in 10, or from 0.1 at Bmax to 1 at 2 Bmax. */
static inline u64 two_region_max_ppd(const struct two_region_params *p, u64 q)
{
	u64 bmax = (u64)p->bmax << 32;

	if (!p->gentle)
		return (u64)TWO_REGION_MIN_PPD << 32;
	return max(two_region_ratio(10 * bmax, bmax + 9 * (q - bmax)),
		   TWO_REGION_ONE);
}

/* Packets from one signal to the next: between 2/3 and 4/3 PPD by @draw, rounded to
 * the nearest whole number. If @draw is uniform, the mean is PPD.
 */
static inline u32 two_region_spacing(u64 ppd, u32 draw)
{
	u64 x = div_u64(2 * (ppd + mul_u64_u32_shr(ppd, draw, 32)), 3);

	return (x + TWO_REGION_ONE / 2) >> 32;
}

/* Compute the spacing for later arrivals, valid until something changes. */
static inline void two_region_plan(const struct two_region_params *p,
				   struct two_region_vars *v, u64 now)
{
	u64 ppd = v->ppd;

	v->due = U64_MAX;
	v->check_at = U64_MAX;
	switch (v->phase) {
	case TWO_REGION_LOW:
		if (now < v->quiet_until)
			v->check_at = v->quiet_until;
		else
			v->due = 0;
		return;
	case TWO_REGION_MAX:
		ppd = two_region_max_ppd(p, v->q);
		fallthrough;
	case TWO_REGION_HIGH:
		v->check_at = v->update_at;
		v->due = two_region_spacing(ppd, v->draw);
		return;
	default:
		return;
	}
}

/* Update after the estimate changed to @q, or when a time has come. */
static inline void two_region_refresh(const struct two_region_params *p,
				      struct two_region_vars *v,
				      struct two_region_stats *st, u64 q,
				      u64 now)
{
	enum two_region_phase was = v->phase, phase = two_region_phase(p, q);

	v->q = q;
	if (phase != was) {
		v->phase = phase;
		st->entered[phase]++;
	}
	if (phase >= TWO_REGION_HIGH) {
		if (was < TWO_REGION_HIGH) {
			two_region_enter_high(p, v, q, now);
		} else if (now >= v->update_at) {
			two_region_update(p, v, st, q);
			v->update_at = now + two_region_interval(p, v);
		}
	} else if (was >= TWO_REGION_HIGH) {
		/* The last drops of High-N have not had an effect yet. */
		v->left_at = v->last;
		v->quiet_until = v->last + two_region_hold_off(p, v);
	}
	two_region_plan(p, v, now);
}

/* An arrival of @packets is signalled. Choose the next one. */
static noinline void two_region_signalled(const struct two_region_params *p,
					  struct two_region_vars *v,
					  u32 packets, u64 now)
{
	if (v->phase == TWO_REGION_LOW) {
		v->quiet_until = now + two_region_hold_off(p, v);
	} else {
		/* Later segments of a GSO packet count for the next spacing. */
		v->count = min(v->count - v->due, (u64)packets - 1);
		v->draw = seeded_random_u32(&v->random);
	}
	two_region_plan(p, v, now);
}

/* Call before an arrival is counted, with the estimate @q at @now. */
static inline void two_region_estimated(const struct two_region_params *p,
					struct two_region_vars *v,
					struct two_region_stats *st, u64 q,
					u64 now)
{
	if (unlikely(q != v->q || now >= v->check_at))
		two_region_refresh(p, v, st, q, now);
}

/* Count an arrival. Return value as for two_region_arrival(). */
static inline enum two_region_phase
two_region_count(const struct two_region_params *p, struct two_region_vars *v,
		 u32 packets, u64 now)
{
	v->last = now;
	v->count += packets;
	if (likely(v->count < v->due))
		return TWO_REGION_QUIET;
	two_region_signalled(p, v, packets, now);
	return v->phase;
}

/**
 * two_region_arrival() - decide whether to signal congestion for an arrival
 * @p: configuration
 * @v: state
 * @st: counters
 * @q: estimated queue, packets, Q32.32
 * @packets: number of packets that the arrival counts as, above 0
 * @now: ns
 *
 * Before check_at, the first of the two steps can be skipped if @q is unchanged and
 * nothing is signalled.
 *
 * Return: the phase that signals, or TWO_REGION_QUIET if none does.
 */
static inline enum two_region_phase
two_region_arrival(const struct two_region_params *p, struct two_region_vars *v,
		   struct two_region_stats *st, u64 q, u32 packets, u64 now)
{
	two_region_estimated(p, v, st, q, now);
	return two_region_count(p, v, packets, now);
}

/*
 * Adapt the state to a new configuration. Values stay, within their bounds. Planned
 * times become no later than a new decision would set them.
 */
static inline void two_region_change(const struct two_region_params *new,
				     struct two_region_vars *v, u64 now)
{
	v->ppd = min(v->ppd, new->pipe);
	v->ppd_old = min(v->ppd_old, new->pipe);
	v->update_at = min(v->update_at, now + two_region_longest_interval(new));
	v->quiet_until = min(v->quiet_until, now + 2000ULL * new->rtt);
	v->check_at = 0;
}

#endif /* _AQM_TWO_REGION_H */
