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
#define FLOW_WAYS_FULL		U32_MAX	/* rank of a set without an empty queue */

/**
 * struct flow_set - eight queues, each of which one flow may own; a cache line
 * @tag: mixed hash of the owner; 0 if no flow has claimed the queue yet
 * @heat: heat when the queue became empty
 * @claimed: bit w is set if a flow has claimed queue w
 * @busy: bit w is set if queue w holds packets
 * @shared: bit w is set if queue w may also hold packets of flows that do not own it
 * @held: number of queues that hold packets
 * @unused: a gap
 * @signs: byte w is a byte of tag w, so that one comparison of words looks at all tags
 */
struct flow_set {
	u32	tag[FLOW_WAYS];
	u16	heat[FLOW_WAYS];
	u8	claimed;
	u8	busy;
	u8	shared;
	u8	held;
	u8	unused[4];
	u64	signs;
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
	set->held++;
	if (unlikely(number == fw->shared))
		set->shared |= 1 << number % FLOW_WAYS;
}

/* Note that queue @number has become empty. */
static inline void flow_ways_idle(struct flow_ways *fw, u32 number)
{
	struct flow_set *set = &fw->set[number / FLOW_WAYS];

	set->busy &= ~(1 << number % FLOW_WAYS);
	set->held--;
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

/* Return the byte of a tag that is in @signs: one that selects neither set nor way. */
static inline u64 __flow_set_sign(u32 tag)
{
	return (u8)(tag >> 8);
}

/* Let a way have a tag. */
static inline void __flow_set_tag(struct flow_set *set, u32 way, u32 tag)
{
	set->tag[way] = tag;
	set->signs &= ~(0xffULL << 8 * way);
	set->signs |= __flow_set_sign(tag) << 8 * way;
}

/*
 * Return bit 8 w for each way w that may have a tag: for all that have it, and for a few
 * others.
 */
static inline u64 __flow_set_matches(const struct flow_set *set, u32 tag)
{
	const u64 ones = 0x0101010101010101ULL;
	u64 differs = set->signs ^ ones * __flow_set_sign(tag);

	return ((differs - ones) & ~differs) >> 7 & ones;
}

/* Return the distance from way @first to the next one of @ways, which is not 0. */
static inline u32 __flow_set_nearest(u8 ways, u32 first)
{
	return __ffs(ror8(ways, first));
}

/*
 * Rank the empty queues of a set, all of which have had an owner, by how warm they are. The
 * lowest three bits are the distance from way @first.
 *
 * Return: the rank of the coldest; FLOW_WAYS_FULL if all hold packets.
 */
static inline u32 __flow_set_coldest(const struct flow_ways *fw,
				     const struct flow_set *set, u32 first)
{
	u32 way, above, lowest = FLOW_WAYS_FULL;
	unsigned long empty = (u8)~set->busy;

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

/*
 * Rank a set by its empty queues, in units of FLOW_WAYS.
 *
 * Return: 0 if no flow has claimed one of them, FLOW_WAYS_FULL if there is none.
 * Otherwise it says how many queues of the set hold packets, or how warm the coldest is.
 */
static inline u32 __flow_set_rank(const struct flow_ways *fw,
				  const struct flow_set *set, u32 first)
{
	u32 rank = set->held == FLOW_WAYS ? FLOW_WAYS_FULL :
					    (1U + set->held) * FLOW_WAYS;

	rank = (u8)~(set->busy | set->claimed) ? 0 : rank;
	if (unlikely(fw->heated) && rank)
		rank = __flow_set_coldest(fw, set, first);
	return rank;
}

/* Return the way to claim in a set of this rank. The search starts at way @first. */
static inline u32 __flow_set_choose(const struct flow_ways *fw,
				    const struct flow_set *set, u32 rank, u32 first)
{
	u8 ways = rank ? ~set->busy : ~(set->busy | set->claimed);

	if (unlikely(fw->heated) && rank)
		return (first + rank) % FLOW_WAYS;
	return (first + __flow_set_nearest(ways, first)) % FLOW_WAYS;
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
	__flow_set_tag(set, way, tag);
	set->claimed |= 1 << way;
	return number;
}

/*
 * Find a flow's queue in its sets, or claim or share one.
 *
 * A processor cannot predict in which of the sets a flow is, or which of them is the best.
 * So we look at all of them without a branch.
 */
static noinline u32 flow_ways_search(struct flow_ways *fw, u32 tag, u32 salt)
{
	u32 number[FLOW_WAYS_CHOICES], mixed, home = tag % FLOW_WAYS;
	u32 i, rank, at = 0, choices = 2, best = FLOW_WAYS_FULL;
	u64 matches;

	number[0] = __flow_ways_set(fw, tag);
	mixed = flow_mix(tag, salt);
	number[1] = __flow_ways_set(fw, mixed);
	matches = __flow_set_matches(&fw->set[number[0]], tag) |
		  __flow_set_matches(&fw->set[number[1]], tag) << 1;
	if (fw->more) {
		mixed = flow_mix(mixed, salt);
		number[2] = fw->first + ((u64)mixed * fw->more >> 32);
		mixed = flow_mix(mixed, salt);
		number[3] = fw->first + ((u64)mixed * fw->more >> 32);
		matches |= __flow_set_matches(&fw->set[number[2]], tag) << 2 |
			   __flow_set_matches(&fw->set[number[3]], tag) << 3;
		choices = FLOW_WAYS_CHOICES;
	}
	for (; matches; matches &= matches - 1) {
		at = __ffs64(matches);
		i = number[at % FLOW_WAYS];
		if (likely(fw->set[i].tag[at / FLOW_WAYS] == tag))
			return i * FLOW_WAYS + at / FLOW_WAYS;
	}
	for (i = 0; i < choices; i++) {
		rank = __flow_set_rank(fw, &fw->set[number[i]], home);
		at = rank / FLOW_WAYS < best / FLOW_WAYS ? i : at;
		best = rank / FLOW_WAYS < best / FLOW_WAYS ? rank : best;
	}
	if (unlikely(best == FLOW_WAYS_FULL || fw->set[number[0]].shared >> home & 1))
		return __flow_ways_share(fw, number[0] * FLOW_WAYS + home);
	i = number[at];
	at = __flow_set_choose(fw, &fw->set[i], best, home);
	return __flow_ways_claim(fw, i * FLOW_WAYS + at, tag);
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
	__flow_set_tag(set, number % FLOW_WAYS, fw->before);
	if (!fw->before)
		set->claimed &= ~(1 << number % FLOW_WAYS);
	fw->claimed = FLOW_WAYS_NONE;
}

#endif /* _AQM_FLOW_WAYS_H */
