// SPDX-License-Identifier: GPL-2.0
/* flow_count and flow_proportional with the kernel's divisions. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/flow_count.h>
#include <aqm/flow_proportional.h>

#define BITS	5000
#define CLEAR	(4 * NSEC_PER_SEC)

static void each_bit_is_cleared_in_its_time(struct kunit *test)
{
	struct flow_count c;
	u64 *words;
	u32 i;

	words = kunit_kcalloc(test, flow_count_words(BITS), sizeof(*words),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, words);
	flow_count_init(&c, words, BITS, 0);
	/* One hash in the middle of each bit's range. */
	for (i = 0; i < BITS; i++)
		flow_count_see(&c, div_u64((2ULL * i + 1) << 31, BITS));
	KUNIT_EXPECT_EQ(test, c.count, BITS);
	flow_count_see(&c, U32_MAX);
	KUNIT_EXPECT_EQ(test, c.count, BITS);

	flow_count_advance(&c, CLEAR, 799999);
	KUNIT_EXPECT_EQ(test, c.count, BITS);
	flow_count_advance(&c, CLEAR, 800000);
	KUNIT_EXPECT_EQ(test, c.count, BITS - 1);
	flow_count_advance(&c, CLEAR, 800000 * 1000ULL);
	KUNIT_EXPECT_EQ(test, c.count, BITS - 1000);
	KUNIT_EXPECT_EQ(test, flow_count_seen(&c, CLEAR, 800000 * 4999ULL), 1U);
	KUNIT_EXPECT_EQ(test, flow_count_seen(&c, CLEAR, CLEAR), 0U);
	flow_count_advance(&c, CLEAR, 800000 * 4999ULL);
	KUNIT_EXPECT_EQ(test, c.count, 1U);
	flow_count_advance(&c, CLEAR, 3600 * CLEAR);
	KUNIT_EXPECT_EQ(test, c.count, 0U);
}

/* 1 Gb/s and 100 ms: equations 3.4 and 3.5. */
static void targets_and_losses(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, flow_proportional_target(8333, 1), 8333U);
	KUNIT_EXPECT_EQ(test, flow_proportional_target(8333, 10), 438U);
	KUNIT_EXPECT_EQ(test, flow_proportional_target(8333, 1000), 6000U);
	/* (0.87 1000 / 15333)^2 = 0.003219469 */
	KUNIT_EXPECT_LE(test, abs((int)flow_proportional_loss(8333, 1000) -
				  13827513), 2);
	KUNIT_EXPECT_EQ(test, flow_proportional_loss(FLOW_PROPORTIONAL_PIPE, 1),
			0U);
}

static struct kunit_case flow_count_cases[] = {
	KUNIT_CASE(each_bit_is_cleared_in_its_time),
	KUNIT_CASE(targets_and_losses),
	{}
};

static struct kunit_suite flow_count_suite = {
	.name		= "aqm_flow_count",
	.test_cases	= flow_count_cases,
};

kunit_test_suite(flow_count_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/flow_count.h and aqm/flow_proportional.h");
MODULE_LICENSE("GPL");
