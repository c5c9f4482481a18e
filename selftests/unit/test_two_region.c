// SPDX-License-Identifier: GPL-2.0
/*
 * two_region: the controller against figure 4-7 in floating point, and thresholds on
 * all links. tests/oracle/tworegionred compares every decision in the four phases.
 */
#include <math.h>

#include <linux/kernel.h>
#include <aqm/2regionred/two_region.h>

#include "unit.h"

#define GBIT	125000000ULL	/* bytes/s */

static double real(u64 x)
{
	return x / 4294967296.;
}

/* Any magnitude up to 2^@bits. */
static u64 any(u32 bits)
{
	return unit_random() >> (64 - bits) >> unit_below(bits - 1) | 1;
}

/* Figure 4-7 in floating point, with its sign corrected or not. */
struct model {
	double pipe, target, bmax, ppd, ppd_old, w, q_old;
	double dpr;
	bool literal;
};

static void model_update(struct model *m, double q)
{
	double distance = q - m->target, extra = 0, effective, ppd;

	effective = 0.5 * m->ppd + 0.5 * m->ppd_old;
	m->w = 0.9 * m->w + 0.1 * sqrt(2. / 3 * effective);
	if (distance > 0)
		extra = distance / (m->bmax - m->target) * (distance / m->w);
	m->dpr = (m->pipe + m->q_old) / effective + (q - m->q_old) / m->w + extra;
	ppd = (m->pipe + m->q_old) / m->dpr;
	if (!m->literal && m->dpr <= 0)
		ppd = m->pipe;
	if (ppd > m->pipe)
		ppd = m->pipe;
	if (ppd < 10)
		ppd = 10;
	m->q_old = q;
	m->ppd_old = m->ppd;
	m->ppd = ppd;
}

static void setup(struct two_region_params *p, struct two_region_vars *v,
		  struct model *m, u64 bandwidth, bool literal)
{
	*p = (struct two_region_params) {
		.pipe = two_region_pipe(bandwidth, 100000, 1500),
		.rtt = 100000,
		.gentle = true,
		.literal = literal,
	};
	p->bmin = two_region_bmin(p->pipe, 10);
	p->bflat = two_region_bflat(p->bmin, two_region_n_1dpr(p->pipe));
	p->target = p->bflat;
	p->bmax = max_t(u32, p->pipe >> 33, 2 * p->target);
	two_region_init(v, 1);
	two_region_enter_high(p, v, (u64)p->bflat << 32, 0);
	*m = (struct model) {
		.pipe = bandwidth * 0.1 / 1500, .target = p->target,
		.bmax = p->bmax, .literal = literal, .q_old = p->bflat,
	};
	m->ppd = m->pipe;
	m->ppd_old = m->pipe;
	m->w = sqrt(2. / 3 * m->pipe);
}

/*
 * The queue that N flows make of a drop rate: each adds a packet per round trip,
 * each drop takes W, an interval later (section 4.3.2). With it the rate hunts
 * around what N needs, as in the thesis. Disturbed by up to @noise of the pipe.
 */
static double next_queue(const struct model *m, u32 n, double noise)
{
	double w = 2 * m->pipe / (3. * n - 1);
	double drops = (m->pipe + m->q_old) / m->ppd_old;
	double q = m->q_old + 1.2 * (n - drops * fmax(w, 1)) +
		   noise * m->pipe * (unit_below(2001) / 1000. - 1);

	return fmin(fmax(q, 0), 2 * m->pipe);
}

/*
 * Whole runs are 150 intervals, 18 s above Bflat without touching it: after that
 * a few of the thousands of runs hunt in a way in which the formulas themselves
 * let any difference grow, by some 10 % a step; two runs in floating point that
 * begin 1e-9 apart then end as far from each other. "nudged" is such a run.
 */
#define RUN	150

