// SPDX-License-Identifier: GPL-2.0
/* length_index against a scan over all queues, under random operations. */
#include <linux/kernel.h>
#include <aqm/qsdrr/length_index.h>

#include "unit.h"

#define QUEUES	200

struct queue {
	struct length_entry entry;
	u32 length;
	u64 entered;	/* when it came into its bucket */
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

static const struct queue *latest_in(const struct queue *queues, u32 bucket)
{
	const struct queue *best = NULL;
	int i;

	for (i = 0; i < QUEUES; i++)
		if (queues[i].length &&
		    oracle_bucket(queues[i].length) == bucket &&
		    (!best || queues[i].entered > best->entered))
			best = &queues[i];
	return best;
}

static void answers_are_those_of_a_scan(const char *what, u32 most)
{
	static struct queue queues[QUEUES];
	static struct length_index li;
	bool longest = true, shortest = true, strictly = true;
	int step, i;

	for (i = 0; i < QUEUES; i++)
		queues[i] = (struct queue) {};
	length_index_init(&li, &queues->entry, QUEUES);

	for (step = 0; step < 50000; step++) {
		u32 hi = 0, lo = U32_MAX, in_lo = 0;
		struct queue *q = &queues[unit_below(QUEUES)];
		u32 to = unit_below(4) ? unit_below(most) + 1 : 0;
		struct length_entry *n;

		/* Long stretches with few queues, too. */
		if ((step / 1000) % 2)
			q = &queues[unit_below(3)];
		length_index_set(&li, &q->entry, to);
		if (oracle_bucket(q->length) != oracle_bucket(to))
			q->entered = step + 1;
		q->length = to;

		for (i = 0; i < QUEUES; i++) {
			u32 b = oracle_bucket(queues[i].length);

			if (!queues[i].length)
				continue;
			hi = b > hi ? b : hi;
			in_lo = b < lo ? 1 : in_lo + (b == lo);
			lo = b < lo ? b : lo;
		}
		n = length_index_longest(&li);
		longest &= n ? container_of(n, struct queue, entry) ==
			       latest_in(queues, hi) : !hi;
		n = length_index_shortest(&li);
		shortest &= n ? container_of(n, struct queue, entry) ==
				latest_in(queues, lo) : !hi;
		strictly &= length_index_is_strictly_shortest(&li, &q->entry) ==
			    (!to || (oracle_bucket(to) == lo && in_lo == 1));
		if (!(step % 5000))	/* empty it now and then */
			for (i = 0; i < QUEUES; i++) {
				length_index_set(&li, &queues[i].entry, 0);
				queues[i].length = 0;
			}
	}
	unit_ok(longest, "%s: the longest is that of a scan, the last to enter its bucket", what);
	unit_ok(shortest, "%s: the shortest is that of a scan", what);
	unit_ok(strictly, "%s: strictly shortest means alone in the lowest bucket", what);
}

UNIT_TESTS
{
	buckets_are_monotonic_and_fine();
	full_size_packets_are_exact();
	answers_are_those_of_a_scan("lengths to 40", 40);
	answers_are_those_of_a_scan("lengths to 100 000", 100000);
	answers_are_those_of_a_scan("lengths to 2^32", U32_MAX - 1);
}
