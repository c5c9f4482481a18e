/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Remember the throughput of flows that have no queue.
 *
 * A queue is needed only while a flow has packets, so there are at most as many as
 * packets. But TDRR measures the throughput of a flow over a longer time, in which it
 * may have no packet queued again and again. When another flow claims its queue
 * (<aqm/flow_ways.h>), its throughput is stored here, in a record of 8 bytes:
 *
 *	a flow claims a queue	flow_memory_recall() its own throughput
 *				flow_memory_store() that of the flow that had the queue
 *
 * So the number of flows can be much larger than the number of queues.
 *
 * Records form sets of eight, a cache line. The tag of a flow names its set. A record that
 * is stored takes the place of the lowest throughput of its set, unless it is lower.
 * A flow without a record starts with the lowest throughput of its set, which is 0 while
 * the set has room. So a flow whose record was lost, or that is new, starts lower than all
 * flows that are remembered, as in Space-Saving (Metwally and others, 2005). A flood of
 * short flows cannot push out the records of flows that send more.
 *
 * A qdisc starts without records. The first table comes when one is missing, and a table
 * that is 32 times as large when flow_memory_is_short(). The owner allocates both
 * outside of the datapath. With 1024 queues or more they have 2048 and 65536 records,
 * with fewer queues 2 and 64 per queue.
 *
 * A record has the logarithm of a forward-decayed throughput as throughput_index.h has it:
 * the number of its octave, modulo 2^12, and the 20 bits that follow its highest one. A
 * throughput that decayed to one unit counts as 0, and its record is free. After 4032
 * idle half-lives a record can seem high for 64 half-lives. We accept this.
 */
#ifndef _AQM_FLOW_MEMORY_H
#define _AQM_FLOW_MEMORY_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/types.h>
#include "throughput_index.h"

#define FLOW_RECORDS		8U
#define FLOW_RECORD_BITS	20	/* after the highest one of a throughput */
/* A loss counts if the throughput is that of so many bytes, four half-lives ago, or more. */
#define FLOW_MEMORY_BYTES	1000
#define FLOW_MEMORY_HALF_LIVES	4
#define FLOW_MEMORY_PERIOD	16	/* half-lives in which losses are counted */
#define FLOW_MEMORY_LOSSES	4	/* more than one for so many sets are too many */
/* The first table has at most so many sets, so that growing moves few records. */
#define FLOW_MEMORY_FIRST	256U
#define FLOW_MEMORY_TIMES	32	/* size of the second table, in first ones */

/**
 * struct flow_record_set - eight records; a cache line
 * @tag: mixed hash of the flow; 0: free
 * @level: its throughput: see above
 */
struct flow_record_set {
	u32	tag[FLOW_RECORDS];
	u32	level[FLOW_RECORDS];
};

static_assert(sizeof(struct flow_record_set) == 64);

/**
 * struct flow_memory - the records
 * @set: the sets, in the order of the tags they are for; NULL: none
 * @sets: their number
 * @losses: records lost since half-life @since that would have been useful
 * @since: see @losses
 * @recalled: flows that got their throughput back
 */
struct flow_memory {
	struct flow_record_set	*set;
	u32			sets;
	u32			losses;
	u32			since;
	u64			recalled;
};

/* Return the level of a score. */
static inline u32 flow_memory_level(const struct throughput_score *score)
{
	u32 top;

	if (!score->units)
		return score->half_life << FLOW_RECORD_BITS;
	top = fls64(score->units) - 1;
	return (score->half_life + top) << FLOW_RECORD_BITS |
	       (u32)(score->units << (63 - top) << 1 >> (64 - FLOW_RECORD_BITS));
}

/* Return how far a level is above that of one unit now; 0 if it has decayed. */
static inline u32 __flow_memory_above(u32 level, u32 half_life)
{
	u32 above = level - (half_life << FLOW_RECORD_BITS);

	return above >> FLOW_RECORD_BITS < THROUGHPUT_INDEX_OCTAVES ? above : 0;
}

/* Set a score that is not in the index to a level: see __flow_memory_above(). */
static inline void __flow_memory_set(struct throughput_score *score, u32 above,
				     u32 half_life)
{
	u64 digits = BIT_ULL(FLOW_RECORD_BITS) | (above & (BIT(FLOW_RECORD_BITS) - 1));

	score->half_life = half_life;
	score->units = above ? digits << (63 - FLOW_RECORD_BITS) >>
			       (63 - (above >> FLOW_RECORD_BITS)) : 0;
	if (score->units)
		score->bucket = __throughput_index_place(score->units, half_life);
}

static inline struct flow_record_set *__flow_memory_of(const struct flow_memory *m,
						       u32 tag)
{
	return &m->set[(u64)tag * m->sets >> 32];
}

/*
 * Return the lowest record of a set: its number in the lowest three bits, and how far its
 * level is above that of one unit. Without branches, which nobody could predict.
 */
