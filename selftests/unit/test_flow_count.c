// SPDX-License-Identifier: GPL-2.0
/* flow_count against a bit each, cleared in exact time; and against chance. */
#include <math.h>

#include <aqm/fpq/flow_count.h>

#include "unit.h"

#define MOST	300

static u64 words[1 << 14];

static u32 set_bits(const bool *bits, u32 n)
{
	u32 i, set = 0;

	for (i = 0; i < n; i++)
		set += bits[i];
	return set;
}

/* Every k-th bit is due at k clear / bits; the order and the time of each. */
static void clears_each_bit_in_its_time(void)
{
	bool same = true, shown = true, early = false;
	u32 round, step, n, hand, hash, snapshot, most = 0;
	bool bits[MOST];

	for (round = 0; round < 300; round++) {
		u64 clear = 1000 + unit_below(1000000), now = unit_below(1000);
		struct flow_count c;

		n = 1 + unit_below(MOST);
		memset(bits, 0, sizeof(bits));
		hand = 0;
		flow_count_init(&c, words, n, now);
		for (step = 0; step < 300; step++) {
			now += unit_below(unit_below(4) ? 3 * clear / n + 2 : 2 * clear);
			snapshot = flow_count_snapshot(&c, clear, now);
			flow_count_advance(&c, clear, now);
			shown &= snapshot == c.count;
			for (; hand != c.hand; hand = (hand + 1) % n)
				bits[hand] = false;
			if (!c.count)
				memset(bits, 0, sizeof(bits));
			early |= c.cleared_at > now || now - c.cleared_at >= clear / n + 2;
			hash = unit_random();
			flow_count_see(&c, hash);
			bits[(u64)hash * n >> 32] = true;
			same &= c.count == set_bits(bits, n);
			for (u32 i = 0; i < n; i++)
				same &= bits[i] == (words[i / 64] >> i % 64 & 1);
			most = max(most, c.count);
		}
	}
	unit_ok(same && most > 20, "the count is of the bits that are set, up to %u", most);
	unit_ok(shown, "what is shown is what an arrival would find");
	unit_ok(!early, "no bit is cleared early, and none later than the next is due");
}

/* A bit that was set stays for t_clear at most, and whatever else is set. */
static void forgets_a_flow_within_t_clear(void)
{
	u64 clear = 4000000000, now, last, sum = 0;
	u32 i, trials = 2000, bits = 5000;
	struct flow_count c;
	bool kept = true;

	for (i = 0; i < trials; i++) {
		now = 1000 + unit_random() % clear;
		flow_count_init(&c, words, bits, 1000);
		flow_count_advance(&c, clear, now);
		flow_count_see(&c, unit_random());
		kept &= c.count == 1;
		for (last = now; c.count; flow_count_advance(&c, clear, now))
			now += clear / 200;
		kept &= now - last <= clear + clear / 200;
		sum += now - last;
	}
	unit_ok(kept, "a flow that sends no more is forgotten within t_clear");
	/* Uniform over 0 to clear, seen at the next of 200 moments. */
	unit_ok(fabs((double)sum / trials / clear - 0.5 - 0.0025) <
		5 / sqrt(12.0 * trials), "and after half of it on average: %.3f",
		(double)sum / trials / clear);
}

/* Collisions: mean and deviation as stated. */
static void counts_flows_within_its_error(void)
{
	static const u32 flows[] = { 1, 10, 100, 1000, 3000 };
	u32 i, k, trial, bits = 5000, trials = 200;
	struct flow_count c;
	double mean, exact;

	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		mean = 0;
		for (trial = 0; trial < trials; trial++) {
			flow_count_init(&c, words, bits, 0);
			for (k = 0; k < flows[i]; k++)
				flow_count_see(&c, unit_random());
			mean += (double)c.count / trials;
		}
		exact = bits * (1 - pow(1 - 1.0 / bits, flows[i]));
		unit_ok(fabs(mean - exact) <=
			5 * sqrt((double)flows[i] * flows[i] / 2 / bits / trials),
			"%u flows set %.1f bits of %u", flows[i], exact, bits);
	}
}

UNIT_TESTS
{
	clears_each_bit_in_its_time();
	forgets_a_flow_within_t_clear();
	counts_flows_within_its_error();
}
