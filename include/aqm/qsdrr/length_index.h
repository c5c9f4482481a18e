/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the longest and the shortest queue in O(1).
 *
 * Queues are in buckets by their length in bytes. Below 32 each length has a
 * bucket; above, a bucket is a sixteenth of an octave, so lengths in a bucket
 * differ by at most 1/16. If a length must be halved h times to be below 32,
 *
 *	bucket = 16 h + floor(length / 2^h)
 *
 * One bitmap shows the used buckets, and a second one the used words of the
 * first. A query takes two find-first or find-last steps for any number of
 * queues.
 *
 * Among queues of one bucket the index selects the last to enter it. Queues in
 * one bucket count as equally long, so "strictly shortest" means alone in the
 * lowest used bucket. If all packets have the same size, lengths of up to 16
 * packets are in different buckets, so the answer is exact.
 *
 * The index knows entries and lengths, but no sk_buff and no Qdisc. An entry is a
 * member of a queue's state; see <aqm/numbered_list.h>.
 */
#ifndef _AQM_LENGTH_INDEX_H
#define _AQM_LENGTH_INDEX_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <aqm/numbered_list.h>

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
 * @buckets: the queues of each bucket, the newest first
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

/* Set up an empty index of @count queues. @entries is the entry of queue 0. */
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
 * length_index_set() - record a new length of a queue
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

/* Return the selected entry of a bucket. */
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
 * length_index_is_strictly_shortest() - tell whether a queue is shorter than all others
 * @li: the index
 * @entry: the queue's entry
 *
 * An empty queue is shorter than every queue in the index. The only queue in the
 * index counts as the strictly shortest, too.
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
