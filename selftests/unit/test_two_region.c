// SPDX-License-Identifier: GPL-2.0
/*
 * two_region: the thesis's tables, the controller against figure 4-7 in
 * floating point, and the rules of the four phases.
 */
#include <math.h>
#include <string.h>

#include <linux/kernel.h>
#include <aqm/two_region.h>

#include "unit.h"

#define GBIT	125000000ULL	/* bytes/s */
#define TWO_30	1073741824.L
#define TWO_32	4294967296.L

static double real(u64 x)
{
	return x / 4294967296.;
}

/* Tables 8.1 to 8.3 as printed, TPUT (bandwidth / N) left out. */
static const struct table {
	const char *name;
	u64 bandwidth;	/* bytes/s */
	struct row {
		u32 n;
		const char *ppd, *dpp, *rpd, *dpr, *w;
	} rows[13];
} tables[] = {
	{ "8.1, 155 Mb/s", 155 * GBIT / 1000, {
		{ 1, "2.5e+06", "3.99e-07", "1.29e+03", "0.000774", "1.29e+03" },
		{ 10, "1.2e+04", "8.31e-05", "9.01", "0.111", "89.1" },
		{ 20, "2.94e+03", "0.00034", "2.24", "0.447", "43.8" },
		{ 30, "1.31e+03", "0.000765", "1", "0.999", "29" },
		{ 75, "217", "0.00461", "0.167", "5.98", "11.5" },
		{ 100, "125", "0.008", "0.0964", "10.4", "8.64" },
		{ 200, "34.4", "0.0291", "0.0266", "37.6", "4.31" },
		{ 300, "16.7", "0.0599", "0.0129", "77.4", "2.87" },
		{ 400, "10.2", "0.0981", "0.00789", "127", "2.15" },
		{ 500, "7.04", "0.142", "0.00545", "184", "1.72" },
		{ 1000, "2.41", "0.416", "0.00186", "537", "0.861" },
	} },
	{ "8.2, 622 Mb/s", 622 * GBIT / 1000, {
		{ 1, "4.03e+07", "2.48e-08", "5.18e+03", "0.000193", "5.18e+03" },
		{ 10, "1.92e+05", "5.2e-06", "35.8", "0.0279", "357" },
		{ 20, "4.66e+04", "2.15e-05", "8.84", "0.113", "176" },
		{ 40, "1.15e+04", "8.68e-05", "2.2", "0.454", "87.1" },
		{ 60, "5.12e+03", "0.000195", "0.982", "1.02", "57.9" },
		{ 75, "3.28e+03", "0.000305", "0.63", "1.59", "46.3" },
		{ 100, "1.86e+03", "0.000539", "0.357", "2.8", "34.7" },
		{ 200, "475", "0.0021", "0.0915", "10.9", "17.3" },
		{ 300, "217", "0.00461", "0.0418", "23.9", "11.5" },
		{ 400, "125", "0.00799", "0.0241", "41.5", "8.65" },
		{ 500, "82.1", "0.0122", "0.0158", "63.2", "6.92" },
		{ 1000, "23.1", "0.0433", "0.00446", "224", "3.46" },
	} },
	{ "8.3, 1 Gb/s", GBIT, {
		{ 1, "1.04e+08", "9.6e-09", "8.33e+03", "0.00012", "8.33e+03" },
		{ 2, "1.67e+07", "6e-08", "1.67e+03", "0.0006", "3.33e+03" },
		{ 5, "2.13e+06", "4.7e-07", "238", "0.0042", "1.19e+03" },
		{ 10, "4.96e+05", "2.01e-06", "57.6", "0.0174", "575" },
		{ 40, "2.96e+04", "3.37e-05", "3.53", "0.284", "140" },
		{ 75, "8.42e+03", "0.000119", "1.01", "0.995", "74.4" },
		{ 100, "4.74e+03", "0.000211", "0.567", "1.76", "55.7" },
		{ 200, "1.2e+03", "0.000831", "0.144", "6.94", "27.8" },
		{ 500, "202", "0.00495", "0.0242", "41.3", "11.1" },
		{ 1000, "54.7", "0.0183", "0.00656", "152", "5.56" },
		{ 1500, "26.1", "0.0383", "0.00314", "319", "3.7" },
		{ 2000, "15.7", "0.0635", "0.00189", "529", "2.78" },
	} },
};

/* Does @x, to three digits, read as @printed? */
static bool reads(double x, const char *printed, const char *what, u32 n)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g", x);
	if (!strcmp(text, printed))
		return true;
	printf("# N %u: %s is %s (%.6g), the thesis has %s\n", n, what, text, x, printed);
	return false;
}

static void tables_of_chapter_8(void)
{
	u32 t, i;

	for (t = 0; t < ARRAY_SIZE(tables); t++) {
		u64 pipe = two_region_pipe(tables[t].bandwidth, 100000, 1500);
		u32 wrong = 0;

		for (i = 0; tables[t].rows[i].n; i++) {
			const struct row *r = &tables[t].rows[i];
			u64 w = two_region_window(pipe, r->n);
			u64 rpd = two_region_rtts_per_drop(pipe, w);
			double ppd = real(rpd) * (real(pipe) + real(w) / 2);

			wrong += !reads(real(w), r->w, "W", r->n);
			wrong += !reads(ppd, r->ppd, "PPD", r->n);
			wrong += !reads(1 / ppd, r->dpp, "DPP", r->n);
			wrong += !reads(real(rpd), r->rpd, "RPD", r->n);
			wrong += !reads(1 / real(rpd), r->dpr, "DPR", r->n);
		}
		unit_ok(!wrong, "table %s: %u rows to three digits", tables[t].name, i);
	}
}

