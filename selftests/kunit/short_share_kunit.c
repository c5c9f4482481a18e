// SPDX-License-Identifier: GPL-2.0
/* short_share in the kernel: the paper's formula, and the order of service. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/short_share.h>

#define SHARE(tenths)	((u32)((tenths) * 429496729U))

/* Table II has 2000 and 30000 bytes. Shares are accurate to 1e-6. */
static void share_equals_the_papers(struct kunit *test)
{
	struct short_share_params p;

	short_share_set(&p, 2000, 30000, 0, SHARE(8));
	KUNIT_EXPECT_EQ(test, short_share(&p, 0), 0);
	KUNIT_EXPECT_EQ(test, short_share(&p, 1) / 4295, U32_MAX / 15 / 4295);
	KUNIT_EXPECT_EQ(test, short_share(&p, 2000), short_share(&p, 1));
	KUNIT_EXPECT_EQ(test, short_share(&p, 15000) / 4295, SHARE(5) / 4295);
	KUNIT_EXPECT_EQ(test, short_share(&p, 24001), SHARE(8));
	KUNIT_EXPECT_EQ(test, short_share(&p, U32_MAX), SHARE(8));
}

/* q1 is always half of max1, so 500 of 1000 equal packets are short. */
static void busy_short_queue_gets_its_share(struct kunit *test)
{
	u32 i, served[SHORT_SHARE_QUEUES] = {};
	struct short_share_params p;
	s64 credit = 0;

	short_share_set(&p, 2000, 30000, 0, SHARE(8));
	for (i = 0; i < 1000; i++)
		served[short_share_pick(&p, &credit, true, 1000, true, 1000, 15000)]++;
	KUNIT_EXPECT_GE(test, served[SHORT_SHARE_SHORT], 499);
	KUNIT_EXPECT_LE(test, served[SHORT_SHARE_SHORT], 501);
}

static void an_empty_queue_leaves_no_claim(struct kunit *test)
{
	struct short_share_params p;
	s64 credit = 5000LL << 32;

	short_share_set(&p, 2000, 30000, 0, SHARE(8));
	KUNIT_EXPECT_EQ(test, SHORT_SHARE_LONG,
			short_share_pick(&p, &credit, false, 0, true, 1000, 0));
	KUNIT_EXPECT_EQ(test, credit, 0);
	credit = -(1500LL << 32);
	KUNIT_EXPECT_EQ(test, SHORT_SHARE_SHORT,
			short_share_pick(&p, &credit, true, 9000, false, 0, 9000));
	KUNIT_EXPECT_EQ(test, credit, 0);
}

static struct kunit_case short_share_cases[] = {
	KUNIT_CASE(share_equals_the_papers),
	KUNIT_CASE(busy_short_queue_gets_its_share),
	KUNIT_CASE(an_empty_queue_leaves_no_claim),
	{}
};

static struct kunit_suite short_share_suite = {
	.name		= "aqm_short_share",
	.test_cases	= short_share_cases,
};

kunit_test_suite(short_share_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/short_share.h");
MODULE_LICENSE("GPL");
