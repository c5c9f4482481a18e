/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The level of a flow: the logarithm of its throughput, in 31 bits.
 *
 * <aqm/tdrr/throughput_index.h> stores a throughput as units * 2^half_life. Its level has
 * the number of the octave of this product, modulo 2^12, and the FLOW_LEVEL_BITS bits that
 * follow its highest one. So a level stays as it is while the throughput decays, and the
 * level of one unit rises by an octave in each half-life.
 *
 * A level counts as 0 if it is not above that of one unit now. After 4032 idle half-lives
 * it can seem high for 64 half-lives. We accept this.
 */
#ifndef _AQM_FLOW_LEVEL_H
#define _AQM_FLOW_LEVEL_H

#include <linux/bits.h>
#include <linux/types.h>

#define FLOW_LEVEL_BITS		19
#define FLOW_LEVEL_OCTAVES	64U	/* from one unit to the highest throughput */
#define FLOW_LEVELS		BIT(31)	/* levels are modulo this */

/* Return how far a level is above @now, the level of one unit; 0 if it has decayed. */
static inline u32 flow_level_above(u32 level, u32 now)
{
	u32 above = (level - now) % FLOW_LEVELS;

	return above >> FLOW_LEVEL_BITS < FLOW_LEVEL_OCTAVES ? above : 0;
}

#endif /* _AQM_FLOW_LEVEL_H */
