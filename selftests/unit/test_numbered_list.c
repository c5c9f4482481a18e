// SPDX-License-Identifier: GPL-2.0
/* numbered_list against arrays, under random operations. */
#include <aqm/numbered_list.h>

#include "unit.h"

#define MEMBERS	40
#define LISTS	3

struct member {
	struct numbered_link link;
} __attribute__((aligned(NUMBERED_BYTES)));

/* What each list should be. */
struct expected {
	u32 number[MEMBERS];
	u32 count;
};

static void expect_append(struct expected *e, u32 number)
{
	e->number[e->count++] = number;
}

static void expect_removed(struct expected *e, u32 number)
{
	u32 i, kept = 0;

	for (i = 0; i < e->count; i++)
		if (e->number[i] != number)
			e->number[kept++] = e->number[i];
	e->count = kept;
}

/* Forwards and backwards, once round. */
static bool is_as_expected(struct numbered_link *links, u16 first,
			   const struct expected *e)
{
	u32 i, next = first, prev = first;

	for (i = 0; i < e->count; i++) {
		if (next != e->number[i] ||
		    prev != e->number[(e->count - i) % e->count])
			return false;
		next = numbered_link(links, next)->next;
		prev = numbered_link(links, prev)->prev;
	}
	return !e->count || (next == first && prev == first);
}

static void lists_are_those_of_arrays(void)
{
	static struct member members[MEMBERS];
	struct numbered_link *links = &members->link;
	struct expected expected[LISTS] = {};
	int where[MEMBERS];
	bool same = true, alone = true;
	u16 first[LISTS] = {};
	u32 longest = 0;
	int step, i;

	numbered_links_init(links, MEMBERS);
	memset(where, -1, sizeof(where));
	for (step = 0; step < 100000; step++) {
		u32 n = unit_below(MEMBERS), to = unit_below(LISTS);
		u32 other = unit_below(LISTS);
		struct expected *e = &expected[where[n] < 0 ? to : (u32)where[n]];

		if (where[n] < 0) {
			if (e->count)
				numbered_list_append(links, first[to],
						     &members[n].link);
			else
				numbered_list_begin(&first[to], &members[n].link);
			expect_append(e, n);
			where[n] = to;
		} else {
			alone &= numbered_list_is_alone(&members[n].link) ==
				 (e->count == 1);
			if (e->count > 1)
				numbered_list_remove(links, &first[where[n]],
						     &members[n].link);
			expect_removed(e, n);
			where[n] = -1;
		}
		if (!unit_below(20) && to != other && expected[to].count &&
		    expected[other].count) {
			numbered_list_splice(links, first[to], first[other]);
			for (i = 0; i < (int)expected[other].count; i++) {
				expect_append(&expected[to],
					      expected[other].number[i]);
				where[expected[other].number[i]] = to;
			}
			expected[other].count = 0;
		}
		for (i = 0; i < LISTS; i++) {
			same &= is_as_expected(links, first[i], &expected[i]);
			if (expected[i].count > longest)
				longest = expected[i].count;
		}
	}
	unit_ok(same && longest > MEMBERS / 2,
		"lists of up to %u are those of arrays, in both directions",
		longest);
	unit_ok(alone, "alone is who has no other beside it");
}

/* Numbers have 16 bits: the last of 65536 is linked like the first. */
static void the_last_number_is_a_member_like_any(void)
{
	static struct member members[65536];
	struct numbered_link *links = &members->link;
	u16 first;

	numbered_links_init(links, 65536);
	numbered_list_begin(&first, &members[65535].link);
	numbered_list_append(links, first, &members[0].link);
	unit_ok(first == 65535 && members[65535].link.next == 0 &&
		members[0].link.next == 65535 && members[0].link.prev == 65535,
		"the last of 65536 and the first go round");
	numbered_list_remove(links, &first, &members[65535].link);
	unit_ok(first == 0 && numbered_list_is_alone(&members[0].link),
		"and without the last, the first is left");
}

UNIT_TESTS
{
	lists_are_those_of_arrays();
	the_last_number_is_a_member_like_any();
}
