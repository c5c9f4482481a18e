// SPDX-License-Identifier: GPL-2.0
/* floating_red in the kernel: the steps of section V, and their bounds. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/floating_red.h>

/* gamma is 1/4: one step of 250, then one of 312, which the ceiling limits to 150. */
static void thresholds_follow_the_losses(struct kunit *test)
{
	const struct floating_red_params p = {
		.low = 100, .high = 200, .gamma = 1U << 30, .floor = 900, .ceiling = 3400,
	};
	struct gentle_red_params red = { .min_th = 1000, .max_th = 3000 };

	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 150), 0);
	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 201), 250);
	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 201), 150);
	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 201), 0);
	KUNIT_EXPECT_EQ(test, red.min_th, 1400);
	KUNIT_EXPECT_EQ(test, red.max_th, 3400);
	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 99), -350);
	KUNIT_EXPECT_EQ(test, floating_red_move(&p, &red, 99), -150);
	KUNIT_EXPECT_EQ(test, red.min_th, 900);
	KUNIT_EXPECT_EQ(test, red.max_th, 2900);
}

/* (1 - 2^-10)^1024 = 0.3677 of the arrivals before 1024 losses still count. */
static void p_is_an_average(struct kunit *test)
{
	u32 loss = 0, i;

	for (i = 0; i < 1024; i++)
		loss = floating_red_loss(loss, true);
	KUNIT_EXPECT_EQ(test, ((u64)loss * 1000) >> 32, 632);
	for (i = 0; i < 1024; i++)
		loss = floating_red_loss(loss, false);
	KUNIT_EXPECT_EQ(test, ((u64)loss * 1000) >> 32, 232);
}

static struct kunit_case floating_red_cases[] = {
	KUNIT_CASE(thresholds_follow_the_losses),
	KUNIT_CASE(p_is_an_average),
	{}
};

static struct kunit_suite floating_red_suite = {
	.name		= "aqm_floating_red",
	.test_cases	= floating_red_cases,
};

kunit_test_suite(floating_red_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/floating_red.h");
MODULE_LICENSE("GPL");
