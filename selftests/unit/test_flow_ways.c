// SPDX-License-Identifier: GPL-2.0
/* Compare flow_ways with its rule: the owner of a queue, the way to lose it, and the cost. */
#include <linux/kernel.h>
#include <linux/string.h>

#include <aqm/flow_ways.h>

#include "unit.h"

#define SETS	128
#define QUEUES	(SETS * FLOW_WAYS)

static struct flow_set sets[SETS];
static struct flow_ways fw;
static u32 salt;

static u32 *tag(u32 number)
{
	return &sets[number / FLOW_WAYS].tag[number % FLOW_WAYS];
}

/* Let a flow with this tag own a queue. */
static void own(u32 number, u32 owner)
{
	__flow_set_tag(&sets[number / FLOW_WAYS], number % FLOW_WAYS, owner);
	sets[number / FLOW_WAYS].claimed |= 1 << number % FLOW_WAYS;
}

static u16 *heat(u32 number)
{
	return &sets[number / FLOW_WAYS].heat[number % FLOW_WAYS];
}

/* A queue holds packets, as before or from now on. */
static void hold(u32 number)
{
	if (!flow_ways_is_busy(&fw, number))
		flow_ways_busy(&fw, number);
}

/* A queue is empty, as before or from now on, and so hot. */
static void leave(u32 number, u16 hot, u16 now)
{
	if (flow_ways_is_busy(&fw, number))
		flow_ways_idle(&fw, number);
	*heat(number) = hot;
	fw.now = now;
}

static void begin(void)
{
	fw = (struct flow_ways) { .set = sets, .sets = SETS, .first = SETS, .heated = true };
	flow_ways_reset(&fw, QUEUES);
	salt = unit_random() | 1;
}

/*
 * All flows have packets queued. Of n flows n - q (1 - (1 - 1/q)^n) share under a plain
 * hash into q queues: 4.7, 105 and 245 in the mean. Sets let a tenth of these share.
 */
static void flows_that_wait_hardly_share(void)
{
	static const u32 flows[] = { 100, 500, 800 }, most[] = { 0, 10, 24 };
	u32 i, flow, number, shared, first;
	u8 seen[QUEUES];

	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		begin();
		memset(seen, 0, sizeof(seen));
		first = unit_random();
		for (flow = 0, shared = 0; flow < flows[i]; flow++) {
			number = flow_ways_find(&fw, first + flow, salt);
			shared += !!seen[number];
			seen[number] = 1;
			hold(number);
		}
		unit_ok(shared <= most[i], "%u flows in %u queues: %u share",
			flows[i], QUEUES, shared);
	}
}

/* Half as many flows as queues: a hundredth of them at most lose their queue. */
static void flows_keep_their_queue_between_packets(void)
{
	u32 round, flow, moved = 0, had[500];

	begin();
	for (round = 0; round < 20; round++)
		for (flow = 0; flow < ARRAY_SIZE(had); flow++) {
			u32 number = flow_ways_find(&fw, flow, salt);

			moved += round && had[flow] != number;
			had[flow] = number;
			hold(number);
			leave(number, unit_below(64), 0);
		}
	unit_ok(moved <= ARRAY_SIZE(had) / 100, "%zu flows moved %u times in 20 rounds",
		ARRAY_SIZE(had), moved);
}

/* Long flows are hot; ten times as many short ones cannot take their queues. */
static void mice_take_the_coldest_queues(void)
{
	u32 round, flow, lost = 0, had[100];

	begin();
	for (flow = 0; flow < ARRAY_SIZE(had); flow++) {
		had[flow] = flow_ways_find(&fw, flow, salt);
		leave(had[flow], 500, 0);
	}
	for (round = 0; round < 20000; round++) {
		u32 mouse = flow_ways_find(&fw, 1000 + round, salt);

		leave(mouse, 10, 0);
	}
	for (flow = 0; flow < ARRAY_SIZE(had); flow++)
		lost += flow_ways_find(&fw, flow, salt) != had[flow];
	unit_ok(!lost, "20000 mice took the queues of %u of 100 long flows", lost);
}

