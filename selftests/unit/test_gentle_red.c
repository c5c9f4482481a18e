// SPDX-License-Identifier: GPL-2.0
/*
 * gentle_red.h against a model in floating point, within the bounds that the
 * header states. The model is written from the two papers' formulas. tests/oracle
 * compares every decision of the qdiscs that use it.
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

/* Ends of the ranges that no option and no trace of the oracles reaches. */
static void test_ends(void)
{
	struct gentle_red_params p = {
		.min_th = 10, .max_th = 20, .max_p = 90 * GENTLE_RED_PERCENT,
		.weight = 1 << 28, .ptime = 1,
	}, bad;
	struct gentle_red_vars v = { .avg = 10ULL << 32, .count = U32_MAX }, w;

	gentle_red_set(&p, &v, 0);
	gentle_red_verdict(&p, &v, NULL);
	unit_ok(v.count == U32_MAX, "the count of arrivals stops, it does not wrap");
	v.avg = 100ULL << 32;
	w = gentle_red_snapshot(&p, &v, 0, 1ULL << 32);
	unit_ok(!w.avg && v.avg, "2^32 packet times forget everything, but a dump forgets nothing");

	unit_ok(!gentle_red_check(&p), "a good configuration passes the check");
	bad = p;
	bad.weight = 0;
	unit_ok(gentle_red_check(&bad), "weight 0 does not");
	bad = p;
	bad.ptime = 0;
	unit_ok(gentle_red_check(&bad), "nor ptime 0");
	bad = p;
	bad.max_th = 1U << 31;
	unit_ok(gentle_red_check(&bad), "nor max of 2^31");
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
	test_ends();
	test_follow();
}
