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
 * Two questions are asked only when the buffer is full, and lengths change with every
 * packet. So a change does little:
 *
 *  - For each bucket we count the queues whose length is in it. A bitmap shows the
 *    used buckets, and a second one the used words of the first. They tell the length
 *    of the longest and of the shortest queue, and whether the shortest one is alone.
 *  - To find the longest queue itself, each queue is in the list of a bucket, its place.
 *    A queue that grows above its place moves up. A queue that became shorter, or
 *    empty, stays, until a search for the longest queue finds it in the highest list.
 *
 * A search looks at the first queue of the highest list:
 *
 *	it has the length of the longest queue	it is selected
 *	otherwise				it moves to the list of its length, or out
 *						if it is empty; look again
 *
 * A place is never below a length, so the search finds a longest queue. Each of its
 * moves replaces at least one that a packet saved before. So the cost is O(1) amortized
 * per packet. For the dearest packet it is bounded, too: after LENGTH_INDEX_LOOKS
 * moves the search selects the longest queue that it has seen, or that is served next.
 *
 * Queues in one bucket count as equally long, so "strictly shortest" means alone in the
 * lowest used bucket. Of equally long queues, the one that came into its list last is
 * selected. If all packets have the same size, lengths of up to 16 packets are in
 * different buckets, so both answers are exact.
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
#define LENGTH_INDEX_LOOKS	8	/* moves of a search */

/**
 * struct length_entry - a queue's place in the index
 * @link: in the list of its place
 * @bucket: bucket of its length; 0: it is empty
 * @place: bucket whose list it is in, at least @bucket; 0: none
 */
struct length_entry {
	struct numbered_link	link;
	u16			bucket;
	u16			place;
};

/**
 * struct length_map - a set of buckets
 * @words: bit w is set if word w of @used is not 0
 * @used: bit b % 64 of word b / 64 is set if bucket b is in the set
 */
struct length_map {
	u32	words;
	u64	used[LENGTH_INDEX_WORDS];
};

/**
 * struct length_index - queues by length
 * @entries: the entry of queue 0
 * @lengths: buckets with the length of a queue
 * @places: buckets with a queue in their list
 * @count: number of queues with a length in the bucket
 * @first: the list of each bucket, the newest queue first
 */
struct length_index {
	struct length_entry	*entries;
	struct length_map	lengths;
	struct length_map	places;
	u32			count[LENGTH_INDEX_BUCKETS];
	u16			first[LENGTH_INDEX_BUCKETS];
};

static inline bool __length_map_has(const struct length_map *m, u32 bucket)
{
	return m->used[bucket / 64] & BIT_ULL(bucket % 64);
}

static inline void __length_map_add(struct length_map *m, u32 bucket)
{
	m->used[bucket / 64] |= BIT_ULL(bucket % 64);
	m->words |= BIT(bucket / 64);
}

static inline void __length_map_del(struct length_map *m, u32 bucket)
{
	u64 *used = &m->used[bucket / 64];

	*used &= ~BIT_ULL(bucket % 64);
	if (!*used)
		m->words &= ~BIT(bucket / 64);
}

/* Return the lowest bucket of a set that is not empty. */
static inline u32 __length_map_lowest(const struct length_map *m)
{
	u32 w = __ffs(m->words);

	return 64 * w + __ffs64(m->used[w]);
}

/* Return the highest bucket of a set that is not empty. */
static inline u32 __length_map_highest(const struct length_map *m)
{
	u32 w = __fls(m->words);

	return 64 * w + fls64(m->used[w]) - 1;
}

static inline u32 length_index_bucket(u32 length)
{
	u32 halvings = __fls(length | 16) - 4;

	return 16 * halvings + (length >> halvings);
}

/*
 * Set up an empty index of @count queues. @entries is the entry of queue 0; NULL: there are
 * no queues.
 */
static inline void length_index_init(struct length_index *li,
				     struct length_entry *entries, u32 count)
{
	struct length_entry *entry;
	u32 i;

	*li = (struct length_index) { .entries = entries };
	if (!entries)
		return;
	numbered_links_init(&entries->link, count);
	for (i = 0; i < count; i++) {
		entry = container_of(numbered_link(&entries->link, i),
				     struct length_entry, link);
		entry->bucket = 0;
		entry->place = 0;
	}
}

/* Put a queue that is in no list into the list of its length. */
static inline void __length_index_put(struct length_index *li,
				      struct length_entry *entry)
{
	u32 bucket = entry->bucket;

	entry->place = bucket;
	if (__length_map_has(&li->places, bucket)) {
		numbered_list_append(&li->entries->link, li->first[bucket],
				     &entry->link);
		li->first[bucket] = entry->link.number;
		return;
	}
	numbered_list_begin(&li->first[bucket], &entry->link);
	__length_map_add(&li->places, bucket);
}

/* Take a queue out of its list. */
static inline void __length_index_take(struct length_index *li,
				       struct length_entry *entry)
{
	u32 place = entry->place;

	entry->place = 0;
	if (numbered_list_is_alone(&entry->link))
		__length_map_del(&li->places, place);
	else
		numbered_list_remove(&li->entries->link, &li->first[place],
				     &entry->link);
}

/**
 * length_index_set() - record a new length of a queue
 * @li: the index
 * @entry: the queue's entry
 * @length: bytes; 0: the queue is empty
 */
static inline void length_index_set(struct length_index *li,
				    struct length_entry *entry, u32 length)
{
	u32 bucket = length_index_bucket(length), before = entry->bucket;

	if (bucket == before)
		return;
	if (before && !--li->count[before])
		__length_map_del(&li->lengths, before);
	if (bucket && !li->count[bucket]++)
		__length_map_add(&li->lengths, bucket);
	entry->bucket = bucket;
	if (bucket <= entry->place)
		return;
	if (entry->place)
		__length_index_take(li, entry);
	__length_index_put(li, entry);
}

/* Return the first queue of the highest list. At least one queue is in a list. */
static inline struct length_entry *__length_index_top(const struct length_index *li)
{
	u32 place = __length_map_highest(&li->places);

	return container_of(numbered_link(&li->entries->link, li->first[place]),
			    struct length_entry, link);
}

/**
 * length_index_longest() - select the longest queue
 * @li: the index
 * @spare: entry of a queue that is not empty, for a search that sees only empty ones
 *
 * Return: its entry; NULL if all are empty.
 */
static inline struct length_entry *
length_index_longest(struct length_index *li, struct length_entry *spare)
{
	struct length_entry *entry, *best = spare;
	u32 longest, looks;

	if (!li->lengths.words)
		return NULL;
	longest = __length_map_highest(&li->lengths);
	for (looks = 0; looks < LENGTH_INDEX_LOOKS; looks++) {
		entry = __length_index_top(li);
		if (entry->bucket == longest)
			return entry;
		__length_index_take(li, entry);
		if (entry->bucket)
			__length_index_put(li, entry);
		if (entry->bucket > best->bucket)
			best = entry;
	}
	return best;
}

/**
 * length_index_is_strictly_shortest() - tell whether a queue is shorter than all others
 * @li: the index
 * @entry: the queue's entry
 *
 * An empty queue is shorter than every queue that is not. The only queue that is not
 * empty counts as the strictly shortest, too.
 */
static inline bool
length_index_is_strictly_shortest(const struct length_index *li,
				  const struct length_entry *entry)
{
	return !entry->bucket ||
	       (li->count[entry->bucket] == 1 &&
		__length_map_lowest(&li->lengths) == entry->bucket);
}

#endif /* _AQM_LENGTH_INDEX_H */
