// SPDX-License-Identifier: GPL-2.0
/*
 * marking_probability.h: each rise and fall against a loop that looks at every
 * moment, with p as a whole number of steps that nothing can round.
 */
#include <linux/kernel.h>
#include <aqm/blue/marking_probability.h>

#include "unit.h"

/* The rule, for times so small that each of them can be looked at. */
struct by_hand {
	long long p, rise, fall;	/* of the last rise and fall */
	u32 falls;
};

#define LONG_AGO	(-1000000LL)
#define ONE		((long long)U32_MAX)

static void each_moment(struct by_hand *h, const struct marking_params *params,
			long long from, long long to)
{
	for (; from <= to; from++) {
		if (!h->p || from - h->fall < (long long)params->freeze)
			continue;
		h->p = h->p > params->down ? h->p - params->down : 0;
		h->fall = from;
		h->falls++;
	}
}

static void every_update_is_the_rules(void)
{
	bool same = true, told = true;
	u32 i, k, rises = 0, falls = 0;

	for (i = 0; i < 3000; i++) {
		struct marking_params params = {
			.freeze	= 1 + unit_below(50),
			.up	= 1 + unit_random() % (U32_MAX >> unit_below(12)),
			.down	= 1 + unit_random() % (U32_MAX >> unit_below(12)),
		};
		struct by_hand h = { .rise = LONG_AGO, .fall = LONG_AGO };
		struct marking_probability v = {};
		bool idle = false;
		u64 now = 0, to;

		for (k = 0; k < 200; k++) {
			to = now + unit_below(unit_below(4) ? 20 : 2000);
			if (idle) {
				u32 n = marking_idled(&params, &v, to);

				h.falls = 0;
				each_moment(&h, &params, now, to);
				told &= n == h.falls;
				falls += n;
			}
			now = to;
			same &= v.p == h.p;
			if (unit_below(2)) {
				bool rose = h.p < ONE &&
					    (long long)now - h.rise >= (long long)params.freeze;

				told &= marking_lost(&params, &v, now) == rose;
				if (rose) {
					h.p = min(ONE, h.p + params.up);
					h.rise = now;
					rises++;
				}
			}
			same &= v.p == h.p;
			if (!unit_below(3)) {
				idle = !idle;
				if (idle)
					marking_idle(&v, now);
			}
		}
	}
	unit_ok(same, "p is what the rule makes of it, looked at in each moment");
	unit_ok(told && rises > 1000 && falls > 1000, "%u rises and %u falls are told", rises,
		falls);
}

/* An hour and a millennium are one step. */
static void long_times_are_summed_up(void)
{
	struct marking_params params = { .freeze = 1000, .up = U32_MAX, .down = 1 };
	struct marking_probability v = {};

	unit_ok(marking_lost(&params, &v, 5000) && v.p == U32_MAX, "one step to 1");
	unit_ok(marking_idled(&params, &v, 5000 + 3600ULL * 1000000000) == 3600000001U &&
		v.p == U32_MAX - 3600000001U, "an hour: a fall each us, and the first at once");
	unit_ok(marking_idled(&params, &v, 1ULL << 63) == U32_MAX - 3600000001U && !v.p,
		"then to 0, and no further");
	unit_ok(!marking_idled(&params, &v, U64_MAX), "0 does not fall");
	unit_ok(marking_lost(&params, &v, 1ULL << 63) && v.p == U32_MAX &&
		!marking_lost(&params, &v, U64_MAX), "1 does not rise");
}

/* Idle time before p left 0 is no reason to fall. */
static void what_was_idle_at_0_does_not_count(void)
{
	struct marking_params params = { .freeze = 10, .up = 100, .down = 1 };
	struct marking_probability v = {};

	marking_idle(&v, 0);
	marking_lost(&params, &v, 1000000);
	unit_ok(marking_idled(&params, &v, 1000000) == 1 &&
		marking_idled(&params, &v, 1000009) == 0 &&
		marking_idled(&params, &v, 1000010) == 1, "the first fall is at the rise");
}

static void chance_is_p(void)
{
	struct marking_probability v = {};

	unit_ok(!marking_open(&v) && !marking_chosen(&v, 0), "0: none, and no number is wanted");
	v.p = 1;
	unit_ok(marking_open(&v) && marking_chosen(&v, 0) && !marking_chosen(&v, 1),
		"the least p: one number in 2^32");
	v.p = U32_MAX - 1;
	unit_ok(marking_open(&v) && marking_chosen(&v, U32_MAX - 2) &&
		!marking_chosen(&v, U32_MAX - 1), "nearly 1: all but two");
	v.p = U32_MAX;
	unit_ok(!marking_open(&v) && marking_chosen(&v, U32_MAX), "1: all");
}

static void another_law_holds_at_once(void)
{
	struct marking_params slow = { .freeze = 1000000, .up = 10, .down = 1 };
	struct marking_params fast = { .freeze = 10, .up = 10, .down = 1 };
	struct marking_probability v = {};

	marking_lost(&slow, &v, 100);
	marking_idled(&slow, &v, 100);
	marking_change(&fast, &v, 200);
	unit_ok(!marking_lost(&fast, &v, 209) && marking_lost(&fast, &v, 210),
		"a rise waits for the new time at most");
	unit_ok(!marking_idled(&fast, &v, 209) && marking_idled(&fast, &v, 210) == 1,
		"and so does a fall");
	marking_change(&slow, &v, 215);
	unit_ok(marking_lost(&slow, &v, 220), "one that is longer puts nothing off again");
}

UNIT_TESTS
{
	every_update_is_the_rules();
	long_times_are_summed_up();
	what_was_idle_at_0_does_not_count();
	chance_is_p();
	another_law_holds_at_once();
}
