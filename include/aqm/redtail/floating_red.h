/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED+Tail's dynamic thresholds: they move with the loss rate, and trade delay
 * for fewer losses.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4, section V. With P the average of lost packets
 * to arrivals and d = max - min,
 *
 *	P > high:	min = min (1 + gamma), max = min + d
 *	P < low:	min = min (1 - gamma), max = min + d
 *
 * The paper has no bounds. Here min does not fall below a floor, and max does
 * not rise above a ceiling. The paper's text does not give the weight of an
 * arrival in P; we use 2^-10.
 *
 * Fixed point: P and gamma are Q0.32. A sample rounds P by less than 2^-32
 * towards its old value, so P is within 2^-22 of exact. A step is rounded down,
 * but is at least 1.
 *
 * This header uses no sk_buff and no Qdisc.
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
 * @gamma: step as a fraction of min, Q0.32
 * @floor: lower bound of min, units of the thresholds
 * @ceiling: upper bound of max, units, below 2^31; the configured thresholds are
 *	within the two bounds
 */
struct floating_red_params {
	u32	low;
	u32	high;
	u32	gamma;
	u32	floor;
	u32	ceiling;
};

/* Return P after an arrival that was @lost or not. */
static inline u32 floating_red_loss(u32 loss, bool lost)
{
	return lost ? loss + ((U32_MAX - loss) >> FLOATING_RED_SHIFT) :
		      loss - (loss >> FLOATING_RED_SHIFT);
}

/* Move the thresholds of @red for a P of @loss. Return: the step, units. */
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

/* Move newly configured thresholds to @min_th, as far as the bounds allow. */
static inline void floating_red_keep(const struct floating_red_params *p,
				     struct gentle_red_params *red, u32 min_th)
{
	u32 d = red->max_th - red->min_th;

	red->min_th = clamp(min_th, p->floor, p->ceiling - d);
	red->max_th = red->min_th + d;
}

#endif /* _AQM_FLOATING_RED_H */
