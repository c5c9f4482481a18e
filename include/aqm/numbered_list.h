/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of what has a number.
 *
 * Members lie in an array, NUMBERED_BYTES apart, and are linked in a circle by
 * their numbers, from 0. A link takes 6 bytes, and a list 2, the number of its
 * first member, where a struct list_head takes 16 of each: an index with a
 * thousand lists is smaller than the queues it is for, and a queue's state, its
 * links included, fits a cache line. And no operation is a call, as those of
 * list_head are where the kernel checks them (Debian's do).
 *
 * Whether a list is empty is for its owner to know, from a bitmap.
 *
 * @links is always the link of number 0, from which the others are reached.
 */
#ifndef _AQM_NUMBERED_LIST_H
#define _AQM_NUMBERED_LIST_H

#include <linux/types.h>

#define NUMBERED_BYTES	64U

/**
 * struct numbered_link - a place in a list
 * @number: the member's own
 * @next: of the next member; of the first, if this is the last
 * @prev: of the one before; of the last, if this is the first
 */
struct numbered_link {
	u16	number;
	u16	next;
	u16	prev;
};

static inline struct numbered_link *numbered_link(struct numbered_link *links,
						  u32 number)
{
	return (void *)links + (size_t)number * NUMBERED_BYTES;
}

/* Give @count links their numbers. */
static inline void numbered_links_init(struct numbered_link *links, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		numbered_link(links, i)->number = i;
}

/* Begin a list with one member. */
static inline void numbered_list_begin(u16 *first, struct numbered_link *link)
{
	link->next = link->number;
	link->prev = link->number;
	*first = link->number;
}

/* Append a member to a list that has one. */
static inline void numbered_list_append(struct numbered_link *links, u16 first,
					struct numbered_link *link)
{
	struct numbered_link *head = numbered_link(links, first);
	u32 last = head->prev;

	link->next = first;
	link->prev = last;
	numbered_link(links, last)->next = link->number;
	head->prev = link->number;
}

/* Whether a member of a list is its only one. */
static inline bool numbered_list_is_alone(const struct numbered_link *link)
{
	return link->next == link->number;
}

/* Remove a member of a list that is not its only one. */
static inline void numbered_list_remove(struct numbered_link *links, u16 *first,
					const struct numbered_link *link)
{
	u32 next = link->next, prev = link->prev;

	numbered_link(links, next)->prev = prev;
	numbered_link(links, prev)->next = next;
	if (*first == link->number)
		*first = next;
}

/* Append a list that has members, the first of them @other, to one that has. */
static inline void numbered_list_splice(struct numbered_link *links, u16 first,
					u16 other)
{
	struct numbered_link *head = numbered_link(links, first);
	struct numbered_link *more = numbered_link(links, other);
	u32 last = head->prev, end = more->prev;

	numbered_link(links, last)->next = other;
	more->prev = last;
	numbered_link(links, end)->next = first;
	head->prev = end;
}

#endif /* _AQM_NUMBERED_LIST_H */
