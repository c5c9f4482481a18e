// SPDX-License-Identifier: GPL-2.0
/*
 * short_share: the law of section III-B as the paper prints it, and what the
 * short queue gets over any stretch of time against the sum of its shares in
 * floating point.
 */
#include <math.h>

#include <linux/kernel.h>
#include <aqm/redtail/short_share.h>

#include "unit.h"

#define ONE	4294967296.	/* of Q0.32 */

/* C1 / C as printed, with C1min as a floor. */
static double law(double q1, double min1, double max1, double least, double most)
{
	if (q1 == 0)
		return 0;
	if (q1 <= min1)
		return least;
	return fmax(least, fmin(q1 / max1, most));
}

static void the_share_is_the_papers(void)
{
	struct short_share_params p;
	bool close = true, rises = true;
	u32 i, k, before, share;

	/* Table II: 2000 and 30000 bytes, C1min = min1 / max1, C1max = 0.8. */
	short_share_set(&p, 2000, 30000, 0, 0.8 * ONE);
	unit_ok(short_share(&p, 0) == 0, "an empty queue has no share");
	unit_ok(fabs(short_share(&p, 1) / ONE * 15 - 1) < 1e-8 &&
		fabs(short_share(&p, 2000) / ONE * 15 - 1) < 1e-8, "1/15 up to min1");
	unit_ok(fabs(short_share(&p, 15000) / ONE - 0.5) < 1e-9, "half of max1: half");
	unit_ok(fabs(short_share(&p, 24001) / ONE - 0.8) < 1e-9 &&
		fabs(short_share(&p, U32_MAX) / ONE - 0.8) < 1e-9, "then 0.8, however long");

	for (i = 0; i < 2000; i++) {
		u32 max1 = 2 + unit_below(SHORT_SHARE_MAX_TH >> unit_below(28));
		u32 min1 = 1 + unit_below(max1 - 1);
		u32 most = 1 + unit_random() % U32_MAX;
		u32 least = unit_below(2) ? 0 : 1 + unit_random() % most;

		short_share_set(&p, min1, max1, least, most);
		for (before = 0, k = 0; k < 200; k++) {
			u32 q1 = (u64)max1 * k / 150;
			double exact;

			share = short_share(&p, q1);
			exact = law(q1, min1, max1, p.least / ONE, most / ONE);
			close &= share / ONE <= exact + 1e-12 && share / ONE > exact - 2 / ONE;
			rises &= share >= before;
			before = share;
		}
		if (!least)
			close &= fabs(p.least / ONE - fmin((double)min1 / max1, most / ONE)) <
				 2 / ONE;
	}
	unit_ok(close, "any thresholds: within 2^-31 below the law");
	unit_ok(rises, "and never less for a longer queue");
}

/*
 * Both queues never empty, any sizes, q1 anything: over every stretch that has
 * begun so far the short queue has its shares, to within a packet.
 */
static void what_it_gets_is_the_sum_of_its_shares(void)
{
	double owed = 0, high = 0, low = 0;
	struct short_share_params p;
	u32 largest = 0, i;
	s64 credit = 0;
	u64 sent[2] = {};

	short_share_set(&p, 2000, 30000, 0, 0.8 * ONE);
	for (i = 0; i < 500000; i++) {
		u32 length[2] = { 40 + unit_below(1475), 40 + unit_below(65496) };
		u32 q1 = i / 1000 % 2 ? length[0] + unit_below(40000) : length[0];
		enum short_share_queue nr;

		nr = short_share_pick(&p, &credit, true, length[0], true, length[1], q1);
		sent[nr] += length[nr];
		largest = max(largest, length[nr]);
		owed += law(q1, 2000, 30000, 2000 / 30000., 0.8) * length[nr] -
			(nr == SHORT_SHARE_SHORT ? length[nr] : 0);
		high = fmax(high, owed);
		low = fmin(low, owed);
	}
	unit_ok(high < largest && low > -(double)largest,
		"%llu and %llu bytes served: never off by a packet of %u (%.0f to %.0f)",
		(unsigned long long)sent[0], (unsigned long long)sent[1], largest, low, high);
	unit_ok(fabs(credit / ONE - owed) < 1, "the account is what is owed (%.1f, %.1f)",
		credit / ONE, owed);
}

/* A queue that is empty has no claim and leaves none behind. */
static void nothing_is_saved_up(void)
{
	struct short_share_params p;
	s64 credit;

	short_share_set(&p, 2000, 30000, 0, 0.8 * ONE);
	credit = 0;
	unit_ok(short_share_pick(&p, &credit, true, 100, true, 100, 100) == SHORT_SHARE_SHORT,
		"who is owed nothing and owes nothing goes first if it is short");
	credit = 5000LL << 32;
	unit_ok(short_share_pick(&p, &credit, false, 0, true, 1000, 0) == SHORT_SHARE_LONG &&
		credit == 0, "a short queue that is empty has no claim left");
	credit = -(1500LL << 32);
	short_share_pick(&p, &credit, false, 0, true, 1500, 0);
	unit_ok(fabs(credit / ONE + 1400) < 0.001, "what it got in advance is made up for at C1min");
	credit = -(1500LL << 32);
	unit_ok(short_share_pick(&p, &credit, true, 9000, false, 0, 9000) == SHORT_SHARE_SHORT &&
		credit == 0, "alone it is served, and pays nothing");
}

/* Lengths say nothing about presence: a packet may have none. */
static void packets_without_length_are_served(void)
{
	struct short_share_params p;
	u32 i, served[2] = {};
	s64 credit = 0;

	short_share_set(&p, 2000, 30000, 0, 0.8 * ONE);
	unit_ok(short_share_pick(&p, &credit, false, 0, true, 0, 0) == SHORT_SHARE_LONG,
		"a long packet of no length, alone");
	unit_ok(short_share_pick(&p, &credit, true, 0, false, 0, 0) == SHORT_SHARE_SHORT,
		"a short one");
	/* Each is served though the other queue's packets have no length. */
	for (i = 0; i < 1000; i++)
		served[short_share_pick(&p, &credit, true, i % 2 ? 0 : 100, true, 1000, 100)]++;
	unit_ok(served[0] > 10 && served[1] > 10, "both, %u and %u times", served[0], served[1]);
}

UNIT_TESTS
{
	the_share_is_the_papers();
	what_it_gets_is_the_sum_of_its_shares();
	nothing_is_saved_up();
	packets_without_length_are_served();
}
