// SPDX-License-Identifier: GPL-2.0
/* round_trip.h against arithmetic with numbers by hand. */
#include <aqm/tdrr/round_trip.h>
#include "unit.h"

#define MS	1000000ULL	/* ns */
#define LONGEST	100000U		/* us */

/* The average after a handshake of @ns that began at @from. */
static u32 timed(u32 average, u64 from, u64 ns)
{
	return round_trip_count(average, round_trip_gone(round_trip_start(from), from + ns),
				LONGEST);
}

/* A start is rounded to 2.048 us. */
static bool near(u32 us, u32 expected)
{
	return us + 3 >= expected && us <= expected + 3;
}

static void test_samples(void)
{
	u64 turns[] = { 0, 1, 5 * MS, (1ULL << 42) - MS, 1ULL << 42, 1ULL << 62 };
	bool pass = true;

	for (int i = 0; i < 6; i++)
		pass &= near(timed(0, turns[i], 10 * MS), 10000);
	unit_ok(pass, "the first handshake is the average, at any time of the clock");
	unit_ok(timed(0, MS, 0) >= 1 && timed(0, MS, 0) <= 3, "and never 0, which is none");
	unit_ok(timed(0, MS, 1500 * MS) == LONGEST, "at most the longest memory");
	unit_ok(!round_trip_has_start(0) && !round_trip_has_start(1) &&
		!round_trip_has_start(U32_MAX), "the mark of a signal is no start");
	for (int i = 0; i < 6; i++)
		pass &= round_trip_has_start(round_trip_start(turns[i]));
	unit_ok(pass, "a start is one");
}

static void test_average(void)
{
	u32 average = 80000;

	unit_ok(near(timed(8000, MS, 16 * MS), 9000), "8 ms and one of 16: 9 ms");
	unit_ok(near(timed(16000, MS, 8 * MS), 15000), "16 ms and one of 8: 15 ms");
	/* 7/8 to the 16th power is 0.118. */
	for (int i = 0; i < 16; i++)
		average = timed(average, MS, 0);
	unit_ok(average > 9400 && average < 9500, "16 short ones leave 0.118 of 80 ms");
	for (int i = 0; i < 100; i++)
		average = timed(average, MS, 50 * MS);
	unit_ok(near(average, 50000), "a round trip that stays is reached");
}

static void test_memory(void)
{
	unit_ok(round_trip_memory(10000, 0, 1000, LONGEST) == 20000, "two round trips");
	unit_ok(round_trip_memory(3, 0, 1000, LONGEST) == 1000, "at least the least");
	unit_ok(round_trip_memory(50001, 0, 1000, LONGEST) == LONGEST, "at most the longest");
	unit_ok(round_trip_memory(U32_MAX, 0, 1000, U32_MAX) == U32_MAX, "without overflow");
	unit_ok(round_trip_memory(1000, 30 * MS, 1000, LONGEST) == 62000,
		"1 ms and a delay of 30: 62 ms");
	unit_ok(round_trip_memory(1000, 999, 1000, LONGEST) == 2000 &&
		round_trip_memory(1000, 1000, 1000, LONGEST) == 2002, "a delay counts in whole us");
	unit_ok(round_trip_memory(1000, U64_MAX, 1000, LONGEST) == LONGEST,
		"at most the longest, with any delay");
}

static void test_tolerance(void)
{
	unit_ok(!round_trip_memory_is_off(16000, 17000) &&
		!round_trip_memory_is_off(16000, 15000), "a sixteenth off is near enough");
	unit_ok(round_trip_memory_is_off(16000, 17001) &&
		round_trip_memory_is_off(16000, 14999), "more is not");
	unit_ok(round_trip_memory_is_off(1000, LONGEST) &&
		round_trip_memory_is_off(LONGEST, 1000), "from least to longest, and back");
	unit_ok(!round_trip_memory_is_off(LONGEST, LONGEST), "and the same is none off");
}

UNIT_TESTS
{
	test_samples();
	test_average();
	test_memory();
	test_tolerance();
}
