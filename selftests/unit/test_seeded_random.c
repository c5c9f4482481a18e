// SPDX-License-Identifier: GPL-2.0
/* seeded_random: the numbers that tests/oracle/seeded_random.py draws, and uniform. */
#include <linux/kernel.h>
#include <aqm/seeded_random.h>

#include "unit.h"

/* From tests/oracle/seeded_random.py: the first four of each seed. */
static const struct {
	u32 seed, first[4];
} known[] = {
	{ 1, { 0x30411120, 0x1ce994bb, 0x6e432e18, 0xa5875a09 } },
	{ 2, { 0x63861201, 0xf8d53937, 0x9d825820, 0x5b4eb43a } },
	{ 12345, { 0xdcd24d06, 0xc3446b65, 0x4afa9305, 0x5a8e1341 } },
	{ 0xffffffff, { 0xe0a0ecdf, 0xfd5c8261, 0xf9f5fdea, 0x88cf2613 } },
};

static void a_seed_names_a_sequence(void)
{
	struct seeded_random r;
	bool same = true;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		seeded_random_init(&r, known[i].seed);
		for (k = 0; k < 4; k++)
			same &= seeded_random_u32(&r) == known[i].first[k];
	}
	unit_ok(same, "seeds give the numbers that the Python model draws");
}

static void seed_0_is_not_a_sequence(void)
{
	struct seeded_random a, b;
	u32 same = 0, i;

	seeded_random_init(&a, 0);
	seeded_random_init(&b, 0);
	for (i = 0; i < 8; i++)
		same += seeded_random_u32(&a) == seeded_random_u32(&b);
	unit_ok(same < 4, "seed 0 differs from time to time");
}

/* 99 cells: chi square has 98 degrees of freedom, 179.7 is exceeded once in a million. */
static void below_is_uniform(void)
{
	u32 cells[99] = {}, draws = 99 * 1000, i;
	struct seeded_random r;
	bool inside = true;
	u64 squares = 0;

	seeded_random_init(&r, unit_random() | 1);
	for (i = 0; i < draws; i++) {
		u32 x = seeded_random_below(&r, 99);

		inside &= x < 99;
		cells[x % 99]++;
	}
	for (i = 0; i < 99; i++)
		squares += (cells[i] - 1000LL) * (cells[i] - 1000LL);
	unit_ok(inside, "below(n) is below n");
	unit_ok(squares < 179700,
		"below(n) is uniform (1000 chi square %llu, 98 degrees of freedom)", squares);
}

UNIT_TESTS
{
	a_seed_names_a_sequence();
	seed_0_is_not_a_sequence();
	below_is_uniform();
}
