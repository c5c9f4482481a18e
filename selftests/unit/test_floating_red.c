// SPDX-License-Identifier: GPL-2.0
/*
 * floating_red: section V's rule as the paper prints it, in floating point, and
 * what bounds add to it.
 */
#include <math.h>

#include <linux/kernel.h>
#include <aqm/redtail/floating_red.h>

#include "unit.h"

#define ONE	4294967296.	/* of Q0.32 */

/* An average with weight w of samples of 1 is 1 - (1 - w)^n after n of them. */
static void p_is_the_average_of_losses(void)
{
	bool close = true;
	double exact = 0;
	u32 loss = 0, i;

	for (i = 0; i < 200000; i++) {
		bool lost = unit_below(100) < (i / 20000 % 2 ? 30 : 2);

		loss = floating_red_loss(loss, lost);
		exact += (lost - exact) / 1024;
		close &= fabs(loss / ONE - exact) < 1 / 4194304.;
	}
	unit_ok(close, "within 2^-22 of the exact average");
	for (loss = 0, i = 0; i < 1024; i++)
		loss = floating_red_loss(loss, true);
	unit_ok(fabs(1 - exp(-1.) - loss / ONE) < 0.001, "1 - 1/e after 1024 losses in a row");
	for (i = 0; i < 20 * 1024; i++)
		loss = floating_red_loss(loss, true);
	unit_ok(loss / ONE > 0.999999, "near 1 if all are lost, and not beyond");
}

/* Any configuration and any losses, a thousand moves each. */
static void thresholds_move_as_in_section_v(void)
{
	bool papers = true, distance = true, bounded = true, stays = true, signs = true;
	u32 i, k, shown[3] = {};

	for (i = 0; i < 2000; i++) {
		struct gentle_red_params red = { .min_th = 1 + unit_below(1U << unit_below(29)) };
		struct floating_red_params p = {
			.low	= unit_random() / 2,
			.gamma	= 1 + unit_random() / (1 + unit_below(100)),
			.floor	= 1 + unit_below(red.min_th),
		};
		u32 d = 1 + unit_below(1U << unit_below(29));

		red.max_th = red.min_th + d;
		p.high = p.low + 1 + unit_below(1U << 31);
		p.ceiling = red.max_th + unit_below(1U << unit_below(30));
		for (k = 0; k < 1000; k++) {
			double min_th = red.min_th, to = min_th;
			double most = fmax(min_th * (p.gamma / ONE), 1);
			u32 loss = unit_random();
			s32 step = floating_red_move(&p, &red, loss);

			if (loss > p.high)
				to = fmin(min_th + most, p.ceiling - d);
			else if (loss < p.low)
				to = fmax(min_th - most, p.floor);
			else
				stays &= !step;
			papers &= fabs(red.min_th - to) <= 1;
			signs &= step == (s32)(red.min_th - (u32)min_th);
			distance &= red.max_th - red.min_th == d;
			bounded &= red.min_th >= p.floor && red.max_th <= p.ceiling;
			shown[step > 0 ? 2 : step < 0]++;
		}
	}
	unit_ok(papers, "up or down by gamma of min");
	unit_ok(stays, "not at all between low and high");
	unit_ok(signs, "what is returned is how far");
	unit_ok(distance, "their distance stays");
	unit_ok(bounded, "never beyond floor and ceiling");
	unit_ok(shown[0] && shown[1] && shown[2], "%u up, %u down, %u neither",
		shown[2], shown[1], shown[0]);
}

/* Each step is 1 with the least gamma, so both bounds are reached. */
static void every_threshold_can_be_moved(void)
{
	const struct floating_red_params p = {
		.low = 10, .high = 20, .gamma = 1, .floor = 2, .ceiling = 9,
	};
	struct gentle_red_params red = { .min_th = 4, .max_th = 6 };
	u32 i;

	unit_ok(floating_red_move(&p, &red, 30) == 1 && floating_red_move(&p, &red, 0) == -1 &&
		red.min_th == 4, "a step up and a step down");
	for (i = 0; i < 10; i++)
		floating_red_move(&p, &red, 30);
	unit_ok(red.min_th == 7 && red.max_th == 9, "up to the ceiling");
	for (i = 0; i < 10; i++)
		floating_red_move(&p, &red, 0);
	unit_ok(red.min_th == 2 && red.max_th == 4, "down to the floor");
}

static void a_change_keeps_them_where_they_are_within_the_new_bounds(void)
{
	const struct floating_red_params p = { .floor = 100, .ceiling = 1000 };
	struct gentle_red_params red;

	red = (struct gentle_red_params) { .min_th = 200, .max_th = 500 };
	floating_red_keep(&p, &red, 350);
	unit_ok(red.min_th == 350 && red.max_th == 650, "in between: there");
	red = (struct gentle_red_params) { .min_th = 200, .max_th = 500 };
	floating_red_keep(&p, &red, 50);
	unit_ok(red.min_th == 100 && red.max_th == 400, "below the floor: the floor");
	red = (struct gentle_red_params) { .min_th = 200, .max_th = 500 };
	floating_red_keep(&p, &red, 5000);
	unit_ok(red.min_th == 700 && red.max_th == 1000, "above the ceiling: the ceiling");
}

UNIT_TESTS
{
	p_is_the_average_of_losses();
	thresholds_move_as_in_section_v();
	every_threshold_can_be_moved();
	a_change_keeps_them_where_they_are_within_the_new_bounds();
}
