/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED's thresholds on the move: RED+Tail's dynamic thresholds, which trade delay
 * for fewer losses.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4, section V. With P the average of lost packets to
 * arrivals and d = max - min,
 *
 *	P > high:	min = min (1 + gamma), max = min + d
 *	P < low:	min = min (1 - gamma), max = min + d
 *
 * The paper has no bounds: here min does not fall below a floor nor max rise
 * above a ceiling. Its weight of an arrival in P is lost: 2^-10 here.
 *
 * Fixed point: P and gamma are Q0.32. A fold rounds P by less than 2^-32 in the
 * direction in which it moves less: P is within 2^-22 of exact. A step is rounded
 * down, but is 1 at least.
 *
 * Nothing here sees an sk_buff or a Qdisc.
 */
#ifndef _AQM_FLOATING_RED_H
#define _AQM_FLOATING_RED_H

#include <linux/minmax.h>
#include <linux/types.h>
#include <aqm/gentle_red.h>

#define FLOATING_RED_SHIFT	10	/* weight 2^-10 of an arrival in P */

/**
 * struct floating_red_params - configuration
 * @low: P below which the thresholds fall, Q0.32
 * @high: P above which they rise, Q0.32, above @low
 * @gamma: part of min in a step, Q0.32
 * @floor: least min, units of the thresholds
 * @ceiling: greatest max, units, below 2^31; the thresholds as configured lie
 *	between the two
 */
struct floating_red_params {
	u32	low;
	u32	high;
	u32	gamma;
	u32	floor;
	u32	ceiling;
};

/* P after an arrival. */
static inline u32 floating_red_loss(u32 loss, bool lost)
{
	return lost ? loss + ((U32_MAX - loss) >> FLOATING_RED_SHIFT) :
		      loss - (loss >> FLOATING_RED_SHIFT);
}

/* Move the thresholds of @red for P of @loss; by how much, units. */
static inline s32 floating_red_move(const struct floating_red_params *p,
				    struct gentle_red_params *red, u32 loss)
{
	u32 most = max_t(u32, ((u64)red->min_th * p->gamma) >> 32, 1);
	s32 step = 0;

	if (loss > p->high)
		step = min(most, p->ceiling - red->max_th);
	else if (loss < p->low)
		step = -(s32)min(most, red->min_th - p->floor);
	red->min_th += step;
	red->max_th += step;
	return step;
}

/* Other bounds: thresholds as configured go back to where @min_th has moved. */
static inline void floating_red_keep(const struct floating_red_params *p,
				     struct gentle_red_params *red, u32 min_th)
{
	u32 d = red->max_th - red->min_th;

	red->min_th = clamp(min_th, p->floor, p->ceiling - d);
	red->max_th = red->min_th + d;
}

#endif /* _AQM_FLOATING_RED_H */
