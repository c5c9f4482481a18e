/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Give each flow a separate queue, although a hash chooses the queue.
 *
 * The queues form sets of eight, called ways as in a cache. A flow's hash names two
 * sets. A flow owns the way that carries its hash as a tag. A flow without a way claims
 * an empty queue of its two sets: one that no flow has claimed yet, or else one of the
 * set in which fewer queues hold packets, so that few sets become full. Otherwise the first set
 * comes before the second. The search starts at the way that the hash names.
 *
 * A claimed queue keeps its debt. Its owner before is in @before, so that tdrr can store
 * and recall throughputs: <aqm/tdrr/flow_memory.h>. While tdrr has no memory for that, a
 * claimed way keeps its throughput, too, and a flow claims the coldest of its 16 ways. So
 * it inherits the record of the coldest flow, as in Space-Saving (Metwally and others,
 * 2005), and the hottest flows keep their ways even while they have no packet queued.
 *
 * If flows share too often, the owner adds more sets: flow_ways_more(). A flow that finds
 * no way in its two sets then looks in two of these, too. Nothing moves, so no packets can
 * change places.
 *
 * If all its ways hold packets, the flow shares the first way that its hash names. Until
 * that way is empty, it stays there, and so do all other flows without a way that have
 * this first way. This keeps the packets of a flow in order.
 *
 * Heat is the logarithm of a queue's forward-decayed throughput, in sixteenths of an
 * octave, modulo 2^16: throughput_score_heat(). A way with less heat than @now is as cold
 * as possible. After 4032 idle half-lives a way can seem hot for 64 half-lives. We accept
 * this, because it only makes a flow claim another way.
 *
 * A set is one cache line. A flow in the first way of its hash needs one access. Other
 * flows search two sets.
 */
#ifndef _AQM_FLOW_WAYS_H
#define _AQM_FLOW_WAYS_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include "flow_spread.h"

#define FLOW_WAYS	8U
#define FLOW_WAYS_HEAT	(64 * 16)	/* heat of the hottest way, above @now */
#define FLOW_WAYS_NONE	U32_MAX		/* no queue */
#define FLOW_WAYS_CHOICES	4U	/* sets that a flow may look at */

/**
 * struct flow_set - eight queues, each of which one flow may own; a cache line
 * @tag: mixed hash of the owner; 0 if no flow has claimed the queue yet
 * @heat: heat when the queue became empty
 * @claimed: bit w is set if a flow has claimed queue w
 * @busy: bit w is set if queue w holds packets
 * @shared: bit w is set if queue w may also hold packets of flows that do not own it
 * @unused: the rest of the line
 *
 * The tags are side by side, so that comparing all of them takes few instructions.
 */
struct flow_set {
	u32	tag[FLOW_WAYS];
	u16	heat[FLOW_WAYS];
	u8	claimed;
	u8	busy;
	u8	shared;
	u8	unused[13];
};

static_assert(sizeof(struct flow_set) == 64);

/**
 * struct flow_ways - the owners of all queues
 * @set: all sets
 * @sets: number of sets in use at first; 0: the hash alone chooses the queue
 * @first: number of sets at first
 * @more: number of sets added
 * @shared: the queue of the last arrival, if its flow does not own it, or FLOW_WAYS_NONE
 * @claimed: the queue that the last arrival's flow claimed, or FLOW_WAYS_NONE
 * @before: tag of that queue before
 * @now: heat of a queue whose throughput has decayed to nothing
 * @heated: a flow claims the coldest way
 */
struct flow_ways {
	struct flow_set	*set;
	u32		sets;
	u32		first;
	u32		more;
	u32		shared;
	u32		claimed;
	u32		before;
	u16		now;
	bool		heated;
};

/* Return the number of sets that have a place for each of @queues. */
static inline u32 flow_ways_sets(u32 queues)
{
	return (queues + FLOW_WAYS - 1) / FLOW_WAYS;
}

/* Reset: all @queues are empty, and no flow owns one. */
static inline void flow_ways_reset(struct flow_ways *fw, u32 queues)
{
	memset(fw->set, 0, flow_ways_sets(queues) * sizeof(*fw->set));
	fw->shared = FLOW_WAYS_NONE;
	fw->claimed = FLOW_WAYS_NONE;
}

