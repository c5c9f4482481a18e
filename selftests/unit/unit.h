/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the userspace tests of include/aqm share: TAP output, and random numbers
 * from a seed that is printed. A test program takes the seed as its argument.
 */
#ifndef SELFTESTS_UNIT_H
#define SELFTESTS_UNIT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/types.h>

static int unit_tests, unit_failures;
static u64 unit_state;

/* splitmix64 */
static inline u64 unit_random(void)
{
	u64 z = (unit_state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline u32 unit_below(u32 n)
{
	return ((unit_random() >> 32) * n) >> 32;
}

static inline void unit_start(int argc, char **argv)
{
	unit_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	printf("TAP version 13\n# seed %llu\n", unit_state);
}

/* One TAP line; the promise is a format. */
__attribute__((format(printf, 2, 3)))
static inline void unit_ok(bool ok, const char *promise, ...)
{
	va_list ap;

	printf("%sok %d - ", ok ? "" : "not ", ++unit_tests);
	va_start(ap, promise);
	vprintf(promise, ap);
	va_end(ap);
	putchar('\n');
	unit_failures += !ok;
}

static inline int unit_end(void)
{
	printf("1..%d\n", unit_tests);
	return unit_failures ? 1 : 0;
}

#endif
