// SPDX-License-Identifier: GPL-2.0
/* flow_proportional.h against equations 3.4 and 3.5 in floating point. */
#include <math.h>

#include <aqm/fpq/flow_proportional.h>

#include "unit.h"

#define ONE	4294967296.0

static double target(double pipe, double n)
{
	return fmax(pipe / (2 * n - 1), 6 * n);
}

static double loss(double pipe, double q, double n)
{
	return fmin(pow(0.87 / ((q + pipe) / n + 1), 2), 0.021);
}

/* Values worked out by hand, for 155 Mb/s and 1 Gb/s with round trips of 100 ms. */
static void values_of_the_papers_links(void)
{
	static const struct { u32 pipe, n, target; double loss; } v[] = {
		{ 1292, 10, 68, 4.0e-5 }, { 1292, 50, 300, 7.0e-4 },
		{ 1292, 100, 600, 0.0019 }, { 1292, 300, 1800, 0.0059 },
		{ 8333, 100, 600, 9.4e-5 }, { 8333, 1000, 6000, 0.0032 },
	};
	bool same = true;
	u32 i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		double p = flow_proportional_loss(v[i].pipe, v[i].n) / ONE;

		same &= flow_proportional_target(v[i].pipe, v[i].n) == v[i].target &&
			fabs(p / v[i].loss - 1) < 0.03;
	}
	unit_ok(same, "targets and losses of 10 to 1000 flows");
}

static void agrees_with_the_equations(void)
{
	double q, p, worst = 0, largest = 0;
	bool same = true;
	u32 i, pipe, n;

	for (i = 0; i < 200000; i++) {
		pipe = 1 + (unit_random() % FLOW_PROPORTIONAL_PIPE >> unit_below(24));
		n = 1 + (unit_below(1 << 20) >> unit_below(20));
		q = flow_proportional_target(pipe, n);
		same &= q == floor(target(pipe, n));
		p = flow_proportional_loss(pipe, n) / ONE;
		worst = fmax(worst, fabs(p - loss(pipe, q, n)));
		largest = fmax(largest, p);
	}
	unit_ok(same, "the target is equation 3.4 in whole packets");
	unit_ok(worst < 2 / ONE, "the loss is equation 3.5 within 2^-31: %.2f 2^-32",
		worst * ONE);
	unit_ok(largest > 0.015 && largest < 0.0155, "it never comes near the cap: %.4f", largest);
}

UNIT_TESTS
{
	values_of_the_papers_links();
	agrees_with_the_equations();
}
