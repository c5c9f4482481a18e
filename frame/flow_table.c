// SPDX-License-Identifier: GPL-2.0
/* What <aqm/flow_table.h> does for a flow that has no queue, or no entry. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/string.h>
#include <aqm/flow_table.h>

/* The table should grow if more were lost, or had to share. */
#define FLOW_TABLE_PERIOD	16U	/* half-lives in which losses are counted */
#define FLOW_TABLE_LOSSES	4U	/* one for so many sets */
#define FLOW_TABLE_SHARES	32U	/* one for so many queues, ever */
#define FLOW_TABLE_MOVES	256U	/* sets that flow_table_move() moves at once */

/* Use an empty table, whose bytes are 0, or none. No flow has a queue. */
void flow_table_begin(struct flow_table *ft, struct flow_set *set, u32 sets, u32 named)
{
	ft->set = set;
	ft->sets = sets;
	ft->named = named;
	flow_table_skip(ft);
	ft->fresh = named;
	ft->kept = 0;
	ft->losses = 0;
	ft->shares = 0;
}

/* Forget all flows. All queues are empty. */
void flow_table_reset(struct flow_table *ft)
{
	memset(ft->set, 0, ft->sets * sizeof(*ft->set));
	flow_table_skip(ft);
	ft->fresh = ft->named;
	ft->kept = 0;
	ft->unmoved = 0;
}

/* Return the number of the first entry of the set that a tag names. */
static u32 flow_table_first(const struct flow_table *ft, u32 tag)
{
	return reciprocal_scale(tag, ft->sets) * FLOW_WAYS;
}

static void flow_table_put(struct flow_table *ft, u32 entry, u32 tag, u32 value)
{
	ft->set[entry / FLOW_WAYS].tag[entry % FLOW_WAYS] = tag;
	*flow_table_value(ft, entry) = value;
}

/* Return the queue of an entry that has one. */
static struct flow_queue *flow_table_queue(const struct flow_table *ft,
					   const struct flow_rounds *fr, u32 entry)
{
	return flow_rounds_queue(fr, *flow_table_value(ft, entry) & FLOW_QUEUE);
}

/* Return whether a queue has an owner. */
static bool flow_table_is_owned(const struct flow_table *ft, const struct flow_queue *fq)
{
	return *flow_table_value(ft, fq->owner) == (FLOW_HAS_QUEUE | fq->turn.number);
}

/*
 * Return whether this flow owns a queue. Other flows may have packets in it nevertheless.
 * The present table has its entry, because an arrival of the flow has found its queue.
 */
bool flow_table_owns(const struct flow_table *ft, u32 tag, const struct flow_queue *fq)
{
	const struct flow_set *set = &ft->set[fq->owner / FLOW_WAYS];

	return flow_table_is_owned(ft, fq) && set->tag[fq->owner % FLOW_WAYS] == tag + !tag;
}

/*
 * Move a set of the table before to the present one. An entry keeps its way. Nothing else
 * fills the sets that the entries move to, as long as this set has not moved: see
 * flow_table_search().
 */
static void __flow_table_move_set(struct flow_table *ft, const struct flow_rounds *fr,
				  u32 number)
{
	struct flow_set *set = &ft->old[number];
	u32 way, entry, tag, value;

	for (way = 0; way < FLOW_WAYS; way++) {
		tag = set->tag[way];
		value = set->value[way];
		if (!tag)
			continue;
		entry = flow_table_first(ft, tag) + way;
		flow_table_put(ft, entry, tag, value);
		if (value & FLOW_HAS_QUEUE)
			flow_table_queue(ft, fr, entry)->owner = entry;
	}
	memset(set, 0, sizeof(*set));
}

/* The same, unless the set has moved. */
static void flow_table_move_set(struct flow_table *ft, const struct flow_rounds *fr,
				u32 number)
{
	if (unlikely(number < ft->unmoved))
		__flow_table_move_set(ft, fr, number);
}

/* If a flow owns a queue, its entry is in the present table then. */
static void flow_table_move_owner(struct flow_table *ft, const struct flow_rounds *fr,
				  const struct flow_queue *fq)
{
	flow_table_move_set(ft, fr, fq->owner / FLOW_WAYS);
}

/* Return the way that has a tag, most likely @home; FLOW_WAYS if there is none. */
static u32 flow_set_way(const struct flow_set *set, u32 home, u32 tag)
{
	u32 way;

	if (set->tag[home] == tag)
		return home;
	for (way = 0; way < FLOW_WAYS; way++)
		if (set->tag[way] == tag)
			break;
	return way;
}

