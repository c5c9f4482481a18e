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
 * Each set has a word with its slots in the order in which they were used: a byte
 * each, of which three bits are the slot's number and five are of the flow's
 * hash. All eight are looked at together. A packet of a flow that is known takes
 * as long as one of a new flow, and touches the word and a slot.
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

#define FLOW_AGE_EACH		0x0101010101010101ULL	/* 1 in every byte */
#define FLOW_AGE_IN_ORDER	0x0706050403020100ULL
#define FLOW_AGE_OLDEST		56U			/* bit of the last byte */

/**
 * struct flow_age_table - the flows
 * @slots: FLOW_AGE_WAYS for each set
 * @orders: of each set, which slot was used last, in the lowest byte, to which was
 *	used first; XOR FLOW_AGE_IN_ORDER, so that 0 is right at first
 * @sets: number of sets, not 0
 * @generation: of the flows that it knows
 */
struct flow_age_table {
	struct flow_age	*slots;
	u64		*orders;
	u32		sets;
	u16		generation;
};

/**
 * struct flow_age_stats - counters
 * @new: flows that were new
 * @evicted: flows forgotten early for want of a slot
 */
struct flow_age_stats {
	u64	new;
	u64	evicted;
};

#define FLOW_AGE_SET		(FLOW_AGE_WAYS * sizeof(struct flow_age))

/* Sets of a table of @flows at least. */
static inline u32 flow_age_sets(u32 flows)
{
	return DIV_ROUND_UP(flows, FLOW_AGE_WAYS);
}

/* An empty table of @sets: @slots are FLOW_AGE_SET bytes for each, zeroed too. */
static inline void flow_age_init(struct flow_age_table *t,
				 struct flow_age *slots, u64 *orders, u32 sets)
{
	t->sets = sets;
	t->slots = slots;
	t->orders = orders;
}

/* Forget all flows: O(1), but for one call in 65536. */
static inline void flow_age_forget(struct flow_age_table *t)
{
	if (++t->generation)
		return;
	memset(t->slots, 0, FLOW_AGE_SET * t->sets);
	memset(t->orders, 0, sizeof(u64) * t->sets);
}

/* Is there a flow in the slot that is not forgotten? */
static inline bool flow_age_known(const struct flow_age_table *t,
				  const struct flow_age *fa, u64 now, u64 tau)
{
	return fa->packets && fa->generation == t->generation &&
	       now - fa->last <= tau;
}

/* The slot that the byte at bit @at of an order is about. */
static inline u32 flow_age_slot(u64 order, u32 at)
{
	return (order >> at) & (FLOW_AGE_WAYS - 1);
}

/* An order after the slot at bit @at was used by a flow with that @hash. */
static inline u64 flow_age_used(u64 order, u32 at, u32 hash)
{
	u8 first = (hash & ~(FLOW_AGE_WAYS - 1)) | flow_age_slot(order, at);
	u64 before = (1ULL << at) - 1;

	return (order & ~(before << 8 | 0xff)) | (order & before) << 8 | first;
}

/* The bytes of @order with the same bits of the hash, as a bit 7 each. */
static inline u64 flow_age_alike(u64 order, u32 hash)
{
	u64 differ = (order ^ (hash & 0xff) * FLOW_AGE_EACH) &
		     ~((FLOW_AGE_WAYS - 1) * FLOW_AGE_EACH);

	/* Only a byte of 0 becomes negative: the others are 8 at least. */
	return (differ - FLOW_AGE_EACH) & ~differ & (FLOW_AGE_EACH << 7);
}

/*
 * The flow with this @key and @hash among the @slots of a set, or NULL; @at is set to
 * the bit at which it is in the @order.
 */
static inline struct flow_age *
flow_age_find(u64 order, struct flow_age *slots, const struct flow_key *key,
	      u32 hash, u32 *at)
{
	u64 alike = flow_age_alike(order, hash);
	struct flow_age *fa;

	for (; alike; alike &= alike - 1) {
		*at = __ffs64(alike) - 7;
		fa = &slots[flow_age_slot(order, *at)];
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
	u32 nr = ((u64)hash * t->sets) >> 32;
	struct flow_age *fa, *slots = &t->slots[(size_t)FLOW_AGE_WAYS * nr];
	u64 order = t->orders[nr] ^ FLOW_AGE_IN_ORDER;
	u32 at;

	fa = flow_age_find(order, slots, key, hash, &at);
	if (!fa) {
		at = FLOW_AGE_OLDEST;
		fa = &slots[flow_age_slot(order, at)];
		st->evicted += flow_age_known(t, fa, now, tau);
		fa->key = *key;
		fa->packets = 0;
	}
	if (at)
		t->orders[nr] = flow_age_used(order, at, hash) ^
				FLOW_AGE_IN_ORDER;
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
