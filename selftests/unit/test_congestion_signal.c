// SPDX-License-Identifier: GPL-2.0
/*
 * congestion_signal.h: all policies and packets, against the rule written out
 * as tc-red(8) has it for ecn, harddrop and nodrop.
 */
#include <aqm/congestion_signal.h>
#include "unit.h"

static void test_every_policy(void)
{
	bool right = true, left_alone = true, counted = true;

	for (int bits = 0; bits < 64; bits++) {
		struct congestion_policy p = {
			.ecn = bits & 1, .harddrop = bits & 2, .nodrop = bits & 4,
		};
		bool ect = bits & 8, forced = bits & 16, dscp = bits & 32;
		u8 was = (dscp ? 0xb8 : 0) | (ect ? 2 : 0);
		struct sk_buff skb = {
			.protocol = htons(ETH_P_IP), .data = { 0x45, was },
		};
		struct congestion_stats st = {};
		enum congestion_signal want, got;

		want = CONGESTION_DROP;
		if (p.ecn && ect && !(forced && p.harddrop))
			want = CONGESTION_MARKED;
		if (p.ecn && !ect && p.nodrop && !(forced && p.harddrop))
			want = CONGESTION_SPARED;
		got = congestion_signal(&p, &skb, forced);
		right &= got == want;
		left_alone &= skb.data[1] == (want == CONGESTION_MARKED ? (was | 3) : was);

		congestion_count(&st, got, forced);
		counted &= st.early_mark == (want == CONGESTION_MARKED && !forced);
		counted &= st.forced_mark == (want == CONGESTION_MARKED && forced);
		counted &= congestion_marked(&st) == (want == CONGESTION_MARKED);
		counted &= st.spared == (want == CONGESTION_SPARED);
	}
	unit_ok(right, "ecn marks what can be, nodrop spares the rest, harddrop drops what is forced");
	unit_ok(left_alone, "only what is marked is changed, and only its two bits");
	unit_ok(counted, "marked and spared arrivals count once, dropped ones do not");
}

UNIT_TESTS
{
	struct congestion_stats st = {};

	test_every_policy();
	congestion_count(&st, CONGESTION_PASS, false);
	congestion_count(&st, CONGESTION_PASS, true);
	unit_ok(!(st.early_mark | st.forced_mark | st.spared),
		"arrivals that RED did not choose are not counted");
}
