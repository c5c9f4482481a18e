// SPDX-License-Identifier: GPL-2.0
/* persistent_queue in the kernel: ABSMIN compared with a scan, and the averages. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/persistent_queue.h>

#define INTERVAL	100000000ULL	/* ns */
#define FIFTEENTH	(INTERVAL / 15)
#define EVENTS		4000

struct history {
	u64	at[EVENTS + 1];
	u32	length[EVENTS + 1];
};

static u32 scan(const struct history *h, int events, u64 now)
{
	u64 end = now - now % FIFTEENTH;
	u64 start = end - min(end, 15 * FIFTEENTH);
	u32 least = U32_MAX;
	int i;

	if (end < 15 * FIFTEENTH)
		return 0;
	for (i = events; i > 0 && h->at[i] > start; i--)
		;
	for (; i <= events && h->at[i] < end; i++)
		if ((i == events ? now : h->at[i + 1]) > start)
			least = min(least, h->length[i]);
	return least;
}

static void absmin_is_that_of_a_scan(struct kunit *test)
{
	struct history *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct persistent_queue_params p;
	struct persistent_queue pq;
	struct rnd_state rnd;
	u32 q = 0;
	u64 now = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, h);
	prandom_seed_state(&rnd, 1);
	persistent_queue_set(&p, PERSISTENT_QUEUE_ABSMIN, INTERVAL, 833);
	persistent_queue_init(&pq);
	for (i = 1; i <= EVENTS; i++) {
		u32 r = prandom_u32_state(&rnd);

		now += 1 + r % 600000;
		if (r % 97 == 0)
			now += (r % 40) * FIFTEENTH;
		if (q && r % 7 < 2 + (i / 500) % 3) {
			q--;
			persistent_queue_departure(&pq, &p, q, 1, now);
		} else {
			persistent_queue_arrival(&pq, &p, q, 1, now);
			q++;
		}
		h->at[i] = now;
		h->length[i] = q;
		KUNIT_ASSERT_EQ(test, pq.estimate, (u64)scan(h, i, now) << 32);
	}
	KUNIT_EXPECT_GT(test, pq.estimate, 0ULL);
}

static void averages_rise_alike_and_fall_each_in_its_way(struct kunit *test)
{
	struct persistent_queue_params ewma, drain;
	struct persistent_queue a, b;
	int i;

	persistent_queue_set(&ewma, PERSISTENT_QUEUE_EWMA, INTERVAL, 833);
	persistent_queue_set(&drain, PERSISTENT_QUEUE_EWMA_DRAIN, INTERVAL, 833);
	persistent_queue_init(&a);
	persistent_queue_init(&b);
	for (i = 0; i < 833; i++) {
		persistent_queue_arrival(&a, &ewma, 1000, 1, INTERVAL);
		persistent_queue_arrival(&b, &drain, 1000, 1, INTERVAL);
	}
	/* 1000 (1 - 1/e) = 632.12 */
	KUNIT_EXPECT_EQ(test, a.estimate >> 32, 632ULL);
	KUNIT_EXPECT_EQ(test, a.estimate, b.estimate);

	persistent_queue_departure(&a, &ewma, 100, 1, INTERVAL);
	persistent_queue_departure(&b, &drain, 100, 1, INTERVAL);
	KUNIT_EXPECT_EQ(test, a.estimate >> 32, 632ULL);
	KUNIT_EXPECT_EQ(test, b.estimate, 100ULL << 32);

	/* Empty for an interval: 632.12 / e = 232.54 */
	persistent_queue_departure(&a, &ewma, 0, 1, INTERVAL);
	persistent_queue_advance(&a, &ewma, 0, 2 * INTERVAL);
	KUNIT_EXPECT_EQ(test, a.estimate >> 32, 232ULL);
	persistent_queue_advance(&a, &ewma, 0, 100 * INTERVAL);
	KUNIT_EXPECT_EQ(test, a.estimate, 0ULL);
}

static struct kunit_case persistent_queue_cases[] = {
	KUNIT_CASE(absmin_is_that_of_a_scan),
	KUNIT_CASE(averages_rise_alike_and_fall_each_in_its_way),
	{}
};

static struct kunit_suite persistent_queue_suite = {
	.name		= "aqm_persistent_queue",
	.test_cases	= persistent_queue_cases,
};

kunit_test_suite(persistent_queue_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/persistent_queue.h");
MODULE_LICENSE("GPL");
