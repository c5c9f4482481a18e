// SPDX-License-Identifier: GPL-2.0
/* Compare active_flows with an array that is searched from end to end. */
#include <aqm/fred/active_flows.h>

#include "unit.h"

#define MOST	200

/* Expected contents of the table. */
struct by_hand {
	struct { u32 number, qlen, strikes, slot; } flows[MOST];
	u32 count;
};

static u32 place_of(const struct by_hand *h, u32 number)
{
	u32 i = 0;

	while (i < h->count && h->flows[i].number != number)
		i++;
	return i;
}

static bool agree(const struct active_flows *t, const struct by_hand *h)
{
	bool same = t->count == h->count;
	u32 i, slot;

	for (i = 0; i < h->count; i++) {
		slot = active_flows_find(t, h->flows[i].number);
		same &= slot && slot <= t->capacity && slot == h->flows[i].slot &&
			t->flows[slot].number == h->flows[i].number &&
			t->flows[slot].qlen == h->flows[i].qlen &&
			t->flows[slot].strikes == h->flows[i].strikes;
	}
	return same;
}

/* Return one of few numbers. Many have equal last bits, so chains are long. */
static u32 some_number(void)
{
	return unit_below(4) ? unit_below(300) : unit_below(40) << 20;
}

static void *memory_for(u32 capacity)
{
	void *memory = malloc(active_flows_size(capacity));

	memset(memory, 0xa5, active_flows_size(capacity));
	return memory;
}

static void does_what_a_search_does(u32 capacity)
{
	bool same = true, found = true, moved = true;
	u32 step, number, place, slot, i, moves = 0, fullest = 0;
	struct by_hand h = {};
	struct active_flow *old;
	struct active_flows t;

	active_flows_init(&t, memory_for(capacity), capacity);
	for (step = 0; step < 20000; step++) {
		number = some_number();
		place = place_of(&h, number);
		slot = active_flows_find(&t, number);
		found &= !slot == (place == h.count);
		if (place < h.count && unit_below(3)) {
			/* Another packet. */
			h.flows[place].strikes += unit_below(2);
			t.flows[slot].qlen = ++h.flows[place].qlen;
			t.flows[slot].strikes = h.flows[place].strikes;
		} else if (place < h.count) {
			active_flows_remove(&t, slot);
			h.flows[place] = h.flows[--h.count];
		} else if (h.count < t.capacity) {
			slot = active_flows_add(&t, number);
			same &= !t.flows[slot].qlen && !t.flows[slot].strikes;
			t.flows[slot].qlen = 1;
			h.flows[h.count].number = number;
			h.flows[h.count].slot = slot;
			h.flows[h.count].qlen = 1;
			h.flows[h.count++].strikes = 0;
		}
		fullest = max(fullest, h.count);
		if (!unit_below(500)) {
			u32 room = h.count + unit_below(MOST - h.count) + !h.count;

			old = active_flows_move(&t, memory_for(room), room);
			for (i = 0; i < h.count; i++)
				h.flows[i].slot = old[h.flows[i].slot].next;
			free(old);
			moved &= agree(&t, &h) && t.capacity == room;
			moves++;
		}
		same &= agree(&t, &h);
	}
	unit_ok(found, "a flow is found if it is there, and else not; room for %u", capacity);
	unit_ok(same, "each keeps its slot, packets and strikes; up to %u flows", fullest);
	unit_ok(moved && moves > 10, "%u moves to a table of another size", moves);
	active_flows_clear(&t);
	h.count = 0;
	unit_ok(agree(&t, &h) && !active_flows_find(&t, some_number()), "then all are forgotten");
	free(t.flows);
}

static void holds_as_many_as_it_has_room_for(void)
{
	struct active_flows t;
	bool all = true;
	u32 capacity, i;

	for (capacity = 1; capacity < 70; capacity++) {
		active_flows_init(&t, memory_for(capacity), capacity);
		for (i = 0; i < capacity; i++)
			t.flows[active_flows_add(&t, i << 28 | i)].qlen = 1;
		for (i = 0; i < capacity; i++)
			all &= active_flows_find(&t, i << 28 | i) != 0;
		all &= t.count == capacity;
		free(t.flows);
	}
	unit_ok(all, "1 to 69 flows where there is room for so many");
}

/* A slot has 16 bytes and slot 0 is unused; there are 1 to 2 buckets of 4 bytes per slot. */
static void takes_the_memory_that_its_header_states(void)
{
	bool within = true;
	u32 capacity;

	for (capacity = 1; capacity <= 5000; capacity++)
		within &= active_flows_size(capacity) >= 16 + 20 * capacity &&
			  active_flows_size(capacity) <= 16 + 24 * capacity;
	unit_ok(within, "20 to 24 bytes per slot, and 16");
	unit_ok(active_flows_size(1 << 24) == 16 + (20 << 24),
		"20 bytes if the capacity is a power of two");
}

UNIT_TESTS
{
	takes_the_memory_that_its_header_states();
	does_what_a_search_does(1);
	does_what_a_search_does(17);
	does_what_a_search_does(MOST);
	holds_as_many_as_it_has_room_for();
}
