// SPDX-License-Identifier: GPL-2.0
/*
 * gentle_red.h against a model in floating point, within the bounds that the
 * header states. The model is written from the two papers' formulas.
 */
#include <math.h>
#include <aqm/gentle_red.h>
#include "unit.h"

#define ONE	4294967296.0	/* 1 in Q0.32 */

static u32 rnd(void)
{
	return unit_random() >> 32;
}

/* Uniform in the exponent, so that every magnitude is met. */
static u32 rnd_any(void)
{
	return rnd() >> unit_below(32);
}

static double avg_of(u64 avg)
{
	return (double)(avg >> 32) + (double)(u32)avg / ONE;
}

/* Folds of any lengths and weights stay within 2^-32 / w of the recursion. */
static void test_fold(void)
{
	bool pass = true;

	for (int run = 0; run < 2000 && pass; run++) {
		u32 weight = rnd_any() >> 1 | 64;
		u32 scale = rnd_any() | 1;

		long double w = weight / (long double)ONE;
		long double exact = 0;
		u64 avg = 0;

		for (int i = 0; i < 500; i++) {
			u32 q = unit_below(scale);

			long double err;

			avg = gentle_red_fold(avg, weight, q);
			exact += w * (q - exact);
			err = exact - avg / (long double)ONE;
			/* the model's own rounding: 64 bits of mantissa */
			if (err < -0.000000001L * scale ||
			    err > 1 / (ONE * w) + 0.000000001L * scale) {
				printf("# w %u q %u avg %Lf exact %Lf\n",
				       weight, q, avg / (long double)ONE, exact);
				pass = false;
				break;
			}
		}
	}
	unit_ok(pass, "fold follows the recursion within 2^-32 / w");

	pass = gentle_red_fold(0, 1, 1) == 1;
	for (u64 i = 0, avg = 5ULL << 32; i < 2000; i++) {
		avg = gentle_red_fold(avg, 1 << 26, 0);
		if (i == 1999)
			pass &= !avg;
	}
	unit_ok(pass, "fold of an empty queue reaches 0, of any queue leaves it");
}

static void test_decay(void)
{
	bool pass = true;

	for (int i = 0; i < 200000 && pass; i++) {
		u32 weight = rnd_any() | 1, m = rnd_any();
		u64 avg = (u64)rnd_any() << 32 | rnd();

		long double exact = avg * expl(m * log1pl(-(weight / (long double)ONE)));
		u64 got = gentle_red_decay(avg, weight, m);

		/* the m 2^-63 of the header, on avg, and one unit a factor */
		if (fabsl(got - exact) > avg * (ldexpl(m, -63) + ldexpl(1, -58)) + 33) {
			printf("# avg %llu w %u m %u: %llu, not %Lf\n",
			       (unsigned long long)avg, weight, m,
			       (unsigned long long)got, exact);
			pass = false;
		}
	}
	unit_ok(pass, "decay is (1 - w)^m within m 2^-63");
	unit_ok(gentle_red_decay(12345, 1 << 20, 0) == 12345, "no time, no decay");
}

static void test_auto_weight(void)
{
	bool pass = true;

	for (u32 rate = 2; rate < 4000000000U; rate += 1 + rate / 7) {
		double exact = -expm1(-1.0 / rate) * ONE;

		if (fabs(gentle_red_auto_weight(rate) - exact) >
		    ONE * pow(rate, -5) / 120 + 5) {
			printf("# rate %u: %u, not %f\n", rate,
			       gentle_red_auto_weight(rate), exact);
			pass = false;
		}
	}
	unit_ok(pass, "auto weight is 1 - exp(-1/rate)");
	unit_ok(gentle_red_auto_weight(0) && gentle_red_auto_weight(U32_MAX) == 1,
		"auto weight is never 0");
}

static struct gentle_red_params random_params(void)
{
	struct gentle_red_params p = {
		.max_p = rnd_any(), .weight = rnd_any() | 1,
		.ptime = rnd_any() | 1, .gentle = rnd() & 1, .wait = rnd() & 1,
		.adaptive = false,
	};

	p.max_th = (rnd_any() >> 1) | 1;
	p.min_th = unit_below(p.max_th);
	return p;
}

