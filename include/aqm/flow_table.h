/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Give each flow a separate queue, and remember the flows that have none.
 *
 * A queue is needed only while a flow has packets, so there can be many more flows than
 * queues. A table has an entry per flow: its tag, which is its mixed hash, and
 *
 *	while the flow has a queue	the number of the queue
 *	otherwise			the level of its throughput, for tdrr
 *
 * Entries form sets of eight, a cache line. The tag of a flow names its set. An arrival is
 * treated like this:
 *
 *	its flow has an entry and a queue	it goes into this queue
 *	an entry without a queue		the flow gets the queue that has been empty
 *						for longest. The flow that had this
 *						queue keeps its entry
 *	no entry				the flow first takes the entry with the
 *						lowest level of its set, of those whose
 *						flow has no queue
 *
 * So a flow without an entry starts with the lowest level of its set, as in Space-Saving
 * (Metwally and others, 2005): lower than all flows that are remembered. A flood of short
 * flows cannot push out the entries of flows that send more. A queue that is passed on
 * keeps its debt in the round robin.
 *
 * A flow shares a queue, which its tag names, if all queues hold packets, or if all flows
 * of its set have packets. Until that queue is empty, it stays there, and so do all other
 * flows without a queue for which it is named. This keeps the packets of a flow in order.
 *
 * If flows share too often, or entries are lost that would have been useful, the owner
 * of the table lets it grow, outside the datapath: flow_table_grow(). No packet moves.
 * Entries move set by set. A set moves when an arrival needs one of its entries, or when
 * flow_table_move() comes to it. So a packet looks into one table only.
 *
 * The level of a flow is the logarithm of its throughput, in 31 bits. For qsdrr all are 0.
 * <aqm/tdrr/throughput_index.h> stores a throughput as units * 2^half_life. Its level has
 * the number of the octave of this product, modulo 2^12, and the FLOW_LEVEL_BITS bits that
 * follow its highest one. So a level stays as it is while the throughput decays, and the
 * level of one unit rises by an octave in each half-life.
 *
 * A level counts as 0 if it is not above that of one unit now. After 4032 idle half-lives
 * it can seem high for 64 half-lives. We accept this.
 */
#ifndef _AQM_FLOW_TABLE_H
#define _AQM_FLOW_TABLE_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include "flow_queues.h"

#define FLOW_WAYS		8U
#define FLOW_LEVEL_BITS		19
#define FLOW_LEVEL_OCTAVES	64U	/* from one unit to the highest throughput */
#define FLOW_LEVELS		BIT(31)	/* levels are modulo this */
/* The value of an entry: a level, or this with the number of a queue. */
#define FLOW_HAS_QUEUE		0x80000000U
#define FLOW_QUEUE		0x0000ffffU
/* The owner should let the table grow. */
#define FLOW_WANTS_ENTRIES	BIT(0)
#define FLOW_WANTS_QUEUES	BIT(1)

/**
 * struct flow_set - eight entries; a cache line
 * @tag: mixed hash of the flow; 0: free
 * @value: its queue, or its level
 */
struct flow_set {
	u32	tag[FLOW_WAYS];
	u32	value[FLOW_WAYS];
};

static_assert(sizeof(struct flow_set) == 64);

/**
 * struct flow_table - the flows
 * @set: the sets, in the order of the tags that they are for
 * @sets: their number, at most 8192
 * @named: number of queues that flows can share
 * @half_life: number of the present half-life, in which levels are compared; NULL: all are 0
 * @level: level of the flow that owns a queue; NULL: all are 0
 * @useful: a lost entry would have been useful from so far above one unit on
 * @claimed: the queue that the flow of the last arrival got, or FLOW_NONE
 * @joined: the queue of the last arrival if its flow shares it, or FLOW_NONE
 * @above: level of the flow that got a queue above one unit
 * @left: entry of the flow that had that queue before, or FLOW_NONE
 * @is_new: a flow without an entry got one, with a queue. The owner clears it
 * @fresh: number of queues, of the first @named ones, that no flow has had
 * @kept: entries of flows without a queue
 * @losses: useful entries that were lost since half-life @since
 * @since: see @losses
 * @shares: arrivals of flows that had to share a queue
 * @wants: the table should grow: FLOW_WANTS_...
 * @recalled: flows that got a queue, and had a level
 * @old: the table before this one, until all of it has moved; otherwise NULL
 * @old_sets: its number of sets
 * @unmoved: sets of it, from the first one on, that may still have entries
 */
