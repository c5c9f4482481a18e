// SPDX-License-Identifier: GPL-2.0
/* standing_delay.h against exact rates, and against a count of CoDel's intervals. */
#include <aqm/standing_delay.h>
#include "unit.h"

#define TARGET	5000U		/* us */
#define LEAST	3028U		/* bytes */
#define MS	1000000ULL

static struct standing_delay sd;
static u64 now;

static void start(void)
{
	standing_delay_init(&sd);
	now = 5 * MS;
}

/* Packets of @bytes leave every @gap ns, for @time ns. The qdisc stays busy. */
static void busy(u32 bytes, u64 gap, u64 time)
{
	u64 end = now + time;

	for (; now < end; now += gap)
		standing_delay_sent(&sd, bytes, now, true, TARGET, LEAST);
}

/* @part: of a million */
static bool near(u64 value, u64 want, u64 part)
{
	u64 slack = div_u64(want * part, 1000000) + 1;

	return value <= want + slack && value + slack >= want;
}

static void test_rate(void)
{
	u64 was;

	start();
	unit_ok(!standing_delay_is_long(&sd, U32_MAX) && !standing_delay_of(&sd, 1000),
		"no delay is too long before the rate is known");
	busy(1500, MS, 9 * MS);
	unit_ok(!sd.rate, "9 ms are no sample");
	busy(1500, MS, 2 * MS);
	unit_ok(sd.rate == 1500000, "10 ms are one, and the rate is exact");
	unit_ok(standing_delay_of(&sd, 15000) == 10 * MS, "15000 bytes take 10 ms");
	unit_ok(standing_delay_is_long(&sd, 7501) && !standing_delay_is_long(&sd, 7500),
		"5 ms are 7500 bytes");

	standing_delay_sent(&sd, 1500, now, false, TARGET, LEAST);
	was = sd.rate;
	now += 3000 * MS;
	busy(1500, MS, 25 * MS);
	unit_ok(sd.rate == was, "a pause without packets does not change the rate");

	/* each of 8 samples of half the rate leaves 7/8 of the difference: (7/8)^8 * 750000 */
	busy(750, MS, 80 * MS);
	unit_ok(near(sd.rate, 750000 + 257707, 20000),
		"half the speed is known after eighths of the difference");
	busy(750, MS, 2000 * MS);
	unit_ok(near(sd.rate, 750000, 100), "and in the end exactly");
}

static void test_corners(void)
{
	start();
	busy(U32_MAX, 2, 11 * MS);
	unit_ok(near(sd.rate, 1717986918400, 1000), "the largest rate does not overflow");
	unit_ok(sd.limit == sd.rate / 200, "nor does the backlog of the target");
	start();
	busy(0, MS, 30 * MS);
	unit_ok(sd.rate == 1 && sd.limit == LEAST, "packets without bytes give the least rate");
	start();
	busy(64, 40 * MS, 400 * MS);
	unit_ok(near(sd.rate, 1600, 1000) && sd.limit == LEAST,
		"on a slow link the least backlog is not too long");
	standing_delay_sent(&sd, 64, now + 4000000 * MS, true, TARGET, LEAST);
	unit_ok(sd.rate < 1600 && sd.rate >= 1399, "a parent that stops for an hour is one sample");
}

/* Signals in @time at a long delay, with a departure every @gap ns. */
static u32 signals(u32 queues, u64 gap, u64 time, u64 *first)
{
	u64 begin = now, end = now + time;
	u32 n = 0;

	for (; now < end; now += gap) {
		if (!standing_delay_is_long(&sd, U32_MAX))
			continue;
		if (standing_delay_due(&sd, queues, now) && !n++)
			*first = now - begin;
	}
	return n;
}

static void test_signals(void)
{
	static const u32 counts[] = { 1, 3, 16, 100 };
	u64 first = 0;
	bool pass = true;
	u32 n;

	for (int i = 0; i < 4; i++) {
		start();
		busy(1500, MS / 4, 11 * MS);
		n = signals(counts[i], MS / 100, 1100 * MS, &first);
		pass &= first == 100 * MS;
		/* in 1 s, each late by less than a gap */
		pass &= n <= 10 * counts[i] && n + 1 >= counts[i] * 98 / 10;
	}
	unit_ok(pass, "the first signal after 100 ms, then one per queue in 100 ms");

	start();
	busy(1500, MS / 4, 11 * MS);
	unit_ok(!signals(16, MS, 100 * MS, &first) && !standing_delay_is_long(&sd, 100) &&
		!signals(16, MS, 100 * MS, &first),
		"one departure without delay starts the 100 ms again");
	n = signals(65536, MS, 100 * MS, &first);
	unit_ok(n == 100, "at most one signal per departure");
}

UNIT_TESTS
{
	test_rate();
	test_corners();
	test_signals();
}