/* Use a larger array of sets. It begins with a copy of the present one. */
static inline void flow_ways_more(struct flow_ways *fw, struct flow_set *set, u32 more)
{
	fw->set = set;
	fw->more = more;
}

/* Return whether queue @number holds packets. */
static inline bool flow_ways_is_busy(const struct flow_ways *fw, u32 number)
{
	return fw->set[number / FLOW_WAYS].busy >> number % FLOW_WAYS & 1;
}

/* Note that the last arrival went into queue @number, which was empty. */
static inline void flow_ways_busy(struct flow_ways *fw, u32 number)
{
	struct flow_set *set = &fw->set[number / FLOW_WAYS];

	set->busy |= 1 << number % FLOW_WAYS;
	if (unlikely(number == fw->shared))
		set->shared |= 1 << number % FLOW_WAYS;
}

/* Note that queue @number has become empty. */
static inline void flow_ways_idle(struct flow_ways *fw, u32 number)
{
	struct flow_set *set = &fw->set[number / FLOW_WAYS];

	set->busy &= ~(1 << number % FLOW_WAYS);
	set->shared &= ~(1 << number % FLOW_WAYS);
}

/* The same for a qdisc that measures throughput; @now: see struct flow_ways. */
static inline void flow_ways_idle_heated(struct flow_ways *fw, u32 number,
					 u16 heat, u16 now)
{
	fw->set[number / FLOW_WAYS].heat[number % FLOW_WAYS] = heat;
	fw->now = now;
	flow_ways_idle(fw, number);
}

/* Return the number of the set that @mixed names. */
static inline u32 __flow_ways_set(const struct flow_ways *fw, u32 mixed)
{
	return (u64)mixed * fw->sets >> 32;
}

/* Return the way of a set that has this tag; FLOW_WAYS if none has. */
static inline u32 __flow_set_find(const struct flow_set *set, u32 tag)
{
	u32 way;

	for (way = 0; way < FLOW_WAYS && set->tag[way] != tag; way++)
		;
	return way;
}

/* Return the distance from way @first to the next one of @ways, which is not 0. */
static inline u32 __flow_set_nearest(u8 ways, u32 first)
{
	return __ffs(ror8(ways, first));
}

/*
 * Rank the empty queues of a set: the number in the lowest three bits is the distance
 * from way @first, and the rest is 0 if no flow has claimed the queue, or else says how
 * warm it is, or how many queues of the set hold packets.
 *
 * Return: the rank of the one to take, the lowest; U32_MAX if all hold packets.
 */
static inline u32 __flow_set_coldest(const struct flow_ways *fw,
				     const struct flow_set *set, u32 first)
{
	u32 way, above, lowest = U32_MAX;
	unsigned long empty = (u8)~set->busy;
	u8 unclaimed = empty & ~set->claimed;

	if (unclaimed)
		return __flow_set_nearest(unclaimed, first);
	if (!fw->heated)
		return empty ? (1 + hweight8(set->busy)) * FLOW_WAYS +
			       __flow_set_nearest(empty, first) : U32_MAX;
	for (; empty; empty &= empty - 1) {
		way = __ffs(empty);
		above = (u16)(set->heat[way] - fw->now);
		if (above > FLOW_WAYS_HEAT)
			above = 0;
		lowest = min(lowest, (1 + above) * FLOW_WAYS +
				     (way - first) % FLOW_WAYS);
	}
	return lowest;
}

/* Let the flow share queue @number. */
static inline u32 __flow_ways_share(struct flow_ways *fw, u32 number)
{
	fw->set[number / FLOW_WAYS].shared |= 1 << number % FLOW_WAYS;
	fw->shared = number;
	return number;
}

/* Let the flow with this tag own queue @number, which is empty. */
static inline u32 __flow_ways_claim(struct flow_ways *fw, u32 number, u32 tag)
{
	struct flow_set *set = &fw->set[number / FLOW_WAYS];
	u32 way = number % FLOW_WAYS;

	fw->claimed = number;
	fw->before = set->tag[way];
	set->tag[way] = tag;
	set->claimed |= 1 << way;
	return number;
}

