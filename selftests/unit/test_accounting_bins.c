// SPDX-License-Identifier: GPL-2.0
/*
 * accounting_bins.h: that flows spread over the bins, independently in each level and
 * by the next hash functions; and that bins hold what is queued, whatever changes
 * between.
 */
#include <linux/kernel.h>
#include <aqm/sfbx/accounting_bins.h>

#include "unit.h"

#define BINS	23U
#define LEVELS	2U
#define FLOWS	40000U
#define QUEUE	64U

static struct accounting_bin both[2 * BINS * LEVELS];
static struct accounting_params params = {
	.freeze	= 10, .interval = 1000, .up = U32_MAX / 8, .down = U32_MAX / 16,
	.size	= 5, .bins = BINS, .levels = LEVELS,
};

/* 10 times the chi-square of how many flows share a pair of two places. */
static u64 chi_square(u32 (*shared)[BINS])
{
	u64 expected = FLOWS / (BINS * BINS), squares = 0;
	u32 i, k;

	for (i = 0; i < BINS; i++)
		for (k = 0; k < BINS; k++)
			squares += ((s64)shared[i][k] - (s64)expected) *
				   ((s64)shared[i][k] - (s64)expected);
	return 10 * squares / expected;
}

static void flows_spread_independently(void)
{
	static u32 levels[BINS][BINS], epochs[BINS][BINS];
	struct accounting_bins v = {
		.bins = both, .salts = { unit_random() | 1, unit_random() | 1 },
	};
	u32 i, first = unit_random();

	memset(levels, 0, sizeof(levels));
	memset(epochs, 0, sizeof(epochs));
	for (i = 0; i < FLOWS; i++) {
		struct accounting_flow now = accounting_find(&params, &v, first + i, 0);
		struct accounting_flow next = accounting_find(&params, &v, first + i, 1);

		levels[now.bins[0]][now.bins[1] - BINS]++;
		epochs[now.bins[0]][next.bins[0]]++;
	}
	/* 528 degrees of freedom: mean 528, deviation 32.5; 6 deviations, and the whole number. */
	unit_ok(chi_square(levels) < 7400, "two levels are independent (10 chi-square %llu)",
		chi_square(levels));
	unit_ok(chi_square(epochs) < 7400, "two epochs are independent (10 chi-square %llu)",
		chi_square(epochs));
}

/* A packet of the queue; by hand, its bins are counted in all packets. */
struct queued {
	u32	number;
	u32	epoch;
	u32	packets;
};

static struct queued queue[QUEUE];
static u32 head, length;

static bool all_bins_are_right(const struct accounting_bins *v)
{
	static u32 counted[2 * BINS * LEVELS];
	u32 i, level, set;

	memset(counted, 0, sizeof(counted));
	for (i = 0; i < length; i++) {
		struct queued *one = &queue[(head + i) % QUEUE];

		for (set = 0; set < 2; set++) {
			u32 epoch = v->epoch + set;
			struct accounting_flow flow;

			if (epoch != one->epoch && epoch != one->epoch + 1)
				continue;
			flow = accounting_find(&params, v, one->number, epoch);
			for (level = 0; level < LEVELS; level++)
				counted[(epoch & 1) * BINS * LEVELS + flow.bins[level]] +=
					one->packets;
		}
	}
	for (i = 0; i < ARRAY_SIZE(counted); i++)
		if (counted[i] != v->bins[i].qlen)
			return false;
	return true;
}

static void bins_hold_what_is_queued(void)
{
	struct accounting_bins v = {
		.bins = both, .salts = { 1, 3 }, .change_at = params.interval,
	};
	u32 i, changes = 0, passed = 0, warmed = 0;
	bool right = true, bounded = true;
	u64 now = 0;

	memset(both, 0, sizeof(both));
	for (i = 0; i < 60000; i++) {
		now += unit_below(unit_below(1000) ? 4 : 5000);
		if (accounting_due(&params, &v, now)) {
			u32 n = accounting_changes(&params, &v, now);

			bounded &= n == 1 || n == 2;
			bounded &= v.change_at > now && v.change_at <= now + params.interval;
			for (changes += n; n; n--)
				accounting_next(&params, &v, unit_random());
		}
		if (length < QUEUE && unit_below(5) < 3) {
			struct queued *one = &queue[(head + length) % QUEUE];
			struct accounting_flow flow;
			struct accounting_verdict verdict;

			*one = (struct queued) { unit_below(4), v.epoch, 1 + unit_below(3) };
			flow = accounting_find(&params, &v, one->number, v.epoch);
			verdict = accounting_arrival(&params, &v, &flow, now);
			bounded &= verdict.overfull <= LEVELS;
			if (verdict.p == U32_MAX) {
				accounting_warm(&params, &v, one->number, now);
				passed++;
			}
			accounting_add(&params, &v, &flow, one->number, one->packets);
			length++;
		} else if (length) {
			struct queued *one = &queue[head];
			struct accounting_flow flow;

			flow = accounting_find(&params, &v, one->number, v.epoch);
			if (accounting_remove(&params, &v, &flow, one->number, one->epoch,
					      one->packets))
				accounting_emptied(&params, &v, &flow, now);
			head = (head + 1) % QUEUE;
			length--;
		}
		warmed += accounting_summarize(&params, &v).warmed;
		right &= all_bins_are_right(&v);
	}
	unit_ok(right, "bins hold what is queued, over %u changes of the hash functions", changes);
	unit_ok(bounded, "a change is due once an interval");
	unit_ok(changes > 50 && passed > 100 && warmed > 100,
		"flows had probability 1, also by the next hash functions (%u, %u)",
		passed, warmed);
}

/* No two steps of a bin are closer than the freeze time, and none passes 0 or 1. */
static void steps_are_frozen(void)
{
	struct accounting_bins v = { .bins = both };
	struct accounting_bin bin = {};
	u64 now, last = 0, wanted = 0;
	bool frozen = true, right = true;
	u32 i, before;

	for (i = 0, now = 100; i < 5000; i++, now += unit_below(8)) {
		bool up = i / 300 % 2;

		before = bin.p;
		if (up)
			accounting_rise(&params, &v, &bin, now);
		else
			accounting_fall(&params, &v, &bin, now);
		if (bin.p == before)
			continue;
		wanted = up ? min((u64)before + params.up, (u64)U32_MAX) :
			      before - min(before, params.down);
		right &= bin.p == wanted;
		frozen &= now >= last + params.freeze;
		last = now;
	}
	unit_ok(frozen, "steps are a freeze time apart (%llu rises, %llu falls)", v.rises, v.falls);
	unit_ok(right && v.rises > 20 && v.falls > 20, "a step is d1 up or d2 down, from 0 to 1");
}

static void false_alarm_is_the_product(void)
{
	struct accounting_bins v = { .bins = both };
	struct accounting_summary sum;
	u32 i;

	memset(both, 0, sizeof(both));
	for (i = 0; i < 7; i++)
		both[i].p = U32_MAX;
	sum = accounting_summarize(&params, &v);
	unit_ok(sum.polluted == 7 && !sum.false_alarm, "one clean level is no false alarm");
	for (i = 0; i < 5; i++)
		both[BINS + 4 * i].p = U32_MAX;
	sum = accounting_summarize(&params, &v);
	unit_ok(sum.polluted == 12 && sum.false_alarm / (U32_MAX / 10000) == 10000 * 35 / 529,
		"false alarms are the product over the levels (%u)", sum.false_alarm);
}

UNIT_TESTS
{
	flows_spread_independently();
	bins_hold_what_is_queued();
	steps_are_frozen();
	false_alarm_is_the_product();
}
