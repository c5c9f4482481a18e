// SPDX-License-Identifier: GPL-2.0
/*
 * two_region: the controller against figure 4-7 in floating point, and the rules of
 * the four phases.
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

static void spacing_is_uniform_around_ppd(void)
{
	static const double ppds[] = { 1, 2.5, 10, 77.7, 8333.25 };
	struct seeded_random r;
	u32 i, k, n = 200000;

	seeded_random_init(&r, 7);
	for (i = 0; i < 5; i++) {
		u64 ppd = ppds[i] * 4294967296.;
		u32 thirds[3] = {};
		u32 low = U32_MAX, high = 0;
		double sum = 0;

		for (k = 0; k < n; k++) {
			u32 x = two_region_spacing(ppd, seeded_random_u32(&r));
			u32 third = (x / ppds[i] - 2. / 3) * 4.5;

			thirds[third < 3 ? third : 2]++;
			low = min(low, x);
			high = max(high, x);
			sum += x;
		}
		unit_ok(fabs(sum / n / ppds[i] - 1) < 0.005 && low >= 1 &&
			low + 0.51 > ppds[i] * 2 / 3 && high < ppds[i] * 4 / 3 + 0.51,
			"PPD %g: %u to %u arrivals from drop to drop, mean %.4g", ppds[i],
			low, high, sum / n);
		/* Standard deviation of a third's share: 0.001. */
		if (ppds[i] > 1000)
			unit_ok(fabs(thirds[0] * 3. / n - 1) < 0.015 &&
				fabs(thirds[1] * 3. / n - 1) < 0.015,
				"PPD %g: a third in each third of the range", ppds[i]);
	}
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

static void phases_follow_the_queue(void)
{
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;

	setup(&p, &v, &m, GBIT, false);
	unit_ok(two_region_phase(&p, ((u64)p.bmin << 32) - 1) == TWO_REGION_QUIET &&
		two_region_phase(&p, (u64)p.bmin << 32) == TWO_REGION_LOW &&
		two_region_phase(&p, ((u64)p.bflat << 32) - 1) == TWO_REGION_LOW &&
		two_region_phase(&p, (u64)p.bflat << 32) == TWO_REGION_HIGH &&
		two_region_phase(&p, ((u64)p.bmax << 32) - 1) == TWO_REGION_HIGH &&
		two_region_phase(&p, (u64)p.bmax << 32) == TWO_REGION_MAX,
		"each phase begins at its threshold");
}

/* A queue that stays in phase II gets one signal every 1.5 to 2 round trips. */
static void low_n_holds_off(void)
{
	u64 now, last = 0, low = U64_MAX, high = 0, signals = 0;
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;
	bool first;

	setup(&p, &v, &m, GBIT, false);
	two_region_init(&v, 3);
	first = two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, 5) == TWO_REGION_LOW;
	unit_ok(first, "the arrival that finds Bmin crossed is the one");
	last = 5;
	for (now = 12005; now < 300000000000; now += 12000) {
		/* The estimate dips below Bmin all the time. */
		u64 q = (u64)(p.bmin - (now / 12000) % 2) << 32;

		if (two_region_arrival(&p, &v, &st, q, 1, now) == TWO_REGION_QUIET)
			continue;
		low = min(low, now - last);
		high = max(high, now - last);
		last = now;
		signals++;
	}
	unit_ok(low >= 150000000 && low < 152000000 && high <= 200000000 + 24000 &&
		high > 198000000,
		"then silence for %.1f to %.1f ms (%llu signals)", low / 1e6, high / 1e6,
		signals);
	unit_ok(fabs(signals * 0.175 / 300 - 1) < 0.02, "uniform: 175 ms on average");
}

