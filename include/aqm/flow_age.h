/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long flows have lasted, in a table of bounded size, O(1) a packet.
 *
 * The table is a number of sets of eight slots. A flow's hash names its set and
 * its whole key is compared there, so two flows are never taken for one. Only
 * packets write to the table, and nothing sweeps it: a slot whose flow has not
 * been seen for longer than tau counts as free when it is next looked at.
 *
 * A new flow takes the slot of its set that has not been used for longest, free
 * or not. If that flow was still alive, it has been forgotten early, which is
 * counted: it will be new again with its next packet. Those that send most are
 * seen last and so are lost last.
 *
 * Each set has its slots in the order in which they were used, with a byte of
 * the hash of each: two words, in which all eight are looked at together. A
 * packet of a flow that is known takes as long as one that is new, and touches
 * these words and one slot.
 *
 * All flows are forgotten at once by a new generation of the table: a slot of an
 * older one counts as free.
 *
 * The caller brings the key, its hash and the time.
 */
#ifndef _AQM_FLOW_AGE_H
#define _AQM_FLOW_AGE_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <aqm/flow_key.h>

#define FLOW_AGE_WAYS		8

/**
 * struct flow_age - one flow
 * @key: which; its kind is not 0
 * @packets: seen of it, up to 2^32 - 1; 0: the slot was never used
 * @tag: the caller's; 0 when the flow is new
 * @generation: of the table when it was last seen
 * @first: when it was new, ns
 * @last: when it was last seen, ns
 */
struct flow_age {
	struct flow_key		key;
	u32			packets;
	u16			tag;
	u16			generation;
	u64			first;
	u64			last;
};

static_assert(sizeof(struct flow_age) == 64);

/**
 * struct flow_age_set - the slots of a set in the order in which they were used
 * @digests: a byte of the hash of each, the last one used in the lowest byte
 * @slots: their numbers in the same order, XOR FLOW_AGE_IN_ORDER: all 0 is right
 */
struct flow_age_set {
	u64	digests;
	u64	slots;
};

#define FLOW_AGE_IN_ORDER	0x0706050403020100ULL
#define FLOW_AGE_EACH		0x0101010101010101ULL	/* 1 in every byte */
#define FLOW_AGE_OLDEST		56U			/* the highest byte */

/**
 * struct flow_age_table - the flows
 * @slots: FLOW_AGE_WAYS for each set
 * @sets: orders of their use
 * @count: of sets, not 0
 * @generation: of the flows that it knows
 */
struct flow_age_table {
	struct flow_age		*slots;
	struct flow_age_set	*sets;
	u32			count;
	u16			generation;
};

/**
 * struct flow_age_stats - counters
 * @new: flows that were new
 * @evicted: flows forgotten early for want of a slot
 */
struct flow_age_stats {
	u32	new;
	u32	evicted;
};

/* Memory for a table of @flows at least, bytes. */
static inline size_t flow_age_size(u32 flows)
{
	return (size_t)DIV_ROUND_UP(flows, FLOW_AGE_WAYS) *
	       (FLOW_AGE_WAYS * sizeof(struct flow_age) +
		sizeof(struct flow_age_set));
}

/* An empty table in flow_age_size(@flows) bytes of zeroed @memory. */
static inline void flow_age_init(struct flow_age_table *t, void *memory,
				 u32 flows)
{
	t->slots = memory;
	t->count = DIV_ROUND_UP(flows, FLOW_AGE_WAYS);
	t->sets = (void *)(t->slots + (size_t)FLOW_AGE_WAYS * t->count);
}

/* Forget all flows: O(1), but for one call in 65536. */
static inline void flow_age_forget(struct flow_age_table *t)
{
	if (!++t->generation)
		memset(t->slots, 0, flow_age_size(FLOW_AGE_WAYS * t->count));
}

/* Is there a flow in the slot that is not forgotten? */
static inline bool flow_age_known(const struct flow_age_table *t,
				  const struct flow_age *fa, u64 now, u64 tau)
{
	return fa->packets && fa->generation == t->generation &&
	       now - fa->last <= tau;
}

/* The bytes of @word that are 0, as their highest bits: the lowest is right. */
static inline u64 flow_age_zeros(u64 word)
{
	return (word - FLOW_AGE_EACH) & ~word & (FLOW_AGE_EACH << 7);
}

/* The number of the slot of which the bytes at bit @at are. */
static inline u32 flow_age_slot(const struct flow_age_set *set, u32 at)
{
	return ((set->slots ^ FLOW_AGE_IN_ORDER) >> at) & 7;
}

/* Take the byte at bit @at of @word out and put @byte in as the lowest. */
static inline u64 flow_age_to_front(u64 word, u32 at, u8 byte)
{
	u64 below = (1ULL << at) - 1;

	return (word & ~(below << 8 | 0xff)) | (word & below) << 8 | byte;
}

/* The slot of which the bytes at bit @at are was used last. */
static inline void flow_age_used(struct flow_age_set *set, u32 at, u32 hash)
{
	u64 order = set->slots ^ FLOW_AGE_IN_ORDER;

	order = flow_age_to_front(order, at, flow_age_slot(set, at));
	set->slots = order ^ FLOW_AGE_IN_ORDER;
	set->digests = flow_age_to_front(set->digests, at, hash);
}

/*
 * The flow with this @key and @hash among the @slots of a set, or NULL; @at is set to
 * the bit at which its bytes are.
 */
static inline struct flow_age *
flow_age_find(const struct flow_age_set *set, struct flow_age *slots,
	      const struct flow_key *key, u32 hash, u32 *at)
{
	u64 alike = flow_age_zeros(set->digests ^ (hash & 0xff) * FLOW_AGE_EACH);
	struct flow_age *fa;

	for (; alike; alike &= alike - 1) {
		*at = __ffs64(alike) - 7;
		fa = &slots[flow_age_slot(set, *at)];
		if (likely(flow_key_equal(&fa->key, key)))
			return fa;
	}
	return NULL;
}

/**
 * flow_age_see() - a packet of a flow arrived
 * @t: the table
 * @st: counters
 * @key: the flow
 * @hash: of the key, the same for equal keys
 * @packets: what the arrival counts as, not 0
 * @now: ns, never before an earlier call's
 * @tau: ns without a packet after which a flow is forgotten
 *
 * Return: the flow, this arrival included; valid until the next call.
 */
static inline struct flow_age *
flow_age_see(struct flow_age_table *t, struct flow_age_stats *st,
	     const struct flow_key *key, u32 hash, u32 packets, u64 now,
	     u64 tau)
{
	u32 nr = ((u64)hash * t->count) >> 32;
	struct flow_age *fa, *slots = &t->slots[(size_t)FLOW_AGE_WAYS * nr];
	struct flow_age_set *set = &t->sets[nr];
	u32 at;

	fa = flow_age_find(set, slots, key, hash, &at);
	if (!fa) {
		at = FLOW_AGE_OLDEST;
		fa = &slots[flow_age_slot(set, at)];
		st->evicted += flow_age_known(t, fa, now, tau);
		fa->key = *key;
		fa->packets = 0;
	}
	flow_age_used(set, at, hash);
	if (!flow_age_known(t, fa, now, tau)) {
		st->new++;
		fa->packets = 0;
		fa->tag = 0;
		fa->generation = t->generation;
		fa->first = now;
	}
	fa->packets += min(packets, U32_MAX - fa->packets);
	fa->last = now;
	return fa;
}

#endif /* _AQM_FLOW_AGE_H */
