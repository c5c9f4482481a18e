/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set from which any member can be drawn uniformly and removed, in O(1).
 *
 * The members fill slots 0 to count - 1 of an array without holes: when a member
 * is removed, the last one moves into its slot. So a uniform random number below
 * count selects a member uniformly at any time, and all slots can be used.
 *
 * A member stores its slot, and the caller updates it when it changes. The set
 * does not look into its members. Cost: one pointer per slot.
 */
#ifndef _AQM_RANDOM_DRAW_H
#define _AQM_RANDOM_DRAW_H

#include <linux/types.h>

/**
 * struct random_draw - the set
 * @slots: array of members with free room; NULL: not in use
 * @count: number of members
 */
struct random_draw {
	void	**slots;
	u32	count;
};

/* Add a member. There must be room. Return: its slot. */
static inline u32 random_draw_add(struct random_draw *d, void *member)
{
	d->slots[d->count] = member;
	return d->count++;
}

/* Remove the member in @slot. Return: the member that is in the slot now, or the removed one. */
static inline void *random_draw_remove(struct random_draw *d, u32 slot)
{
	void *last = d->slots[--d->count];

	d->slots[slot] = last;
	return last;
}

/**
 * random_draw_move() - move to another array
 * @d: the set
 * @slots: array with room for all members
 *
 * Members keep their slots. O(count).
 *
 * Return: the old array, which the caller must free.
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
