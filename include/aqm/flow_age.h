/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long flows have lasted, in a table of bounded size, O(1) a packet.
 *
 * The table is a number of sets of eight slots. A flow's hash names its set and
 * its whole key is compared there, so two flows are never taken for one. Only
 * packets write to the table, and nothing sweeps it: a slot whose flow has not
 * been seen for longer than tau counts as free when it is next looked at.
 *
 * A new flow takes the slot of its set that has not been used for longest
 * (the first of several), free or not. If that flow was still alive, it has
 * been forgotten early, which is counted: it will be new again with its next
 * packet. Those that send most are seen last and so are lost last.
 *
 * All flows are forgotten at once by a new generation of the table: a slot of an
 * older one counts as free.
 *
 * The caller brings the key, its hash and the time.
 */
#ifndef _AQM_FLOW_AGE_H
#define _AQM_FLOW_AGE_H

#include <linux/build_bug.h>
#include <linux/string.h>
#include <linux/types.h>

#define FLOW_AGE_WAYS		8
#define FLOW_AGE_KEY_WORDS	10

/**
 * struct flow_age_key - what makes two packets one flow; unused parts are 0
 * @src: source address; IPv4 in the first word
 * @dst: destination address
 * @ports: both ports, or 0 where a pair of addresses makes a flow
 * @kind: address family
 */
struct flow_age_key {
	union {
		struct {
			u32	src[4];
			u32	dst[4];
			u32	ports;
			u32	kind;
		};
		u32	words[FLOW_AGE_KEY_WORDS];
	};
};

/**
 * struct flow_age - one flow
 * @key: which
 * @packets: seen of it, up to 2^32 - 1; 0: the slot was never used
 * @tag: the caller's; 0 when the flow is new
 * @generation: of the table when it was last seen
 * @first: when it was new, ns
 * @last: when it was last seen, ns
 */
struct flow_age {
	struct flow_age_key	key;
	u32			packets;
	u16			tag;
	u16			generation;
	u64			first;
	u64			last;
};

static_assert(sizeof(struct flow_age) == 64);

/**
 * struct flow_age_table - the flows
 * @slots: FLOW_AGE_WAYS for each set, zeroed at first
 * @sets: number of sets, not 0
 * @generation: of the flows that it knows
 */
struct flow_age_table {
	struct flow_age	*slots;
	u32		sets;
	u16		generation;
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

/* Forget all flows: O(1), but for one call in 65536. */
static inline void flow_age_forget(struct flow_age_table *t)
{
	if (!++t->generation)
		memset(t->slots, 0, sizeof(*t->slots) * FLOW_AGE_WAYS * t->sets);
}

/* Is there a flow in the slot that is not forgotten? */
static inline bool flow_age_known(const struct flow_age_table *t,
				  const struct flow_age *fa, u64 now, u64 tau)
{
	return fa->packets && fa->generation == t->generation &&
	       now - fa->last <= tau;
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
	     const struct flow_age_key *key, u32 hash, u32 packets, u64 now,
	     u64 tau)
{
	struct flow_age *set = t->slots +
			       FLOW_AGE_WAYS * (((u64)hash * t->sets) >> 32);
	struct flow_age *fa, *oldest = set;
	u64 last, least = U64_MAX;

	for (fa = set; fa < set + FLOW_AGE_WAYS; fa++) {
		/* Most slots of others differ here; the whole takes a call. */
		if (fa->key.ports == key->ports &&
		    fa->key.src[0] == key->src[0] &&
		    !memcmp(&fa->key, key, sizeof(*key)))
			break;
		last = fa->generation == t->generation ? fa->last : 0;
		if (last < least) {
			least = last;
			oldest = fa;
		}
	}
	if (fa == set + FLOW_AGE_WAYS) {
		fa = oldest;
		st->evicted += flow_age_known(t, fa, now, tau);
		fa->key = *key;
		fa->packets = 0;
	}
	if (!flow_age_known(t, fa, now, tau)) {
		st->new++;
		fa->packets = 0;
		fa->tag = 0;
		fa->generation = t->generation;
		fa->first = now;
	}
	fa->packets += packets < U32_MAX - fa->packets ?
		       packets : U32_MAX - fa->packets;
	fa->last = now;
	return fa;
}

#endif /* _AQM_FLOW_AGE_H */
