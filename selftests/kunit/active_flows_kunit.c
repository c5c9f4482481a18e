// SPDX-License-Identifier: GPL-2.0
/* active_flows with the kernel's memory: full tables, moves, no access beyond the end. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/active_flows.h>

#define FLOWS	100
#define SEED	1

static void *memory_for(struct kunit *test, u32 capacity)
{
	void *memory = kunit_kmalloc(test, active_flows_size(capacity),
				     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

static void a_full_table_finds_each(struct kunit *test)
{
	struct active_flows t;
	u32 capacity, i, slot;

	for (capacity = 1; capacity <= FLOWS; capacity += 9) {
		active_flows_init(&t, memory_for(test, capacity), capacity);
		for (i = 0; i < capacity; i++) {
			KUNIT_EXPECT_EQ(test, active_flows_find(&t, i << 20), 0U);
			slot = active_flows_add(&t, i << 20);
			KUNIT_EXPECT_LE(test, slot, capacity);
			t.flows[slot].qlen = i + 1;
		}
		for (i = 0; i < capacity; i++) {
			slot = active_flows_find(&t, i << 20);
			KUNIT_EXPECT_NE(test, slot, 0U);
			KUNIT_EXPECT_EQ(test, t.flows[slot].qlen, i + 1);
		}
		KUNIT_EXPECT_EQ(test, t.count, capacity);
	}
}

static void a_move_keeps_the_flows(struct kunit *test)
{
	struct active_flow *old;
	struct active_flows t;
	struct rnd_state rnd;
	u32 i, slot;

	active_flows_init(&t, memory_for(test, FLOWS), FLOWS);
	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < FLOWS; i++)
		t.flows[active_flows_add(&t, i)].qlen = 1;
	for (i = 0; i < FLOWS; i++)
		if (prandom_u32_state(&rnd) % 2)
			active_flows_remove(&t, active_flows_find(&t, i));
	old = active_flows_move(&t, memory_for(test, t.count), t.count);
	for (i = 1; i <= FLOWS; i++) {
		if (!old[i].qlen)
			continue;
		slot = active_flows_find(&t, old[i].number);
		KUNIT_EXPECT_EQ(test, slot, old[i].next);
		KUNIT_EXPECT_LE(test, slot, t.capacity);
	}
}

static struct kunit_case active_flows_cases[] = {
	KUNIT_CASE(a_full_table_finds_each),
	KUNIT_CASE(a_move_keeps_the_flows),
	{}
};

static struct kunit_suite active_flows_suite = {
	.name		= "aqm_active_flows",
	.test_cases	= active_flows_cases,
};

kunit_test_suite(active_flows_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/active_flows.h");
MODULE_LICENSE("GPL");
