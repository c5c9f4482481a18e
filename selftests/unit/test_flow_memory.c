// SPDX-License-Identifier: GPL-2.0
/* Compare flow_memory with its rule: which throughput a flow gets back, and which is lost. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <math.h>

#include <aqm/flow_spread.h>
#include <aqm/tdrr/flow_memory.h>

#include "unit.h"

#define SETS	32
#define RECORDS	(SETS * FLOW_RECORDS)
#define BIG	(16 * SETS)

static struct flow_record_set small[SETS], large[BIG];
static struct flow_memory m;

static struct throughput_clock clock;

static void store(u32 tag, const struct throughput_score *score, u32 half_life)
{
	clock.half_life = half_life;
	flow_memory_store(&m, tag, flow_memory_level(score), &clock);
}

static void begin(void)
{
	throughput_clock_init(&clock, 100000, 1);
	memset(small, 0, sizeof(small));
	memset(large, 0, sizeof(large));
	m = (struct flow_memory) { .set = small, .sets = SETS };
}

static struct throughput_score score_of(u64 units, u32 half_life)
{
	return (struct throughput_score) { .units = units, .half_life = half_life };
}

/* A throughput of up to 2^64 units, most of them small. */
static u64 any_units(void)
{
	return (unit_random() | 1ULL << 63) >> unit_below(64);
}

static void a_throughput_comes_back(void)
{
	u32 round, now, later;
	double worst = 0, error;
	bool bucket = true, spent = true;

	for (round = 0; round < 100000; round++) {
		struct throughput_score was, is = {};

		begin();
		now = unit_random();
		later = now + unit_below(70);
		was = score_of(any_units(), now);
		store(round + 1, &was, now);
		flow_memory_recall(&m, round + 1, &is, later);
		if (later - now >= 64 || was.units >> (later - now) <= 1) {
			spent &= is.units <= 1;
			continue;
		}
		/* The rest of a unit is lost. */
		error = fabs(ldexp(is.units, later - now) - was.units);
		error = max(0., error - ldexp(1, later - now)) / was.units;
		worst = error > worst ? error : worst;
		bucket &= is.half_life == later && m.recalled == 1 &&
			  is.bucket == __throughput_index_place(is.units, later);
	}
	unit_ok(worst <= ldexp(1, -20), "a throughput comes back within 2^-20 (2^%.1f)",
		log2(worst));
	unit_ok(spent, "a throughput that decayed to one unit comes back as that or less");
	unit_ok(bucket, "the score has the bucket of its throughput");
}

static void a_record_is_used_once(void)
{
	struct throughput_score was = score_of(1000000, 5), is = {};

	begin();
	store(77, &was, 5);
	flow_memory_recall(&m, 77, &is, 5);
	is.units = 1;
	flow_memory_recall(&m, 77, &is, 5);
	unit_ok(!is.units && m.recalled == 1, "a flow that got its throughput back starts anew");
}

/* Tags of one set. */
static u32 tag_of(u32 set, u32 number)
{
	return set * (u32)((1ULL << 32) / SETS) + 1 + number;
}

/* Sixteen flows of a set, in any order: the eight highest are remembered. */
static void the_highest_are_remembered(void)
{
	u32 round, i, wrong = 0, starts = 0;

	for (round = 0; round < 2000; round++) {
		u32 set = unit_below(SETS), now = unit_random(), order[16];
		struct throughput_score is = {};

		begin();
		for (i = 0; i < 16; i++)
			order[i] = i;
		for (i = 15; i; i--) {
			u32 other = unit_below(i + 1), was = order[i];

			order[i] = order[other];
			order[other] = was;
		}
		for (i = 0; i < 16; i++) {
			struct throughput_score was =
				score_of(1000ULL << 2 * order[i], now);

			store(tag_of(set, order[i]), &was, now);
		}
		/* A new flow starts with the lowest of the eight. */
		flow_memory_recall(&m, tag_of(set, 99), &is, now);
		starts += is.units >> 16 == 1000;
		for (i = 0; i < 16; i++) {
			flow_memory_recall(&m, tag_of(set, i), &is, now);
			if (i >= 8)
				wrong += is.units >> 2 * i < 990;
			else
				wrong += is.units >> 16 > 1000;
		}
		wrong += m.recalled != 8;
	}
	unit_ok(!wrong, "the eight highest of a set are remembered (%u not)", wrong);
	unit_ok(starts == 2000, "a new flow starts with the lowest of a full set (%u of 2000)",
		starts);
}

