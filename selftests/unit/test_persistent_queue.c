// SPDX-License-Identifier: GPL-2.0
/*
 * persistent_queue: ABSMIN against a scan over the queue's whole history, EWMA
 * and EWMA' against the recursion in floating point.
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

/*
 * Small packets are sent at once, so every arrival finds the queue empty after less
 * than a packet's time. The estimate must fall as if no packet had arrived. Only the
 * time during which the queue held a packet may make a difference.
 */
static void an_empty_queue_forgets_whatever_comes(enum persistent_queue_estimator e)
{
	u64 now = 1000, busy = 0, empty;
	struct persistent_queue_params p;
	struct persistent_queue pq;
	double left;

	persistent_queue_set(&p, e, INTERVAL, 8333);
	persistent_queue_init(&pq);
	pq.estimate = 1000ULL << 32;
	persistent_queue_departure(&pq, &p, 1000, 1, now);
	for (; now < 5 * INTERVAL; now += 1 + unit_below(11000)) {
		u64 sent = now + unit_below(300);

		persistent_queue_arrival(&pq, &p, 0, 1, now);
		persistent_queue_departure(&pq, &p, 0, 1, sent);
		busy += sent - now;
		now = sent;
	}
	empty = now - busy;
	left = real(pq.estimate) / 1000 / exp(-(double)empty / INTERVAL);
	unit_ok(e == PERSISTENT_QUEUE_EWMA ? fabs(left - 1) < 0.01 : !pq.estimate,
		"estimator %u: an average dies away under packets sent at once (%.4f)", e, left);
	for (; now < 15 * INTERVAL; now += 10000) {
		persistent_queue_arrival(&pq, &p, 0, 1, now);
		persistent_queue_departure(&pq, &p, 0, 1, now);
	}
	unit_ok(real(pq.estimate) < 0.05,
		"estimator %u: of 1000 packets %.4f are left after ten intervals of nothing", e,
		real(pq.estimate));
}

static void a_change_keeps_the_estimate(void)
{
	struct persistent_queue_params old, new;
	bool kept = true, carries = true;
	struct persistent_queue pq;
	int from, to;

	for (from = PERSISTENT_QUEUE_ABSMIN; from <= PERSISTENT_QUEUE_EWMA_DRAIN; from++) {
		for (to = PERSISTENT_QUEUE_ABSMIN; to <= PERSISTENT_QUEUE_EWMA_DRAIN; to++) {
			u64 now = 10 * INTERVAL;
			u64 before;

			persistent_queue_set(&old, from, INTERVAL, 833);
			persistent_queue_set(&new, to, 2 * INTERVAL, 1667);
			persistent_queue_init(&pq);
			persistent_queue_advance(&pq, &old, 77, now - 1);
			pq.estimate = 77ULL << 32;
			persistent_queue_change(&pq, &old, &new, 80, now);
			before = pq.estimate;
			kept &= before == 77ULL << 32;
			/* One packet comes, time passes: no jump. */
			persistent_queue_arrival(&pq, &new, 80, 1, now + INTERVAL / 4);
			carries &= real(pq.estimate) >= 77 && real(pq.estimate) <= 80;
		}
	}
	unit_ok(kept, "a change of estimator and interval keeps the estimate");
	unit_ok(carries, "and the new estimator goes on from it");
}

/* What a change must not lose, and must not invent. */
static void a_change_happens_at_its_time(void)
{
	struct persistent_queue_params old, new;
	struct persistent_queue pq;
	u64 now = 1000 * FIFTEENTH + 77, end;

	persistent_queue_set(&old, PERSISTENT_QUEUE_ABSMIN, INTERVAL, 833);
	persistent_queue_set(&new, PERSISTENT_QUEUE_ABSMIN, 3 * INTERVAL / 2, 1250);
	persistent_queue_init(&pq);
	persistent_queue_arrival(&pq, &old, 0, 50, now);
	persistent_queue_change(&pq, &old, &new, 50, now + 2 * INTERVAL);
	unit_ok(pq.estimate == 50ULL << 32,
		"a queue that stood for two intervals up to the change is the estimate");

	/* It drops to 20: the first fifteenth that has 20 throughout ends at a multiple. */
	now += 2 * INTERVAL;
	persistent_queue_departure(&pq, &new, 20, 30, now);
	end = (now / new.fifteenth + 1) * new.fifteenth;
	persistent_queue_advance(&pq, &new, 20, end - 1);
	unit_ok(pq.estimate == 50ULL << 32, "up to the next multiple of the new fifteenth: 50");
	persistent_queue_advance(&pq, &new, 20, end);
	unit_ok(pq.estimate == 20ULL << 32, "from there on 20");

	/* A dip in the fifteenth under way is not lost by a change of nothing. */
	persistent_queue_departure(&pq, &new, 5, 15, end + 10);
	persistent_queue_arrival(&pq, &new, 5, 15, end + 20);
	persistent_queue_change(&pq, &new, &new, 20, end + 30);
	persistent_queue_advance(&pq, &new, 20, end + new.fifteenth);
	unit_ok(pq.estimate == 5ULL << 32, "a change of nothing changes nothing");

	/* The average does not include idle time before it started. */
	now = end + 20 * INTERVAL + new.fifteenth / 2;
	persistent_queue_departure(&pq, &new, 0, 20, now);
	pq.estimate = 77ULL << 32;
	persistent_queue_set(&old, PERSISTENT_QUEUE_EWMA, 3 * INTERVAL / 2, 1250);
	persistent_queue_change(&pq, &new, &old, 0, now);
	persistent_queue_advance(&pq, &old, 0, now);
	unit_ok(pq.estimate == 77ULL << 32, "an average begins to decay when it begins");
}

