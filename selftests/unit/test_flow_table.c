// SPDX-License-Identifier: GPL-2.0
/* Compare flow_table with its rule: which queue a flow gets, and which flow is forgotten. */
#include <linux/kernel.h>
#include <linux/string.h>

#include <aqm/flow_key.h>
#include <aqm/flow_table.h>

#include "../../frame/flow_queues.c"
#include "../../frame/flow_table.c"
#include "unit.h"

#define QUEUES	1024
#define SETS	(QUEUES / 2)
#define MORE	8
#define FLOWS	20000

/* A queue, with the level that tdrr would have for its flow. */
struct queue {
	struct flow_queue	fq;
	u32			level;
	u8			rest[64 - sizeof(struct flow_queue) - 8];
};

static struct queue queues[QUEUES * MORE];
static struct flow_set small[SETS], large[SETS * MORE];
static struct sk_buff packets[FLOWS];
static struct flow_rounds fr;
static struct flow_table ft;
static u32 half_life, salt;

static u32 level_of(const struct flow_queue *fq)
{
	return container_of(fq, struct queue, fq)->level;
}

static void begin(u32 count)
{
	static_assert(sizeof(struct queue) == 64);

	memset(queues, 0, sizeof(queues));
	memset(small, 0, sizeof(small));
	memset(large, 0, sizeof(large));
	numbered_links_init(&queues->fq.turn, count);
	numbered_list_chain(&queues->fq.turn, 0, count - 1);
	flow_rounds_init(&fr);
	flow_rounds_begin(&fr, &queues->fq, count);
	half_life = 0;
	ft = (struct flow_table) { .half_life = &half_life, .level = level_of, .useful = U32_MAX };
	flow_table_begin(&ft, small, count / 2, count);
	salt = unit_random() | 1;
}

/* Use MORE times as many queues as the present ones. */
static void add_queues(u32 count)
{
	u32 i;

	for (i = count; i < count * MORE; i++)
		queues[i].fq.turn.number = i;
	numbered_list_chain(&queues->fq.turn, count, count * MORE - 1);
	flow_rounds_more(&fr, &queues->fq, count * MORE);
}

/* Use MORE times as many sets. The entries have yet to move. */
static void add_sets(void)
{
	memset(large, 0, sizeof(large));
	flow_table_grow(&ft, large, ft.sets * MORE);
}

/* Find a flow's queue as flow_buffer_hash() and tdrr_claimed() do. */
static u32 find(u32 flow)
{
	u32 tag = flow_mix(1 + flow, salt), number = flow_table_own(&ft, tag);

	if (number == FLOW_NONE)
		number = flow_table_search(&ft, &fr, tag);
	if (ft.claimed != FLOW_NONE) {
		flow_table_keep(&ft, queues[number].level);
		queues[number].level = (half_life << FLOW_LEVEL_BITS) + ft.above;
	}
	return number;
}

/* Queue a packet of a flow. Return: its queue */
static u32 arrive(u32 flow, struct sk_buff *skb)
{
	u32 number = find(flow);

	skb->len = 1000;
	if (flow_queue_add(&fr, &queues[number].fq, skb, 1514))
		flow_table_filled(&ft, &fr, &queues[number].fq);
	return number;
}

static struct sk_buff *depart(void)
{
	struct flow_queue *fq = flow_rounds_next(&fr);

	return fq ? flow_queue_send(&fr, fq, 1514) : NULL;
}

/* Let a flow have its packet and its queue for a moment, with a level. Return: the level before */
static u32 pass(u32 flow, u32 level)
{
	u32 number = arrive(flow, packets), before = queues[number].level;

	queues[number].level = level;
	depart();
	return before;
}

static void flows_that_wait_do_not_share(void)
{
	static const u32 flows[] = { 100, 800, 1000, 1024 }, most[] = { 0, 1, 2, 8 };
	u32 i, flow, shared;

	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		begin(QUEUES);
		for (flow = 0, shared = 0; flow < flows[i]; flow++) {
			arrive(flow, &packets[flow]);
			shared += ft.joined != FLOW_NONE;
		}
		unit_ok(shared <= most[i], "%u of %u flows share %u queues", shared, flows[i],
			QUEUES);
		unit_ok(fr.active >= flows[i] - shared, "and %u queues hold packets", fr.active);
	}
}