/* All queues but the coldest have decayed less: the rule names one queue. */
static void a_new_flow_takes_the_coldest_of_its_16(void)
{
	u32 round, hash, number, coldest, one, two, wrong = 0;

	for (round = 0; round < 2000; round++) {
		begin();
		fw.now = unit_random();
		hash = unit_random();
		one = (u64)flow_mix(hash, salt) * SETS >> 32;
		two = (u64)flow_mix(flow_mix(hash, salt), salt) * SETS >> 32;
		for (number = 0; number < QUEUES; number++) {
			own(number, 1 + number);
			*heat(number) = fw.now + 100 + number % 16;
		}
		coldest = (unit_below(2) ? one : two) * 8 + unit_below(8);
		*heat(coldest) = fw.now + unit_below(99);
		wrong += flow_ways_find(&fw, hash, salt) != coldest;
		/* And it is the flow's from now on, as hot as it was. */
		wrong += flow_ways_find(&fw, hash, salt) != coldest;
	}
	unit_ok(!wrong, "a new flow takes the coldest of its 16 queues (%u did not)",
		wrong);
}

/* Its heat is below that of a throughput which has decayed to nothing. */
static void a_decayed_queue_is_taken_first(void)
{
	u32 round, hash, number, decayed, wrong = 0;

	for (round = 0; round < 2000; round++) {
		begin();
		fw.now = unit_random();
		hash = unit_random();
		for (number = 0; number < QUEUES; number++) {
			own(number, 1 + number);
			*heat(number) = fw.now + 1 + unit_below(1024);
		}
		decayed = ((u64)flow_mix(hash, salt) * SETS >> 32) * 8 + unit_below(8);
		*heat(decayed) = fw.now - 1 - unit_below(4032 * 16 - 1);
		wrong += flow_ways_find(&fw, hash, salt) != decayed;
	}
	unit_ok(!wrong, "a queue whose throughput has decayed is taken first (%u were not)",
		wrong);
}

static void a_queue_that_holds_packets_is_not_taken(void)
{
	u32 round, hash, number, taken = 0;

	for (round = 0; round < 2000; round++) {
		begin();
		hash = unit_random();
		for (number = 0; number < QUEUES; number++)
			if (unit_below(2))
				hold(number);
		number = flow_ways_find(&fw, hash, salt);
		taken += flow_ways_is_busy(&fw, number);
	}
	unit_ok(taken <= 3, "%u of 2000 flows share, with half of the queues in use",
		taken);

	begin();
	for (number = 0; number < QUEUES; number++)
		hold(number);
	number = flow_ways_find(&fw, hash, salt);
	unit_ok(number / 8 == (u64)flow_mix(hash, salt) * SETS >> 32 &&
		!*tag(number),
		"where all hold packets a flow shares, and claims nothing");
}

/* The flow's packets leave in order only if it stays while one of them may be there. */
static void a_flow_that_shares_stays_until_the_queue_is_empty(void)
{
	u32 round, hash, number, home, moved = 0, stayed = 0;

	for (round = 0; round < 2000; round++) {
		begin();
		hash = unit_random();
		for (number = 0; number < QUEUES; number++) {
			own(number, 1 + number);
			hold(number);
		}
		home = flow_ways_find(&fw, hash, salt);
		if (round % 2) {
			/* Room is made for the packet, at the cost of this queue. */
			leave(home, 0, 0);
			hold(home);
		}
		for (number = 0; number < QUEUES; number++)
			if (number != home)
				leave(number, 0, 0);
		moved += flow_ways_find(&fw, hash, salt) != home;
		leave(home, 1, 0);
		stayed += flow_ways_find(&fw, hash, salt) == home;
	}
	unit_ok(!moved, "a flow that shares a queue stays (%u of 2000 did not)", moved);
	unit_ok(!stayed, "and takes another once the queue is empty (%u did not)", stayed);
}

/* An arrival that is refused leaves the queue to the flow that owned it before. */
static void a_refused_arrival_claims_nothing(void)
{
	u32 round, hash, number, was, taken = 0, lost = 0;

	for (round = 0; round < 2000; round++) {
		begin();
		hash = unit_random();
		for (number = 0; number < QUEUES; number++)
			own(number, 1 + number);
		number = flow_ways_find(&fw, hash, salt);
		was = 1 + number;
		flow_ways_refuse(&fw, number);
		taken += *tag(number) != was;
		/* A flow that owns a queue keeps it. */
		number = flow_ways_find(&fw, hash, salt);
		hold(number);
		leave(number, 1, 0);
		flow_ways_find(&fw, hash, salt);
		flow_ways_refuse(&fw, number);
		lost += flow_ways_find(&fw, hash, salt) != number || *tag(number) == was;
	}
	unit_ok(!taken, "a refused arrival of a new flow claims nothing (%u did)", taken);
	unit_ok(!lost, "and one of an owner costs it nothing (%u lost the queue)", lost);
}

