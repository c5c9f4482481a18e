/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tells flows apart: a key, which is addresses and, if needed, ports; or a hash, and
 * which of n queues it has.
 *
 * The queue is the highest bits of a product with a random odd number: two hashes that differ
 * share one of n queues for at most a share of 2 / n of all such numbers
 * (Dietzfelbinger and others, 1997). That says nothing of many at once: hashes in
 * a row stay in a row, and for some numbers nearly all would share a few queues. So
 * they are stirred before, by a permutation, which leaves the bound as it is.
 */
#ifndef _AQM_FLOW_KEY_H
#define _AQM_FLOW_KEY_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FLOW_SPREAD_STIR	0x9e3779b1U	/* odd: 2^32 over the golden ratio */

/**
 * struct flow_key - addresses and ports; unused parts are 0
 * @src: source address, as in the packet; IPv4 in the first word
 * @dst: destination address
 * @ports: both ports
 * @kind: FLOW_DISSECTOR_KEY_*_ADDRS of the addresses; 0: no addresses
 */
struct flow_key {
	u64	src[2];
	u64	dst[2];
	u32	ports;
	u32	kind;
};

static inline bool flow_key_equal(const struct flow_key *a,
				  const struct flow_key *b)
{
	return !((a->src[0] ^ b->src[0]) | (a->src[1] ^ b->src[1]) |
		 (a->dst[0] ^ b->dst[0]) | (a->dst[1] ^ b->dst[1]) |
		 (a->ports ^ b->ports) | (a->kind ^ b->kind));
}

/* A permutation of all hashes; @salt is odd. */
static inline u32 flow_mix(u32 hash, u32 salt)
{
	hash ^= hash >> 16;
	hash *= FLOW_SPREAD_STIR;
	hash ^= hash >> 16;
	return hash * salt;
}

/* From 0 to @queues - 1; @salt is odd. */
static inline u32 flow_spread(u32 hash, u32 salt, u32 queues)
{
	return reciprocal_scale(flow_mix(hash, salt), queues);
}

#endif /* _AQM_FLOW_KEY_H */