/*
 * Flows come and go, up to three times as many as queues, and the table grows twice. A
 * flow that has a packet queued gets the queue in which it is, also while entries move.
 */
static void packets_of_a_flow_stay_in_one_queue(void)
{
	static u32 waiting[FLOWS], place[FLOWS], flow_of[FLOWS];
	u32 round, flow, number, step, moved = 0, shared = 0;
	struct sk_buff *skb;

	for (round = 0; round < 20; round++) {
		u32 queued = 0, next = 0;

		begin(64);
		memset(waiting, 0, sizeof(waiting));
		for (step = 0; step < 15000; step++) {
			if (step == 5000)
				add_sets();
			if (step == 5000 + 100 * round)
				flow_table_move(&ft, &fr);
			if (step == 10000)
				add_queues(64);
			flow = unit_below(unit_below(2) ? 20 : 192);
			if (queued < 150 + unit_below(100)) {
				number = arrive(flow, &packets[next]);
				moved += waiting[flow] && place[flow] != number;
				shared += ft.joined != FLOW_NONE;
				place[flow] = number;
				flow_of[next++ % FLOWS] = flow;
				waiting[flow]++;
				queued++;
				continue;
			}
			skb = depart();
			waiting[flow_of[skb - packets]]--;
			queued--;
		}
	}
	unit_ok(!moved, "%u packets went into another queue than one of their flow before", moved);
	unit_ok(shared > 1000, "and %u arrivals shared a queue", shared);
}

static void a_flow_keeps_its_queue_while_few_others_come(void)
{
	u32 round, flow, had[500], moved = 0;

	begin(QUEUES);
	for (round = 0; round < 20; round++)
		for (flow = 0; flow < ARRAY_SIZE(had); flow++) {
			u32 number = arrive(flow, packets);

			moved += round && had[flow] != number;
			had[flow] = number;
			depart();
		}
	unit_ok(!moved, "%zu flows moved %u times in 20 rounds", ARRAY_SIZE(had), moved);
}

/* Queues that no flow has had come first, by the tag if possible; then the one empty longest. */
static void the_queue_that_was_empty_for_longest_is_next(void)
{
	u32 flow, number, tag, named = 0, lost = 0;

	begin(QUEUES);
	for (flow = 0; flow < QUEUES / 2; flow++) {
		tag = flow_mix(1 + flow, salt);
		number = arrive(flow, packets);
		named += number == ((u64)tag * (QUEUES / 8) >> 32) * 8 + tag % 8;
		lost += ft.left != FLOW_NONE && ft.claimed != FLOW_NONE;
		depart();
	}
	/* 512 balls in 1024 bins: 403 fall into an empty one, and the others next to it. */
	unit_ok(named > 360 && named < 440, "%u of 512 flows have the queue that their tag names",
		named);
	unit_ok(!lost, "no flow loses its queue while there are new ones (%u did)", lost);
	for (number = 0; number < QUEUES; number++) {
		flow_queue_add(&fr, &queues[number * 5 % QUEUES].fq, packets, 1514);
		depart();
	}
	ft.fresh = 0;
	number = find(5000);
	unit_ok(number == 0, "then a flow gets the queue that was empty for longest (%u)", number);
}

static void a_level_comes_back(void)
{
	u32 flow, wrong = 0, recalled;

	begin(QUEUES);
	for (flow = 0; flow < 200; flow++)
		pass(flow, (20U << FLOW_LEVEL_BITS) + 1000 * flow);
	for (flow = 1000; flow < 1000 + 2 * QUEUES; flow++)
		pass(flow, 1U << FLOW_LEVEL_BITS);
	recalled = ft.recalled;
	half_life = 4;
	for (flow = 0; flow < 200; flow++)
		wrong += pass(flow, 0) != (20U << FLOW_LEVEL_BITS) + 1000 * flow;
	unit_ok(!wrong, "%u of 200 flows got another level than theirs", wrong);
	unit_ok(ft.recalled == recalled + 200, "and it is counted (%llu)", ft.recalled - recalled);
}