/*
 * From the way that the hash names on: first the queues that no flow has claimed, then
 * those of the set with fewer queues that hold packets.
 */
static void without_heat_the_nearest_empty_queue_is_taken(void)
{
	u32 round, hash, first, one, two, i, wrong = 0;

	for (round = 0; round < 3000; round++) {
		u32 want = QUEUES, found;

		begin();
		fw.heated = false;
		hash = unit_random();
		first = flow_mix(hash, salt) % FLOW_WAYS;
		one = ((u64)flow_mix(hash, salt) * SETS >> 32) * 8;
		two = ((u64)flow_mix(flow_mix(hash, salt), salt) * SETS >> 32) * 8;
		for (i = 0; i < QUEUES; i++) {
			if (unit_below(20))
				own(i, 1 + i);
			if (unit_below(4))
				hold(i);
			*heat(i) = unit_random();
		}
		for (i = 32; i--;) {
			bool other = hweight8(sets[two / 8].busy) < hweight8(sets[one / 8].busy);
			u32 number = ((i / 8 + (i >= 16 && other)) % 2 ? two : one) +
				     (first + i) % 8;

			if (!flow_ways_is_busy(&fw, number) && (i >= 16 || !*tag(number)))
				want = number;
		}
		found = flow_ways_find(&fw, hash, salt);
		wrong += want < QUEUES ? found != want : !flow_ways_is_busy(&fw, found);
	}
	unit_ok(!wrong, "without heat, a new flow takes the nearest queue (%u did not)", wrong);
}

/*
 * All flows have packets queued, twice as many as queues. Then seven times as many queues
 * are added.
 */
static void more_queues_are_for_flows_that_would_share(void)
{
	static struct flow_set large[8 * SETS];
	static u32 had[2 * QUEUES];
	static u8 seen[8 * QUEUES];
	u32 flow, number, shared = 0, moved = 0;

	begin();
	memset(seen, 0, sizeof(seen));
	memset(large, 0, sizeof(large));
	for (flow = 0; flow < 2 * QUEUES; flow++) {
		had[flow] = flow_ways_find(&fw, flow, salt);
		if (fw.shared != FLOW_WAYS_NONE)
			shared++;
		hold(had[flow]);
		seen[had[flow]] = 1;
	}
	unit_ok(shared >= QUEUES, "%u of %u flows share %u queues", shared, 2 * QUEUES, QUEUES);
	memcpy(large, sets, sizeof(sets));
	flow_ways_more(&fw, large, 7 * SETS);
	for (flow = 0; flow < 2 * QUEUES; flow++)
		moved += flow_ways_find(&fw, flow, salt) != had[flow];
	unit_ok(!moved, "%u of these flows moved when queues were added", moved);

	shared = 0;
	for (flow = 2 * QUEUES; flow < 6 * QUEUES; flow++) {
		number = flow_ways_find(&fw, flow, salt);
		if (fw.shared != FLOW_WAYS_NONE)
			continue;
		shared += seen[number] || number < QUEUES;
		seen[number] = 1;
		hold(number);
	}
	unit_ok(!shared, "new flows get the added queues (%u did not)", shared);

	/* All but the owners of the first queues get empty. */
	for (number = 0; number < 8 * QUEUES; number++)
		if (flow_ways_is_busy(&fw, number))
			flow_ways_idle(&fw, number);
	memset(seen, 0, sizeof(seen));
	for (flow = 0, shared = 0; flow < 6 * QUEUES; flow++) {
		number = flow_ways_find(&fw, flow, salt);
		shared += seen[number];
		seen[number] = 1;
		hold(number);
	}
	unit_ok(shared < 6 * QUEUES / 50, "%u of %u flows share %u queues", shared,
		6 * QUEUES, 8 * QUEUES);
}

UNIT_TESTS
{
	more_queues_are_for_flows_that_would_share();
	flows_that_wait_hardly_share();
	flows_keep_their_queue_between_packets();
	mice_take_the_coldest_queues();
	a_new_flow_takes_the_coldest_of_its_16();
	a_decayed_queue_is_taken_first();
	a_queue_that_holds_packets_is_not_taken();
	a_flow_that_shares_stays_until_the_queue_is_empty();
	a_refused_arrival_claims_nothing();
	without_heat_the_nearest_empty_queue_is_taken();
}
