// SPDX-License-Identifier: GPL-2.0
/* measure.h: which packets are timed, and what is kept of their delays. */
#include <math.h>

#include <aqm/measure.h>

#include "unit.h"

static const char packets[2];	/* only their addresses count */

/* Count arrivals until one must be timed, that one included; 0 if @most do not suffice. */
static u32 until_due(struct delay_sample *d, u32 most)
{
	u32 n;

	for (n = 1; n <= most; n++)
		if (delay_due(d))
			return n;
	return 0;
}

static void time_one(struct delay_sample *d, u64 at, u64 delay)
{
	until_due(d, DELAY_SPACING + 1);
	delay_start(d, &packets[0], at);
	delay_end(d, at + delay);
}

static void one_packet_in_17_is_timed(void)
{
	struct delay_sample d = {};

	unit_ok(until_due(&d, 100) == 1, "the first packet is timed");
	delay_start(&d, &packets[0], 1000);
	unit_ok(!until_due(&d, 1000000), "no other while it is queued");
	unit_ok(delay_timed(&d, &packets[0]) && !delay_timed(&d, &packets[1]),
		"it is known when it departs");
	delay_end(&d, 3500);
	unit_ok(until_due(&d, 100) == 17, "then 16 are not timed");
	unit_ok(d.last == 2500 && d.max == 2500 && d.avg == 2500,
		"one delay is last, greatest and average");
}

static void a_lost_packet_is_replaced(void)
{
	struct delay_sample d = {};

	until_due(&d, 1);
	delay_start(&d, &packets[0], 0);
	delay_lost(&d, &packets[1]);
	unit_ok(delay_timed(&d, &packets[0]), "another's loss changes nothing");
	delay_lost(&d, &packets[0]);
	unit_ok(until_due(&d, 100) == 1, "after its loss the next is timed");
	delay_start(&d, &packets[0], 0);
	delay_reset(&d);
	unit_ok(!delay_timed(&d, &packets[0]) && until_due(&d, 100) == 1,
		"after a reset, too");
}

static void average_of_an_eighth(void)
{
	double avg = 0, worst = 0, max = 0;
	struct delay_sample d = {};
	u32 i;

	for (i = 0; i < 5000; i++) {
		u64 delay = unit_below(1 << (1 + unit_below(30)));

		time_one(&d, 1000ULL * i, delay);
		avg = i ? avg + (delay - avg) / 8 : delay;
		max = fmax(max, delay);
		worst = fmax(worst, fabs(d.avg - avg));
		if (d.last != delay || d.max != max)
			break;
	}
	unit_ok(i == 5000, "last and greatest delay");
	/* Each step rounds by less than 2 ns, and an eighth is forgotten. */
	unit_ok(worst < 16, "average: off by %.1f ns", worst);
}

static void the_average_never_begins_anew(void)
{
	struct delay_sample d = {};
	u32 i;

	time_one(&d, 0, 8000);
	for (i = 0; i < 4; i++)
		time_one(&d, 0, 0);
	/* 8000 * (7 / 8)^4 */
	unit_ok(fabs(d.avg - 4689.) < 8, "after 2^32 samples each counts for an eighth");
}

UNIT_TESTS
{
	one_packet_in_17_is_timed();
	a_lost_packet_is_replaced();
	average_of_an_eighth();
	the_average_never_begins_anew();
}
