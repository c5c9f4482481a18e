/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Give each flow a separate queue, although a hash chooses the queue.
 *
 * The queues form sets of eight, called ways as in a cache. A flow's hash names two
 * sets. A flow owns the way that carries its hash as a tag. A flow without a way claims
 * an empty queue of its two sets: one that no flow has claimed yet, or else the coldest.
 * If several are equally good, the first set comes before the second, and the search
 * starts at the way that the hash names.
 *
 * A claimed way keeps the throughput, credit and debt of its queue. So a new flow inherits
 * the record of the coldest flow, as in Space-Saving (Metwally and others, 2005). The
 * hottest flows keep their ways even while they have no packet queued.
 *
 * If all 16 ways hold packets, the flow shares the first way that its hash names. Until
 * that way is empty, it stays there, and so do all other flows without a way that have
 * this first way. This keeps the packets of a flow in order.
 *
 * Heat says how much a queue has sent, modulo 2^16, on a scale that the qdisc chooses.
 *
 *	tdrr	logarithm of the forward-decayed throughput, in sixteenths of an octave:
 *		throughput_score_heat()
 *	qsdrr	has no throughput: the queue that became empty last is the hottest, in
 *		steps of 16 queues
 *
 * A way with less heat than @now is as cold as possible. After 4032 idle half-lives a way
 * can seem hot for 64 half-lives. We accept this, because it only makes a flow claim
 * another way.
 *
 * A set is one cache line. A flow in the first way of its hash needs one access. Other
 * flows search two sets.
 */
#ifndef _AQM_FLOW_WAYS_H
#define _AQM_FLOW_WAYS_H

#include <linux/build_bug.h>
#include <linux/string.h>
#include <linux/types.h>
#include "flow_spread.h"

#define FLOW_WAYS	8U
#define FLOW_WAYS_HEAT	(64 * 16)	/* heat of the hottest way, above @now */
#define FLOW_WAYS_EMPTIED	16	/* queues that become empty per unit of heat */
#define FLOW_WAYS_NONE	U32_MAX		/* no queue */

/* States of a queue. */
enum {
	FLOW_WAY_EMPTY,
	FLOW_WAY_BUSY,		/* it holds packets */
	FLOW_WAY_SHARED,	/* may also hold packets of flows that do not own it */
};

/**
 * struct flow_way - a queue, which one flow may own
 * @tag: mixed hash of its owner; 0 if no flow has claimed it yet
 * @heat: heat when the queue became empty
 * @state: FLOW_WAY_...
 */
struct flow_way {
	u32	tag;
	u16	heat;
	u16	state;
};

static_assert(FLOW_WAYS * sizeof(struct flow_way) == 64);

/**
 * struct flow_ways - the owners of all queues
 * @way: one for each queue
 * @sets: number of sets; 0: the hash alone chooses the queue
 * @emptied: number of times that a queue became empty, modulo 2^32
 * @shared: the queue of the last arrival, if its flow does not own it, or FLOW_WAYS_NONE
 * @claimed: the queue that the last arrival's flow claimed, or FLOW_WAYS_NONE
 * @before: tag of that queue before
 * @now: heat of a queue whose throughput has decayed to nothing
 */
struct flow_ways {
	struct flow_way	*way;
	u32		sets;
	u32		emptied;
	u32		shared;
	u32		claimed;
	u32		before;
	u16		now;
};

/* Reset: all @queues are empty, and no flow owns one. */
static inline void flow_ways_reset(struct flow_ways *fw, u32 queues)
{
	memset(fw->way, 0, queues * sizeof(*fw->way));
}

/* Note that the last arrival went into queue @number, which was empty. */
static inline void flow_ways_busy(struct flow_ways *fw, u32 number)
{
	fw->way[number].state = number == fw->shared ? FLOW_WAY_SHARED :
						       FLOW_WAY_BUSY;
}

/* Note that queue @number has become empty, with @heat. */
static inline void flow_ways_idle(struct flow_ways *fw, u32 number, u16 heat,
				  u16 now)
{
	fw->way[number].heat = heat;
	fw->way[number].state = FLOW_WAY_EMPTY;
	fw->now = now;
}

