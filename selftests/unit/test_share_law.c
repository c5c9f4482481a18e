// SPDX-License-Identifier: GPL-2.0
/* share_law.h against the formula in long double, over all that tc accepts. */
#include <math.h>
#include <aqm/cbt/share_law.h>
#include "unit.h"

#define ONE	4294967296.0L

static long double exact(u64 rate, u32 latency, u32 share, u32 packet)
{
	return share / ONE * rate * (latency / 1e6L) / packet * SHARE_LAW_UNIT;
}

static bool near(u64 rate, u32 latency, u32 share, u32 packet)
{
	long double want = exact(rate, latency, share, packet);
	u64 got = share_law(rate, latency, share, packet);
	/* half a unit; the byte cut off; a product cut to whole units */
	long double slack = 0.5L + SHARE_LAW_UNIT * (share / ONE) / packet +
			    1.0L / packet + want * 1e-18L;

	if (got == 1 && want < 1.5L)
		return true;
	if (fabsl(got - want) <= slack)
		return true;
	printf("# rate %llu latency %u share %u packet %u: %llu, not %Lf\n",
	       (unsigned long long)rate, latency, share, packet,
	       (unsigned long long)got, want);
	return false;
}

static void test_formula(void)
{
	bool pass = true;

	for (int i = 0; i < 1000000 && pass; i++) {
		u64 rate = 1 + (unit_random() >> 24 >> unit_below(40));
		u32 latency = 1 + (u32)(unit_random() >> 32 >> unit_below(32)) / 2;
		u32 share = unit_random() >> 32 >> unit_below(32);
		u32 packet = 1 + (u32)(unit_random() >> 32 >> unit_below(32)) / 2;

		pass = near(rate, latency, share, packet);
	}
	unit_ok(pass, "Q = b C L / P, to half of 1/256 packet and a byte");
}

static void test_corners(void)
{
	static const u64 rates[] = { 1, 1000, SHARE_LAW_MAX_RATE };
	static const u32 words[] = { 1, 1000000, U32_MAX };
	bool pass = true;

	for (int r = 0; r < 3; r++)
		for (int l = 0; l < 3; l++)
			for (int s = 0; s < 3; s++)
				for (int p = 0; p < 3; p++)
					pass &= near(rates[r], words[l],
						     words[s], words[p]);
	unit_ok(pass, "also at the ends of every range, where nothing overflows");
	unit_ok(share_law(1250000, 100000, 0, 1500) == 1,
		"a class without a share has a threshold nevertheless");
}

/* tc-cbt(8): 10 Mb/s, 100 ms: 125000 bytes */
static void test_worked_example(void)
{
	u32 tcp = share_law(1250000, 100000, 0.75 * ONE, 1500);
	u32 tagged = share_law(1250000, 100000, 0.15 * ONE, 800);
	u32 other = share_law(1250000, 100000, 0.10 * ONE, 1000);

	unit_ok(tcp == 62.5 * 256 && tagged == 6000 && other == 12.5 * 256,
		"the worked example: 62.5, 23.4375 and 12.5 packets");
	unit_ok(share_law_limit(tcp + tagged + other) == 197,
		"and room for twice their sum, 196.875");
	unit_ok(share_law_limit(1) == 1 && share_law_limit(3ULL << 28) == 3 << 21,
		"room for one packet at least, and no overflow");
}

static void test_threshold(void)
{
	/* 10^6 bytes/s for 40 ms: 40 000 bytes, half of them in packets of 500. */
	struct share_class c = { .share = 1U << 31, .packet = 500 };
	struct share_total total = {};

	unit_ok(share_law_threshold(&c, 1000000, 40000, &total) == 40 * SHARE_LAW_UNIT,
		"40 packets from the share");
	c.least = 50 * SHARE_LAW_UNIT;
	unit_ok(share_law_threshold(&c, 1000000, 40000, &total) == c.least, "raised to the least");
	c.given = 7;
	unit_ok(share_law_threshold(&c, 1000000, 40000, &total) == 7, "what was given counts");
	unit_ok(total.sum == 90 * SHARE_LAW_UNIT + 7 && total.raised == 10 * SHARE_LAW_UNIT,
		"sum, and the part that was raised");
	unit_ok(share_law_room(&total) == 161, "twice the shares, the raised part once");
	total = (struct share_total) { .sum = 1000, .raised = 999 };
	unit_ok(share_law_room(&total) == 4, "room for the sum at least");
}

static void test_latency(void)
{
	/* 80 packets of 500 bytes in 40 ms: a limit of 160. */
	struct share_class c = { .share = U32_MAX, .packet = 500 };

	unit_ok(share_law_latency(&c, 1, 1000000, 40000, 160) == 40000, "memory holds the limit");
	unit_ok(share_law_latency(&c, 1, 1000000, 40000, 40) == 10000, "a quarter of the memory");
	unit_ok(share_law_latency(&c, 1, 1ULL << 40, 1, 1) == 1, "1 us at least");
}

UNIT_TESTS
{
	test_formula();
	test_threshold();
	test_latency();
	test_corners();
	test_worked_example();
}