struct flow_table {
	struct flow_set	*set;
	u32		sets;
	u32		named;
	const u32	*half_life;
	u32		(*level)(const struct flow_queue *fq);
	u32		useful;
	u32		claimed;
	u32		joined;
	u32		above;
	u32		left;
	bool		is_new;
	u32		fresh;
	u32		kept;
	u32		losses;
	u32		since;
	u32		shares;
	u32		wants;
	u64		recalled;
	struct flow_set	*old;
	u32		old_sets;
	u32		unmoved;
};

/* The rest is in frame/flow_table.c. */
u32 flow_table_search(struct flow_table *ft, struct flow_rounds *fr, u32 tag);
void flow_table_begin(struct flow_table *ft, struct flow_set *set, u32 sets, u32 named);
void flow_table_reset(struct flow_table *ft);
bool flow_table_owns(const struct flow_table *ft, u32 tag, const struct flow_queue *fq);
void flow_table_grow(struct flow_table *ft, struct flow_set *set, u32 sets);
struct flow_set *flow_table_move(struct flow_table *ft, const struct flow_rounds *fr);

/* Return how far a level is above @now, the level of one unit; 0 if it has decayed. */
static inline u32 flow_level_above(u32 level, u32 now)
{
	u32 above = (level - now) % FLOW_LEVELS;

	return above >> FLOW_LEVEL_BITS < FLOW_LEVEL_OCTAVES ? above : 0;
}

/* Return the value of an entry. */
static inline u32 *flow_table_value(const struct flow_table *ft, u32 entry)
{
	return &ft->set[entry / FLOW_WAYS].value[entry % FLOW_WAYS];
}

/* The last arrival, or the next one, goes into a queue that the table does not name. */
static inline void flow_table_skip(struct flow_table *ft)
{
	ft->claimed = FLOW_NONE;
	ft->joined = FLOW_NONE;
}

/**
 * flow_table_own() - look for the queue that a flow has, where it is most likely
 * @ft: the flows
 * @tag: the flow
 *
 * Return: the queue's number, from 0; FLOW_NONE: flow_table_search() for it.
 */
static inline u32 flow_table_own(struct flow_table *ft, u32 tag)
{
	const struct flow_set *set = &ft->set[reciprocal_scale(tag, ft->sets)];
	u32 way = tag % FLOW_WAYS;

	flow_table_skip(ft);
	if (likely(set->tag[way] == tag && set->value[way] & FLOW_HAS_QUEUE))
		return set->value[way] & FLOW_QUEUE;
	return FLOW_NONE;
}

/* Remember the level of the flow that lost the queue which another one claimed. */
static inline void flow_table_keep(struct flow_table *ft, u32 level)
{
	if (ft->left != FLOW_NONE)
		*flow_table_value(ft, ft->left) = level % FLOW_LEVELS;
}

/* Let the flow of the last arrival share a queue that holds packets. */
static inline void flow_table_join(struct flow_rounds *fr, struct flow_queue *fq)
{
	fr->shared += !fq->shared;
	fq->shared = true;
}

/* The last arrival goes into a queue that is empty. Its flow may share it nevertheless. */
static inline void flow_table_filled(struct flow_table *ft, struct flow_rounds *fr,
				     struct flow_queue *fq)
{
	if (unlikely(fq->turn.number == ft->joined))
		flow_table_join(fr, fq);
}

#endif /* _AQM_FLOW_TABLE_H */