/* Several packets at once are as many of the wire. */
static void packets_at_once_count_as_many(void)
{
	struct persistent_queue_params p;
	struct persistent_queue a, b;
	double worst = 0;
	int i, k;

	persistent_queue_set(&p, PERSISTENT_QUEUE_ABSMIN, INTERVAL, 833);
	persistent_queue_init(&a);
	persistent_queue_arrival(&a, &p, 0, 40, 1000);
	persistent_queue_departure(&a, &p, 0, 40, 1000 + 3 * INTERVAL);
	unit_ok(a.estimate == 40ULL << 32,
		"ABSMIN: 40 packets that stood and left at once were 40 until then");

	persistent_queue_set(&p, PERSISTENT_QUEUE_EWMA, INTERVAL, 833);
	persistent_queue_init(&a);
	persistent_queue_init(&b);
	for (i = 0; i < 2000; i++) {
		u32 q = 1 + unit_below(2000), packets = 1 + unit_below(45);

		persistent_queue_arrival(&a, &p, q, packets, INTERVAL);
		for (k = 0; k < (int)packets; k++)
			persistent_queue_arrival(&b, &p, q, 1, INTERVAL);
		worst = fmax(worst, fabs(real(a.estimate) / real(b.estimate) - 1));
	}
	unit_ok(worst < 1e-6, "averages: as if each came by itself (worst %.2g)", worst);
}

/*
 * The discipline reads the clock only where persistent_queue_steady_until() and
 * persistent_queue_changes() say that it must.
 */
static void calls_that_may_be_left_out_change_nothing(enum persistent_queue_estimator e)
{
	u32 i, q = 0, wrong_arrivals = 0, wrong_departures = 0, late = 0, left_out = 0;
	u32 moved = 0;
	struct persistent_queue pq, before;
	struct persistent_queue_params p;
	u64 now = INTERVAL;

	persistent_queue_set(&p, e, INTERVAL, 833);
	persistent_queue_init(&pq);
	for (i = 0; i < EVENTS; i++) {
		now += gap();
		before = pq;
		if (unit_below(2)) {
			bool stands = now < persistent_queue_steady_until(&pq, &p);

			persistent_queue_arrival(&pq, &p, q++, 1, now);
			left_out += stands;
			wrong_arrivals += stands && memcmp(&pq, &before, sizeof(pq));
			late += e == PERSISTENT_QUEUE_ABSMIN &&
				persistent_queue_steady_until(&pq, &p) - now - 1 >= FIFTEENTH;
		} else if (q) {
			u64 until = persistent_queue_steady_until(&pq, &p);
			u64 was = pq.estimate;
			bool notes;

			/* Passing time alone may change the estimate. */
			persistent_queue_advance(&pq, &p, q--, now);
			notes = persistent_queue_changes(&pq, &p, q);
			before = pq;
			persistent_queue_departure(&pq, &p, q, 1, now);
			if (q)
				wrong_departures += notes != !!memcmp(&pq, &before, sizeof(pq));
			moved += now < until &&
				 (pq.estimate != was ||
				  persistent_queue_steady_until(&pq, &p) != until);
		}
	}
	unit_ok(!wrong_arrivals && (left_out > EVENTS / 4) == (e == PERSISTENT_QUEUE_ABSMIN),
		"estimator %d: %u arrivals left out, %u of them wrongly", e, left_out,
		wrong_arrivals);
	unit_ok(!moved, "estimator %d: %u departures move an estimate that is steady", e, moved);
	unit_ok(!late, "estimator %d: %u times the next end of a fifteenth is not recorded", e,
		late);
	unit_ok(!wrong_departures, "estimator %d: %u departures recorded wrongly", e,
		wrong_departures);
}

UNIT_TESTS
{
	absmin_is_that_of_a_scan();
	ewma_is_the_recursion(10, false);
	ewma_is_the_recursion(833, false);
	ewma_is_the_recursion(8333, true);
	ewma_is_the_recursion(100000, true);
	idle_forgets_in_intervals();
	an_empty_queue_forgets_whatever_comes(PERSISTENT_QUEUE_EWMA);
	an_empty_queue_forgets_whatever_comes(PERSISTENT_QUEUE_EWMA_DRAIN);
	an_empty_queue_forgets_whatever_comes(PERSISTENT_QUEUE_ABSMIN);
	a_change_keeps_the_estimate();
	a_change_happens_at_its_time();
	packets_at_once_count_as_many();
	calls_that_may_be_left_out_change_nothing(PERSISTENT_QUEUE_ABSMIN);
	calls_that_may_be_left_out_change_nothing(PERSISTENT_QUEUE_EWMA);
	calls_that_may_be_left_out_change_nothing(PERSISTENT_QUEUE_EWMA_DRAIN);
}
