// SPDX-License-Identifier: GPL-2.0
/* random_draw against a list in order of arrival, and its draws against chance. */
#include <linux/kernel.h>
#include <aqm/random_draw.h>

#include "unit.h"

#define MOST	128

struct member {
	u32 slot;
};

/* Expected members of the set, in the order in which they were added. */
struct oracle {
	struct member *held[MOST];
	u32 count;
};

static void add(struct random_draw *d, struct oracle *o, struct member *m)
{
	m->slot = random_draw_add(d, m);
	o->held[o->count++] = m;
}

static void take(struct random_draw *d, struct oracle *o, u32 place)
{
	struct member *m = o->held[place], *moved;

	moved = random_draw_remove(d, m->slot);
	moved->slot = m->slot;
	o->count--;
	memmove(&o->held[place], &o->held[place + 1],
		(o->count - place) * sizeof(o->held[0]));
}

static u32 place_of(const struct oracle *o, const struct member *m)
{
	u32 place = 0;

	while (place < o->count && o->held[place] != m)
		place++;
	return place;
}

/* Each member is in the slot that it remembers, below the count. */
static bool agree(const struct random_draw *d, const struct oracle *o)
{
	bool same = d->count == o->count;
	u32 i;

	for (i = 0; i < o->count && same; i++)
		same &= o->held[i]->slot < d->count &&
			d->slots[o->held[i]->slot] == o->held[i];
	return same;
}

static void holds_what_a_list_holds(void)
{
	static struct member members[200000];
	struct random_draw d = {};
	struct oracle o = {};
	bool same = true;
	u32 capacity = MOST;
	u32 step;

	d.slots = calloc(capacity, sizeof(*d.slots));
	for (step = 0; step < ARRAY_SIZE(members); step++) {
		/* Stretches that fill it, that empty it, and that do neither. */
		u32 adds = 2 + step / 5000 % 3;

		if (!(step % 9973)) {
			capacity = d.count + unit_below(MOST + 1 - d.count);
			free(random_draw_move(&d, calloc(capacity ?: 1,
							 sizeof(*d.slots))));
		}
		if (unit_below(8) < 2 * adds - 2) {
			if (o.count < capacity)
				add(&d, &o, &members[step]);
		} else if (o.count) {
			take(&d, &o, unit_below(2) ? unit_below(o.count) : 0);
		}
		same &= agree(&d, &o);
		if (!same)
			break;
	}
	free(d.slots);
	unit_ok(same, "each member is in its slot, whichever left, and there is room");
}

/*
 * Chi-square over the place in the order of arrival, while arrivals, departures
 * and removals churn the slots. With 63 degrees of freedom a uniform draw exceeds
 * 122.7 once in 100 000 runs (significance 1e-5).
 */
#define PLACES		64
#define DRAWS		640000
#define EXPECTED	(DRAWS / PLACES)
#define CRITICAL	1227	/* tenths */

static void draws_are_uniform(void)
{
	static struct member members[DRAWS + PLACES];
	u32 by_place[PLACES] = {}, next = 0;
	void *slots[PLACES];
	struct random_draw d = { .slots = slots };
	struct oracle o = {};
	u32 draw, place;
	u64 squares = 0;

	for (draw = 0; draw < DRAWS; draw++) {
		while (o.count < PLACES)
			add(&d, &o, &members[next++]);
		place = place_of(&o, d.slots[unit_below(d.count)]);
		by_place[place]++;
		/* Remove the drawn one, or the first, or neither. */
		if (draw % 3 < 2)
			take(&d, &o, draw % 3 ? 0 : place);
	}
	for (place = 0; place < PLACES; place++)
		squares += ((s64)by_place[place] - EXPECTED) * ((s64)by_place[place] - EXPECTED);
	unit_ok(squares < EXPECTED / 10 * CRITICAL,
		"a draw is uniform over the order of arrival (10 chi-square %llu < %u)",
		squares / (EXPECTED / 10), CRITICAL);
}

UNIT_TESTS
{
	holds_what_a_list_holds();
	draws_are_uniform();
}
