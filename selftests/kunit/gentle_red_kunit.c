// SPDX-License-Identifier: GPL-2.0
/*
 * gentle_red in the kernel, where there is no floating point. The expected values
 * were computed from the formulas with 60 decimal digits. The tolerances are the
 * bounds in the header.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/gentle_red.h>

#define SEED	1
#define WEIGHT	8589935U	/* 0.002 */

static void expect_near(struct kunit *test, u64 got, u64 exact, u64 slack)
{
	KUNIT_EXPECT_LE(test, got, exact + slack);
	KUNIT_EXPECT_GE(test, got, exact - slack);
}

static void the_average_follows_the_recursion(struct kunit *test)
{
	u64 avg = 0;
	int i;

	for (i = 0; i < 1000; i++)
		avg = gentle_red_fold(avg, WEIGHT, 50000);
	/* 2^-32 / w is 500 units of 2^-32 */
	expect_near(test, avg, 185743482222919, 500);
	for (i = 0; i < 100000; i++)
		avg = gentle_red_fold(avg, WEIGHT, 0);
	KUNIT_EXPECT_EQ(test, avg >> 32, 0);
}

static void an_idle_queues_average_decays(struct kunit *test)
{
	expect_near(test, gentle_red_decay(4000000000ULL << 32, WEIGHT, 100),
		    14062870489054250223ULL, 400);
	expect_near(test, gentle_red_decay(50000ULL << 32, WEIGHT, 12345),
		    3966, 33);
	KUNIT_EXPECT_EQ(test, gentle_red_decay(12345, WEIGHT, 0), 12345);
	KUNIT_EXPECT_EQ(test, gentle_red_decay(U64_MAX, WEIGHT, U32_MAX), 0);
}

static void short_idle_times_add_up(struct kunit *test)
{
	struct gentle_red_params p = { .weight = WEIGHT, .ptime = 1000000 };
	struct gentle_red_vars v = { .avg = 50000ULL << 32 };
	struct gentle_red_stats st = {};
	u64 now = 0;
	int i;

	/* 12345 packet times in pieces of 3/4; each arrival leaves at once */
	for (i = 0; i < 16460; i++) {
		now += 750000;
		gentle_red_arrival(&p, &v, &st, 0, now);
		gentle_red_idle(&v, now);
	}
	expect_near(test, v.avg, 3966, 500);
}

static void the_weight_of_a_rate(struct kunit *test)
{
	expect_near(test, gentle_red_auto_weight(2), 1689937949, 1200000);
	expect_near(test, gentle_red_auto_weight(375), 11437989, 5);
	expect_near(test, gentle_red_auto_weight(1000000), 4295, 5);
	KUNIT_EXPECT_GT(test, gentle_red_auto_weight(U32_MAX), 0);
}

static void the_probability_has_a_gentle_slope(struct kunit *test)
{
	static const struct {
		u32 avg;
		u64 gentle, hard;
	} points[] = {
		{ 19999, 0, 0 },
		{ 20000, 0, 0 },
		{ 35000, 21474836, 21474836 },
		{ 79999, 85897914, 85897914 },
		{ 80000, 85899346, GENTLE_RED_ONE },
		{ 120000, 2190433321, GENTLE_RED_ONE },
		{ 159999, 4294914682, GENTLE_RED_ONE },
		{ 160000, GENTLE_RED_ONE, GENTLE_RED_ONE },
	};
	struct gentle_red_params p = { .min_th = 20000, .max_th = 80000 };
	struct gentle_red_vars v = {};
	int i;

	gentle_red_set(&p, &v, 2 * GENTLE_RED_PERCENT);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		v.avg = (u64)points[i].avg << 32;
		p.gentle = true;
		expect_near(test, gentle_red_probability(&p, &v) + 2,
			    points[i].gentle + 2, 2);
		p.gentle = false;
		expect_near(test, gentle_red_probability(&p, &v) + 2,
			    points[i].hard + 2, 2);
	}
}

