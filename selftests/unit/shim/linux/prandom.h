/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's seeded generator: L'Ecuyer's LFSR113 (1999), table 1. */
#ifndef SHIM_LINUX_PRANDOM_H
#define SHIM_LINUX_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
	u32 s1, s2, s3, s4;
};

/* One register: @keep bits of it survive a step. */
static inline u32 shim_tausworthe(u32 s, int q, int shift, int keep, int step)
{
	u32 mask = ~0U << (32 - keep);

	return ((s & mask) << step) ^ (((s << q) ^ s) >> shift);
}

static inline u32 prandom_u32_state(struct rnd_state *r)
{
	r->s1 = shim_tausworthe(r->s1, 6, 13, 31, 18);
	r->s2 = shim_tausworthe(r->s2, 2, 27, 29, 2);
	r->s3 = shim_tausworthe(r->s3, 13, 21, 28, 7);
	r->s4 = shim_tausworthe(r->s4, 3, 12, 25, 13);
	return r->s1 ^ r->s2 ^ r->s3 ^ r->s4;
}

/* A register is stuck at 0 below 2, 8, 16 and 128. */
static inline void prandom_seed_state(struct rnd_state *r, u64 seed)
{
	u32 x = (seed >> 32) ^ (seed << 10) ^ seed;

	r->s1 = x < 2 ? x + 2 : x;
	r->s2 = x < 8 ? x + 8 : x;
	r->s3 = x < 16 ? x + 16 : x;
	r->s4 = x < 128 ? x + 128 : x;
}

#endif