/* Return whether the flow of this way has no queue, and no level above @now. */
static bool flow_set_is_spent(const struct flow_set *set, u32 way, u32 now)
{
	return !(set->value[way] & FLOW_HAS_QUEUE) &&
	       !(set->tag[way] && flow_level_above(set->value[way], now));
}

/*
 * Return how far the lowest level of a set is above @now, of flows that have no queue. The
 * lowest three bits are its way. U32_MAX: all have a queue. Way @home is returned if it is
 * spent. Otherwise there are no branches, because nobody could predict them. @any is then
 * the disjunction of all values.
 */
static u32 flow_set_lowest(const struct flow_set *set, u32 home, u32 now, u32 *any)
{
	u32 way, rank, lowest = U32_MAX;

	*any = 0;
	if (flow_set_is_spent(set, home, now))
		return home;
	for (way = 0; way < FLOW_WAYS; way++) {
		rank = flow_level_above(set->value[way], now);
		rank = set->tag[way] ? rank : 0;
		rank = rank * FLOW_WAYS + way;
		rank = set->value[way] & FLOW_HAS_QUEUE ? U32_MAX : rank;
		*any |= set->value[way];
		lowest = min(lowest, rank);
	}
	return lowest;
}

/* Count an entry whose flow is forgotten. */
static void flow_table_lose(struct flow_table *ft, u32 above, u32 half_life)
{
	if (likely(!above) || above < ft->useful)
		return;
	if ((half_life - ft->since) % (FLOW_LEVELS >> FLOW_LEVEL_BITS) > FLOW_TABLE_PERIOD) {
		ft->since = half_life;
		ft->losses = 0;
	}
	if (++ft->losses <= ft->sets / FLOW_TABLE_LOSSES)
		return;
	ft->losses = 0;
	ft->wants |= FLOW_WANTS_ENTRIES;
}

/*
 * Let the last arrival share a queue. If this is empty, it is shared from the first packet
 * on: flow_table_filled(). The arrival can still be refused.
 */
static u32 flow_table_share(struct flow_table *ft, struct flow_rounds *fr,
			    struct flow_queue *fq)
{
	ft->joined = fq->turn.number;
	if (fq->head)
		flow_table_join(fr, fq);
	if (++ft->shares > fr->count / FLOW_TABLE_SHARES) {
		ft->shares = 0;
		ft->wants |= FLOW_WANTS_QUEUES;
	}
	return fq->turn.number;
}

/* Fetch what the next flow without a queue will touch. No cache may have it. */
static void flow_table_prefetch(const struct flow_table *ft, const struct flow_rounds *fr,
				u32 number)
{
	const struct flow_queue *fq = flow_rounds_queue(fr, number);

	prefetch(&ft->set[fq->owner / FLOW_WAYS]);
	prefetch(flow_rounds_queue(fr, fq->turn.next));
}

/*
 * Return the next queue to give to a flow: the one that has been empty for longest. As
 * long as no flow has had some queues, the tag names eight of them, so that a flow has the
 * same class in each run.
 */
static u32 flow_table_next(struct flow_table *ft, const struct flow_rounds *fr, u32 tag)
{
	u32 i, first = reciprocal_scale(tag, ft->named / FLOW_WAYS) * FLOW_WAYS;
	const struct flow_queue *fq;

	if (likely(!ft->fresh) || ft->named < FLOW_WAYS)
		return fr->empty;
	for (i = 0; i < FLOW_WAYS; i++) {
		fq = flow_rounds_queue(fr, first + (tag + i) % FLOW_WAYS);
		flow_table_move_owner(ft, fr, fq);
		if (!fq->head && !flow_table_is_owned(ft, fq))
			return fq->turn.number;
	}
	return fr->empty;
}

/* Give a flow with this entry and level the next queue. */
static u32 flow_table_claim(struct flow_table *ft, const struct flow_rounds *fr, u32 entry,
			    u32 tag, u32 above)
{
	u32 number = flow_table_next(ft, fr, tag);
	struct flow_queue *fq;

	fq = flow_rounds_queue(fr, number);
	flow_table_move_owner(ft, fr, fq);
	ft->left = FLOW_NONE;
	if (flow_table_is_owned(ft, fq)) {
		*flow_table_value(ft, fq->owner) = 0;
		ft->left = fq->owner;
		ft->kept++;
	} else if (number < ft->named) {
		ft->fresh--;
	}
	ft->kept -= !!ft->set[entry / FLOW_WAYS].tag[entry % FLOW_WAYS];
	flow_table_put(ft, entry, tag, FLOW_HAS_QUEUE | number);
	fq->owner = entry;
	ft->above = above;
	ft->claimed = number;
	flow_table_prefetch(ft, fr, fq->turn.next);
	return number;
}

