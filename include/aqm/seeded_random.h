/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reproducible random numbers from a seed.
 *
 * The generator is the kernel's prandom_u32_state() (four combined Tausworthe
 * registers, period 2^113), started by prandom_seed_state(). That fills all
 * four registers from one word and leaves the first outputs of small seeds
 * alike, so the first ten are thrown away, as the kernel does for its own
 * state. tests/oracle/seeded_random.py draws the same numbers.
 *
 * Not for secrets, because an observer of the drops can compute the state.
 */
#ifndef _AQM_SEEDED_RANDOM_H
#define _AQM_SEEDED_RANDOM_H

#include <linux/kernel.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/types.h>

#define SEEDED_RANDOM_DISCARD	10

/**
 * struct seeded_random - a sequence of random numbers
 * @state: state of the generator
 */
struct seeded_random {
	struct rnd_state	state;
};

/**
 * seeded_random_init() - start the sequence
 * @r: the sequence
 * @seed: the seed; 0: use the kernel's entropy
 */
static inline void seeded_random_init(struct seeded_random *r, u32 seed)
{
	int i;

	prandom_seed_state(&r->state, seed ? seed : get_random_u64());
	for (i = 0; i < SEEDED_RANDOM_DISCARD; i++)
		prandom_u32_state(&r->state);
}

/* Return a uniform random number from 0 to 2^32 - 1. */
static inline u32 seeded_random_u32(struct seeded_random *r)
{
	return prandom_u32_state(&r->state);
}

/* Return a number from 0 to @n - 1. Probabilities differ by at most n / 2^32, relatively. */
static inline u32 seeded_random_below(struct seeded_random *r, u32 n)
{
	return reciprocal_scale(prandom_u32_state(&r->state), n);
}

#endif /* _AQM_SEEDED_RANDOM_H */
