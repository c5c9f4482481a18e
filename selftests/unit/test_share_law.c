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

UNIT_TESTS
{
	test_formula();
	test_corners();
}
