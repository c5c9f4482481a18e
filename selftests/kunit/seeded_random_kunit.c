// SPDX-License-Identifier: GPL-2.0
/* The kernel's generator draws the same numbers as tests/oracle/seeded_random.py. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/seeded_random.h>

static const struct {
	u32 seed, first[4];
} known[] = {
	{ 1, { 0x30411120, 0x1ce994bb, 0x6e432e18, 0xa5875a09 } },
	{ 2, { 0x63861201, 0xf8d53937, 0x9d825820, 0x5b4eb43a } },
	{ 12345, { 0xdcd24d06, 0xc3446b65, 0x4afa9305, 0x5a8e1341 } },
	{ 0xffffffff, { 0xe0a0ecdf, 0xfd5c8261, 0xf9f5fdea, 0x88cf2613 } },
};

static void a_seed_names_a_sequence(struct kunit *test)
{
	struct seeded_random r;
	int i, k;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		seeded_random_init(&r, known[i].seed);
		for (k = 0; k < 4; k++)
			KUNIT_EXPECT_EQ(test, seeded_random_u32(&r),
					known[i].first[k]);
	}
}

static void below_is_below(struct kunit *test)
{
	struct seeded_random r;
	u32 seen = 0;
	int i;

	seeded_random_init(&r, 1);
	for (i = 0; i < 1000; i++) {
		u32 x = seeded_random_below(&r, 10);

		KUNIT_ASSERT_LT(test, x, 10U);
		seen |= BIT(x);
	}
	KUNIT_EXPECT_EQ(test, seen, 1023U);
}

static struct kunit_case seeded_random_cases[] = {
	KUNIT_CASE(a_seed_names_a_sequence),
	KUNIT_CASE(below_is_below),
	{}
};

static struct kunit_suite seeded_random_suite = {
	.name		= "aqm_seeded_random",
	.test_cases	= seeded_random_cases,
};

kunit_test_suite(seeded_random_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/seeded_random.h");
MODULE_LICENSE("GPL");
