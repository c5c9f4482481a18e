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
 * @first: when it was new, ns
 * @last: when it was last seen, ns
 */
struct flow_age {
	struct flow_age_key	key;
	u32			packets;
	u32			tag;
	u64			first;
	u64			last;
};

static_assert(sizeof(struct flow_age) == 64);

/**
 * struct flow_age_table - the flows
 * @slots: FLOW_AGE_WAYS for each set, zeroed at first
 * @sets: number of sets, not 0
 */
struct flow_age_table {
	struct flow_age	*slots;
	u32		sets;
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

	for (fa = set; fa < set + FLOW_AGE_WAYS; fa++) {
		if (!memcmp(&fa->key, key, sizeof(*key)))
			break;
		if (fa->last < oldest->last)
			oldest = fa;
	}
	if (fa == set + FLOW_AGE_WAYS) {
		fa = oldest;
		if (fa->packets && now - fa->last <= tau)
			st->evicted++;
		fa->key = *key;
		fa->packets = 0;
	}
	if (!fa->packets || now - fa->last > tau) {
		st->new++;
		fa->packets = 0;
		fa->tag = 0;
		fa->first = now;
	}
	fa->packets += packets < U32_MAX - fa->packets ?
		       packets : U32_MAX - fa->packets;
	fa->last = now;
	return fa;
}

#endif /* _AQM_FLOW_AGE_H */