static double probability(const struct gentle_red_params *p, u32 max_p,
			  double avg)
{
	double top = max_p / ONE;

	if (avg < p->min_th)
		return 0;
	if (avg < p->max_th)
		return top * (avg - p->min_th) / ((double)p->max_th - p->min_th);
	if (!p->gentle || avg >= 2.0 * p->max_th)
		return 1;
	return top + (1 - top) * (avg - p->max_th) / p->max_th;
}

static void test_probability(void)
{
	bool pass = true;

	for (int i = 0; i < 1000000 && pass; i++) {
		struct gentle_red_params p = random_params();
		struct gentle_red_vars v = {};
		double exact, got, slack;

		gentle_red_set(&p, &v, rnd_any());
		/* a third of the range beyond each side of the corners */
		v.avg = (u64)unit_below(min_t(u64, 5ULL * p.max_th / 2, U32_MAX)) << 32 |
			rnd();
		if (unit_below(8) == 0)
			v.avg = (u64)p.max_th << 32 << (rnd() & 1);
		if (unit_below(8) == 0)
			v.avg = (u64)p.min_th << 32;
		exact = probability(&p, v.max_p, avg_of(v.avg));
		got = gentle_red_probability(&p, &v) / ONE;
		/* a double holds avg to 2^-52 of itself */
		slack = 2 / ONE + ldexp(avg_of(v.avg), -51) /
			((double)p.max_th - p.min_th);
		if (fabs(got - exact) > slack) {
			printf("# %u..%u max_p %u avg %f: %g, not %g\n",
			       p.min_th, p.max_th, v.max_p, avg_of(v.avg), got,
			       exact);
			pass = false;
		}
	}
	unit_ok(pass, "p_b within 2^-31 of the formula, gentle and hard");
}

