/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of n queues a flow's hash has.
 *
 * The highest bits of a product with a random odd number: two hashes that differ
 * share one of n queues for at most a share of 2 / n of all such numbers
 * (Dietzfelbinger and others, 1997). That says nothing of many at once: hashes in
 * a row stay in a row, and for some numbers nearly all would share a few queues. So
 * they are stirred before, by a permutation, which leaves the bound as it is.
 */
#ifndef _AQM_FLOW_SPREAD_H
#define _AQM_FLOW_SPREAD_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FLOW_SPREAD_STIR	0x9e3779b1U	/* odd: 2^32 over the golden ratio */

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

#endif /* _AQM_FLOW_SPREAD_H */
