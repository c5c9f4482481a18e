// SPDX-License-Identifier: GPL-2.0
/* Compare throughput_index with a scan over all queues, in the kernel. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/throughput_index.h>

#define QUEUES	64
#define SEED	1

struct queue {
	struct throughput_score	score;
	bool			listed;
	u8			rest[NUMBERED_BYTES - sizeof(bool) -
				     sizeof(struct throughput_score)];
};

static_assert(sizeof(struct queue) == NUMBERED_BYTES);

struct world {
	struct throughput_index	ti;
	struct queue		queues[QUEUES];
};

static struct world *new_world(struct kunit *test, u32 time_constant, u64 now)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	throughput_index_init(&w->ti, &w->queues->score, QUEUES, time_constant,
			      now);
	return w;
}

static void count(struct world *w, int i, u32 bytes, u64 now)
{
	struct queue *q = &w->queues[i];

	throughput_index_count(&w->ti, &q->score, q->listed, bytes, now);
}

static void toggle(struct world *w, int i)
{
	struct queue *q = &w->queues[i];

	if (q->listed)
		throughput_index_del(&w->ti, &q->score);
	else
		throughput_index_add(&w->ti, &q->score);
	q->listed = !q->listed;
}

/* Return the throughput on one scale, decayed to the present half-life. */
static u64 present(struct world *w, int i)
{
	return throughput_decay(w->queues[i].score.units,
				w->queues[i].score.half_life,
				w->ti.clock.half_life);
}

static void top_is_that_of_a_scan(struct kunit *test)
{
	struct world *w = new_world(test, 1000000, 0);
	struct throughput_score *top;
	struct rnd_state rnd;
	u64 now = 0, most;
	int step, i, known = 0;

	prandom_seed_state(&rnd, SEED);
	for (step = 0; step < 20000; step++) {
		i = prandom_u32_state(&rnd) % QUEUES;
		/* mostly up to 17 ms, sometimes up to 4.3 s */
		now += prandom_u32_state(&rnd) >>
		       (prandom_u32_state(&rnd) % 16 ? 8 : 0);
		if (prandom_u32_state(&rnd) % 3)
			count(w, i, prandom_u32_state(&rnd) >> 16, now);
		else
			toggle(w, i);

		most = 0;
		for (i = 0; i < QUEUES; i++)
			if (w->queues[i].listed)
				most = max(most, present(w, i));
		top = throughput_index_top(&w->ti);
		if (!most)
			continue;
		KUNIT_ASSERT_NOT_NULL(test, top);
		i = container_of(top, struct queue, score) - w->queues;
		KUNIT_ASSERT_TRUE(test, w->queues[i].listed);
		/* the comparison may lose 1/16 and one unit */
		KUNIT_ASSERT_GE(test, present(w, i) + 1, most - most / 17);
		known++;
	}
	KUNIT_EXPECT_GT(test, known, 10000);
}

static void an_idle_queue_loses_its_lead(struct kunit *test)
{
	struct world *w = new_world(test, 1000, 5);
	u64 now = 5;
	int i;

	toggle(w, 0);
	toggle(w, 1);
	for (i = 0; i < 1000; i++)
		count(w, 1, 1514, now);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti),
			    &w->queues[1].score);
	/* exp(-10) of a thousand packets is less than one packet */
	count(w, 0, 1514, now + 10000000);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti),
			    &w->queues[0].score);
	toggle(w, 0);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti),
			    &w->queues[1].score);
	/* a year later both are 0 */
	count(w, 2, 64, now + 31536000000000000);
	KUNIT_EXPECT_EQ(test, w->ti.octaves, 0);
	toggle(w, 1);
	KUNIT_EXPECT_PTR_EQ(test, throughput_index_top(&w->ti), NULL);
}

static u64 rate(struct world *w, int i, u64 now)
{
	return throughput_score_rate(&w->queues[i].score, &w->ti.clock, now);
}

static void a_steady_rate_reads_as_itself(struct kunit *test)
{
	struct world *w = new_world(test, 10000, 0);
	u64 now = 0;
	int i;

	/* 1250 bytes every 10 us */
	for (i = 0; i < 20000; i++)
		count(w, 0, 1250, now += 10000);
	KUNIT_EXPECT_GT(test, rate(w, 0, now + 5000), 999990000);
	KUNIT_EXPECT_LT(test, rate(w, 0, now + 5000), 1000010000);
	throughput_index_change(&w->ti, 100000000, now + 5000);
	KUNIT_EXPECT_GT(test, rate(w, 0, now + 5000), 999990000);
	KUNIT_EXPECT_LT(test, rate(w, 0, now + 5000), 1000010000);
}

/* 20 Tb/s during 1 ms exceed 64 bits by far. */
static void too_high_rate_saturates(struct kunit *test)
{
	struct world *w = new_world(test, 1000, 0);
	u64 now = 0;
	int i;

	for (i = 0; i < 10000; i++)
		count(w, 0, 1 << 20, now += 400);
	KUNIT_EXPECT_EQ(test, w->queues[0].score.units, U64_MAX);
	KUNIT_EXPECT_LE(test, rate(w, 0, now), 1ULL << 43);
}

static struct kunit_case throughput_index_cases[] = {
	KUNIT_CASE(top_is_that_of_a_scan),
	KUNIT_CASE(an_idle_queue_loses_its_lead),
	KUNIT_CASE(a_steady_rate_reads_as_itself),
	KUNIT_CASE(too_high_rate_saturates),
	{}
};

static struct kunit_suite throughput_index_suite = {
	.name		= "aqm_throughput_index",
	.test_cases	= throughput_index_cases,
};

kunit_test_suite(throughput_index_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/throughput_index.h");
MODULE_LICENSE("GPL");