static void high_n_starts_afresh_and_then_holds_off(void)
{
	u64 now, last = 0, low = U64_MAX, high = 0, mid, q_high, silent;
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;
	u32 updates = 0;

	setup(&p, &v, &m, GBIT, false);
	two_region_init(&v, 3);
	q_high = (u64)(p.bflat + 50) << 32;
	mid = (u64)(p.bmin + 1) << 32;
	for (now = 0; now < 100000000000; now += 12000) {
		two_region_arrival(&p, &v, &st, q_high, 1, now);
		if (st.updates == updates)
			continue;
		updates = st.updates;
		low = min(low, now - last);
		high = max(high, now - last);
		last = now;
	}
	unit_ok(low >= 96000000 && low < 97000000 && high <= 144000000 + 12000 &&
		high > 143000000, "the controller runs every %.1f to %.1f ms", low / 1e6,
		high / 1e6);
	unit_ok(v.ppd < p.pipe, "a queue above target: PPD %.1f, below DB", real(v.ppd));

	unit_ok(two_region_arrival(&p, &v, &st, mid, 1, now) == TWO_REGION_QUIET,
		"the arrival that finds phase II again is not signalled");
	for (silent = now; two_region_arrival(&p, &v, &st, mid, 1, silent) == TWO_REGION_QUIET;)
		silent += 12000;
	unit_ok(silent - now >= 150000000 && silent - now <= 200012000,
		"back in phase II: silence for %.1f ms", (silent - now) / 1e6);

	mid = v.window;
	two_region_arrival(&p, &v, &st, q_high, 1, silent);
	unit_ok(v.ppd == p.pipe && v.ppd_old == p.pipe && v.window == mid,
		"back above Bflat: PPD is DB, W stays");
	two_region_arrival(&p, &v, &st, 0, 1, silent + 1);
	two_region_arrival(&p, &v, &st, q_high, 1, silent + 1000000001);
	unit_ok(v.window == two_region_window_of(p.pipe),
		"after 10 round trips below, W starts again as sqrt(2/3 DB)");
}

/* The arrival of one packet. */
static enum two_region_phase
one(const struct two_region_params *p, struct two_region_vars *v, double q, u64 now)
{
	static struct two_region_stats st;

	return two_region_arrival(p, v, &st, q * 4294967296., 1, now);
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

/* A signal that waits for a long round trip comes at once when the round trip becomes short. */
static void a_shorter_round_trip_takes_effect_at_once(void)
{
	struct two_region_params p, fast;
	struct two_region_vars v;
	u64 now = 1000000000, t;
	struct model m;

	setup(&p, &v, &m, GBIT, false);
	fast = p;
	fast.pipe = p.pipe / 2;
	fast.rtt = 10000;
	p.rtt = 10000000;
	two_region_init(&v, 5);
	one(&p, &v, p.bmin, now);
	two_region_change(&fast, &v, now + 1000);
	for (t = now + 1000; one(&fast, &v, fast.bmin, t) == TWO_REGION_QUIET; t += 1000)
		;
	unit_ok(t - now <= 20001000, "phase II speaks after %.1f ms of the new 10 ms round trip",
		(t - now) / 1e6);

	two_region_init(&v, 5);
	one(&p, &v, p.bflat + 50, now);
	two_region_change(&fast, &v, now + 1000);
	unit_ok(v.ppd == fast.pipe && v.ppd_old == fast.pipe, "PPD is within the new DB");
	for (t = now + 1000; v.q_old == (u64)(p.bflat + 50) << 32; t += 1000)
		one(&fast, &v, fast.bflat + 60, t);
	unit_ok(t - now <= 14402000, "phase III's controller runs after %.1f ms", (t - now) / 1e6);
}

/* A silence ends an excursion, too: the first packet after it knows nothing. */
static void a_silence_forgets_w(void)
{
	struct two_region_params p;
	struct two_region_vars v;
	u64 hour = 3600000000000, now, fresh;
	struct model m;

	setup(&p, &v, &m, GBIT, false);
	fresh = two_region_window_of(p.pipe);
	two_region_init(&v, 5);
	for (now = 0; now < 20000000000; now += 1000000)
		one(&p, &v, p.bmax - 1, now);
	unit_ok(v.window < fresh / 10, "a long queue: W %.1f", real(v.window));
	one(&p, &v, 0, now + hour);
	unit_ok(one(&p, &v, p.bmin, now + hour + 1000) == TWO_REGION_LOW,
		"after an hour phase II has no hold-off left");
	one(&p, &v, p.bflat, now + hour + 2000);
	unit_ok(v.window == fresh, "and W starts again as sqrt(2/3 DB)");
}

/* Arrivals from signal to signal, phase III with PPD as it is, or phase IV. */
static void signals_are_as_far_apart_as_they_say(bool max)
{
	u32 i, since = 0, low = U32_MAX, high = 0, signals = 0, same = 0, before = 0;
	struct two_region_params p;
	struct two_region_vars v;
	double ppd, sum = 0;
	struct model m;

	setup(&p, &v, &m, GBIT / 10, false);
	p.gentle = false;
	p.target = p.bmax - 1;
	two_region_init(&v, 9);
	one(&p, &v, max ? p.bmax : p.bflat, 0);
	v.ppd = 50ULL << 32;
	two_region_plan(&p, &v, 0);
	for (i = 2, since = 1; signals < 3000; i++) {
		since++;
		if (one(&p, &v, max ? p.bmax : p.bflat, i) == TWO_REGION_QUIET)
			continue;
		low = min(low, since);
		high = max(high, since);
		sum += since;
		same += since == before;
		before = since;
		since = 0;
		signals++;
	}
	ppd = max ? 10 : 50;
	unit_ok(fabs(sum / signals / ppd - 1) < 0.02 && low >= ppd * 2 / 3 - 0.5 &&
		high <= ppd * 4 / 3 + 0.5 && same < signals / 3,
		"phase %s: every %.1f arrivals, %u to %u", max ? "IV" : "III", sum / signals, low,
		high);
}

/* The first signal of phase III comes with the arrival that the draw says. */
static void the_first_signal_is_not_early_or_late(void)
{
	struct two_region_params p;
	struct two_region_vars v;
	bool exact = true;
	u32 seed, i, due;
	struct model m;

	setup(&p, &v, &m, GBIT / 100, false);
	for (seed = 1; seed < 50; seed++) {
		two_region_init(&v, seed);
		one(&p, &v, p.bflat, 1);
		due = floor(real(v.ppd) * 2 / 3 * (1 + v.draw / 4294967296.) + 0.5);
		for (i = 2; one(&p, &v, p.bflat, i) == TWO_REGION_QUIET; i++)
			;
		exact &= i == due;
	}
	unit_ok(exact, "the arrival that crosses Bflat is the first that counts");
}

/* GSO packets: signals for as many packets of the wire, however they come. */
static void a_gso_packet_counts_as_its_segments(void)
{
	static const u32 sizes[] = { 1, 4, 16, 45 };
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	struct model m;
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 k, signals = 0, n = 4000000 / sizes[i];

		setup(&p, &v, &m, GBIT, false);
		two_region_init(&v, 3);
		two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, 0);
		v.ppd = 400ULL << 32;
		two_region_plan(&p, &v, 0);
		for (k = 0; k < n; k++)
			signals += two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, sizes[i],
						      0) != TWO_REGION_QUIET;
		unit_ok(fabs(signals * 400. / 4000000 - 1) < 0.01,
			"%u segments a packet: one signal in %.1f segments", sizes[i],
			4000000. / signals);
	}
}

