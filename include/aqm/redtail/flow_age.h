/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Table of flows with their age, of bounded size, O(1) per packet.
 *
 * The table has sets of eight slots. The hash of a flow selects its set. Whole keys
 * are compared there, so two flows are never confused. Only packets write to the
 * table and no timer sweeps it: a slot counts as free if its flow was not seen for
 * longer than tau.
 *
 * A new flow takes the least recently used slot of its set. If that slot's flow was
 * still alive, it is evicted, which is counted. It will be new again with its next
 * packet. Flows that send much are rarely evicted.
 *
 * Each set has a word that orders its slots by last use. It has one byte per slot:
 * three bits of slot number and five bits of the flow's hash. All eight bytes are
 * compared at once. Each packet touches this word and one slot, whether its flow is
 * known or new.
 *
 * A new generation of the table forgets all flows at once, because slots of older
 * generations count as free.
 *
 * The caller provides the key, its hash and the time.
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
 * @key: identifies the flow; its kind is not 0
 * @packets: packets seen, up to 2^32 - 1; 0: the slot was never used
 * @tag: for the caller; 0 if the flow is new
 * @generation: generation of the table when it was last seen
 * @first: time of its first packet, in ns
 * @last: time of its last packet, in ns
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
 * @slots: FLOW_AGE_WAYS per set
 * @orders: per set, the slots from the most recently used (lowest byte) to the
 *	least; XOR FLOW_AGE_IN_ORDER, so that 0 is a valid start
 * @sets: number of sets, not 0
 * @generation: current generation
 */
struct flow_age_table {
	struct flow_age	*slots;
	u64		*orders;
	u32		sets;
	u16		generation;
};

/**
 * struct flow_age_stats - counters
 * @new: new flows
 * @evicted: flows evicted before tau because their set was full
 */
struct flow_age_stats {
	u64	new;
	u64	evicted;
};

#define FLOW_AGE_SET		(FLOW_AGE_WAYS * sizeof(struct flow_age))

/* Return the number of sets for at least @flows flows. */
static inline u32 flow_age_sets(u32 flows)
{
	return DIV_ROUND_UP(flows, FLOW_AGE_WAYS);
}

/* Set up an empty table of @sets. @slots has FLOW_AGE_SET bytes per set and is zeroed. */
static inline void flow_age_init(struct flow_age_table *t,
				 struct flow_age *slots, u64 *orders, u32 sets)
{
	t->sets = sets;
	t->slots = slots;
	t->orders = orders;
}

/* Forget all flows: O(1), except one call in 65536. Free slots need no order. */
static inline void flow_age_forget(struct flow_age_table *t)
{
	if (++t->generation)
		return;
	memset(t->slots, 0, FLOW_AGE_SET * t->sets);
}

/* Return whether the slot has a live flow. */
static inline bool flow_age_known(const struct flow_age_table *t,
				  const struct flow_age *fa, u64 now, u64 tau)
{
	return fa->packets && fa->generation == t->generation &&
	       now - fa->last <= tau;
}

/* Return the slot in the byte at bit @at of an order. */
static inline u32 flow_age_slot(u64 order, u32 at)
{
	return (order >> at) & (FLOW_AGE_WAYS - 1);
}

/* Return the order after a flow with this @hash used the slot at bit @at. */
static inline u64 flow_age_used(u64 order, u32 at, u32 hash)
{
	u8 first = (hash & ~(FLOW_AGE_WAYS - 1)) | flow_age_slot(order, at);
	u64 before = (1ULL << at) - 1;

	return (order & ~(before << 8 | 0xff)) | (order & before) << 8 | first;
}

/* Return bit 7 in each byte of @order that has the same hash bits. */
static inline u64 flow_age_alike(u64 order, u32 hash)
{
	u64 differ = (order ^ (hash & 0xff) * FLOW_AGE_EACH) &
		     ~((FLOW_AGE_WAYS - 1) * FLOW_AGE_EACH);

	/* Only a byte of 0 becomes negative, because the others are at least 8. */
	return (differ - FLOW_AGE_EACH) & ~differ & (FLOW_AGE_EACH << 7);
}

/*
 * Return the flow with this @key and @hash among the @slots of a set, or NULL. Set @at
 * to its bit in the @order.
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
 * flow_age_see() - count an arriving packet of a flow
 * @t: the table
 * @st: counters
 * @key: the flow
 * @hash: hash of the key
 * @packets: number of packets that the arrival counts as, not 0
 * @now: time in ns, never before that of an earlier call
 * @tau: ns without a packet after which a flow is forgotten
 *
 * Return: the flow, this arrival included; valid until the next call.
 */
static inline struct flow_age *
flow_age_see(struct flow_age_table *t, struct flow_age_stats *st,
	     const struct flow_key *key, u32 hash, u32 packets, u64 now,
	     u64 tau)
{
	u32 nr = reciprocal_scale(hash, t->sets);
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
