// SPDX-License-Identifier: GPL-2.0
/* standing_delay.h against exact arithmetic, and against a count of CoDel's intervals. */
#include <aqm/tdrr/standing_delay.h>
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

static void rate(u64 rate)
{
	standing_delay_set(&sd, rate, TARGET, LEAST);
}

/* The MTU of the device can change while the rate stays. */
static void test_least(void)
{
	start();
	rate(1000);
	unit_ok(!standing_delay_is_long(&sd, LEAST), "two packets are never too long");
	standing_delay_set(&sd, 1000, TARGET, 3 * LEAST);
	unit_ok(!standing_delay_is_long(&sd, 3 * LEAST), "two larger packets neither");
	standing_delay_set(&sd, 1000, TARGET, LEAST);
	unit_ok(standing_delay_is_long(&sd, 3 * LEAST), "but for small ones they are");
	standing_delay_set(&sd, 0, TARGET, LEAST);
	unit_ok(!standing_delay_is_long(&sd, U32_MAX), "nothing is too long at an unknown rate");
}

static void test_rate(void)
{
	start();
	unit_ok(!standing_delay_is_long(&sd, U32_MAX) && !standing_delay_of(0, 1000),
		"no delay is too long before the rate is known");
	rate(1500000);
	unit_ok(standing_delay_of(1500000, 15000) == 10 * MS, "15000 bytes take 10 ms");
	unit_ok(standing_delay_is_long(&sd, 7501) && !standing_delay_is_long(&sd, 7500),
		"5 ms are 7500 bytes");
	rate(1ULL << 40);
	unit_ok(sd.limit == (1ULL << 40) / 200, "the largest rate does not overflow");
	rate(1);
	unit_ok(sd.limit == LEAST, "on a slow link the least backlog is not too long");
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
		rate(6000000);
		n = signals(counts[i], MS / 100, 1100 * MS, &first);
		pass &= first == 100 * MS;
		/* in 1 s, each late by less than a gap */
		pass &= n <= 10 * counts[i] && n + 1 >= counts[i] * 98 / 10;
	}
	unit_ok(pass, "the first signal after 100 ms, then one per queue in 100 ms");

	start();
	rate(6000000);
	unit_ok(!signals(16, MS, 100 * MS, &first) && !standing_delay_is_long(&sd, 100) &&
		!signals(16, MS, 100 * MS, &first),
		"one departure without delay starts the 100 ms again");
	n = signals(65536, MS, 100 * MS, &first);
	unit_ok(n == 100, "at most one signal per departure");
}

UNIT_TESTS
{
	test_least();
	test_rate();
	test_signals();
}