static void packets_per_drop_within_1_percent(bool literal)
{
	static const u32 mbits[] = { 10, 34, 155, 622, 1000, 10000, 40000, 100000 };
	static const double noises[] = { 0, 0.001, 0.01, 0.1 };
	double worst = 0, worst_step = 0, worst_nudged = 0, lowest = 1e9, highest = 0, hunted = 0;
	struct two_region_stats st = {};
	u64 steps = 0, inside = 0;
	u32 i, n, k;

	for (i = 0; i < ARRAY_SIZE(mbits); i++) {
		for (n = 1; n <= 2000; n += n < 50 ? 1 : 13) {
			double noise = noises[unit_below(4)];
			struct two_region_params p;
			struct two_region_vars v;
			struct model m, nudged;

			setup(&p, &v, &m, mbits[i] * GBIT / 1000, literal);
			nudged = m;
			nudged.w *= 1 + 1 / 1000000000.;
			for (k = 0; k < RUN; k++) {
				double q = next_queue(&m, n, noise), was = m.ppd;
				u64 in = q * 4294967296.;
				struct two_region_vars once = v;
				struct model same = m;

				/* One step from equal states, */
				once.ppd = m.ppd * 4294967296.;
				once.ppd_old = m.ppd_old * 4294967296.;
				once.window = m.w * 4294967296.;
				once.q_old = m.q_old * 4294967296.;
				two_region_update(&p, &once, &st, in);
				model_update(&same, real(in));
				worst_step = fmax(worst_step,
						  fabs(real(once.ppd) / same.ppd - 1));
				/* and both left to themselves. */
				two_region_update(&p, &v, &st, in);
				model_update(&m, real(in));
				worst = fmax(worst, fabs(real(v.ppd) / m.ppd - 1));
				model_update(&nudged, real(in));
				worst_nudged = fmax(worst_nudged,
						    fabs(nudged.ppd / m.ppd - 1));
				lowest = fmin(lowest, m.ppd);
				highest = fmax(highest, m.ppd);
				hunted = fmax(hunted, fabs(log(m.ppd / was)));
				inside += m.ppd > 10 && m.ppd < m.pipe;
				steps++;
			}
		}
	}
	printf("# PPD %.6g to %.6g, %.0f %% of steps between the bounds, up to %.3g-fold in one\n",
	       lowest, highest, 100. * inside / steps, exp(hunted));
	unit_ok(lowest == 10 && highest > 800000 && inside > steps / 4,
		"the runs go from bound to bound and stay between them for a while");
	printf("# floating point beginning 1e-9 apart ends up to %.2g apart\n", worst_nudged);
	unit_ok(worst_step < 0.0005,
		"%s: one step gives PPD within 5e-4 (worst %.2g)",
		literal ? "as printed" : "corrected", worst_step);
	unit_ok(worst < 0.01, "%s: whole runs stay within 1 %% (worst %.2g)",
		literal ? "as printed" : "corrected", worst);
}

/* Queues that no TCP would make: any length after any other. */
static void packets_per_drop_on_arbitrary_queues(void)
{
	struct two_region_stats st = {};
	double worst = 0;
	int run, k;

	for (run = 0; run < 3000; run++) {
		struct two_region_params p;
		struct two_region_vars v;
		struct model m;

		setup(&p, &v, &m, GBIT / 100 * (1 + any(13) % 10000), false);
		for (k = 0; k < 100; k++) {
			u64 in = any(24) % (2 * p.bmax) << 32 | (u32)unit_random();

			two_region_update(&p, &v, &st, in);
			model_update(&m, real(in));
			worst = fmax(worst, fabs(real(v.ppd) / m.ppd - 1));
		}
	}
	unit_ok(worst < 0.01, "arbitrary queues: within 1 %% (worst %.2g)", worst);
}

/* research example: 1 Gb/s, PPD = DB, q_old 900. */
static void a_draining_queue_is_not_punished(void)
{
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;
	int literal;

	for (literal = 0; literal < 2; literal++) {
		setup(&p, &v, &m, GBIT, literal);
		v.q_old = 900ULL << 32;
		two_region_update(&p, &v, &st, 820ULL << 32);
		unit_ok(v.ppd == p.pipe, "dQ -80: PPD is DB, %s",
			literal ? "as printed" : "corrected");
		setup(&p, &v, &m, GBIT, literal);
		v.q_old = 900ULL << 32;
		two_region_update(&p, &v, &st, 800ULL << 32);
		unit_ok(v.ppd == (literal ? 10ULL << 32 : p.pipe), "dQ -100: PPD is %s",
			literal ? "10, as printed" : "DB, corrected");
	}
	unit_ok(st.negative == 2 && st.updates == 4, "both negative rates are counted");
}