/* The same for a qdisc without throughput: make it the hottest empty queue. */
static inline void flow_ways_idle_hottest(struct flow_ways *fw, u32 number)
{
	u16 heat = ++fw->emptied / FLOW_WAYS_EMPTIED;

	flow_ways_idle(fw, number, heat, heat - FLOW_WAYS_HEAT);
}

/* Return the first queue of the set that @mixed names. */
static inline u32 __flow_ways_set(const struct flow_ways *fw, u32 mixed)
{
	return ((u64)mixed * fw->sets >> 32) * FLOW_WAYS;
}

/* Return the heat above the coldest possible; 0 if it has decayed. */
static inline u32 __flow_ways_warmth(const struct flow_ways *fw, u16 heat)
{
	u16 above = heat - fw->now;

	return above <= FLOW_WAYS_HEAT ? above : 0;
}

/*
 * Find the coldest empty queue of the set from @set on that is colder than @least.
 *
 * Return: its number; @best if there is no such queue.
 */
static inline u32 __flow_ways_coldest(const struct flow_ways *fw, u32 set,
				      u32 first, u32 best, u32 *least)
{
	const struct flow_way *way;
	u32 i, number, warmth;

	for (i = 0; i < FLOW_WAYS; i++) {
		number = set + (first + i) % FLOW_WAYS;
		way = &fw->way[number];
		if (way->state != FLOW_WAY_EMPTY)
			continue;
		warmth = way->tag ? 1 + __flow_ways_warmth(fw, way->heat) : 0;
		if (warmth < *least) {
			*least = warmth;
			best = number;
		}
	}
	return best;
}

/* Let the flow share queue @number. */
static inline u32 __flow_ways_share(struct flow_ways *fw, u32 number)
{
	fw->way[number].state = FLOW_WAY_SHARED;
	fw->shared = number;
	return number;
}

/* Find a flow's queue in its two sets, or claim or share one. */
static noinline u32 flow_ways_search(struct flow_ways *fw, u32 tag, u32 salt)
{
	u32 first = tag % FLOW_WAYS, least = U32_MAX, best, i;
	u32 one = __flow_ways_set(fw, tag);
	u32 two = __flow_ways_set(fw, flow_mix(tag, salt));

	for (i = one; i < one + FLOW_WAYS; i++)
		if (fw->way[i].tag == tag)
			return i;
	for (i = two; i < two + FLOW_WAYS; i++)
		if (fw->way[i].tag == tag)
			return i;
	if (fw->way[one + first].state == FLOW_WAY_SHARED)
		return __flow_ways_share(fw, one + first);
	best = __flow_ways_coldest(fw, one, first, FLOW_WAYS_NONE, &least);
	best = __flow_ways_coldest(fw, two, first, best, &least);
	if (best == FLOW_WAYS_NONE)
		return __flow_ways_share(fw, one + first);
	fw->claimed = best;
	fw->before = fw->way[best].tag;
	fw->way[best].tag = tag;
	return best;
}

/**
 * flow_ways_find() - find the queue of a flow, or claim one for it
 * @fw: the queues, at least one set
 * @hash: hash of the flow
 * @salt: odd number that mixes the hash
 *
 * Return: the queue's number, from 0.
 */
static inline u32 flow_ways_find(struct flow_ways *fw, u32 hash, u32 salt)
{
	u32 tag = flow_mix(hash, salt);
	u32 number = __flow_ways_set(fw, tag) + tag % FLOW_WAYS;

	fw->shared = FLOW_WAYS_NONE;
	fw->claimed = FLOW_WAYS_NONE;
	if (likely(fw->way[number].tag == tag))
		return number;
	return flow_ways_search(fw, tag, salt);
}

/* The last arrival was refused. If its flow claimed @number for it, undo that. */
static inline void flow_ways_refuse(struct flow_ways *fw, u32 number)
{
	if (number == fw->claimed && fw->way[number].state == FLOW_WAY_EMPTY)
		fw->way[number].tag = fw->before;
}

#endif /* _AQM_FLOW_WAYS_H */
