// SPDX-License-Identifier: GPL-2.0
/* random_fifo inside the kernel: order, room, and uniform draws. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/random_fifo.h>

#define ENTRIES	64
#define SEED	1

static void *item(unsigned long number)
{
	return (void *)number;
}

static void new_fifo(struct kunit *test, struct random_fifo *f, u32 capacity)
{
	struct random_fifo_slot *slots;

	slots = kunit_kcalloc(test, random_fifo_slots(capacity), sizeof(*slots),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slots);
	random_fifo_init(f, slots, capacity);
}

static void removal_keeps_the_order(struct kunit *test)
{
	unsigned long number = 0, before;
	struct rnd_state rnd;
	struct random_fifo f;
	u32 slot, seen;
	int step;

	new_fifo(test, &f, ENTRIES);
	prandom_seed_state(&rnd, SEED);
	for (step = 0; step < 20000; step++) {
		if (f.count < f.capacity && prandom_u32_state(&rnd) % 2)
			random_fifo_add(&f, item(++number), 0);
		else if (f.count)
			random_fifo_remove(&f, 1 + prandom_u32_state(&rnd) % f.count);

		seen = 0;
		before = 0;
		for (slot = random_fifo_first(&f); slot; slot = f.slots[slot].next) {
			KUNIT_ASSERT_LE(test, slot, f.count);
			KUNIT_ASSERT_GT(test, (unsigned long)f.slots[slot].item,
					before);
			before = (unsigned long)f.slots[slot].item;
			seen++;
		}
		KUNIT_ASSERT_EQ(test, seen, f.count);
	}
}

static void there_is_room_up_to_the_capacity(struct kunit *test)
{
	static const u32 capacities[] = { 1, 2, 15, 31, 63, 100 };
	struct rnd_state rnd;
	struct random_fifo f;
	int i, step;

	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < ARRAY_SIZE(capacities); i++) {
		new_fifo(test, &f, capacities[i]);
		for (step = 0; step < 2000; step++) {
			while (f.count < f.capacity)
				random_fifo_add(&f, item(step), 0);
			random_fifo_remove(&f, 1 + prandom_u32_state(&rnd) % f.count);
		}
		for (step = 0; random_fifo_first(&f); step++)
			random_fifo_remove(&f, random_fifo_first(&f));
		KUNIT_EXPECT_EQ(test, step, capacities[i] - 1);
	}
}

/* As in the userspace test: 63 degrees of freedom, significance 1e-5. */
static void draws_are_uniform(struct kunit *test)
{
	const u32 draws = 1000 * ENTRIES, expected = 1000;
	u32 *seen = kunit_kcalloc(test, ENTRIES, sizeof(*seen), GFP_KERNEL);
	struct rnd_state rnd;
	struct random_fifo f;
	u32 slot, s, place;
	u64 sum = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	new_fifo(test, &f, ENTRIES);
	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < draws; i++) {
		while (f.count < ENTRIES)
			random_fifo_add(&f, item(i), 0);
		slot = 1 + prandom_u32_state(&rnd) % f.count;
		place = 0;
		for (s = random_fifo_first(&f); s != slot; s = f.slots[s].next)
			place++;
		seen[place]++;
		random_fifo_remove(&f, i % 2 ? slot : random_fifo_first(&f));
	}
	for (i = 0; i < ENTRIES; i++) {
		s64 off = (s64)seen[i] - expected;

		sum += off * off;
	}
	/* chi-square = sum / expected, against 122.7 */
	KUNIT_EXPECT_LT(test, sum, 122700);
}

static struct kunit_case random_fifo_cases[] = {
	KUNIT_CASE(removal_keeps_the_order),
	KUNIT_CASE(there_is_room_up_to_the_capacity),
	KUNIT_CASE(draws_are_uniform),
	{}
};

static struct kunit_suite random_fifo_suite = {
	.name		= "aqm_random_fifo",
	.test_cases	= random_fifo_cases,
};

kunit_test_suite(random_fifo_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/random_fifo.h");
MODULE_LICENSE("GPL");
