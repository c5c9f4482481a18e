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
 * queued. If all 16 ways hold packets, the flow shares the way that its hash names.
 *
 * Heat is the logarithm of a forward-decayed throughput, in sixteenths of an
 * octave modulo 2^16; see throughput_score_heat(). A way colder than @now is as
 * cold as a way can be. A way that has been idle for 4032 half-lives or more may
 * seem hot for 64 half-lives; we accept this, because it costs a flow at most a
 * place. Without a score, the way that became empty last is the hottest one.
 *
 * A set is one cache line. A flow in its first set costs one look, other flows two.
 */
#ifndef _AQM_FLOW_WAYS_H
#define _AQM_FLOW_WAYS_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/string.h>
#include <linux/types.h>
#include "flow_spread.h"

#define FLOW_WAYS	8U
#define FLOW_WAYS_HEAT	(64 * 16)	/* hottest possible way, above @now */
#define FLOW_WAYS_EMPTIED	16	/* departures in a unit of heat */

/**
 * struct flow_way_set - eight queues that flows share out
 * @tag: mixed hash of the flow that owns the way
 * @heat: of the way's queue
 * @busy: bit w is set if queue w holds a packet
 */
struct flow_way_set {
	u32	tag[FLOW_WAYS];
	u16	heat[FLOW_WAYS];
	u8	busy;
	u8	pad[15];
};

static_assert(sizeof(struct flow_way_set) == 64);

/**
 * struct flow_ways - all sets
 * @sets: one for eight queues; NULL: there are none
 * @count: number of sets
 * @now: heat of a queue whose throughput has decayed to nothing
 * @emptied: how often a queue has become empty, modulo 2^32
 */
struct flow_ways {
	struct flow_way_set	*sets;
	u32			count;
	u16			now;
	u32			emptied;
};

/* Queue @number holds a packet now, or no longer does. */
static inline void flow_ways_busy(struct flow_ways *fw, u32 number)
{
	if (fw->sets)
		fw->sets[number / FLOW_WAYS].busy |= BIT(number % FLOW_WAYS);
}

static inline void flow_ways_idle(struct flow_ways *fw, u32 number)
{
	if (fw->sets)
		fw->sets[number / FLOW_WAYS].busy &= ~BIT(number % FLOW_WAYS);
}

/* All queues are empty, and no flow owns one. */
static inline void flow_ways_reset(struct flow_ways *fw)
{
	if (fw->sets)
		memset(fw->sets, 0, fw->count * sizeof(*fw->sets));
}

/* Queue @number has sent a packet, and has @heat now. */
static inline void flow_ways_heat(struct flow_ways *fw, u32 number, u16 heat,
				  u16 now)
{
	if (!fw->sets)
		return;
	fw->sets[number / FLOW_WAYS].heat[number % FLOW_WAYS] = heat;
	fw->now = now;
}

/*
 * Queue @number, of a discipline without a score, has sent its last packet: it is
 * the hottest of the empty ones.
 */
static inline void flow_ways_emptied(struct flow_ways *fw, u32 number)
{
	u16 heat = ++fw->emptied / FLOW_WAYS_EMPTIED;

	flow_ways_heat(fw, number, heat, heat - FLOW_WAYS_HEAT);
}

static inline u32 __flow_ways_set(const struct flow_ways *fw, u32 mixed)
{
	return (u64)mixed * fw->count >> 32;
}

/* Heat above the coldest; 0 if all of it has decayed. */
static inline u32 __flow_ways_warmth(const struct flow_ways *fw, u16 heat)
{
	u16 above = heat - fw->now;

	return above <= FLOW_WAYS_HEAT ? above : 0;
}

/*
 * The coldest empty way of set @s, if it is colder than @least.
 *
 * Return: its queue, or @best.
 */
static inline u32 __flow_ways_coldest(const struct flow_ways *fw, u32 s,
				      u32 first, u32 best, u32 *least)
{
	const struct flow_way_set *set = &fw->sets[s];
	u32 i, way, warmth;

	for (i = 0; i < FLOW_WAYS; i++) {
		way = (first + i) % FLOW_WAYS;
		if (set->busy & BIT(way))
			continue;
		warmth = set->tag[way] ?
			 1 + __flow_ways_warmth(fw, set->heat[way]) : 0;
		if (warmth < *least) {
			*least = warmth;
			best = s * FLOW_WAYS + way;
		}
	}
	return best;
}

/* Find a flow's way among those that its hash does not name; or claim one. */
static noinline u32 flow_ways_search(struct flow_ways *fw, u32 tag, u32 salt)
{
	u32 first = tag % FLOW_WAYS, least = U32_MAX, best, way;
	u32 one = __flow_ways_set(fw, tag);
	u32 two = __flow_ways_set(fw, flow_mix(tag, salt));

	for (way = 0; way < FLOW_WAYS; way++)
		if (fw->sets[one].tag[way] == tag)
			return one * FLOW_WAYS + way;
	for (way = 0; way < FLOW_WAYS; way++)
		if (fw->sets[two].tag[way] == tag)
			return two * FLOW_WAYS + way;
	best = one * FLOW_WAYS + first;
	best = __flow_ways_coldest(fw, one, first, best, &least);
	best = __flow_ways_coldest(fw, two, first, best, &least);
	if (least != U32_MAX)
		fw->sets[best / FLOW_WAYS].tag[best % FLOW_WAYS] = tag;
	return best;
}

/**
 * flow_ways_find() - find the queue of a flow, which may claim one
 * @fw: the sets, at least one
 * @hash: of the flow
 * @salt: odd
 *
 * Return: the queue's number, from 0.
 */
static inline u32 flow_ways_find(struct flow_ways *fw, u32 hash, u32 salt)
{
	u32 tag = flow_mix(hash, salt);
	u32 s = __flow_ways_set(fw, tag);

	if (likely(fw->sets[s].tag[tag % FLOW_WAYS] == tag))
		return s * FLOW_WAYS + tag % FLOW_WAYS;
	return flow_ways_search(fw, tag, salt);
}

#endif /* _AQM_FLOW_WAYS_H */