/* Let the flow of a way own an empty queue. Its level moves there. */
static void own(u32 set, u32 way)
{
	struct queue *queue = &queues[way];

	queue->level = small[set].value[way];
	queue->fq.owner = set * FLOW_WAYS + way;
	small[set].value[way] = FLOW_HAS_QUEUE | way;
}

/* One set, whose flows have no queue, or an empty one of their own. */
static void a_new_flow_takes_the_lowest_level(void)
{
	u32 round, i, number, wrong = 0, inherited = 0;

	for (round = 0; round < 2000; round++) {
		u32 lowest = U32_MAX, which = 0, level[FLOW_WAYS], tag = unit_random() | 1;
		struct flow_set *set;

		begin(QUEUES);
		half_life = unit_random() % 4096;
		set = &small[(u64)tag * SETS >> 32];
		for (i = 0; i < FLOW_WAYS; i++) {
			/* Some have decayed, and some ways are free. */
			level[i] = unit_below(4) ? unit_below(60 << FLOW_LEVEL_BITS) : 0;
			set->tag[i] = unit_below(50) ? tag + 2 + i : 0;
			set->value[i] = ((half_life << FLOW_LEVEL_BITS) + level[i] -
					 (level[i] ? 0 : unit_below(1000))) & 0x7fffffff;
			if (!set->tag[i])
				level[i] = 0;
			else if (!unit_below(4))
				own((u64)tag * SETS >> 32, i);
			if (level[i] < lowest)
				which = i;
			lowest = min(lowest, level[i]);
		}
		number = flow_table_search(&ft, &fr, tag);
		inherited += lowest != (ft.claimed != FLOW_NONE ? ft.above :
				flow_level_above(queues[number].level,
						 half_life << FLOW_LEVEL_BITS));
		for (i = 0; i < FLOW_WAYS; i++)
			which = set->tag[i] == tag ? i : which;
		wrong += level[which] != lowest || set->tag[which] != tag;
	}
	unit_ok(!wrong, "a new flow takes the entry of the lowest level (%u did not)", wrong);
	unit_ok(!inherited, "and starts with this level (%u did not)", inherited);
}

/* Long flows sent much, and a hundred times as many short ones little. */
static void short_flows_do_not_push_out_long_ones(void)
{
	u32 flow, kept = 0;

	begin(QUEUES);
	for (flow = 0; flow < 256; flow++)
		pass(flow, 40U << FLOW_LEVEL_BITS);
	for (flow = 1000; flow < 1000 + 25600; flow++)
		pass(flow, 30U << FLOW_LEVEL_BITS);
	for (flow = 0; flow < 256; flow++)
		kept += pass(flow, 0) == 40U << FLOW_LEVEL_BITS;
	/* 512 sets: that nine of 256 long flows share one has a chance of 2e-6. */
	unit_ok(kept == 256, "%u of 256 long flows are remembered after 25600 short ones", kept);
}

/* Set after set fills: as many flows as entries have packets. */
static void flows_of_a_full_set_share(void)
{
	u32 flow, wrong = 0, tag = 12345;

	begin(QUEUES);
	for (flow = 0; flow < 12; flow++) {
		u32 number = flow_table_search(&ft, &fr, tag + flow);

		wrong += (ft.joined != FLOW_NONE) != (flow >= FLOW_WAYS);
		if (flow >= FLOW_WAYS)
			wrong += number != (u64)(tag + flow) * QUEUES >> 32;
		if (flow_queue_add(&fr, &queues[number].fq, &packets[flow], 1514))
			flow_table_filled(&ft, &fr, &queues[number].fq);
	}
	unit_ok(!wrong, "a ninth flow of a set shares the queue that its tag names");
}