/* Count the gaps between drops at p = 1/16. */
static void drops_are_spaced_uniformly(struct kunit *test)
{
	struct gentle_red_params p = { .max_th = 128, .max_p = BIT(31) };
	u32 seen[40], first, gap, drops, i, wait;
	struct gentle_red_vars v = {};
	struct seeded_random random;
	u64 chi2;

	gentle_red_set(&p, &v, p.max_p);
	v.avg = 16ULL << 32;
	for (wait = 0; wait < 2; wait++) {
		p.wait = wait;
		seeded_random_init(&random, SEED);
		memset(seen, 0, sizeof(seen));
		first = wait ? 17 : 1;
		for (drops = 0; drops < 16000; drops++) {
			for (gap = 1; gentle_red_verdict(&p, &v, &random) ==
				      GENTLE_RED_PASS; gap++)
				KUNIT_ASSERT_LT(test, gap, 39);
			seen[gap]++;
		}
		for (chi2 = 0, i = 0; i < 40; i++) {
			if (i < first || i >= first + 16)
				KUNIT_EXPECT_EQ(test, seen[i], 0);
			else
				chi2 += abs_diff(seen[i], 1000U) *
					abs_diff(seen[i], 1000U);
		}
		/* 15 degrees of freedom: above 37.7 with probability 0.001 */
		KUNIT_EXPECT_LT(test, chi2, 37700);
	}
}

static void max_p_adapts_each_half_second(struct kunit *test)
{
	struct gentle_red_params p = {
		.min_th = 20000, .max_th = 80000, .max_p = 5 * GENTLE_RED_PERCENT,
		.bottom = GENTLE_RED_BOTTOM, .top = GENTLE_RED_TOP,
		.weight = WEIGHT, .ptime = 1000000, .adaptive = true,
	};
	struct gentle_red_stats st = {};
	struct gentle_red_vars v;

	gentle_red_init(&v, &p, 7);
	v.avg = 56001ULL << 32;			/* above min + 0.6 d */
	gentle_red_adapt(&p, &v, &st, 7 + GENTLE_RED_INTERVAL - 1);
	KUNIT_EXPECT_EQ(test, v.max_p, 5 * GENTLE_RED_PERCENT);
	gentle_red_adapt(&p, &v, &st, 7 + GENTLE_RED_INTERVAL);
	KUNIT_EXPECT_EQ(test, v.max_p, 6 * GENTLE_RED_PERCENT);
	gentle_red_adapt(&p, &v, &st, 7 + 4 * GENTLE_RED_INTERVAL);
	KUNIT_EXPECT_EQ(test, v.max_p, 9 * GENTLE_RED_PERCENT);
	v.avg = 50000ULL << 32;			/* on target */
	gentle_red_adapt(&p, &v, &st, 7 + 6 * GENTLE_RED_INTERVAL);
	KUNIT_EXPECT_EQ(test, v.max_p, 9 * GENTLE_RED_PERCENT);
	v.avg = 43999ULL << 32;			/* below min + 0.4 d */
	gentle_red_adapt(&p, &v, &st, 7 + 7 * GENTLE_RED_INTERVAL);
	expect_near(test, v.max_p, 347892351, 1);
	gentle_red_adapt(&p, &v, &st, U64_MAX / 2);
	KUNIT_EXPECT_EQ(test, v.max_p, GENTLE_RED_BOTTOM);
	v.avg = 80000ULL << 32;
	gentle_red_adapt(&p, &v, &st, U64_MAX - GENTLE_RED_INTERVAL);
	KUNIT_EXPECT_EQ(test, v.max_p, GENTLE_RED_TOP);
}

static struct kunit_case gentle_red_cases[] = {
	KUNIT_CASE(the_average_follows_the_recursion),
	KUNIT_CASE(an_idle_queues_average_decays),
	KUNIT_CASE(short_idle_times_add_up),
	KUNIT_CASE(the_weight_of_a_rate),
	KUNIT_CASE(the_probability_has_a_gentle_slope),
	KUNIT_CASE(drops_are_spaced_uniformly),
	KUNIT_CASE(max_p_adapts_each_half_second),
	{}
};

static struct kunit_suite gentle_red_suite = {
	.name		= "aqm_gentle_red",
	.test_cases	= gentle_red_cases,
};

kunit_test_suite(gentle_red_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/gentle_red.h");
MODULE_LICENSE("GPL");
