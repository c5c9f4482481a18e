// SPDX-License-Identifier: GPL-2.0
/* two_region in the kernel: figure 4-7 with stored vectors, and table 6.1. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/two_region.h>

#include "two_region_vectors.h"

static u64 thousandths(u64 x)
{
	return two_region_ratio(x, 1000);
}

static void setup(struct two_region_params *p, u64 mbit, bool literal)
{
	*p = (struct two_region_params) {
		.pipe		= two_region_pipe(mbit * 125000, 100000, 1500),
		.rtt		= 100000,
		.gentle		= true,
		.literal	= literal,
	};
	p->bmin = two_region_bmin(p->pipe, 10);
	p->bflat = two_region_bflat(p->bmin, two_region_n_1dpr(p->pipe));
	p->target = two_region_target(p->bflat, two_region_n_1dpr(p->pipe));
	p->bmax = two_region_bmax(p->pipe, p->target);
}

/* |got - want| is at most want / 1000 plus half of a stored thousandth. */
static void expect_close(struct kunit *test, u64 got, u64 want)
{
	want = thousandths(want);
	KUNIT_EXPECT_LE(test, max(got, want) - min(got, want),
			div_u64(want, 1000) + TWO_REGION_ONE / 1000);
}

static void packets_per_drop_are_those_of_the_formula(struct kunit *test)
{
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	int i, between = 0;

	for (i = 0; i < ARRAY_SIZE(two_region_vectors); i++) {
		setup(&p, two_region_vectors[i].mbit, two_region_vectors[i].literal);
		two_region_init(&v, 1);
		v.ppd = min(thousandths(two_region_vectors[i].ppd), p.pipe);
		v.ppd_old = min(thousandths(two_region_vectors[i].ppd_old), p.pipe);
		v.window = thousandths(two_region_vectors[i].window);
		v.q_old = thousandths(two_region_vectors[i].q_old);
		two_region_update(&p, &v, &st, thousandths(two_region_vectors[i].q));
		expect_close(test, v.ppd, two_region_vectors[i].new_ppd);
		expect_close(test, v.window, two_region_vectors[i].new_window);
		between += v.ppd > 10 * TWO_REGION_ONE && v.ppd < p.pipe;
	}
	KUNIT_EXPECT_GT(test, between, i / 4);
	KUNIT_EXPECT_GT(test, st.negative, 0U);
}

static void table_6_1(struct kunit *test)
{
	static const u32 rows[][4] = {
		{ 155, 89, 29, 134 }, { 622, 357, 58, 446 }, { 1000, 575, 74, 687 },
	};
	struct two_region_params p;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		setup(&p, rows[i][0], false);
		KUNIT_EXPECT_EQ(test, p.bmin, rows[i][1]);
		KUNIT_EXPECT_EQ(test, two_region_floor(two_region_n_1dpr(p.pipe)),
				rows[i][2]);
		KUNIT_EXPECT_EQ(test, p.bflat, rows[i][3]);
	}
}

static void phases_signal_as_often_as_they_say(struct kunit *test)
{
	struct two_region_stats st = {};
	struct two_region_params p;
	struct two_region_vars v;
	u32 low = 0, high = 0, most = 0;
	u64 now = 0;
	int i;

	setup(&p, 1000, false);
	two_region_init(&v, 1);
	for (i = 0; i < 1000000; i++, now += 12000)	/* 12 s */
		low += two_region_arrival(&p, &v, &st, (u64)p.bmin << 32, 1, now) ==
		       TWO_REGION_LOW;
	KUNIT_EXPECT_GE(test, low, 60U);	/* every 150 to 200 ms */
	KUNIT_EXPECT_LE(test, low, 81U);

	p.target = p.bmax - 1;	/* the controller cannot reduce the queue */
	for (i = 0; i < 1000000; i++, now += 12000)
		high += two_region_arrival(&p, &v, &st, (u64)p.bflat << 32, 1, now) ==
			TWO_REGION_HIGH;
	KUNIT_EXPECT_GE(test, high, 1000000U / 8334 - 3);	/* PPD is DB */
	KUNIT_EXPECT_LE(test, high, 1000000U / 8333 + 3);
	KUNIT_EXPECT_GE(test, st.updates, 83U);	/* every 96 to 144 ms */
	KUNIT_EXPECT_LE(test, st.updates, 125U);

	for (i = 0; i < 1000; i++, now += 12000)
		most += two_region_arrival(&p, &v, &st, 2ULL * p.bmax << 32, 1, now) ==
			TWO_REGION_MAX;
	KUNIT_EXPECT_EQ(test, most, 1000U);
}

static struct kunit_case two_region_cases[] = {
	KUNIT_CASE(packets_per_drop_are_those_of_the_formula),
	KUNIT_CASE(table_6_1),
	KUNIT_CASE(phases_signal_as_often_as_they_say),
	{}
};

static struct kunit_suite two_region_suite = {
	.name		= "aqm_two_region",
	.test_cases	= two_region_cases,
};

kunit_test_suite(two_region_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/two_region.h");
MODULE_LICENSE("GPL");