static inline u32 __flow_records_lowest(const struct flow_record_set *set,
					u32 half_life)
{
	u32 i, above, lowest = U32_MAX;

	for (i = 0; i < FLOW_RECORDS; i++) {
		above = __flow_memory_above(set->level[i], half_life);
		above = set->tag[i] ? above : 0;
		lowest = min(lowest, above * FLOW_RECORDS + i);
	}
	return lowest;
}

/* Return the number of the record with a tag; FLOW_RECORDS if there is none. */
static inline u32 __flow_records_find(const struct flow_record_set *set, u32 tag)
{
	u32 i, found = FLOW_RECORDS;

	for (i = 0; i < FLOW_RECORDS; i++)
		found = set->tag[i] == tag ? i : found;
	return found;
}

/* Fetch the records for a flow's tag, which no cache may have. */
static inline void flow_memory_prefetch(const struct flow_memory *m, u32 tag)
{
	prefetch(__flow_memory_of(m, tag));
}

/**
 * flow_memory_recall() - give a queue the throughput of a flow that claimed it
 * @m: the records, at least one set
 * @tag: the flow
 * @score: the queue's throughput; not in the index
 * @half_life: number of the current half-life
 *
 * The record becomes free.
 */
static inline void flow_memory_recall(struct flow_memory *m, u32 tag,
				      struct throughput_score *score, u32 half_life)
{
	struct flow_record_set *set = __flow_memory_of(m, tag);
	u32 i = __flow_records_find(set, tag), above;

	if (i < FLOW_RECORDS) {
		above = __flow_memory_above(set->level[i], half_life);
		set->tag[i] = 0;
		m->recalled++;
	} else {
		above = __flow_records_lowest(set, half_life) / FLOW_RECORDS;
	}
	__flow_memory_set(score, above, half_life);
}

/* Return the level, above one unit, that a lost record must have to be worth a larger table. */
static inline u32 flow_memory_useful(const struct throughput_clock *clock)
{
	struct throughput_score score = {
		.units = throughput_clock_units(clock, FLOW_MEMORY_BYTES) >>
			 FLOW_MEMORY_HALF_LIVES,
	};

	return flow_memory_level(&score);
}

/**
 * flow_memory_store() - store the throughput of a flow that lost its queue
 * @m: the records; without any it is lost
 * @tag: the flow, not 0
 * @level: flow_memory_level() of its throughput
 * @clock: clock of the throughputs
 */
static inline void flow_memory_store(struct flow_memory *m, u32 tag, u32 level,
				     const struct throughput_clock *clock)
{
	u32 half_life = clock->half_life;
	u32 above = __flow_memory_above(level, half_life), lost = above;
	struct flow_record_set *set;
	u32 lowest;

	if (m->sets) {
		set = __flow_memory_of(m, tag);
		lowest = __flow_records_lowest(set, half_life);
		lost = lowest / FLOW_RECORDS;
		if (above >= lost) {
			set->tag[lowest % FLOW_RECORDS] = tag;
			set->level[lowest % FLOW_RECORDS] = level;
		} else {
			lost = above;
		}
	}
	if (likely(!lost) || lost < flow_memory_useful(clock))
		return;
	if (half_life - m->since > FLOW_MEMORY_PERIOD) {
		m->since = half_life;
		m->losses = 0;
	}
	m->losses++;
}

/*
 * Return whether a larger table would be useful. Losses are then counted anew, so that
 * the answer is rarely true if there is no memory for it.
 */
static inline bool flow_memory_is_short(struct flow_memory *m)
{
	if (likely(m->losses <= m->sets / FLOW_MEMORY_LOSSES))
		return false;
	m->losses = 0;
	return true;
}

/* Return the sets of the next larger table for @queues; 0: there is none. */
static inline u32 flow_memory_next(const struct flow_memory *m, u32 queues)
{
	u32 first = clamp(queues / 4, 1U, FLOW_MEMORY_FIRST);

	if (!m->sets)
		return first;
	return m->sets == first ? first * FLOW_MEMORY_TIMES : 0;
}

/**
 * flow_memory_grow() - use another table, with the records of the present one
 * @m: the records, or none
 * @set: the table, filled with 0
 * @sets: its number of sets, a multiple of that of the present one
 *
 * The sets of a larger table are parts of the sets of the smaller one, so there is room
 * for all records. The cost is O(present sets).
 *
 * Return: the table to free, or NULL.
 */
static inline struct flow_record_set *
flow_memory_grow(struct flow_memory *m, struct flow_record_set *set, u32 sets)
{
	struct flow_record_set *old = m->set, *to;
	u32 s, i, before = m->sets;

	m->set = set;
	m->sets = sets;
	m->losses = 0;
	for (s = 0; old && s < before; s++) {
		for (i = 0; i < FLOW_RECORDS; i++) {
			if (!old[s].tag[i])
				continue;
			to = __flow_memory_of(m, old[s].tag[i]);
			to->tag[i] = old[s].tag[i];
			to->level[i] = old[s].level[i];
		}
	}
	return old;
}

#endif /* _AQM_FLOW_MEMORY_H */