/* Find a flow's queue in its two sets, or claim or share one. */
static noinline u32 flow_ways_search(struct flow_ways *fw, u32 tag, u32 salt)
{
	u32 home = tag % FLOW_WAYS, one = __flow_ways_set(fw, tag);
	u32 two = __flow_ways_set(fw, flow_mix(tag, salt));
	const struct flow_set *a = &fw->set[one], *b = &fw->set[two];
	u32 way, rank, other;

	way = __flow_set_find(a, tag);
	if (way < FLOW_WAYS)
		return one * FLOW_WAYS + way;
	way = __flow_set_find(b, tag);
	if (way < FLOW_WAYS)
		return two * FLOW_WAYS + way;
	if (unlikely(a->shared >> home & 1))
		return __flow_ways_share(fw, one * FLOW_WAYS + home);
	rank = __flow_set_coldest(fw, a, home);
	other = __flow_set_coldest(fw, b, home);
	if (unlikely(rank == U32_MAX && other == U32_MAX))
		return __flow_ways_share(fw, one * FLOW_WAYS + home);
	if (rank / FLOW_WAYS <= other / FLOW_WAYS)
		return __flow_ways_claim(fw, one * FLOW_WAYS + (home + rank) % FLOW_WAYS, tag);
	return __flow_ways_claim(fw, two * FLOW_WAYS + (home + other) % FLOW_WAYS, tag);
}

/* The same after sets were added, in four sets. */
static noinline u32 flow_ways_search_more(struct flow_ways *fw, u32 tag, u32 salt)
{
	u32 set[FLOW_WAYS_CHOICES], mixed = tag, home = tag % FLOW_WAYS;
	u32 i, way, rank, best = U32_MAX, at = 0;

	for (i = 0; i < FLOW_WAYS_CHOICES; i++) {
		set[i] = i < 2 ? __flow_ways_set(fw, mixed) :
				 fw->first + ((u64)mixed * fw->more >> 32);
		mixed = flow_mix(mixed, salt);
		way = __flow_set_find(&fw->set[set[i]], tag);
		if (way < FLOW_WAYS)
			return set[i] * FLOW_WAYS + way;
	}
	if (unlikely(fw->set[set[0]].shared >> home & 1))
		return __flow_ways_share(fw, set[0] * FLOW_WAYS + home);
	for (i = 0; i < FLOW_WAYS_CHOICES; i++) {
		rank = __flow_set_coldest(fw, &fw->set[set[i]], home);
		if (rank / FLOW_WAYS >= best / FLOW_WAYS)
			continue;
		best = rank;
		at = set[i];
	}
	if (unlikely(best == U32_MAX))
		return __flow_ways_share(fw, set[0] * FLOW_WAYS + home);
	return __flow_ways_claim(fw, at * FLOW_WAYS + (home + best) % FLOW_WAYS, tag);
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
	u32 tag = flow_mix(hash, salt), way = tag % FLOW_WAYS;
	u32 set = __flow_ways_set(fw, tag);

	fw->shared = FLOW_WAYS_NONE;
	fw->claimed = FLOW_WAYS_NONE;
	if (likely(fw->set[set].tag[way] == tag))
		return set * FLOW_WAYS + way;
	if (unlikely(fw->more))
		return flow_ways_search_more(fw, tag, salt);
	return flow_ways_search(fw, tag, salt);
}

/* Return the tag of the flow that owns queue @number. */
static inline u32 flow_ways_owner(const struct flow_ways *fw, u32 number)
{
	return fw->set[number / FLOW_WAYS].tag[number % FLOW_WAYS];
}

/* The last arrival was refused. If its flow claimed @number for it, undo that. */
static inline void flow_ways_refuse(struct flow_ways *fw, u32 number)
{
	struct flow_set *set = &fw->set[number / FLOW_WAYS];

	if (number != fw->claimed || flow_ways_is_busy(fw, number))
		return;
	set->tag[number % FLOW_WAYS] = fw->before;
	if (!fw->before)
		set->claimed &= ~(1 << number % FLOW_WAYS);
	fw->claimed = FLOW_WAYS_NONE;
}

#endif /* _AQM_FLOW_WAYS_H */
