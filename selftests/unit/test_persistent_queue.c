// SPDX-License-Identifier: GPL-2.0
/*
 * persistent_queue: ABSMIN against a scan over the queue's whole history, EWMA
 * and EWMA' against the recursion in floating point. tests/oracle/tworegionred compares
 * every estimate, also after changes, and of several packets at once.
 */
#include <math.h>

#include <aqm/2regionred/persistent_queue.h>

#include "unit.h"

#define INTERVAL	100000000ULL	/* ns */
#define FIFTEENTH	(INTERVAL / 15)
#define EVENTS		20000

/* Length of the queue from at[i] to at[i + 1]. */
static u64 at[EVENTS + 1];
static u32 length[EVENTS + 1];

static double real(u64 x)
{
	return x / 4294967296.;
}

/* From nanoseconds to many intervals: all that a link can do to a queue. */
static u64 gap(void)
{
	switch (unit_below(200)) {
	case 0:
		return (u64)unit_below(40) * FIFTEENTH + unit_below(1000);
	case 1:
		return unit_below(3) * FIFTEENTH;
	default:
		return unit_below(400000);
	}
}

/* The least length in the 15 fifteenths that have ended by @now. */
static u32 oracle_absmin(int events, u64 now)
{
	u64 end = now / FIFTEENTH * FIFTEENTH;
	u64 start = end < 15 * FIFTEENTH ? 0 : end - 15 * FIFTEENTH;
	u32 least = U32_MAX;
	int i;

	if (end < 15 * FIFTEENTH)
		return 0;	/* empty before the start */
	/* From the last event at or before start up to end. */
	for (i = events; i > 0 && at[i] > start; i--)
		;
	for (; i <= events && at[i] < end; i++)
		if ((i == events ? now : at[i + 1]) > start && length[i] < least)
			least = length[i];
	return least;
}

/*
 * A departure that leaves no new least is not recorded: it counts as if it came with
 * the event before it.
 */
static void absmin_is_that_of_a_scan(void)
{
	struct persistent_queue_params p;
	u32 recorded = 0, ignored = 0;
	struct persistent_queue pq;
	bool same = true, risen = false;
	u32 q = 0, bias = 0;
	u64 now = 0;
	int i;

	persistent_queue_set(&p, PERSISTENT_QUEUE_ABSMIN, INTERVAL, 833);
	persistent_queue_init(&pq);
	for (i = 1; i <= EVENTS; i++) {
		now += gap() + 1;
		if (!(i % 2000))
			bias = unit_below(3);
		at[i] = now;
		if (!q || unit_below(4) >= 1 + bias) {
			persistent_queue_arrival(&pq, &p, q, 1, now);
			q++;
		} else if (persistent_queue_changes(&pq, &p, --q)) {
			persistent_queue_departure(&pq, &p, q, 1, now);
			recorded++;
		} else {
			at[i] = at[i - 1];
			ignored++;
		}
		length[i] = q;
		same &= pq.estimate == (u64)oracle_absmin(i, at[i]) << 32;
		risen |= pq.estimate > 100ULL << 32;
	}
	unit_ok(risen, "the history has a persistent queue of over 100 packets");
	unit_ok(recorded > 1000 && ignored > 1000,
		"%u departures are recorded, %u are not", recorded, ignored);
	unit_ok(same, "ABSMIN is the least length of the 15 fifteenths that have ended");

	persistent_queue_advance(&pq, &p, q, now + 20 * INTERVAL);
	unit_ok(pq.estimate == (u64)q << 32,
		"a queue that stood for longer than the interval is the estimate");
}

/*
 * An average in floating point, which decays continuously while the queue is
 * empty: the header, which counts in whole packets, may lag by one of them.
 */
static void ewma_is_the_recursion(u32 pipe, bool drain)
{
	double w = 1 - exp(-1. / pipe), avg = 0, worst = 0, highest = 0;
	struct persistent_queue_params p;
	struct persistent_queue pq;
	u64 now = 0, since = 0;
	bool above = false;
	u32 q = 0;
	int i;

	persistent_queue_set(&p, drain ? PERSISTENT_QUEUE_EWMA_DRAIN :
			     PERSISTENT_QUEUE_EWMA, INTERVAL, pipe);
	persistent_queue_init(&pq);
	for (i = 0; i < 200000; i++) {
		/* Fill for a while, drain for a while, now and then sit idle. */
		u32 filling = (i / 3000) % 2 == 0;

		now += unit_below(INTERVAL / pipe * 2 + 1);
		if (!q && !unit_below(50))
			now += unit_below(2 * INTERVAL);
		if (q && unit_below(3) >= 1 + filling) {
			q--;
			if (persistent_queue_changes(&pq, &p, q))
				persistent_queue_departure(&pq, &p, q, 1, now);
			if (drain && avg > q)
				avg = q;
			if (!q)
				since = now;
		} else {
			if (!q)
				avg *= pow(1 - w, (double)(now - since) * pipe / INTERVAL);
			else
				avg += w * (q - avg);
			persistent_queue_arrival(&pq, &p, q, 1, now);
			q++;
		}
		highest = fmax(highest, avg);
		worst = fmax(worst, fabs(real(pq.estimate) - avg) / fmax(avg, 1));
		above |= drain && real(pq.estimate) > q;
	}
	unit_ok(highest > 20, "pipe %u: the average reaches %.1f packets", pipe, highest);
	unit_ok(worst < w + 0.00001 + pipe / 4294967296.,
		"pipe %u, %s: the recursion's average (worst %.2g)", pipe,
		drain ? "EWMA'" : "EWMA", worst);
	if (drain)
		unit_ok(!above, "EWMA' is never above the queue");
}

/* A queue that empties and stays so: e^-1 of the average after one interval. */
static void idle_forgets_in_intervals(void)
{
	struct persistent_queue_params p;
	struct persistent_queue pq;
	double left;

	persistent_queue_set(&p, PERSISTENT_QUEUE_EWMA, INTERVAL, 8333);
	persistent_queue_init(&pq);
	pq.estimate = 1000ULL << 32;
	persistent_queue_departure(&pq, &p, 0, 1, 1000);
	persistent_queue_advance(&pq, &p, 0, 1000 + INTERVAL);
	left = real(pq.estimate);
	unit_ok(fabs(left / (1000 / M_E) - 1) < 0.001,
		"an empty queue's average falls to 1/e in one interval (%.2f of 1000)", left);
	persistent_queue_advance(&pq, &p, 0, 1000 + 1000 * INTERVAL);
	unit_ok(!pq.estimate, "and to 0 in a thousand");

	/* Arrivals that find it empty and are dropped must not hold it up. */
	pq.estimate = 1000ULL << 32;
	pq.since = 0;
	for (u64 now = 0; now < 2 * INTERVAL; now += 100)
		persistent_queue_arrival(&pq, &p, 0, 1, now);
	left = real(pq.estimate);
	unit_ok(fabs(left / (1000 / M_E / M_E) - 1) < 0.001,
		"also under arrivals that never queue (%.2f)", left);
}

UNIT_TESTS
{
	absmin_is_that_of_a_scan();
	ewma_is_the_recursion(10, false);
	ewma_is_the_recursion(833, false);
	ewma_is_the_recursion(8333, true);
	ewma_is_the_recursion(100000, true);
	idle_forgets_in_intervals();
}
