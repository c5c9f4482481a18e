// SPDX-License-Identifier: GPL-2.0
/* flow_spread against chance: 64 flows, 64 queues, whatever makes their hashes differ. */
#include <linux/kernel.h>

#include <linux/bitops.h>
#include <aqm/flow_key.h>

#include "unit.h"

#define FLOWS	64

/*
 * Of 64 queues 64 flows thrown at random use 40.6 in the mean, with a standard
 * deviation of 3.1: fewer than 22 is six deviations away.
 */
#define FEWEST	22

static u32 used(u32 first, u32 step, u32 salt)
{
	u64 queues = 0;
	u32 i;

	for (i = 0; i < FLOWS; i++)
		queues |= 1ULL << flow_spread(first + i * step, salt, FLOWS);
	return hweight64(queues);
}

/* Some network cards use a flow's number as its hash, or a hash with few varying bits. */
static void spreads_hashes_in_a_row(void)
{
	static const u32 steps[] = { 1, 2, 16, 0x10000, 0x10001, 0x1000000 };
	u32 i, round, seen, fewest;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		fewest = FLOWS;
		for (round = 0; round < 2000; round++) {
			seen = used(unit_random(), steps[i], unit_random() | 1);
			fewest = seen < fewest ? seen : fewest;
		}
		unit_ok(fewest >= FEWEST,
			"64 hashes %#x apart use %u queues at least", steps[i],
			fewest);
	}
}

/* Two hashes share one of n queues for at most 2 / n of the salts. */
static void keeps_two_apart(void)
{
	u32 round, a, b, shared = 0, rounds = 400000;

	a = unit_random();
	b = a + 1;
	for (round = 0; round < rounds; round++) {
		u32 salt = unit_random() | 1;

		shared += flow_spread(a, salt, 1024) == flow_spread(b, salt, 1024);
	}
	/* 781 in the mean at the bound, with a standard deviation of 28. */
	unit_ok(shared <= 781 + 6 * 28, "two hashes share a queue %u times of %u",
		shared, rounds);
}

static void stays_within_the_queues(void)
{
	u32 round, n, queue, beyond = 0;

	for (round = 0; round < 100000; round++) {
		n = 1 + unit_below(65536);
		queue = flow_spread(unit_random(), unit_random() | 1, n);
		beyond += queue >= n;
	}
	unit_ok(!beyond, "no queue beyond the last");
}

UNIT_TESTS
{
	spreads_hashes_in_a_row();
	keeps_two_apart();
	stays_within_the_queues();
}