/* A ninth flow of a set shares an empty queue, but its packet is refused: it is oversize. */
static void a_refused_arrival_shares_no_queue(void)
{
	u32 flow, number, tag = 12345;
	struct flow_queue *fq;

	begin(QUEUES);
	for (flow = 0; ft.fresh; flow++)
		pass(flow, 0);
	for (flow = 0; flow < FLOW_WAYS; flow++) {
		number = flow_table_search(&ft, &fr, tag + flow);
		flow_queue_add(&fr, &queues[number].fq, &packets[flow], 1514);
	}
	/* Tags of this set name queue 0 or 1. */
	tag = queues[0].fq.head ? 1U << 22 : tag + flow;
	number = flow_table_search(&ft, &fr, tag);
	fq = &queues[number].fq;
	unit_ok(ft.joined == number && !fq->head, "a ninth flow can share an empty queue (%u)",
		number);
	unit_ok(!fq->shared && !fr.shared, "but not before it has a packet there");
	flow_queue_add(&fr, fq, &packets[flow], 1514);
	flow_table_filled(&ft, &fr, fq);
	unit_ok(fq->shared && fr.shared == 1, "then it does");
}

static void a_larger_table_has_the_same_flows(void)
{
	static u32 had[600];
	u32 flow, moved = 0, lost = 0, before = 0;

	begin(QUEUES);
	for (flow = 1000; flow < 2600; flow++)
		pass(flow, (30U << FLOW_LEVEL_BITS) + flow);
	for (flow = 0; flow < ARRAY_SIZE(had); flow++)
		had[flow] = arrive(flow, &packets[flow]);
	add_sets();
	while (!flow_table_move(&ft, &fr))
		;
	for (flow = 0; flow < ARRAY_SIZE(had); flow++)
		moved += find(flow) != had[flow];
	unit_ok(ft.sets == SETS * MORE, "the table is larger");
	unit_ok(!moved, "%u of %zu flows with packets moved", moved, ARRAY_SIZE(had));
	for (flow = 1000; flow < 2600; flow++)
		before += pass(flow, 0) != (30U << FLOW_LEVEL_BITS) + flow;
	/* 4096 entries for 2200 flows: a few sets had more than eight. */
	unit_ok(before <= 60, "%u of 1600 flows without packets lost their level", before);
	for (flow = 0; flow < 8 * QUEUES; flow++)
		lost += queues[flow % QUEUES].fq.owner >= 8 * SETS * MORE;
	unit_ok(!lost, "owners are entries of the larger table");
}

/* Return what an arrival of some flow got, as one number. */
static u32 outcome(u32 step)
{
	u32 flow = unit_below(unit_below(2) ? 300 : 4000), number = arrive(flow, &packets[step]);
	u32 got = ft.claimed == FLOW_NONE ? 0 : 1 + ft.above;

	queues[number].level += unit_below(1U << FLOW_LEVEL_BITS);
	if (fr.active > unit_below(2 * QUEUES))
		depart();
	return number + QUEUES * (ft.joined != FLOW_NONE) + 31 * got;
}

/*
 * Let flows come and go. The table grows in step 2000. If @slowly, some entries have yet to
 * move until step 4000. A reset can come in between.
 */
static void come_and_go(u32 *got, u64 seed, bool reset, bool slowly)
{
	u32 step;

	unit_state = seed;
	begin(QUEUES);
	for (step = 0; step < 6000; step++) {
		if (step == 2000)
			add_sets();
		if (step == 2000 && !slowly)
			while (!flow_table_move(&ft, &fr))
				;
		if (slowly && (step == 3000 || step == 4000))
			flow_table_move(&ft, &fr);
		if (reset && step == 3500) {
			while (depart())
				;
			flow_table_reset(&ft);
		}
		got[step] = outcome(step);
	}
}

