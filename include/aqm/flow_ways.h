/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Give each flow a queue of its own, although a hash chooses the queue.
 *
 * The queues form sets of eight ways. A flow's hash names two sets. The flow owns
 * the way that carries its hash as a tag. A flow without a way claims one:
 *
 *	among the ways of its two sets that hold no packet, one that no flow has
 *	claimed yet, otherwise the coldest; at a tie, the first set's, from the
 *	way that the hash names.
 *
 * A claimed way keeps what its queue has: throughput, credit and debt. So a new
 * flow inherits the record of the coldest flow, as in Space-Saving (Metwally and
 * others, 2005), and the hottest flows keep their ways while they have no packet
 * queued.
 *
 * If all 16 ways hold packets, the flow shares the way that its hash names. It may have
 * packets there until that way is empty. So all flows with this first way and without a
 * way of their own stay there until then: a flow's packets must leave in order.
 *
 * Heat says how much a queue has sent, on a scale that the qdisc chooses, modulo 2^16:
 * tdrr takes the logarithm of its forward-decayed throughput, in sixteenths of an
 * octave; see throughput_score_heat(). A way colder than @now is as cold as a way can
 * be. A way that has been idle for 4032 half-lives or more may seem hot for 64
 * half-lives; we accept this, because it costs a flow at most a place. In qsdrr, which
 * keeps no score, the queue that became empty last is the hottest one, to 16 times that
 * a queue became empty.
 *
 * A set is one cache line. A flow in its first place costs one look, other flows search
 * two sets.
 */
#ifndef _AQM_FLOW_WAYS_H
#define _AQM_FLOW_WAYS_H

#include <linux/build_bug.h>
#include <linux/string.h>
#include <linux/types.h>
#include "flow_spread.h"

#define FLOW_WAYS	8U
#define FLOW_WAYS_HEAT	(64 * 16)	/* hottest possible way, above @now */
#define FLOW_WAYS_EMPTIED	16	/* queues that became empty, in a unit of heat */
#define FLOW_WAYS_NONE	U32_MAX		/* no queue */

/* States of a queue. */
enum {
	FLOW_WAY_EMPTY,
	FLOW_WAY_BUSY,		/* it holds packets */
	FLOW_WAY_SHARED,	/* also of flows that do not own it, perhaps */
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
 * @sets: sets of FLOW_WAYS queues; 0: hashes alone choose the queue
 * @emptied: how often a queue has become empty, modulo 2^32
 * @shared: the queue of the last arrival, if its flow does not own it, or FLOW_WAYS_NONE
 * @now: heat of a queue whose throughput has decayed to nothing
 */
struct flow_ways {
	struct flow_way	*way;
	u32		sets;
	u32		emptied;
	u32		shared;
	u16		now;
};

/* All @queues are empty, and no flow owns one. */
static inline void flow_ways_reset(struct flow_ways *fw, u32 queues)
{
	memset(fw->way, 0, queues * sizeof(*fw->way));
}

/* Queue @number, which was empty, holds the last arrival. */
static inline void flow_ways_busy(struct flow_ways *fw, u32 number)
{
	fw->way[number].state = number == fw->shared ? FLOW_WAY_SHARED :
						       FLOW_WAY_BUSY;
}

/* Queue @number has become empty, and has @heat. */
static inline void flow_ways_idle(struct flow_ways *fw, u32 number, u16 heat,
				  u16 now)
{
	fw->way[number].heat = heat;
	fw->way[number].state = FLOW_WAY_EMPTY;
	fw->now = now;
}

/* The same, for a qdisc without a score: the queue is the hottest of the empty ones. */
static inline void flow_ways_idle_hottest(struct flow_ways *fw, u32 number)
{
	u16 heat = ++fw->emptied / FLOW_WAYS_EMPTIED;

	flow_ways_idle(fw, number, heat, heat - FLOW_WAYS_HEAT);
}

/* The first queue of the set that @mixed names. */
static inline u32 __flow_ways_set(const struct flow_ways *fw, u32 mixed)
{
	return ((u64)mixed * fw->sets >> 32) * FLOW_WAYS;
}

/* Heat above the coldest; 0 if all of it has decayed. */
static inline u32 __flow_ways_warmth(const struct flow_ways *fw, u16 heat)
{
	u16 above = heat - fw->now;

	return above <= FLOW_WAYS_HEAT ? above : 0;
}

/*
 * The coldest empty queue of the set from @set on, if it is colder than @least.
 *
 * Return: its number, or @best.
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

/* Share the queue that the hash names first. */
static inline u32 __flow_ways_share(struct flow_ways *fw, u32 number)
{
	fw->way[number].state = FLOW_WAY_SHARED;
	fw->shared = number;
	return number;
}

/* Find a flow's queue among those that its hash does not name first; or claim one. */
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
	fw->way[best].tag = tag;
	return best;
}

/**
 * flow_ways_find() - find the queue of a flow, which may claim one
 * @fw: the queues, at least one set
 * @hash: hash of the flow
 * @salt: odd
 *
 * Return: the queue's number, from 0.
 */
static inline u32 flow_ways_find(struct flow_ways *fw, u32 hash, u32 salt)
{
	u32 tag = flow_mix(hash, salt);
	u32 number = __flow_ways_set(fw, tag) + tag % FLOW_WAYS;

	fw->shared = FLOW_WAYS_NONE;
	if (likely(fw->way[number].tag == tag))
		return number;
	return flow_ways_search(fw, tag, salt);
}

#endif /* _AQM_FLOW_WAYS_H */
