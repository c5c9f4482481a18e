/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue is longest, which is shortest, in O(1).
 *
 * Queues hang in buckets by length in bytes. A bucket is one length below 32
 * and a sixteenth of an octave above, so every length in a bucket is within
 * 1/16 of any other: a length is halved, h times, until it is below 32, and
 *
 *	bucket = 16 h + floor(length / 2^h)
 *
 * A bitmap says which buckets are in use, and another one which words of that
 * are; two find-first or find-last steps answer a query, whatever the number of
 * queues.
 *
 * Among queues of one bucket the index names the one that entered it last.
 * "Strictly shortest" means alone in the lowest occupied bucket: two queues
 * whose lengths share a bucket count as equally long. Packets of one size give
 * every queue of up to 16 packets a bucket of its own, so there the answer is
 * exact.
 *
 * The index sees entries and lengths, no sk_buff and no Qdisc. An entry is a
 * member of a queue's state; see <aqm/numbered_list.h>.
 */
#ifndef _AQM_LENGTH_INDEX_H
#define _AQM_LENGTH_INDEX_H

#include <linux/bitops.h>
#include <linux/types.h>
#include "numbered_list.h"

#define LENGTH_INDEX_BUCKETS	464	/* lengths below 2^32 */
#define LENGTH_INDEX_WORDS	((LENGTH_INDEX_BUCKETS + 63) / 64)

/**
 * struct length_entry - a queue's place in the index
 * @link: in the list of its bucket
 * @bucket: 0 while it is not in the index
 */
struct length_entry {
	struct numbered_link	link;
	u16			bucket;
};

/**
 * struct length_index - queues by length
 * @entries: the entry of queue 0
 * @words: bit w is set if word w of @used is not 0
 * @used: bit b % 64 of word b / 64 is set if bucket b holds a queue
 * @buckets: the queues of each bucket, the last to enter first
 */
struct length_index {
	struct length_entry	*entries;
	u32			words;
	u64			used[LENGTH_INDEX_WORDS];
	u16			buckets[LENGTH_INDEX_BUCKETS];
};

static inline u32 length_index_bucket(u32 length)
{
	u32 halvings = __fls(length | 16) - 4;

	return 16 * halvings + (length >> halvings);
}

/* An empty index of @count queues; the first one has the entry @entries. */
static inline void length_index_init(struct length_index *li,
				     struct length_entry *entries, u32 count)
{
	*li = (struct length_index) { .entries = entries };
	numbered_links_init(&entries->link, count);
}

static inline void __length_index_add(struct length_index *li,
				      struct numbered_link *link, u32 bucket)
{
	u64 *used = &li->used[bucket / 64];

	if (*used & BIT_ULL(bucket % 64)) {
		numbered_list_append(&li->entries->link, li->buckets[bucket],
				     link);
		li->buckets[bucket] = link->number;
		return;
	}
	numbered_list_begin(&li->buckets[bucket], link);
	*used |= BIT_ULL(bucket % 64);
	li->words |= BIT(bucket / 64);
}

static inline void __length_index_del(struct length_index *li,
				      const struct numbered_link *link,
				      u32 bucket)
{
	u64 *used = &li->used[bucket / 64];

	if (!numbered_list_is_alone(link)) {
		numbered_list_remove(&li->entries->link, &li->buckets[bucket],
				     link);
		return;
	}
	*used &= ~BIT_ULL(bucket % 64);
	if (!*used)
		li->words &= ~BIT(bucket / 64);
}

/**
 * length_index_set() - a queue's length changed
 * @li: the index
 * @entry: the queue's entry
 * @length: bytes; 0: the queue leaves the index
 */
static inline void length_index_set(struct length_index *li,
				    struct length_entry *entry, u32 length)
{
	u32 bucket = length_index_bucket(length);

	if (bucket == entry->bucket)
		return;
	if (entry->bucket)
		__length_index_del(li, &entry->link, entry->bucket);
	if (bucket)
		__length_index_add(li, &entry->link, bucket);
	entry->bucket = bucket;
}

/* The entry of the queue that a bucket names. */
static inline struct length_entry *
__length_index_first(const struct length_index *li, u32 bucket)
{
	return container_of(numbered_link(&li->entries->link,
					  li->buckets[bucket]),
			    struct length_entry, link);
}

static inline struct length_entry *
length_index_longest(const struct length_index *li)
{
	u32 w;

	if (!li->words)
		return NULL;
	w = __fls(li->words);
	return __length_index_first(li, 64 * w + fls64(li->used[w]) - 1);
}

static inline struct length_entry *
length_index_shortest(const struct length_index *li)
{
	u32 w;

	if (!li->words)
		return NULL;
	w = __ffs(li->words);
	return __length_index_first(li, 64 * w + __ffs64(li->used[w]));
}

/**
 * length_index_is_strictly_shortest() - is a queue shorter than all the others?
 * @li: the index
 * @entry: the queue's entry
 *
 * An empty queue is shorter than every queue in the index, and a queue that is
 * the only one there is shorter than all (none) of the others.
 */
static inline bool
length_index_is_strictly_shortest(const struct length_index *li,
				  const struct length_entry *entry)
{
	return !entry->bucket ||
	       (length_index_shortest(li) == entry &&
		numbered_list_is_alone(&entry->link));
}

#endif /* _AQM_LENGTH_INDEX_H */