static void a_table_that_is_half_moved_is_like_a_whole_one(void)
{
	static u32 whole[6000], half[6000];
	u32 round, i, other = 0, left = 0;

	for (round = 0; round < 20; round++) {
		u64 seed = unit_random();

		come_and_go(whole, seed, round % 2, false);
		come_and_go(half, seed, round % 2, true);
		for (i = 0; i < ARRAY_SIZE(half); i++)
			other += whole[i] != half[i];
		left += ft.old || ft.unmoved;
		for (i = 0; i < 8 * SETS; i++)
			left += small[i / 8].tag[i % 8] && !(round % 2);
	}
	unit_ok(!other, "each arrival gets the same queue and level (%u did not)", other);
	unit_ok(!left, "and in the end all entries have moved (%u did not)", left);
}

/* Whatever the number of sets is, the lock is held for 256 of them at most. */
static void few_sets_move_at_once(void)
{
	u32 moves = 0, before, most = 0;
	struct flow_set *old = NULL;

	begin(QUEUES);
	add_sets();
	while (!old) {
		before = ft.unmoved;
		old = flow_table_move(&ft, &fr);
		most = max(most, before - ft.unmoved);
		moves++;
	}
	unit_ok(old == small && !ft.old, "the table before is given back");
	unit_ok(most == 256 && moves == SETS / 256, "%u sets moved in %u steps of %u", SETS,
		moves, most);
}

/* Count what a table says of itself by a look at each entry. */
static bool counts_are_right(u32 count)
{
	u32 i, kept = 0, owned = 0, shared = 0;

	for (i = 0; i < 8 * ft.sets; i++) {
		u32 value = *flow_table_value(&ft, i);

		owned += value & FLOW_HAS_QUEUE && (value & FLOW_QUEUE) < ft.named;
		kept += ft.set[i / 8].tag[i % 8] && !(value & FLOW_HAS_QUEUE);
	}
	for (i = 0; i < count; i++)
		shared += queues[i].fq.shared;
	return ft.kept == kept && ft.fresh == ft.named - owned && fr.shared == shared;
}

/* Some flows get queues beyond the first 64, while some of these 64 are new. */
static void a_table_counts_new_queues_after_it_has_more(void)
{
	u32 flow, i, wrong = 0;

	begin(64);
	for (flow = 0; flow < 20; flow++)
		arrive(flow, &packets[flow]);
	add_queues(64);
	for (; flow < 200; flow++) {
		arrive(flow, &packets[flow]);
		for (i = 0; i < 2 && flow % 3 == 0; i++)
			depart();
		wrong += !counts_are_right(64 * MORE);
	}
	unit_ok(!wrong, "and has more queues (%u times wrong)", wrong);
}

/* A network card or a BPF program can give a packet the hash 0. */
static u32 find_tag_0(void)
{
	u32 number = flow_table_own(&ft, 0);

	return number != FLOW_NONE ? number : flow_table_search(&ft, &fr, 0);
}

static void a_flow_with_the_tag_0_is_a_flow(void)
{
	u32 round, flow, number, moved = 0, wrong = 0;

	for (round = 0; round < 100; round++) {
		begin(64);
		for (flow = 0; flow < 2 * round; flow++)
			pass(flow, 0);
		number = find_tag_0();
		if (flow_queue_add(&fr, &queues[number].fq, packets, 1514))
			flow_table_filled(&ft, &fr, &queues[number].fq);
		moved += find_tag_0() != number;
		add_sets();
		moved += find_tag_0() != number;
		flow_table_move(&ft, &fr);
		moved += find_tag_0() != number;
		depart();
		for (; flow < 500; flow++) {
			pass(flow, 0);
			if (flow % 100 == round)
				find_tag_0();
			wrong += !counts_are_right(64);
		}
	}
	unit_ok(!moved, "a flow with the tag 0 stays in its queue (%u moved)", moved);
	unit_ok(!wrong, "and is counted (%u times wrong)", wrong);
}

static void a_table_counts_its_flows(void)
{
	u32 flow, wrong = 0;

	begin(64);
	for (flow = 0; flow < 1000; flow++) {
		if (flow % 200 < 80)
			arrive(flow, &packets[flow]);
		else
			while (depart())
				;
		wrong += !counts_are_right(64);
	}
	unit_ok(!wrong, "flows that are remembered, new queues, shared queues (%u times wrong)",
		wrong);
	flow_table_reset(&ft);
	unit_ok(counts_are_right(64) && ft.fresh == 64, "and a reset forgets them");
	find(5);
	unit_ok(ft.left == FLOW_NONE && !ft.above, "so that no flow gets anything of theirs");
}