/* Find by bisection the probability that chance gives, exactly. */
static double chance_of(u64 p_b, u32 count)
{
	u64 lo = 0, hi = 1ULL << 32;	/* first random number that passes */

	while (lo < hi) {
		u64 mid = (lo + hi) / 2;

		if (gentle_red_chance(p_b, count, mid))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo / ONE;
}

static void test_chance(void)
{
	bool pass = true;

	for (int i = 0; i < 200000 && pass; i++) {
		u64 p_b = rnd_any() | 1;
		u32 count = unit_below(1.2 * ONE / p_b < ONE ?
				      (u32)(1.2 * ONE / p_b) + 1 : U32_MAX);
		double p = p_b / ONE, cp = count * p, exact;

		exact = cp >= 1 ? 1 : p / (1 - cp);
		if (exact > 1)
			exact = 1;
		if (fabs(chance_of(p_b, count) - exact) >
		    1.01 / ONE + exact * 0.000000001) {
			printf("# p %g count %u: %g, not %g\n", p, count,
			       chance_of(p_b, count), exact);
			pass = false;
		}
	}
	unit_ok(pass, "chance is p_b / (1 - c p_b)");
}

/* 1993, figure 17: of n arrivals since the last drop the n-th goes if n >= R/p_b. */
static void test_figure_17(void)
{
	bool pass = true;

	for (int i = 0; i < 1000000 && pass; i++) {
		struct gentle_red_params p = random_params();
		enum gentle_red_verdict verdict;
		struct gentle_red_vars v = {};
		double p_b, least, n;

		gentle_red_set(&p, &v, p.max_p);
		v.avg = (u64)(p.min_th + unit_below(p.max_th - p.min_th)) << 32;
		v.random = rnd_any();
		v.count = 1 + unit_below(rnd_any() >> 1 | 1);
		n = v.count + 1.0;
		p_b = gentle_red_probability(&p, &v) / ONE;
		least = p_b ? (v.random / ONE + p.wait) / p_b : INFINITY;
		verdict = gentle_red_verdict(&p, &v, NULL);
		if (fabs(n / least - 1) < 0.000000000001)
			continue;	/* a double cannot tell */
		pass = verdict == (n > least ? GENTLE_RED_EARLY : GENTLE_RED_PASS) &&
		       v.count == (n > least ? 0 : n);
		if (!pass)
			printf("# arrival %.0f, at least %.0f: %d\n", n, least,
			       verdict);
	}
	unit_ok(pass, "the n-th arrival is dropped from R / p_b on, with wait (1 + R) / p_b");
}

/* Spacing of the drops at a constant p_b: each distance equally likely. */
static void test_spacing(void)
{
	for (int wait = 0; wait <= 1; wait++) {
		struct gentle_red_params p = {
			.min_th = 0, .max_th = 128, .max_p = 1U << 31,
			.weight = 1, .ptime = 1, .wait = wait,
		};
		/* p_b = 1/2 * 16/128 = 1/16, without rounding */
		struct gentle_red_vars v = { .avg = 16ULL << 32 };
		u32 seen[64] = {}, gap = 0, drops = 0;
		struct seeded_random random, again;
		enum gentle_red_verdict verdict;
		double chi2 = 0;
		u32 first = wait ? 17 : 1;
		bool inside = true, early = true;

		gentle_red_set(&p, &v, p.max_p);
		seeded_random_init(&random, rnd() | 1);
		again = random;
		while (drops < 32000) {
			gap++;
			verdict = gentle_red_verdict(&p, &v, &random);
			if (verdict == GENTLE_RED_PASS)
				continue;
			early &= verdict == GENTLE_RED_EARLY;
			seeded_random_u32(&again);
			if (gap >= 64)
				inside = false;
			else
				seen[gap]++;
			gap = 0;
			drops++;
		}
		for (u32 g = 1; g < 64; g++) {
			if (g < first || g >= first + 16) {
				inside &= !seen[g];
				continue;
			}
			chi2 += (seen[g] - 2000.0) * (seen[g] - 2000.0) / 2000;
		}
		/* 15 degrees of freedom: above 37.7 one time in 1000 */
		unit_ok(inside, "%s arrivals between drops",
			wait ? "wait: 1/p + 1 to 2/p" : "1 to 1/p");
		if (chi2 >= 37.7)
			printf("# chi2 %f\n", chi2);
		unit_ok(chi2 < 37.7, "the distances are uniform, p > 0.001");
		unit_ok(early, "all are early");
		unit_ok(!memcmp(&random, &again, sizeof(random)),
			"one random number for each");
	}
}

static void test_regions(void)
{
	struct gentle_red_params p = {
		.min_th = 10, .max_th = 30, .max_p = GENTLE_RED_PERCENT,
		.weight = 1, .ptime = 1, .gentle = true,
	};
	struct gentle_red_vars v = { .count = 7 };

	gentle_red_set(&p, &v, p.max_p);
	v.avg = (10ULL << 32) - 1;
	unit_ok(gentle_red_verdict(&p, &v, NULL) == GENTLE_RED_PASS && !v.count,
		"below min nothing is dropped and the count starts again");
	v.avg = 20ULL << 32;
	v.count = 1;
	v.random = U32_MAX;
	gentle_red_verdict(&p, &v, NULL);
	gentle_red_verdict(&p, &v, NULL);
	unit_ok(v.count == 3, "what passes is counted");
	v.random = 0;
	unit_ok(gentle_red_verdict(&p, &v, NULL) == GENTLE_RED_EARLY && !v.count,
		"early");
	v.avg = 30ULL << 32;
	v.count = 1;
	unit_ok(gentle_red_verdict(&p, &v, NULL) == GENTLE_RED_GENTLE, "gentle");
	v.avg = 60ULL << 32;
	unit_ok(gentle_red_verdict(&p, &v, NULL) == GENTLE_RED_FORCED,
		"forced above 2 max");
	p.gentle = false;
	v.avg = 30ULL << 32;
	v.count = 7;
	unit_ok(gentle_red_verdict(&p, &v, NULL) == GENTLE_RED_FORCED,
		"forced above max if not gentle");
	unit_ok(!v.count, "a forced drop starts the count again too");
	unit_ok(gentle_red_chance(1U << 31, 0, (1U << 31) - 1) &&
		!gentle_red_chance(1U << 31, 0, 1U << 31),
	   "half of the random numbers drop at p = 1/2, not one more");
}

static double adapted(double max_p, double avg, const struct gentle_red_params *p)
{
	double d = (double)p->max_th - p->min_th;
	double bottom = p->bottom / ONE, top = p->top / ONE;

	if (avg > p->min_th + .6 * d && max_p < top)
		return fmin(top, max_p + fmin(.01, max_p / 4));
	if (avg < p->min_th + .4 * d && max_p > bottom)
		return fmax(bottom, max_p * .9);
	return max_p;
}

static void test_adapt(void)
{
	struct gentle_red_stats was;
	struct gentle_red_params p = {
		.min_th = 20000, .max_th = 80000, .max_p = 5 * GENTLE_RED_PERCENT,
		.bottom = GENTLE_RED_BOTTOM, .top = GENTLE_RED_TOP,
		.weight = 1 << 20, .ptime = 1000000, .adaptive = true,
	};
	struct gentle_red_stats st = {};
	struct gentle_red_vars v, w;
	double model = .05;
	bool pass = true;
	u64 now = 7;
	int i;

	gentle_red_init(&v, &p, now);
	for (i = 0; i < 3000; i++) {
		u32 steps = 1 + unit_below(4);

		/* short of the half second nothing changes */
		w = v;
		gentle_red_adapt(&p, &w, &st, w.adapt_at - 1);
		pass &= w.max_p == v.max_p;

		v.avg = (u64)unit_below(100000) << 32;
		/* runs in one direction, to meet the bounds */
		if (i % 300 < 120)
			v.avg = (i / 300 & 1 ? 70000ULL : 10000ULL) << 32;
		now = v.adapt_at + (steps - 1) * GENTLE_RED_INTERVAL;
		gentle_red_adapt(&p, &v, &st, now);
		for (u32 s = 0; s < steps; s++)
			model = adapted(model, avg_of(v.avg), &p);
		if (fabs(v.max_p / ONE - model) > 0.000001) {
			printf("# step %d: max_p %g, not %g\n", i,
			       v.max_p / ONE, model);
			pass = false;
			break;
		}
	}
	unit_ok(pass, "max_p as in the 2001 paper, missed half seconds included");
	unit_ok(st.raised > 100 && st.lowered > 100, "both directions counted");

	v.avg = 0;
	now = v.adapt_at + 1000000 * GENTLE_RED_INTERVAL;
	gentle_red_adapt(&p, &v, &st, now);
	unit_ok(v.max_p == p.bottom && v.adapt_at > now, "a long gap ends at the bottom");
	was = st;
	gentle_red_adapt(&p, &v, &st, v.adapt_at);
	unit_ok(st.lowered == was.lowered, "where max_p is not lowered any more");
	v.avg = 90000ULL << 32;
	gentle_red_adapt(&p, &v, &st, now + 1000000 * GENTLE_RED_INTERVAL);
	unit_ok(v.max_p == p.top, "or at the top");
	was = st;
	gentle_red_adapt(&p, &v, &st, v.adapt_at);
	unit_ok(st.raised == was.raised, "where it is not raised any more");

	p.adaptive = false;
	w = v;
	gentle_red_adapt(&p, &v, &st, now + 3000000 * GENTLE_RED_INTERVAL);
	unit_ok(v.max_p == w.max_p, "and stays where it is without adaptive");
}

/*
 * A queue's life with idle times. Floyd 1993: an idle time of T counts as T/s
 * arrivals that found the queue empty. They are taken whole, so what has been
 * idle since the start decides how many there have been.
 */
static void test_idle(void)
{
	struct gentle_red_params p = {
		.min_th = 5, .max_th = 15, .max_p = GENTLE_RED_PERCENT,
		.weight = 8589935, /* 0.002 */ .ptime = 1000000,
	};
	long double w = p.weight / (long double)ONE, exact = 0;
	u64 now = 1000, begun = now, before = 0, zeros = 0, due;
	struct gentle_red_stats st = {};
	struct gentle_red_vars v;
	bool pass = true, idle = true;

	gentle_red_init(&v, &p, now);
	for (int i = 0; i < 100000 && pass; i++) {
		u32 q = idle ? 0 : 1 + unit_below(40);

		now += rnd_any() >> unit_below(8);
		gentle_red_arrival(&p, &v, &st, q, now);
		if (idle) {
			due = (before + now - begun) / p.ptime;
			exact *= powl(1 - w, due - zeros);
			zeros = due;
			/* All is forgotten: no idle time counts. */
			if (exact < 1 / (long double)ONE) {
				exact = 0;
				before = 0;
				zeros = 0;
				begun = now;
			}
		} else {
			exact += w * (q - exact);
		}
		if (unit_below(3)) {	/* else it is dropped: still empty */
			if (idle)
				before += now - begun;
			idle = false;
		}
		if (!idle && unit_below(10) == 0) {
			now += rnd_any() >> unit_below(32);
			gentle_red_idle(&v, now);
			begun = now;
			idle = true;
		}
		pass = fabsl(v.avg / (long double)ONE - exact) < 0.000001L;
	}
	unit_ok(pass, "average over busy and idle times");
}

/* However idle time comes in pieces, it is the sum that the queue forgets by. */
static void test_forgetting(void)
{
	struct gentle_red_params p = {
		.min_th = 5, .max_th = 15, .max_p = GENTLE_RED_PERCENT,
		.weight = 1 << 24, /* 1/256 */ .ptime = 1000000,
	};
	long double w = 1 / 256.0L;
	bool pass = true;
	int run;

	for (run = 0; run < 200 && pass; run++) {
		long double exact;
		u64 step = 1 + unit_below(2 * p.ptime);
		struct gentle_red_vars v = { .avg = 100ULL << 32 };
		struct gentle_red_stats st = {};
		u64 now = 0, idle = 0;
		int i;

		for (i = 0; i < 2000; i++) {
			now += step;
			idle += step;
			gentle_red_arrival(&p, &v, &st, 0, now);
			/* it is sent at once, or some time later */
			now += run & 1 ? 0 : unit_below(5 * p.ptime);
			gentle_red_idle(&v, now);
		}
		exact = 100 * powl(1 - w, idle / (long double)p.ptime);
		pass = v.avg / (long double)ONE <= exact / (1 - w) + 0.000001L &&
		       v.avg / (long double)ONE >= exact - 0.000001L;
		if (!pass)
			printf("# empty for %llu ns at a time: %Lf, not %Lf\n",
			       (unsigned long long)step,
			       v.avg / (long double)ONE, exact);
	}
	unit_ok(pass, "idle times shorter than a packet's add up");
}

/* What an arrival does beside the average, and the ends of the ranges. */
static void test_arrival(void)
{
	struct gentle_red_params p = {
		.min_th = 10, .max_th = 20, .max_p = 90 * GENTLE_RED_PERCENT,
		.bottom = GENTLE_RED_BOTTOM, .top = GENTLE_RED_TOP,
		.weight = 1 << 28, .ptime = 1, .adaptive = true,
	};
	const u64 start = 123456789012345ULL;
	struct gentle_red_stats st = {};
	struct gentle_red_vars v, w;

	gentle_red_init(&v, &p, start);
	unit_ok(!v.rest && v.idle_since == start && !v.avg && !v.count,
		"it starts with an empty queue");
	unit_ok(v.max_p == GENTLE_RED_TOP, "and with max_p between its bounds");
	w = v;
	gentle_red_arrival(&p, &w, &st, 0, start + GENTLE_RED_INTERVAL - 1);
	unit_ok(w.max_p == v.max_p, "max_p adapts after half a second, not before");
	gentle_red_arrival(&p, &w, &st, 0, start + GENTLE_RED_INTERVAL);
	unit_ok(w.max_p < v.max_p && st.lowered == 1,
		"an arrival at an idle queue adapts it");
	w.max_p = p.bottom;
	w.avg = 100ULL << 32;
	gentle_red_arrival(&p, &w, &st, 100, start + 2 * GENTLE_RED_INTERVAL);
	unit_ok(w.max_p > p.bottom && st.raised == 1,
		"and one at a busy queue");

	v.avg = 100ULL << 32;
	w = gentle_red_snapshot(&p, &v, 0, start + (1ULL << 32));
	unit_ok(!w.avg, "2^32 packet times forget everything");
	unit_ok(v.avg == 100ULL << 32, "and looking changes nothing");
	gentle_red_average(&p, &v, 0, start + (1ULL << 32));
	unit_ok(v.avg == w.avg, "what is seen is what an arrival finds");
	v.avg = 100ULL << 32;
	w = gentle_red_snapshot(&p, &v, 1, start + (1ULL << 32));
	unit_ok(w.avg == v.avg, "while packets are queued, nothing is forgotten");

	v = (struct gentle_red_vars) { .avg = 10ULL << 32, .count = U32_MAX };
	gentle_red_verdict(&p, &v, NULL);
	unit_ok(v.count == U32_MAX, "the count of arrivals stops, it does not wrap");
}

static void test_change(void)
{
	struct gentle_red_params a = {
		.min_th = 5, .max_th = 15, .max_p = 10 * GENTLE_RED_PERCENT,
		.bottom = GENTLE_RED_BOTTOM, .top = GENTLE_RED_TOP,
		.weight = 1 << 20, .ptime = 1, .adaptive = true,
	}, b = a;
	struct gentle_red_vars v = { .avg = 99, .count = 3, .max_p = 123456789 };

	b.min_th = 7;
	gentle_red_change(&v, &a, &b);
	unit_ok(v.avg == 99 && v.count == 3 && v.max_p == 123456789,
		"change keeps the average and the adapted max_p");
	b.max_p = 20 * GENTLE_RED_PERCENT;
	gentle_red_change(&v, &a, &b);
	unit_ok(v.max_p == b.max_p, "but takes a new max_p");
	a = b;
	b.top = 15 * GENTLE_RED_PERCENT;
	gentle_red_change(&v, &a, &b);
	unit_ok(v.max_p == b.top, "and keeps it inside new bounds");
	a = b;
	b.adaptive = false;
	gentle_red_change(&v, &a, &b);
	unit_ok(v.max_p == b.max_p, "without adaptive, max_p is what was configured");
	v.avg = 10ULL << 32;
	unit_ok(fabs(gentle_red_probability(&b, &v) - .2 * ONE * 3 / 8) < 20,
		"and p_b follows it");

	unit_ok(!gentle_red_check(&a), "a good configuration passes the check");
	b = a; b.min_th = b.max_th;
	unit_ok(gentle_red_check(&b), "min = max does not");
	b = a; b.weight = 0;
	unit_ok(gentle_red_check(&b), "nor weight 0");
	b = a; b.ptime = 0;
	unit_ok(gentle_red_check(&b), "nor ptime 0");
	b = a; b.max_th = 1U << 31;
	unit_ok(gentle_red_check(&b), "nor max of 2^31");
	b = a; b.bottom = b.top + 1;
	unit_ok(gentle_red_check(&b), "nor bottom above top");
	b = a; b.bottom = 1;
	unit_ok(gentle_red_check(&b), "nor a bottom that rounding would stop at");
	b.bottom = GENTLE_RED_MIN_BOTTOM;
	unit_ok(!gentle_red_check(&b), "the least bottom and");
	b.top = b.bottom;
	unit_ok(!gentle_red_check(&b), "equal bounds are good");
	b.bottom--;
	b.adaptive = false;
	b.top = 0;
	unit_ok(!gentle_red_check(&b), "without adaptive, bottom and top do not matter");
}

/* A new rate of the link: exact ratios, and what a queue of a FIFO does to them. */
static void test_follow(void)
{
	static const struct {
		double avg;
		u64 old, new;
		u32 length;
		double after;
	} cases[] = {
		/* Ten times slower: as long a delay, whatever the queue is now. */
		{ 300, 25000000, 2500000, 600, 30 },
		{ 300, 25000000, 2500000, 0, 30 },
		/* Faster: as long a delay if the queue is that long, */
		{ 30, 2500000, 25000000, 1000, 300 },
		/* otherwise as long as the queue, but no shorter. */
		{ 30, 2500000, 25000000, 100, 100 },
		{ 30, 2500000, 25000000, 30, 30 },
		{ 30, 2500000, 25000000, 0, 30 },
		{ 30, 12500000, 12500000, 1000, 30 },
		{ 0, 2500000, 25000000, 1000, 0 },
		/* From the slowest to the fastest link, and back */
		{ 1000, 1, BIT_ULL(40), U32_MAX, U32_MAX },
		{ 1000, BIT_ULL(40), 1, U32_MAX, 0 },
	};
	struct gentle_red_vars v;
	bool pass = true;
	u64 start;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		v = (struct gentle_red_vars) { .avg = cases[i].avg * ONE };
		gentle_red_follow(&v, cases[i].old, cases[i].new, cases[i].length);
		pass = pass && fabs(avg_of(v.avg) - cases[i].after) <=
			       1e-6 * cases[i].after + 1 / ONE;
	}
	unit_ok(pass, "the average stays the same as a delay");

	/* A rate that is measured again and again, an eighth up and down, moves nothing. */
	start = 100 * ONE;
	v = (struct gentle_red_vars) { .avg = start };
	for (int i = 0; i < 1000; i++) {
		gentle_red_follow(&v, 1000000, 875000, 100);
		gentle_red_follow(&v, 875000, 1000000, 100);
	}
	unit_ok(fabs(avg_of(v.avg) - 100) < 0.1,
		"a rate that goes up and down does not lower the average");
}

UNIT_TESTS
{
	test_fold();
	test_decay();
	test_auto_weight();
	test_probability();
	test_chance();
	test_figure_17();
	test_spacing();
	test_regions();
	test_adapt();
	test_idle();
	test_forgetting();
	test_arrival();
	test_change();
	test_follow();
}