/* 0.9 W + 0.1 W(PPD), rounded to the nearest 2^-32. */
static void w_is_rounded_to_the_nearest(void)
{
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	bool nearest = true;
	struct model m;
	int i;

	setup(&p, &v, &m, GBIT, false);
	for (i = 0; i < 10000; i++) {
		u64 was = v.window, of = two_region_window_of((v.ppd + v.ppd_old) / 2);

		two_region_update(&p, &v, &st, (u64)unit_below(2 * p.bmax) << 32);
		nearest &= llabs((long long)(10 * v.window - 9 * was - of)) <= 5;
	}
	unit_ok(nearest, "W is rounded to the nearest, so it does not drift");
}

/* Rates of -2^-32, 0 and 2^-32 drops per round trip. */
static void only_rates_that_are_not_positive_are_counted(void)
{
	struct two_region_params p;
	struct two_region_vars v;
	bool counted = true;
	struct model m;
	int least;

	for (least = -1; least <= 1; least++) {
		struct two_region_stats st = {};
		struct two_region_vars once;
		u64 drops, less;

		setup(&p, &v, &m, GBIT, false);
		v.q_old = (u64)p.target << 32;
		once = v;
		two_region_update(&p, &once, &st, v.q_old);
		/* The queue that shrinks by dQ = W drops cancels the drop rate. */
		drops = two_region_ratio(p.pipe + v.q_old, p.pipe) - least;
		less = mul_u64_u64_shr(drops, once.window, 32);
		while (two_region_ratio(less, once.window) < drops)
			less++;
		st = (struct two_region_stats) {};
		two_region_update(&p, &v, &st, v.q_old - less);
		counted &= st.negative == (least <= 0);
	}
	unit_ok(counted, "a rate of 0 counts as not positive, and the least one above does not");
}

static void beyond_bmax_the_rate_rises_to_1(void)
{
	struct two_region_params p;
	struct two_region_vars v;
	bool line = true;
	struct model m;
	double q;

	setup(&p, &v, &m, GBIT, false);
	for (q = 0; q < 3.5 * p.bmax; q += 1.25) {
		double rate = fmin(0.1 + 0.9 * (q - p.bmax) / p.bmax, 1);
		u64 in = q * 4294967296.;

		if (q < p.bmax)
			continue;
		line &= fabs(1 / real(two_region_max_ppd(&p, in)) / rate - 1) < 0.00000001;
	}
	unit_ok(line, "gentle: 0.1 at Bmax, 1 at 2 Bmax, a line between");
	p.gentle = false;
	unit_ok(two_region_max_ppd(&p, 3ULL * p.bmax << 32) == 10ULL << 32,
		"not gentle: one in ten throughout");
}

/* No trace of the oracle has an arrival at the very end of a hold-off or an interval. */
static void times_end_at_their_ends(void)
{
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;
	u64 end;

	setup(&p, &v, &m, GBIT, false);
	two_region_init(&v, 3);
	two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, 5);
	end = v.quiet_until;
	unit_ok(two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, end - 1) ==
		TWO_REGION_QUIET &&
		two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, end) == TWO_REGION_LOW,
		"phase II is quiet until the end of its hold-off");

	two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, end + 1);
	end = v.update_at;
	two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, end - 1);
	unit_ok(!st.updates, "the controller waits for the end of its interval");
	two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, end);
	unit_ok(st.updates == 1, "and runs at this time");

	end = 1000ULL * TWO_REGION_W_MEMORY * p.rtt;
	v.left_at = 0;
	v.window = 1;
	two_region_enter_high(&p, &v, (u64)p.bflat << 32, end - 1);
	unit_ok(v.window == 1, "W is remembered for 10 round trips");
	two_region_enter_high(&p, &v, (u64)p.bflat << 32, end);
	unit_ok(v.window == two_region_window_of(p.pipe), "and not longer");
}

