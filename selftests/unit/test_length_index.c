// SPDX-License-Identifier: GPL-2.0
/* Compare length_index with its rule by scans over all queues, under random operations. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <aqm/qsdrr/length_index.h>

#include "unit.h"

#define QUEUES	200

struct queue {
	struct length_entry entry;
	u32 length;
	u32 place;	/* by the header's rule: the bucket whose list has it */
	u64 entered;	/* when it came into the list */
} __attribute__((aligned(NUMBERED_BYTES)));

/* The header's formula, computed another way: halve until below 32. */
static u32 oracle_bucket(u32 length)
{
	u32 halvings = 0;

	while (length >= 32) {
		length /= 2;
		halvings++;
	}
	return length + 16 * halvings;
}

static void buckets_are_monotonic_and_fine(void)
{
	u32 last = 0, lowest = 0;
	bool monotonic = true, same = true, fine = true;
	u64 length;

	for (length = 1; length <= U32_MAX; length += 1 + (length >> 12)) {
		u32 b = length_index_bucket(length);

		same &= b == oracle_bucket(length) && b < LENGTH_INDEX_BUCKETS;
		monotonic &= b >= last;
		if (b != last)
			lowest = length;
		fine &= 16 * (length - lowest) <= length;
		last = b;
	}
	unit_ok(same, "the bucket is the header's formula, for lengths to 2^32");
	unit_ok(monotonic, "a longer queue is never in a lower bucket");
	unit_ok(fine, "lengths of a bucket differ by at most 1/16");
}

static void full_size_packets_are_exact(void)
{
	bool distinct = true;
	u32 n;

	for (n = 2; n <= 16; n++)
		distinct &= length_index_bucket(1514 * n) !=
			    length_index_bucket(1514 * (n - 1));
	unit_ok(distinct, "queues of 1 to 16 full-size packets are told apart");
}

static struct queue queues[QUEUES];
static struct length_index li;
static u64 clock;

static void put(struct queue *q)
{
	q->place = oracle_bucket(q->length);
	q->entered = ++clock;
}

static u32 highest(void)
{
	u32 i, most = 0;

	for (i = 0; i < QUEUES; i++)
		most = max(most, oracle_bucket(queues[i].length));
	return most;
}

/* The newest queue of the highest list. */
static struct queue *first_listed(void)
{
	struct queue *best = queues;
	u32 i;

	for (i = 1; i < QUEUES; i++)
		if (queues[i].place > best->place ||
		    (queues[i].place == best->place && queues[i].entered > best->entered))
			best = &queues[i];
	return best;
}

/* The header's rule by scans. @moves: how many queues it moves */
static struct queue *oracle_longest(struct queue *spare, u32 *moves)
{
	struct queue *best = spare, *q;

	for (*moves = 0; *moves < LENGTH_INDEX_LOOKS; ++*moves) {
		q = first_listed();
		if (oracle_bucket(q->length) == highest())
			return q;
		put(q);
		if (oracle_bucket(q->length) > oracle_bucket(best->length))
			best = q;
	}
	return best;
}

static void set(struct queue *q, u32 length)
{
	length_index_set(&li, &q->entry, length);
	q->length = length;
	if (oracle_bucket(length) > q->place)
		put(q);
}

static bool is_alone_in_the_lowest(const struct queue *q)
{
	u32 i, b = oracle_bucket(q->length);

	for (i = 0; i < QUEUES; i++)
		if (&queues[i] != q && queues[i].length &&
		    oracle_bucket(queues[i].length) <= b)
			return false;
	return true;
}

/* @every: changes between two searches */
static void answers_are_those_of_a_scan(const char *what, u32 most, u32 every)
{
	bool longest = true, exact = true, strictly = true;
	u32 step, i, moves, late = 0, searches = 0;

	memset(queues, 0, sizeof(queues));
	length_index_init(&li, &queues->entry, QUEUES);
	for (step = 0; step < 50000; step++) {
		struct queue *q = &queues[unit_below(QUEUES)], *spare, *want;
		struct length_entry *got;

		/* Long stretches with few queues, too. */
		if ((step / 1000) % 2)
			q = &queues[unit_below(3)];
		set(q, unit_below(4) ? unit_below(most) + 1 : 0);
		strictly &= length_index_is_strictly_shortest(&li, &q->entry) ==
			    (!q->length || is_alone_in_the_lowest(q));
		if (!(step % 5000))	/* empty it now and then */
			for (i = 0; i < QUEUES; i++)
				set(&queues[i], 0);
		if (unit_below(every))
			continue;
		for (spare = queues; spare < queues + QUEUES && !spare->length; spare++)
			;
		if (spare == queues + QUEUES) {
			longest &= !length_index_longest(&li, NULL);
			continue;
		}
		got = length_index_longest(&li, &spare->entry);
		want = oracle_longest(spare, &moves);
		longest &= got == &want->entry;
		searches++;
		late += moves == LENGTH_INDEX_LOOKS;
		exact &= moves == LENGTH_INDEX_LOOKS ||
			 oracle_bucket(want->length) == highest();
	}
	unit_ok(longest, "%s: the longest is that of the rule by scans", what);
	unit_ok(exact && (every > 1 || late < searches / 100),
		"%s: no queue is longer, but after %u of %u searches that ended early",
		what, late, searches);
	unit_ok(strictly, "%s: strictly shortest means alone in the lowest bucket", what);
}

/* A hundred queues were long, and became shorter or empty. The next search is short. */
static void a_search_moves_few_queues(u32 left)
{
	u32 i, moved = 0;
	struct length_entry *got;

	memset(queues, 0, sizeof(queues));
	length_index_init(&li, &queues->entry, QUEUES);
	for (i = 0; i < 100; i++)
		length_index_set(&li, &queues[i].entry, 10000);
	for (i = 0; i < 100; i++)
		length_index_set(&li, &queues[i].entry, left);
	length_index_set(&li, &queues[150].entry, 1000);
	got = length_index_longest(&li, &queues[150].entry);
	for (i = 0; i < 100; i++)
		moved += queues[i].entry.place != oracle_bucket(10000);
	unit_ok(got == &queues[150].entry && moved == LENGTH_INDEX_LOOKS,
		"a search moves %u of 100 queues that became %u bytes long", moved, left);
}

UNIT_TESTS
{
	buckets_are_monotonic_and_fine();
	full_size_packets_are_exact();
	answers_are_those_of_a_scan("lengths to 40", 40, 1);
	answers_are_those_of_a_scan("lengths to 100 000", 100000, 1);
	answers_are_those_of_a_scan("lengths to 2^32", U32_MAX - 1, 3);
	answers_are_those_of_a_scan("few searches", 100000, 200);
	a_search_moves_few_queues(0);
	a_search_moves_few_queues(500);
}