/* All entries have useful levels, so each new flow loses one. One in four sets may. */
static void lose(u32 first, u32 flows, u32 level)
{
	u32 i;

	for (i = 0; i < 8 * ft.sets; i++) {
		ft.set[i / 8].tag[i % 8] = 1 + i;
		*flow_table_value(&ft, i) = (half_life << FLOW_LEVEL_BITS) + level;
	}
	for (i = first; i < first + flows; i++)
		find(i);
}

static void so_many_losses_are_too_many(void)
{
	const u32 useful = 50U << FLOW_LEVEL_BITS;

	begin(64);
	ft.useful = useful;
	lose(0, 30, useful - 1);
	lose(30, 32 / 4, useful);
	unit_ok(!ft.wants, "32 sets may lose 8 useful levels");
	half_life += 16;
	lose(60, 1, useful);
	unit_ok(ft.wants == FLOW_WANTS_ENTRIES, "a ninth in 16 half-lives is too many");
	ft.wants = 0;
	lose(61, 8, useful);
	half_life += 17;
	lose(70, 8, useful);
	unit_ok(!ft.wants, "after more than 16 half-lives they are counted anew");
	lose(80, 1, useful);
	unit_ok(ft.wants == FLOW_WANTS_ENTRIES, "and then nine are too many");
}

static void a_table_is_too_small_if_useful_levels_are_lost(void)
{
	u32 flow, wanted = 0;

	begin(64);
	ft.useful = 10U << FLOW_LEVEL_BITS;
	for (flow = 0; flow < 5000; flow++) {
		pass(flow, 9U << FLOW_LEVEL_BITS);
		wanted += ft.wants;
	}
	unit_ok(!wanted, "levels that are not useful are not missed");
	for (flow = 5000; flow < 10000 && !ft.wants; flow++)
		pass(flow, 11U << FLOW_LEVEL_BITS);
	unit_ok(ft.wants == FLOW_WANTS_ENTRIES && flow > 5000 + 64,
		"useful ones are, %u flows after the table was full", flow - 5000);
	ft.wants = 0;
	for (flow = 10000; flow < 10500; flow++) {
		half_life += 17;
		pass(flow, (half_life + 11U) << FLOW_LEVEL_BITS);
	}
	unit_ok(!ft.wants, "a few losses in a long time are not");
}

static void more_queues_are_wanted_if_flows_share(void)
{
	u32 flow, wanted = 0;

	begin(64);
	for (flow = 0; fr.active < 64; flow++)
		arrive(flow, &packets[flow]);
	ft.shares = 0;
	ft.wants = 0;
	for (wanted = 0; !ft.wants; flow++, wanted++)
		arrive(flow, &packets[flow]);
	unit_ok(wanted == 64 / 32 + 1, "64 queues may be shared twice (%u times)", wanted);
	unit_ok(ft.wants == FLOW_WANTS_QUEUES, "then more queues are wanted");
}

UNIT_TESTS
{
	flows_that_wait_do_not_share();
	packets_of_a_flow_stay_in_one_queue();
	a_flow_keeps_its_queue_while_few_others_come();
	the_queue_that_was_empty_for_longest_is_next();
	a_level_comes_back();
	a_new_flow_takes_the_lowest_level();
	short_flows_do_not_push_out_long_ones();
	flows_of_a_full_set_share();
	a_refused_arrival_shares_no_queue();
	a_larger_table_has_the_same_flows();
	a_table_that_is_half_moved_is_like_a_whole_one();
	few_sets_move_at_once();
	so_many_losses_are_too_many();
	a_table_counts_its_flows();
	a_table_counts_new_queues_after_it_has_more();
	a_flow_with_the_tag_0_is_a_flow();
	a_table_is_too_small_if_useful_levels_are_lost();
	more_queues_are_wanted_if_flows_share();
}
