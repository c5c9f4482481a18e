// SPDX-License-Identifier: GPL-2.0
/* random_draw in the kernel: slots, and uniform draws. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include <aqm/random_draw.h>

#define MEMBERS	64
#define SEED	1

struct member {
	u32	slot;
	u32	number;
};

static struct random_draw new_set(struct kunit *test)
{
	struct random_draw d = {};

	d.slots = kunit_kcalloc(test, MEMBERS, sizeof(*d.slots), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, d.slots);
	return d;
}

static void take(struct random_draw *d, const struct member *m)
{
	struct member *moved = random_draw_remove(d, m->slot);

	moved->slot = m->slot;
}

static void each_is_in_its_slot(struct kunit *test)
{
	struct random_draw d = new_set(test);
	struct member members[MEMBERS] = {};
	struct rnd_state rnd;
	struct member *m;
	int step;
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		members[i].slot = MEMBERS;
	prandom_seed_state(&rnd, SEED);
	for (step = 0; step < 20000; step++) {
		m = &members[prandom_u32_state(&rnd) % MEMBERS];
		if (m->slot == MEMBERS) {
			m->slot = random_draw_add(&d, m);
		} else {
			take(&d, m);
			m->slot = MEMBERS;
		}
		for (i = 0; i < d.count; i++) {
			m = d.slots[i];
			KUNIT_ASSERT_EQ(test, m->slot, i);
		}
	}
}

/* As in the userspace test: 63 degrees of freedom, significance 1e-5. */
static void draws_are_uniform(struct kunit *test)
{
	const u32 draws = 1000 * MEMBERS, expected = 1000;
	u32 *seen = kunit_kcalloc(test, MEMBERS, sizeof(*seen), GFP_KERNEL);
	struct member members[MEMBERS] = {};
	struct random_draw d = new_set(test);
	struct member *m, *first;
	struct rnd_state rnd;
	u32 number, place;
	u64 sum = 0;
	u32 i, j;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (number = 0; number < MEMBERS; number++) {
		m = &members[number];
		m->number = number;
		m->slot = random_draw_add(&d, m);
	}
	prandom_seed_state(&rnd, SEED);
	/* The drawn member or the first one leaves, and returns as the last. */
	for (i = 0; i < draws; i++) {
		m = d.slots[prandom_u32_state(&rnd) % d.count];
		first = m;
		place = 0;
		for (j = 0; j < MEMBERS; j++) {
			place += members[j].number < m->number;
			if (members[j].number < first->number)
				first = &members[j];
		}
		seen[place]++;
		m = i % 2 ? m : first;
		take(&d, m);
		m->number = number++;
		m->slot = random_draw_add(&d, m);
	}
	for (i = 0; i < MEMBERS; i++) {
		s64 off = (s64)seen[i] - expected;

		sum += off * off;
	}
	/* chi-square = sum / expected, against 122.7 */
	KUNIT_EXPECT_LT(test, sum, 122700);
}

static struct kunit_case random_draw_cases[] = {
	KUNIT_CASE(each_is_in_its_slot),
	KUNIT_CASE(draws_are_uniform),
	{}
};

static struct kunit_suite random_draw_suite = {
	.name		= "aqm_random_draw",
	.test_cases	= random_draw_cases,
};

kunit_test_suite(random_draw_suite);

MODULE_DESCRIPTION("KUnit tests of aqm/random_draw.h");
MODULE_LICENSE("GPL");
