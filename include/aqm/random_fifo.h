/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FIFO from which any entry can be drawn uniformly and removed, in O(1).
 *
 * The entries fill slots 1 to count of an array, without a hole: removing one
 * moves the last into its slot. A number drawn uniformly from 1 to count is
 * therefore a uniform draw from the entries, at every moment, and the FIFO has
 * room for as many entries as its array has slots, in whatever order they left.
 * The order of arrival is kept by links between slots; slot 0 is no entry, it
 * closes the circle of links.
 *
 *	add	fill slot count + 1, link it before slot 0
 *	first	the slot that slot 0 links to
 *	remove	unlink the slot, move slot count there, mend the links to it
 *
 * An entry's slot changes when another is removed; nobody but the array has to
 * know. No entry is touched when another moves.
 *
 * A pointer and a number that the caller chooses are stored for each entry: it
 * sees no sk_buff and no Qdisc. Cost: 24 bytes per slot.
 */
#ifndef _AQM_RANDOM_FIFO_H
#define _AQM_RANDOM_FIFO_H

#include <linux/types.h>

/**
 * struct random_fifo_slot - one entry
 * @item: what was added
 * @tag: the caller's note about it
 * @prev: slot of the entry that came before; 0 if this is the first
 * @next: slot of the entry that came after; 0 if this is the last
 */
struct random_fifo_slot {
	void	*item;
	u64	tag;
	u32	prev;
	u32	next;
};

/**
 * struct random_fifo - the FIFO
 * @slots: room for @capacity entries and slot 0
 * @capacity: entries it can hold
 * @count: entries it holds, in slots 1 to @count
 */
struct random_fifo {
	struct random_fifo_slot	*slots;
	u32			capacity;
	u32			count;
};

/* Slots to allocate for @capacity entries. */
static inline size_t random_fifo_slots(u32 capacity)
{
	return (size_t)capacity + 1;
}

/* Forget all entries. */
static inline void random_fifo_clear(struct random_fifo *f)
{
	f->count = 0;
	f->slots[0].prev = 0;
	f->slots[0].next = 0;
}

/* An empty FIFO in @slots, of which there are random_fifo_slots(@capacity). */
static inline void random_fifo_init(struct random_fifo *f,
				    struct random_fifo_slot *slots,
				    u32 capacity)
{
	f->slots = slots;
	f->capacity = capacity;
	random_fifo_clear(f);
}

/**
 * random_fifo_move() - move to another array
 * @f: the FIFO; it holds at most @capacity entries
 * @slots: random_fifo_slots(@capacity) slots
 * @capacity: entries that the new array can hold
 *
 * Every entry keeps its slot. O(count).
 *
 * Return: the old array, which is the caller's to free.
 */
static inline struct random_fifo_slot *
random_fifo_move(struct random_fifo *f, struct random_fifo_slot *slots,
		 u32 capacity)
{
	struct random_fifo_slot *old = f->slots;
	u32 i;

	for (i = 0; i <= f->count; i++)
		slots[i] = old[i];
	f->slots = slots;
	f->capacity = capacity;
	return old;
}

/* Add an entry at the end; there is room for it. Return: its slot. */
static inline u32 random_fifo_add(struct random_fifo *f, void *item, u64 tag)
{
	struct random_fifo_slot *slots = f->slots;
	u32 slot = ++f->count;
	u32 last = slots[0].prev;
	struct random_fifo_slot *s = &slots[slot];

	s->item = item;
	s->tag = tag;
	s->prev = last;
	s->next = 0;
	slots[last].next = slot;
	slots[0].prev = slot;
	return slot;
}

/* Slot of the entry that has waited longest; 0 if there is none. */
static inline u32 random_fifo_first(const struct random_fifo *f)
{
	return f->slots[0].next;
}

/* Slot of the entry that came last; 0 if there is none. */
static inline u32 random_fifo_last(const struct random_fifo *f)
{
	return f->slots[0].prev;
}

/* Take the entry in @slot (1 to count) out. Return: its item. */
static inline void *random_fifo_remove(struct random_fifo *f, u32 slot)
{
	struct random_fifo_slot *slots = f->slots;
	struct random_fifo_slot *s = &slots[slot];
	u32 prev = s->prev, next = s->next;
	void *item = s->item;
	u32 last = f->count;

	slots[prev].next = next;
	slots[next].prev = prev;
	if (slot != last) {
		*s = slots[last];
		slots[s->prev].next = slot;
		slots[s->next].prev = slot;
	}
	f->count = last - 1;
	return item;
}

#endif /* _AQM_RANDOM_FIFO_H */
