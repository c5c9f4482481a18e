// SPDX-License-Identifier: GPL-2.0
/* throughput_index against a scan over all queues, inside the kernel. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/throughput_index.h>

#define QUEUES	64
#define SEED	1

struct world {
	struct throughput_index	ti;
	struct throughput_score	scores[QUEUES];
};

static struct world *new_world(struct kunit *test, u32 time_constant, u64 now)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	throughput_index_init(&w->ti, time_constant, now);
	for (i = 0; i < QUEUES; i++)
		throughput_score_init(&w->scores[i]);
	return w;
}

/* Scores on one scale: halved down to the present half-life. */
static void top_is_that_of_a_scan(struct kunit *test)
{
	struct world *w = new_world(test, 1000000, 0);
	struct throughput_score *s, *top;
	u64 now = 0, most, base;
	struct rnd_state rnd;
	int step, i, known = 0;

	prandom_seed_state(&rnd, SEED);
	for (step = 0; step < 20000; step++) {
		s = &w->scores[prandom_u32_state(&rnd) % QUEUES];
		/* mostly up to 17 ms, now and then up to 4.3 s */
		now += prandom_u32_state(&rnd) >>
		       (prandom_u32_state(&rnd) % 16 ? 8 : 0);
		if (prandom_u32_state(&rnd) % 3)
			throughput_index_count(&w->ti, s,
					       prandom_u32_state(&rnd) >> 16,
					       now);
		else if (list_empty(&s->node))
			throughput_index_add(&w->ti, s);
		else
			throughput_index_del(&w->ti, s);

		most = 0;
		base = w->ti.clock.half_life;
		for (i = 0; i < QUEUES; i++)
			if (!list_empty(&w->scores[i].node))
				most = max(most, throughput_score_at(&w->scores[i],
								     base));
		top = throughput_index_top(&w->ti);
		if (most) {
			KUNIT_ASSERT_NOT_NULL(test, top);
			KUNIT_ASSERT_FALSE(test, list_empty(&top->node));
			/* 1/16 and one unit lost in the comparison */
			KUNIT_ASSERT_GE(test, throughput_score_at(top, base) + 1,
					most - most / 17);
			known++;
		}
	}
	KUNIT_EXPECT_GT(test, known, 10000);
}

static void an_idle_queue_loses_its_lead(struct kunit *test)
{
	struct world *w = new_world(test, 1000, 5);
	u64 now = 5;
	int i;

	throughput_index_add(&w->ti, &w->scores[0]);
	throughput_index_add(&w->ti, &w->scores[1]);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), &w->scores[0]);
	for (i = 0; i < 1000; i++)
		throughput_index_count(&w->ti, &w->scores[1], 1514, now);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), &w->scores[1]);
	/* exp(-10) of a thousand packets is less than one packet */
	throughput_index_count(&w->ti, &w->scores[0], 1514, now + 10000000);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), &w->scores[0]);
	throughput_index_del(&w->ti, &w->scores[0]);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), &w->scores[1]);
	/* a year later both are spent */
	throughput_index_count(&w->ti, &w->scores[2], 64, now + 31536000000000000);
	KUNIT_EXPECT_EQ(test, w->ti.octaves, 0);
	throughput_index_del(&w->ti, &w->scores[1]);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), NULL);
}

static void a_steady_rate_reads_as_itself(struct kunit *test)
{
	struct world *w = new_world(test, 10000, 0);
	u64 now = 0, rate;
	int i;

	/* 1250 bytes every 10 us */
	for (i = 0; i < 20000; i++)
		throughput_index_count(&w->ti, &w->scores[0], 1250, now += 10000);
	rate = throughput_score_rate(&w->scores[0], &w->ti.clock, now + 5000);
	KUNIT_EXPECT_GT(test, rate, 999990000);
	KUNIT_EXPECT_LT(test, rate, 1000010000);
}

static struct kunit_case throughput_index_cases[] = {
	KUNIT_CASE(top_is_that_of_a_scan),
	KUNIT_CASE(an_idle_queue_loses_its_lead),
	KUNIT_CASE(a_steady_rate_reads_as_itself),
	{}
};

static struct kunit_suite throughput_index_suite = {
	.name		= "aqm_throughput_index",
	.test_cases	= throughput_index_cases,
};

kunit_test_suite(throughput_index_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/throughput_index.h");
MODULE_LICENSE("GPL");
