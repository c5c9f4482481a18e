// SPDX-License-Identifier: GPL-2.0
/* marking_probability with the kernel's divisions: exact steps, also at the bounds. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/marking_probability.h>

/* 0.02, 0.002 and 10 ms */
static const struct marking_params params = {
	.freeze	= 10 * NSEC_PER_MSEC,
	.up	= 85899346,
	.down	= 8589935,
};

static void p_rises_once_in_a_freeze_time(struct kunit *test)
{
	struct marking_probability v = {};
	u64 now = NSEC_PER_SEC;

	KUNIT_EXPECT_TRUE(test, marking_lost(&params, &v, now));
	KUNIT_EXPECT_FALSE(test, marking_lost(&params, &v, now + 9999999));
	KUNIT_EXPECT_EQ(test, v.p, 85899346U);
	KUNIT_EXPECT_TRUE(test, marking_lost(&params, &v, now + 10000000));
	KUNIT_EXPECT_EQ(test, v.p, 171798692U);
}

static void p_stays_within_0_and_1(struct kunit *test)
{
	struct marking_probability v = {};
	u64 now = NSEC_PER_SEC;
	int i;

	for (i = 0; i < 100; i++, now += params.freeze)
		marking_lost(&params, &v, now);
	KUNIT_EXPECT_EQ(test, v.p, U32_MAX);
	marking_idle(&v, now);
	/* 2^32 - 1 is 499 decrements of 8589935, and a part of one. */
	KUNIT_EXPECT_EQ(test, marking_idled(&params, &v, now + 498 * params.freeze),
			499U);
	KUNIT_EXPECT_EQ(test, v.p, U32_MAX - 499 * 8589935U);
	KUNIT_EXPECT_EQ(test, marking_idled(&params, &v, now + NSEC_PER_SEC * 3600),
			1U);
	KUNIT_EXPECT_EQ(test, v.p, 0U);
}

static struct kunit_case marking_probability_cases[] = {
	KUNIT_CASE(p_rises_once_in_a_freeze_time),
	KUNIT_CASE(p_stays_within_0_and_1),
	{}
};

static struct kunit_suite marking_probability_suite = {
	.name		= "aqm_marking_probability",
	.test_cases	= marking_probability_cases,
};

kunit_test_suite(marking_probability_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/marking_probability.h");
MODULE_LICENSE("GPL");
