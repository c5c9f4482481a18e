// SPDX-License-Identifier: GPL-2.0
/* Compare length_index with a scan over all queues, in the kernel. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/length_index.h>

#define QUEUES	64
#define SEED	1

struct queue {
	struct length_entry	entry;
	u32			length;
	u8			rest[NUMBERED_BYTES - sizeof(struct length_entry) -
				     sizeof(u32)];
};

static_assert(sizeof(struct queue) == NUMBERED_BYTES);

struct world {
	struct length_index	li;
	struct queue		queues[QUEUES];
};

static void longest_and_shortest_are_those_of_a_scan(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct rnd_state rnd;
	int step, i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	length_index_init(&w->li, &w->queues->entry, QUEUES);
	prandom_seed_state(&rnd, SEED);
	for (step = 0; step < 20000; step++) {
		struct queue *q = &w->queues[prandom_u32_state(&rnd) % QUEUES];
		u32 to = prandom_u32_state(&rnd) >> (prandom_u32_state(&rnd) % 32);
		u32 hi = 0, lo = U32_MAX;
		struct length_entry *n;

		if (prandom_u32_state(&rnd) % 3 == 0)
			to = 0;
		length_index_set(&w->li, &q->entry, to);
		q->length = to;
		for (i = 0; i < QUEUES; i++) {
			u32 length = w->queues[i].length;

			if (!length)
				continue;
			hi = max(hi, length_index_bucket(length));
			lo = min(lo, length_index_bucket(length));
		}
		n = length_index_longest(&w->li);
		KUNIT_ASSERT_EQ(test, !n, !hi);
		if (!n)
			continue;
		q = container_of(n, struct queue, entry);
		KUNIT_ASSERT_EQ(test, length_index_bucket(q->length), hi);
		q = container_of(length_index_shortest(&w->li), struct queue, entry);
		KUNIT_ASSERT_EQ(test, length_index_bucket(q->length), lo);
	}
}

static void strictly_shortest_is_alone_in_its_bucket(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct length_entry *a, *b;

	KUNIT_ASSERT_NOT_NULL(test, w);
	a = &w->queues[0].entry;
	b = &w->queues[1].entry;
	length_index_init(&w->li, &w->queues->entry, QUEUES);
	length_index_set(&w->li, a, 3000);
	KUNIT_EXPECT_TRUE(test, length_index_is_strictly_shortest(&w->li, a));
	length_index_set(&w->li, b, 3000);
	KUNIT_EXPECT_FALSE(test, length_index_is_strictly_shortest(&w->li, a));
	KUNIT_EXPECT_FALSE(test, length_index_is_strictly_shortest(&w->li, b));
	length_index_set(&w->li, b, 4500);
	KUNIT_EXPECT_TRUE(test, length_index_is_strictly_shortest(&w->li, a));
	KUNIT_EXPECT_FALSE(test, length_index_is_strictly_shortest(&w->li, b));
	length_index_set(&w->li, b, 0);
	KUNIT_EXPECT_TRUE(test, length_index_is_strictly_shortest(&w->li, b));
}

static struct kunit_case length_index_cases[] = {
	KUNIT_CASE(longest_and_shortest_are_those_of_a_scan),
	KUNIT_CASE(strictly_shortest_is_alone_in_its_bucket),
	{}
};

static struct kunit_suite length_index_suite = {
	.name		= "aqm_length_index",
	.test_cases	= length_index_cases,
};

kunit_test_suite(length_index_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/length_index.h");
MODULE_LICENSE("GPL");