static void table_6_1(void)
{
	static const struct {
		u64 bandwidth;
		u32 bmin, n_1dpr, bflat, dbp;
	} rows[] = {
		{ 155 * GBIT / 1000, 89, 29, 134, 1292 },
		{ 622 * GBIT / 1000, 357, 58, 446, 5183 },
		{ GBIT, 575, 74, 687, 8333 },
	};
	u32 i;

	for (i = 0; i < 3; i++) {
		u64 pipe = two_region_pipe(rows[i].bandwidth, 100000, 1500);
		u64 n_1dpr = two_region_n_1dpr(pipe);
		u32 bmin = two_region_bmin(pipe, 10);
		u32 bflat = two_region_bflat(bmin, n_1dpr);

		unit_ok(bmin == rows[i].bmin && n_1dpr >> 32 == rows[i].n_1dpr &&
			bflat == rows[i].bflat && lround(real(pipe)) == rows[i].dbp,
			"table 6.1: Bmin %u, N_1DPR %.2f, Bflat %u, DBP %.1f", bmin,
			real(n_1dpr), bflat, real(pipe));
	}
	/* No flow, however slow, is held below one packet. */
	unit_ok(two_region_bmin((u64)TWO_REGION_MIN_PIPE << 32, 65535) == 1,
		"Bmin is at least 1");
}

/* Table 4.2 to one decimal, as printed. */
static void table_4_2(void)
{
	static const struct {
		u64 mbit;
		double n_1dpr;
	} rows[] = {
		{ 100000, 745.4 }, { 10000, 235.7 }, { 1000, 74.5 },
		{ 155, 29.3 }, { 60, 18.3 }, { 10, 7.5 },
	};
	bool same = true;
	u32 i;

	for (i = 0; i < 6; i++) {
		u64 pipe = two_region_pipe(rows[i].mbit * GBIT / 1000, 100000, 1500);

		same &= fabs(real(two_region_n_1dpr(pipe)) - rows[i].n_1dpr) < 0.0501;
	}
	unit_ok(same, "table 4.2: N_1DPR from 10 Mb/s to 100 Gb/s");
}

/* Any magnitude up to 2^@bits. */
static u64 any(u32 bits)
{
	return unit_random() >> (64 - bits) >> unit_below(bits - 1) | 1;
}

static void arithmetic_keeps_its_bounds(void)
{
	bool ratio = true, mul = true, root = true;
	int i;

	for (i = 0; i < 1000000; i++) {
		long double exact;
		u64 a = any(63);
		u64 b = any(63);

		exact = (long double)a / b;
		if (exact < TWO_30)
			ratio &= fabsl(two_region_ratio(a, b) / TWO_32 - exact) <=
				 exact / TWO_30 + 1 / TWO_32;
		exact = (long double)a * b / TWO_32 / TWO_32;
		if (exact >= TWO_30)
			mul &= two_region_mul(a, b) >= TWO_REGION_ONE << 29;
		else if (exact < TWO_30 / 2 || two_region_mul(a, b) != TWO_REGION_ONE << 30)
			mul &= fabsl(two_region_mul(a, b) / TWO_32 - exact) <= 1 / TWO_32;
		a = TWO_REGION_ONE + any(59);
		exact = sqrtl(a / TWO_32);
		root &= fabsl(two_region_sqrt(a) / TWO_32 - exact) <= exact / TWO_32 * 2;
	}
	unit_ok(ratio, "a quotient is within 2^-30, relatively, plus 2^-32");
	unit_ok(mul, "a product is cut below 2^-32, and saturates from 2^29 on");
	unit_ok(root, "a root is within 2^-31, relatively");
	unit_ok(!two_region_ratio(0, 5), "0 / 5 is 0");
}

static void pipe_has_bounds(void)
{
	unit_ok(two_region_pipe(1ULL << 37, 10000000, 64) == U64_MAX &&
		two_region_pipe(838860800000 / 8, 8000, 100) == U64_MAX &&
		two_region_pipe(838860800000 / 8 - 1, 8000, 100) < 1ULL << 55,
		"a pipe of 2^23 packets is too large, and a byte less is not");
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

/* A queue that stands in phase II: one signal every 1.5 to 2 round trips. */
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

/* What a long round trip put off is not put off once it is short. */
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

int main(int argc, char **argv)
{
	unit_start(argc, argv);
	tables_of_chapter_8();
	table_6_1();
	table_4_2();
	arithmetic_keeps_its_bounds();
	pipe_has_bounds();
	packets_per_drop_within_1_percent(false);
	packets_per_drop_within_1_percent(true);
	packets_per_drop_on_arbitrary_queues();
	a_draining_queue_is_not_punished();
	spacing_is_uniform_around_ppd();
	beyond_bmax_the_rate_rises_to_1();
	phases_follow_the_queue();
	low_n_holds_off();
	high_n_starts_afresh_and_then_holds_off();
	the_defaults_are_those_of_sim_2();
	a_shorter_round_trip_takes_effect_at_once();
	a_silence_forgets_w();
	signals_are_as_far_apart_as_they_say(false);
	signals_are_as_far_apart_as_they_say(true);
	the_first_signal_is_not_early_or_late();
	a_gso_packet_counts_as_its_segments();
	phases_are_counted_and_a_reset_forgets();
	return unit_end();
}
