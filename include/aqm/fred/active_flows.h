/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Table of the flows that have packets in a queue, with the number of their
 * packets and strikes. FRED keeps this state only while packets are queued.
 *
 * A flow is identified by a number that senders cannot predict
 * (<aqm/packet_flow.h>). Flows are in slots 1 to capacity of an array, and in hash
 * chains. The hash table has one to two buckets per slot, so finding, adding and
 * removing take O(1). A queue has at most as many flows as packets. If the
 * capacity is the queue's limit, there is always a free slot, and nothing is
 * allocated per packet.
 *
 * A flow keeps its slot until it is removed. The table knows no sk_buff and no
 * Qdisc. Cost: 20 to 24 bytes per slot.
 */
#ifndef _AQM_ACTIVE_FLOWS_H
#define _AQM_ACTIVE_FLOWS_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct active_flow - one flow
 * @number: number that identifies the flow
 * @next: next slot in its chain, or next free slot; 0: the last
 * @qlen: its packets in the queue; above 0 while it is in the table
 * @strikes: number of strikes, up to 2^32 - 1
 */
struct active_flow {
	u32	number;
	u32	next;
	u32	qlen;
	u32	strikes;
};

/**
 * struct active_flows - the table
 * @flows: slots 0 to @capacity, followed by the buckets (first slot of each
 *	chain)
 * @capacity: maximum number of flows
 * @mask: number of buckets minus 1
 * @count: number of flows
 * @used: slots above this were never used
 * @free: the slot freed last; 0: none
 */
struct active_flows {
	struct active_flow	*flows;
	u32			capacity;
	u32			mask;
	u32			count;
	u32			used;
	u32			free;
};

/* Return @capacity rounded up to a power of two. */
static inline u32 active_flows_buckets(u32 capacity)
{
	return 1U << fls(capacity - 1);
}

/* Return the bytes needed for @capacity flows, at most 2^24. They need not be zeroed. */
static inline size_t active_flows_size(u32 capacity)
{
	return sizeof(struct active_flow) * ((size_t)capacity + 1) +
	       sizeof(u32) * (size_t)active_flows_buckets(capacity);
}

static inline u32 *active_flows_bucket(const struct active_flows *t, u32 number)
{
	u32 *buckets = (u32 *)(t->flows + t->capacity + 1);

	return &buckets[number & t->mask];
}

/* Forget all flows. */
static inline void active_flows_clear(struct active_flows *t)
{
	t->count = 0;
	t->used = 0;
	t->free = 0;
	memset(active_flows_bucket(t, 0), 0, sizeof(u32) * ((size_t)t->mask + 1));
}

/* Set up an empty table in @memory, which has active_flows_size(@capacity) bytes. */
static inline void active_flows_init(struct active_flows *t, void *memory,
				     u32 capacity)
{
	t->flows = memory;
	t->capacity = capacity;
	t->mask = active_flows_buckets(capacity) - 1;
	active_flows_clear(t);
}

/* Return the slot of a flow, or 0 if it is not in the table. */
static inline u32 active_flows_find(const struct active_flows *t, u32 number)
{
	u32 slot = *active_flows_bucket(t, number);

	while (slot && t->flows[slot].number != number)
		slot = t->flows[slot].next;
	return slot;
}

/* Add a new flow. There must be room. Return: its slot. */
static inline u32 active_flows_add(struct active_flows *t, u32 number)
{
	u32 *bucket = active_flows_bucket(t, number);
	u32 slot = t->free;

	if (slot)
		t->free = t->flows[slot].next;
	else
		slot = ++t->used;
	t->flows[slot] = (struct active_flow) {
		.number	= number,
		.next	= *bucket,
	};
	*bucket = slot;
	t->count++;
	return slot;
}

/* Remove the flow in @slot. */
static inline void active_flows_remove(struct active_flows *t, u32 slot)
{
	u32 *link = active_flows_bucket(t, t->flows[slot].number);

	while (*link != slot)
		link = &t->flows[*link].next;
	*link = t->flows[slot].next;
	t->flows[slot].qlen = 0;
	t->flows[slot].next = t->free;
	t->free = slot;
	t->count--;
}

/**
 * active_flows_move() - move all flows to another table
 * @t: the table
 * @memory: active_flows_size(@capacity) bytes
 * @capacity: new maximum number of flows, at least the current number
 *
 * In the old memory, @next of each flow is its new slot, for callers that have
 * stored old slots. O(capacity).
 *
 * Return: the old memory, which the caller must free.
 */
static inline struct active_flow *
active_flows_move(struct active_flows *t, void *memory, u32 capacity)
{
	struct active_flow *old = t->flows;
	struct active_flow *flow;
	u32 i, slot, used = t->used;

	active_flows_init(t, memory, capacity);
	for (i = 1; i <= used; i++) {
		flow = &old[i];
		if (!flow->qlen)
			continue;
		slot = active_flows_add(t, flow->number);
		t->flows[slot].qlen = flow->qlen;
		t->flows[slot].strikes = flow->strikes;
		flow->next = slot;
	}
	return old;
}

#endif /* _AQM_ACTIVE_FLOWS_H */
