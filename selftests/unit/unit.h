/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of include/aqm share. In user space a test is a program that prints
 * TAP and takes a seed as its argument. In the kernel, for tests without floating
 * point, it is a KUnit suite.
 */
#ifndef SELFTESTS_UNIT_H
#define SELFTESTS_UNIT_H

#include <linux/types.h>

static u64 unit_state = 1;

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

/* Run all tests of the file. The macro UNIT_TESTS starts the function's body. */
static void unit_run(void);

#ifdef __KERNEL__

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>

#define malloc(size)		kvmalloc(size, GFP_KERNEL)
#define calloc(n, size)		kvcalloc(n, size, GFP_KERNEL)
#define free(p)			kvfree(p)

static struct kunit *unit_test;

/* The promise is a format. */
#define unit_ok(ok, ...)	KUNIT_EXPECT_TRUE_MSG(unit_test, ok, __VA_ARGS__)

static void all(struct kunit *test)
{
	unit_test = test;
	unit_run();
}

static struct kunit_case unit_cases[] = { KUNIT_CASE(all), {} };
static struct kunit_suite unit_suite = {
	.name		= KBUILD_MODNAME,
	.test_cases	= unit_cases,
};

#define UNIT_TESTS						\
	kunit_test_suite(unit_suite);				\
	MODULE_DESCRIPTION("A test of a header of include/aqm");	\
	MODULE_LICENSE("GPL");					\
	static void unit_run(void)

#else

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit_tests, unit_failures;
static bool unit_more __attribute__((unused));	/* a second argument was given */

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

int main(int argc, char **argv)
{
	if (argc > 1)
		unit_state = strtoull(argv[1], NULL, 0);
	unit_more = argc > 2;
	printf("TAP version 13\n# seed %llu\n", unit_state);
	unit_run();
	printf("1..%d\n", unit_tests);
	return unit_failures ? 1 : 0;
}

#define UNIT_TESTS		static void unit_run(void)

#endif
#endif
