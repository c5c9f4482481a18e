// SPDX-License-Identifier: GPL-2.0
/* flow_age in the kernel: flows are told apart, and silent flows are forgotten. */
#include <kunit/test.h>
#include <linux/module.h>

#include <aqm/flow_age.h>

#define TAU	1000

struct world {
	struct flow_age_table	t;
	struct flow_age_stats	st;
};

static struct world *new_world(struct kunit *test)
{
	void *slots = kunit_kcalloc(test, 2, FLOW_AGE_SET, GFP_KERNEL);
	void *orders = kunit_kcalloc(test, 2, sizeof(u64), GFP_KERNEL);
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_NOT_NULL(test, slots);
	KUNIT_ASSERT_NOT_NULL(test, orders);
	flow_age_init(&w->t, slots, orders, 2);
	return w;
}

static struct flow_age *see(struct world *w, u32 id, u32 hash, u64 now)
{
	struct flow_key key = { .kind = 1, .dst[1] = id };

	return flow_age_see(&w->t, &w->st, &key, hash, 1, now, TAU);
}

static void a_flow_is_its_whole_key(struct kunit *test)
{
	struct world *w = new_world(test);

	see(w, 1, 0, 10);
	KUNIT_EXPECT_EQ(test, see(w, 2, 0, 20)->packets, 1);
	KUNIT_EXPECT_EQ(test, see(w, 1, 0, 30)->packets, 2);
	KUNIT_EXPECT_EQ(test, see(w, 1, 0, 30)->first, 10);
	KUNIT_EXPECT_EQ(test, see(w, 1, U32_MAX, 40)->packets, 1);
	KUNIT_EXPECT_EQ(test, w->st.new, 3);
}

static void a_flow_is_forgotten_after_tau(struct kunit *test)
{
	struct world *w = new_world(test);

	see(w, 1, 0, 10)->tag = 7;
	KUNIT_EXPECT_EQ(test, see(w, 1, 0, 10 + TAU)->tag, 7);
	KUNIT_EXPECT_EQ(test, see(w, 1, 0, 11 + 2 * TAU)->tag, 0);
	KUNIT_EXPECT_EQ(test, w->st.new, 2);
	KUNIT_EXPECT_EQ(test, w->st.evicted, 0);
}

static void the_longest_silent_makes_room(struct kunit *test)
{
	struct world *w = new_world(test);
	u32 id;

	for (id = 0; id < FLOW_AGE_WAYS; id++)
		see(w, id, 0, 10 + id);
	see(w, 0, 0, 100);
	see(w, 100, 0, 101);		/* takes the slot of flow 1 */
	KUNIT_EXPECT_EQ(test, w->st.evicted, 1);
	KUNIT_EXPECT_EQ(test, see(w, 0, 0, 102)->packets, 3);
	KUNIT_EXPECT_EQ(test, see(w, 2, 0, 103)->packets, 2);
	KUNIT_EXPECT_EQ(test, see(w, 1, 0, 104)->packets, 1);
	/* the other set has had room all the time */
	see(w, 200, U32_MAX, 105);
	KUNIT_EXPECT_EQ(test, w->st.evicted, 2);
}

static struct kunit_case flow_age_cases[] = {
	KUNIT_CASE(a_flow_is_its_whole_key),
	KUNIT_CASE(a_flow_is_forgotten_after_tau),
	KUNIT_CASE(the_longest_silent_makes_room),
	{}
};

static struct kunit_suite flow_age_suite = {
	.name		= "aqm_flow_age",
	.test_cases	= flow_age_cases,
};

kunit_test_suite(flow_age_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/flow_age.h");
MODULE_LICENSE("GPL");