/*
 * Take the entry, with its queue, of the flow with the lowest level of those that have a
 * queue without packets, if this is below @above.
 *
 * Return: the queue's number; FLOW_NONE: there is none
 */
static u32 flow_table_replace(struct flow_table *ft, const struct flow_rounds *fr,
			      u32 first, u32 tag, u32 now, u32 above)
{
	u32 entry, level, best = FLOW_NONE;
	const struct flow_queue *fq;

	for (entry = first; entry < first + FLOW_WAYS; entry++) {
		if (!(*flow_table_value(ft, entry) & FLOW_HAS_QUEUE))
			continue;
		fq = flow_table_queue(ft, fr, entry);
		if (fq->head)
			continue;
		level = ft->level ? flow_level_above(ft->level(fq), now) : 0;
		if (level >= above)
			continue;
		above = level;
		best = entry;
	}
	if (best == FLOW_NONE)
		return FLOW_NONE;
	flow_table_lose(ft, above, now >> FLOW_LEVEL_BITS);
	ft->is_new = true;
	ft->set[best / FLOW_WAYS].tag[best % FLOW_WAYS] = tag;
	return *flow_table_value(ft, best) & FLOW_QUEUE;
}

/**
 * flow_table_search() - find the queue of a flow, or get one for it
 * @ft: the flows, after flow_table_own() returned FLOW_NONE
 * @fr: the queues
 * @tag: the flow. 0 counts as 1, because entries with the tag 0 are free
 *
 * If @ft->claimed is not FLOW_NONE then, a flow with the level @ft->above got this queue,
 * and the flow of entry @ft->left, if any, lost it: flow_table_keep() its level.
 *
 * Return: the queue's number, from 0.
 */
u32 flow_table_search(struct flow_table *ft, struct flow_rounds *fr, u32 tag)
{
	u32 now = ft->half_life ? *ft->half_life << FLOW_LEVEL_BITS : 0;
	u32 home, first = flow_table_first(ft, tag);
	const struct flow_set *set = &ft->set[first / FLOW_WAYS];
	struct flow_queue *named = flow_rounds_queue(fr, reciprocal_scale(tag, ft->named));
	u32 above, any, rank, number, way;

	flow_table_move_set(ft, fr, reciprocal_scale(tag, ft->old_sets));
	tag += !tag;
	home = tag % FLOW_WAYS;
	way = flow_set_way(set, home, tag);
	if (way < FLOW_WAYS && set->value[way] & FLOW_HAS_QUEUE)
		return set->value[way] & FLOW_QUEUE;
	if (unlikely(fr->active == fr->count || (fr->shared && named->shared)))
		return flow_table_share(ft, fr, named);
	if (way < FLOW_WAYS) {
		above = flow_level_above(set->value[way], now);
		ft->recalled += !!above;
	} else {
		rank = flow_set_lowest(set, home, now, &any);
		way = rank % FLOW_WAYS;
		above = rank / FLOW_WAYS;
		/* Nothing is lower than a level of 0. */
		if (above && any & FLOW_HAS_QUEUE) {
			number = flow_table_replace(ft, fr, first, tag, now, above);
			if (number != FLOW_NONE)
				return number;
			if (rank == U32_MAX)
				return flow_table_share(ft, fr, named);
		}
		flow_table_lose(ft, above, now >> FLOW_LEVEL_BITS);
		ft->is_new = true;
	}
	return flow_table_claim(ft, fr, first + way, tag, above);
}

/**
 * flow_table_grow() - use a larger table; call flow_table_move() until it returns a table
 * @ft: the flows
 * @set: the larger table, filled with 0
 * @sets: its number of sets, a multiple of that of the present one
 *
 * The sets of a larger table are parts of the sets of the smaller one, so there is room
 * for all entries.
 */
void flow_table_grow(struct flow_table *ft, struct flow_set *set, u32 sets)
{
	ft->old = ft->set;
	ft->old_sets = ft->sets;
	ft->unmoved = ft->sets;
	ft->set = set;
	ft->sets = sets;
	ft->losses = 0;
}

/**
 * flow_table_move() - move some sets of the table before to the present one
 * @ft: the flows, after flow_table_grow()
 * @fr: the queues
 *
 * The cost is O(FLOW_TABLE_MOVES), whatever the size of the table is.
 *
 * Return: the table before if all of it has moved, to free it; otherwise NULL
 */
struct flow_set *flow_table_move(struct flow_table *ft, const struct flow_rounds *fr)
{
	struct flow_set *old = ft->old;
	u32 i;

	for (i = 0; i < FLOW_TABLE_MOVES && ft->unmoved; i++)
		__flow_table_move_set(ft, fr, --ft->unmoved);
	if (ft->unmoved)
		return NULL;
	ft->old = NULL;
	return old;
}