static void phases_are_counted_and_a_reset_forgets(void)
{
	struct two_region_stats st = {};
	struct two_region_vars v, other;
	struct two_region_params p;
	struct seeded_random random;
	struct model m;
	u64 fresh;
	u32 i;

	setup(&p, &v, &m, GBIT, false);
	fresh = two_region_window_of(p.pipe);
	two_region_init(&v, 4);
	for (i = 0; i < 5; i++) {
		two_region_arrival(&p, &v, &st, (u64)p.bmax << 32, 1, i);
		two_region_arrival(&p, &v, &st, (u64)p.bmax << 32, 1, i);
		two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, i);
		two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, i);
		two_region_arrival(&p, &v, &st, 0, 1, i);
	}
	unit_ok(st.entered[TWO_REGION_QUIET] == 5 && st.entered[TWO_REGION_LOW] == 5 &&
		st.entered[TWO_REGION_HIGH] == 5 && st.entered[TWO_REGION_MAX] == 5,
		"each phase was entered five times");

	v.window = fresh / 5;
	other = v;
	random = v.random;
	two_region_reset(&v);
	unit_ok(!memcmp(&random, &v.random, sizeof(random)), "the random numbers go on");
	unit_ok(one(&p, &v, p.bmin, 10) == TWO_REGION_LOW, "after a reset there is no hold-off");
	unit_ok(one(&p, &other, p.bmin, 10) == TWO_REGION_QUIET, "which there was");
	one(&p, &v, p.bflat, 11);
	unit_ok(v.window == fresh, "nor a W");
}

UNIT_TESTS
{
	packets_per_drop_within_1_percent(false);
	packets_per_drop_within_1_percent(true);
	packets_per_drop_on_arbitrary_queues();
	a_draining_queue_is_not_punished();
	w_is_rounded_to_the_nearest();
	only_rates_that_are_not_positive_are_counted();
	spacing_is_uniform_around_ppd();
	beyond_bmax_the_rate_rises_to_1();
	phases_follow_the_queue();
	low_n_holds_off();
	high_n_starts_afresh_and_then_holds_off();
	the_defaults_are_those_of_sim_2();
	a_short_buffer_has_room_for_all_phases();
	the_default_limit_is_100_ms_that_fit_into_memory();
	a_shorter_round_trip_takes_effect_at_once();
	a_silence_forgets_w();
	signals_are_as_far_apart_as_they_say(false);
	signals_are_as_far_apart_as_they_say(true);
	the_first_signal_is_not_early_or_late();
	a_gso_packet_counts_as_its_segments();
	phases_are_counted_and_a_reset_forgets();
}
