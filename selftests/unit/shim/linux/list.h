/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's lists, as far as the tree uses them. They check themselves as
 * under CONFIG_DEBUG_LIST: an entry added twice or removed twice is a trap.
 */
#ifndef SHIM_LINUX_LIST_H
#define SHIM_LINUX_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};


#define LIST_POISON1		((void *)0x100)
#define LIST_POISON2		((void *)0x122)

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)

#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_next_entry(pos, member))


static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

static inline bool list_is_singular(const struct list_head *h)
{
	return !list_empty(h) && h->next == h->prev;
}

static inline void shim_list_insert(struct list_head *n, struct list_head *prev,
				    struct list_head *next)
{
	if (next->prev != prev || prev->next != next || n == prev || n == next)
		SHIM_TRAP("list corruption: add");
	next->prev = n;
	n->next = next;
	n->prev = prev;
	prev->next = n;
}

static inline void shim_list_unlink(struct list_head *n)
{
	if (n->next == LIST_POISON1 || n->prev == LIST_POISON2 || !n->next ||
	    n->prev->next != n || n->next->prev != n)
		SHIM_TRAP("list corruption: del");
	n->prev->next = n->next;
	n->next->prev = n->prev;
}

static inline void list_add(struct list_head *n, struct list_head *h)
{
	shim_list_insert(n, h, h->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	shim_list_insert(n, h->prev, h);
}

static inline void list_del(struct list_head *n)
{
	shim_list_unlink(n);
	n->next = LIST_POISON1;
	n->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *n)
{
	shim_list_unlink(n);
	INIT_LIST_HEAD(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *h)
{
	shim_list_unlink(n);
	list_add_tail(n, h);
}

/* Append what @from holds to @to. */
struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};


#endif