static void flow_without_a_record_starts_at_0_if_there_is_room(void)
{
	struct throughput_score was = score_of(1 << 30, 9), is = score_of(12345, 9);
	u32 i;

	begin();
	for (i = 0; i < 7; i++)
		store(tag_of(3, i), &was, 9);
	flow_memory_recall(&m, tag_of(3, 50), &is, 9);
	unit_ok(!is.units, "a new flow starts at 0 if its set has room");
	store(tag_of(3, 7), &was, 9);
	flow_memory_recall(&m, tag_of(3, 50), &is, 9 + 64);
	unit_ok(!is.units, "or if all its records have decayed");
}

/* Long flows sent 100 packets, and short ones one each. */
static void short_flows_do_not_push_out_long_ones(void)
{
	struct throughput_score was = score_of(100 << 20, 1), is;
	u32 i, kept = 0;

	begin();
	for (i = 0; i < RECORDS / 4; i++)
		store(flow_mix(1 + i, 12345), &was, 1);
	was.units = 1 << 20;
	for (i = 0; i < 100 * RECORDS; i++)
		store(flow_mix(1000000 + i, 12345), &was, 1);
	for (i = 0; i < RECORDS / 4; i++) {
		flow_memory_recall(&m, flow_mix(1 + i, 12345), &is, 1);
		kept += is.units > 99 << 20;
	}
	/* Of 256 records, 64 long flows: nine in one set of 32 are unlikely. */
	unit_ok(kept >= RECORDS / 4 - 1, "%u of %u long flows are remembered after %u short ones",
		kept, RECORDS / 4, 100 * RECORDS);
}

static void a_table_is_short_if_useful_records_are_lost(void)
{
	struct throughput_score was;
	u32 i, wanted = 0;

	begin();
	m = (struct flow_memory) {};
	was = score_of(throughput_clock_units(&clock, 1000) >> 5, 1);
	store(5, &was, 1);
	unit_ok(!flow_memory_is_short(&m), "a packet of five half-lives ago is not missed");
	was.units *= 2;
	store(5, &was, 1);
	unit_ok(flow_memory_is_short(&m), "a packet of four half-lives ago is");
	unit_ok(!flow_memory_is_short(&m), "and asked for once");

	begin();
	for (i = 0; i < RECORDS; i++)
		store(tag_of(i % SETS, i), &was, 1);
	unit_ok(!flow_memory_is_short(&m), "a full table is large enough");
	for (i = 0; i < SETS; i++) {
		store(tag_of(i, 5000 + i), &was, 1);
		wanted += flow_memory_is_short(&m);
	}
	unit_ok(wanted == 3, "too many losses ask for a larger one (%u times)", wanted);
	for (i = 0; i < 1000; i++) {
		store(tag_of(i % SETS, i), &was, 1);
		was.half_life += 17;
		store(tag_of(i % SETS, i), &was, was.half_life);
		wanted += flow_memory_is_short(&m);
	}
	unit_ok(wanted == 3, "a few losses in a long time do not");
}

static void a_larger_table_has_the_same_records(void)
{
	u32 i, kept = 0, before = 0;
	struct throughput_score is;

	begin();
	for (i = 0; i < RECORDS; i++) {
		struct throughput_score was = score_of(1000000 + 1000 * i, 1);

		store(flow_mix(1 + i, 777), &was, 1);
	}
	for (i = 0; i < SETS; i++)
		for (u32 w = 0; w < FLOW_RECORDS; w++)
			before += !!small[i].tag[w];
	unit_ok(flow_memory_grow(&m, large, BIG) == small && m.sets == BIG,
		"the owner gets the old table back");
	for (i = 0; i < RECORDS; i++) {
		flow_memory_recall(&m, flow_mix(1 + i, 777), &is, 1);
		kept += is.units >= 999990 + 1000 * i && is.units <= 1000000 + 1000 * i;
	}
	unit_ok(kept == before && m.recalled == before, "%u of %u records are in the larger table",
		kept, before);
}

static void sizes_are_bounded(void)
{
	static const u32 queues[] = { 1, 2, 8, 64, 1024, 1032, 65536 };
	bool bounded = true;
	u32 i, sets;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		m = (struct flow_memory) {};
		while ((sets = flow_memory_next(&m, queues[i]))) {
			bounded &= sets > m.sets && (!m.sets || m.sets * FLOW_RECORDS <= 2048);
			m.sets = sets;
		}
		bounded &= m.sets * FLOW_RECORDS <= min(64 * max(queues[i], 4U), 65536U);
	}
	unit_ok(bounded, "growing moves at most 2048 records, and ends at 64 a queue or 65536");
}

UNIT_TESTS
{
	a_throughput_comes_back();
	a_record_is_used_once();
	the_highest_are_remembered();
	flow_without_a_record_starts_at_0_if_there_is_room();
	short_flows_do_not_push_out_long_ones();
	a_table_is_short_if_useful_records_are_lost();
	a_larger_table_has_the_same_records();
	sizes_are_bounded();
}
