/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue is longest, which is shortest, in O(1).
 *
 * Queues hang in buckets by length in bytes. A bucket is one length below 32
 * and a sixteenth of an octave above, so every length in a bucket is within
 * 1/16 of any other:
 *
 *	length < 16:	bucket = length
 *	otherwise:	e = floor(log2(length)), 4 <= e <= 31
 *			bucket = 16 (e - 3) + floor(length / 2^(e-4)) - 16
 *
 * The buckets of one octave fill a 16-bit map, and a 32-bit map says which
 * octaves are in use; two find-first or find-last steps answer a query,
 * whatever the number of queues.
 *
 * Among queues of one bucket the index names the one that entered it last.
 * "Strictly shortest" means alone in the lowest occupied bucket: two queues
 * whose lengths share a bucket count as equally long. Packets of one size give
 * every queue of up to 16 packets a bucket of its own, so there the answer is
 * exact.
 *
 * The index sees list nodes and lengths, no sk_buff and no Qdisc. The caller
 * keeps each queue's length and passes it, which saves it a copy in each queue.
 */
#ifndef _AQM_LENGTH_INDEX_H
#define _AQM_LENGTH_INDEX_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/types.h>

#define LENGTH_INDEX_OCTAVES	29	/* length < 16, then 2^4 to 2^31 */
#define LENGTH_INDEX_BUCKETS	(16 * LENGTH_INDEX_OCTAVES)

/**
 * struct length_index - queues by length
 * @octaves: bit o is set if any bucket of octave o holds a queue
 * @steps: bit s of @steps[o] is set if bucket 16 o + s holds a queue
 * @buckets: the queues of each bucket, the last to enter first
 */
struct length_index {
	u32			octaves;
	u16			steps[LENGTH_INDEX_OCTAVES];
	struct hlist_head	buckets[LENGTH_INDEX_BUCKETS];
};

static inline u32 length_index_bucket(u32 length)
{
	u32 e;

	if (length < 16)
		return length;
	e = __fls(length);
	return 16 * (e - 3) + (length >> (e - 4)) - 16;
}

static inline void length_index_init(struct length_index *li)
{
	*li = (struct length_index) {};
}

static inline void __length_index_add(struct length_index *li,
				      struct hlist_node *node, u32 bucket)
{
	hlist_add_head(node, &li->buckets[bucket]);
	li->steps[bucket / 16] |= BIT(bucket % 16);
	li->octaves |= BIT(bucket / 16);
}

static inline void __length_index_del(struct length_index *li,
				      struct hlist_node *node, u32 bucket)
{
	__hlist_del(node);
	if (!hlist_empty(&li->buckets[bucket]))
		return;
	li->steps[bucket / 16] &= ~BIT(bucket % 16);
	if (!li->steps[bucket / 16])
		li->octaves &= ~BIT(bucket / 16);
}

/**
 * length_index_move() - a queue's length changed
 * @li: the index
 * @node: the queue's node
 * @from: length before, bytes; 0: the queue is not in the index
 * @to: length after, bytes; 0: the queue leaves the index
 */
static inline void length_index_move(struct length_index *li,
				     struct hlist_node *node, u32 from, u32 to)
{
	u32 old = length_index_bucket(from);
	u32 new = length_index_bucket(to);

	if (old == new)
		return;
	if (from)
		__length_index_del(li, node, old);
	if (to)
		__length_index_add(li, node, new);
}

static inline struct hlist_node *
length_index_longest(const struct length_index *li)
{
	u32 o, s;

	if (!li->octaves)
		return NULL;
	o = __fls(li->octaves);
	s = __fls(li->steps[o]);
	return li->buckets[16 * o + s].first;
}

static inline struct hlist_node *
length_index_shortest(const struct length_index *li)
{
	u32 o, s;

	if (!li->octaves)
		return NULL;
	o = __ffs(li->octaves);
	s = __ffs(li->steps[o]);
	return li->buckets[16 * o + s].first;
}

/**
 * length_index_is_strictly_shortest() - is a queue shorter than all the others?
 * @li: the index
 * @node: the queue's node
 * @length: the queue's length, bytes
 *
 * An empty queue is shorter than every queue in the index, and a queue that is
 * the only one there is shorter than all (none) of the others.
 */
static inline bool
length_index_is_strictly_shortest(const struct length_index *li,
				  const struct hlist_node *node, u32 length)
{
	return !length ||
	       (length_index_shortest(li) == node && !node->next);
}

#endif /* _AQM_LENGTH_INDEX_H */
