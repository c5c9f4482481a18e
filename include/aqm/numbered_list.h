/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Intrusive circular lists that link members by 16-bit array indices.
 *
 * Members are in an array, NUMBERED_BYTES apart, numbered from 0. A link takes 6
 * bytes and a list takes 2 (the number of its first member). A struct list_head
 * takes 16 bytes for each. So an index with a thousand lists is smaller than the
 * queues it indexes, and a queue's state with its links fits into a cache line.
 * No operation is a function call; with list_head it is one if the kernel checks
 * lists, as Debian's do.
 *
 * The owner of a list must know whether it is empty, usually from a bitmap.
 *
 * @links is always the link of number 0, from which the others are reached.
 */
#ifndef _AQM_NUMBERED_LIST_H
#define _AQM_NUMBERED_LIST_H

#include <linux/types.h>

#define NUMBERED_BYTES	64U

/**
 * struct numbered_link - place of a member in a list
 * @number: number of this member
 * @next: number of the next member; after the last comes the first
 * @prev: number of the previous member; before the first comes the last
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

/* Set the numbers of @count links. */
static inline void numbered_links_init(struct numbered_link *links, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		numbered_link(links, i)->number = i;
}

/* Make a list of the members from @last down to @first, in this order. */
static inline void numbered_list_chain(struct numbered_link *links, u32 first, u32 last)
{
	u32 i;

	for (i = first; i <= last; i++) {
		numbered_link(links, i)->next = i > first ? i - 1 : last;
		numbered_link(links, i)->prev = i < last ? i + 1 : first;
	}
}

/* Make a list of one member. */
static inline void numbered_list_begin(u16 *first, struct numbered_link *link)
{
	link->next = link->number;
	link->prev = link->number;
	*first = link->number;
}

/* Insert a member between two neighbours, which may be the same member. */
static inline void __numbered_list_insert(struct numbered_link *links, u32 prev,
					  u32 next, struct numbered_link *link)
{
	link->next = next;
	link->prev = prev;
	numbered_link(links, prev)->next = link->number;
	numbered_link(links, next)->prev = link->number;
}

/* Append a member to a list that is not empty. */
static inline void numbered_list_append(struct numbered_link *links, u16 first,
					struct numbered_link *link)
{
	__numbered_list_insert(links, numbered_link(links, first)->prev, first,
			       link);
}

/* Insert a member after member @prev of a list. */
static inline void numbered_list_insert(struct numbered_link *links, u32 prev,
					struct numbered_link *link)
{
	__numbered_list_insert(links, prev, numbered_link(links, prev)->next,
			       link);
}

/* Return whether this is the only member of its list. */
static inline bool numbered_list_is_alone(const struct numbered_link *link)
{
	return link->next == link->number;
}

/* Remove a member that is not the only one of its list. */
static inline void numbered_list_remove(struct numbered_link *links, u16 *first,
					const struct numbered_link *link)
{
	u32 next = link->next, prev = link->prev;

	numbered_link(links, next)->prev = prev;
	numbered_link(links, prev)->next = next;
	if (*first == link->number)
		*first = next;
}

/* Append a list, whose first member is @other, to a list. Both are not empty. */
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