/* The pair of table 6.4, and what slow links make of it. */
static void the_defaults_are_those_of_sim_2(void)
{
	u64 pipe = two_region_pipe(GBIT, 100000, 1500);
	u64 n_1dpr = two_region_n_1dpr(pipe);
	u32 mbit;

	unit_ok(two_region_target(687, n_1dpr) == 787 && two_region_bmax(pipe, 787) == 8333,
		"1 Gb/s: target Bflat + 100, Bmax DB, as in table 6.4");
	unit_ok(two_region_limit(two_region_pipe(155 * GBIT / 1000, 100000, 1500), 1291) == 1937,
		"155 Mb/s: limit 1937, as in table 6.7");
	for (mbit = 2; mbit <= 100000; mbit += 1 + mbit / 10) {
		u32 flows, bmin, bflat, target, bmax;

		pipe = two_region_pipe(mbit * GBIT / 1000, 100000, 1500);
		n_1dpr = two_region_n_1dpr(pipe);
		flows = two_region_flows(n_1dpr);
		bmin = two_region_bmin(pipe, flows);
		bflat = two_region_bflat(bmin, n_1dpr);
		target = two_region_target(bflat, n_1dpr);
		bmax = two_region_bmax(pipe, target);
		if (!(flows >= 1 && flows <= 10 && bmin < bflat && bflat <= target &&
		      2 * target <= bmax && bmax < two_region_limit(pipe, bmax) &&
		      two_region_rtts_per_drop(pipe, two_region_window(pipe, flows)) >=
		      TWO_REGION_ONE))
			break;
	}
	unit_ok(mbit > 100000,
		"2 Mb/s to 100 Gb/s: every phase has room, flows need one drop per round trip or less");
}

static void the_default_limit_is_100_ms_that_fit_into_memory(void)
{
	const u32 enough = 1 << 30;

	unit_ok(two_region_most(GBIT, 1500, enough) == 8333, "1 Gb/s for 100 ms are 8333 packets");
	/* 2^20 / (1500 + 1024) */
	unit_ok(two_region_most(GBIT, 1500, 1 << 20) == 415, "1 MiB holds 415 of them");
	unit_ok(two_region_most(GBIT / 1000, 1500, enough) == 8 &&
		two_region_most(GBIT, 1500, 1500) == 8, "room for 8 packets at least");
	/* 2^30 / (64 + 1024), of a pipe of more than 2^23 packets */
	unit_ok(two_region_most(1ULL << 40, 64, enough) == 986895,
		"8.8 Tb/s of small packets: memory is the limit");
}

/* Thresholds of a link of 1 Gb/s in all buffers that are shorter. */
static void a_short_buffer_has_room_for_all_phases(void)
{
	struct two_region_params p, s;
	bool room = true, eighth = true;
	struct two_region_vars v;
	struct model m;
	u32 limit;

	setup(&p, &v, &m, GBIT, false);
	for (limit = 8; limit < p.bmin; limit++) {
		s = p;
		two_region_squeeze(&s, limit);
		room &= s.bmin >= 1 && s.bmin < s.bflat && s.bflat < s.target &&
			s.target < s.bmax && s.bmax < limit;
		eighth &= limit - s.bmax <= limit / 8 + 1;
	}
	unit_ok(room && limit > 500, "every phase has room in 8 to %u packets", limit - 1);
	unit_ok(eighth, "and phase IV an eighth of them");
	s = p;
	two_region_squeeze(&s, 8 * p.bmax);
	unit_ok(!memcmp(&s, &p, sizeof(p)), "a long buffer keeps all thresholds");
}

UNIT_TESTS
{
	packets_per_drop_within_1_percent(false);
	packets_per_drop_within_1_percent(true);
	packets_per_drop_on_arbitrary_queues();
	a_draining_queue_is_not_punished();
	w_is_rounded_to_the_nearest();
	only_rates_that_are_not_positive_are_counted();
	beyond_bmax_the_rate_rises_to_1();
	times_end_at_their_ends();
	the_defaults_are_those_of_sim_2();
	a_short_buffer_has_room_for_all_phases();
	the_default_limit_is_100_ms_that_fit_into_memory();
}
