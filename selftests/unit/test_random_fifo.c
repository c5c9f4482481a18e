// SPDX-License-Identifier: GPL-2.0
/* random_fifo against a list in order of arrival, and its draws against chance. */
#include <string.h>

#include <aqm/random_fifo.h>

#include "unit.h"

#define MOST	128

/* What the FIFO should hold: numbers in the order in which they came. */
struct oracle {
	uintptr_t held[MOST];
	u32 count;
};

static void oracle_add(struct oracle *o, uintptr_t number)
{
	o->held[o->count++] = number;
}

static void oracle_remove(struct oracle *o, u32 place)
{
	o->count--;
	memmove(&o->held[place], &o->held[place + 1],
		(o->count - place) * sizeof(o->held[0]));
}

static u32 oracle_place(const struct oracle *o, uintptr_t number)
{
	u32 place = 0;

	while (place < o->count && o->held[place] != number)
		place++;
	return place;
}

static void *item(uintptr_t number)
{
	return (void *)number;
}

static uintptr_t in_slot(const struct random_fifo *f, u32 slot)
{
	return (uintptr_t)f->slots[slot].item;
}

static void new_fifo(struct random_fifo *f, u32 capacity)
{
	random_fifo_init(f, calloc(random_fifo_slots(capacity),
				   sizeof(struct random_fifo_slot)), capacity);
}

/* The links forward, the links backward, and the tags. */
static bool agree(const struct random_fifo *f, const struct oracle *o)
{
	u32 place = 0, slot;
	bool same = f->count == o->count;

	for (slot = random_fifo_first(f); slot && same; slot = f->slots[slot].next) {
		same &= slot <= f->count && place < o->count &&
			in_slot(f, slot) == o->held[place] &&
			f->slots[slot].tag == 3 * o->held[place];
		place++;
	}
	same &= place == o->count;
	for (slot = random_fifo_last(f); slot && same; slot = f->slots[slot].prev)
		same &= place && in_slot(f, slot) == o->held[--place];
	return same && !place;
}

static void does_what_a_list_does(void)
{
	uintptr_t number = 0;
	bool same = true, taken = true;
	struct oracle o = {};
	struct random_fifo f;
	int step;

	new_fifo(&f, MOST);
	for (step = 0; step < 200000; step++) {
		/* Stretches that fill it, that empty it, and that do neither. */
		u32 adds = 2 + step / 5000 % 3;
		u32 what = unit_below(8);
		u32 slot;

		if (!(step % 9973)) {
			u32 capacity = f.count + unit_below(MOST + 1 - f.count);

			free(random_fifo_move(&f, calloc(random_fifo_slots(capacity),
							 sizeof(*f.slots)),
					      capacity));
		}
		if (!(step % 44449)) {
			random_fifo_clear(&f);
			o.count = 0;
		}
		if (what < 2 * adds - 2) {
			if (f.count == f.capacity)
				continue;
			number++;
			slot = random_fifo_add(&f, item(number), 3 * number);
			same &= in_slot(&f, slot) == number;
			oracle_add(&o, number);
		} else if (!f.count) {
			same &= !random_fifo_first(&f) && !random_fifo_last(&f);
		} else if (what == 7) {
			slot = random_fifo_first(&f);
			taken &= random_fifo_remove(&f, slot) == item(o.held[0]);
			oracle_remove(&o, 0);
		} else {
			slot = 1 + unit_below(f.count);
			oracle_remove(&o, oracle_place(&o, in_slot(&f, slot)));
			random_fifo_remove(&f, slot);
		}
		same &= agree(&f, &o);
		if (!same)
			break;
	}
	free(f.slots);
	unit_ok(same, "holds what a list holds, in the order of arrival, both ways");
	unit_ok(taken, "the first out is the one that came first");
}

/* Where mainline's ring with holes stops: random removals close to the limit. */
static void never_stalls(void)
{
	static const u32 capacities[] = { 1, 2, 3, 7, 15, 16, 31, 63, 64, 100, 127 };
	bool room = true, drains = true;
	uintptr_t number, out;
	struct random_fifo f;
	u32 i, step, left, slot;

	for (i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		new_fifo(&f, capacities[i]);
		number = 0;
		for (step = 0; step < 20000; step++) {
			while (f.count < f.capacity) {
				slot = random_fifo_add(&f, item(++number), 0);
				room &= slot >= 1 && slot <= capacities[i];
				room &= in_slot(&f, slot) == number;
			}
			random_fifo_remove(&f, 1 + unit_below(f.count));
			if (f.count && unit_below(2))
				random_fifo_remove(&f, random_fifo_first(&f));
		}
		left = f.count;
		for (out = 0; random_fifo_first(&f); left--) {
			number = (uintptr_t)random_fifo_remove(&f, random_fifo_first(&f));
			drains &= number > out;
			out = number;
		}
		drains &= !left && !f.count;
		free(f.slots);
	}
	unit_ok(room, "after any removals there is room up to the capacity");
	unit_ok(drains, "all that is held comes out, in order");
}

/*
 * Chi-square over the place in the order of arrival, while arrivals, departures
 * and removals churn the slots. With 63 degrees of freedom a uniform draw exceeds
 * 122.7 once in 100 000 runs (significance 1e-5).
 */
#define PLACES		64
#define DRAWS		640000
#define CRITICAL	122.7

static double chi_square(const u32 *seen)
{
	double expected = (double)DRAWS / PLACES, sum = 0;
	int i;

	for (i = 0; i < PLACES; i++)
		sum += (seen[i] - expected) * (seen[i] - expected) / expected;
	return sum;
}

static void draws_are_uniform(void)
{
	u32 by_place[PLACES] = {};
	struct oracle o = {};
	uintptr_t number = 0;
	struct random_fifo f;
	u32 draw, slot;

	new_fifo(&f, PLACES);
	for (draw = 0; draw < DRAWS; draw++) {
		while (f.count < PLACES) {
			random_fifo_add(&f, item(++number), 0);
			oracle_add(&o, number);
		}
		slot = 1 + unit_below(f.count);
		by_place[oracle_place(&o, in_slot(&f, slot))]++;
		/* Remove the drawn one, or the first, or neither. */
		switch (draw % 3) {
		case 1:
			slot = random_fifo_first(&f);
			fallthrough;
		case 0:
			oracle_remove(&o, oracle_place(&o, in_slot(&f, slot)));
			random_fifo_remove(&f, slot);
		}
	}
	free(f.slots);
	unit_ok(chi_square(by_place) < CRITICAL,
		"a draw is uniform over the order of arrival (chi-square %.1f < %.1f)",
		chi_square(by_place), CRITICAL);
}

int main(int argc, char **argv)
{
	unit_start(argc, argv);
	does_what_a_list_does();
	never_stalls();
	draws_are_uniform();
	return unit_end();
}
