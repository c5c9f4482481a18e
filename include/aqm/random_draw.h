/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set from which any member can be drawn uniformly and removed, in O(1).
 *
 * The members fill slots 0 to count - 1 of an array, without a hole: removing one
 * moves the last into its slot. A number drawn uniformly below count is therefore
 * a uniform draw from the members, at every moment, and the set has room for as
 * many members as its array has slots, in whatever order they left.
 *
 * A member remembers its slot, and the caller tells it when that changes. The set
 * knows nothing of its members, sk_buffs or others. Cost: a pointer per slot.
 */
#ifndef _AQM_RANDOM_DRAW_H
#define _AQM_RANDOM_DRAW_H

#include <linux/types.h>

/**
 * struct random_draw - the set
 * @slots: its members, and room for more; NULL: it is not in use
 * @count: members
 */
struct random_draw {
	void	**slots;
	u32	count;
};

/* Add a member; there is room for it. Return: its slot. */
static inline u32 random_draw_add(struct random_draw *d, void *member)
{
	d->slots[d->count] = member;
	return d->count++;
}

/* Take the member in @slot out. Return: what has that slot now, or had it last. */
static inline void *random_draw_remove(struct random_draw *d, u32 slot)
{
	void *last = d->slots[--d->count];

	d->slots[slot] = last;
	return last;
}

/**
 * random_draw_move() - move to another array
 * @d: the set
 * @slots: room for its members at least
 *
 * Each keeps its slot. O(count).
 *
 * Return: the old array, which is the caller's to free.
 */
static inline void **random_draw_move(struct random_draw *d, void **slots)
{
	void **old = d->slots;
	u32 i;

	for (i = 0; i < d->count; i++)
		slots[i] = old[i];
	d->slots = slots;
	return old;
}

#endif /* _AQM_RANDOM_DRAW_H */
