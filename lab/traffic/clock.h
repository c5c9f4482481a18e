/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clock and namespaces for flowgen and qsample.
 *
 * Both count time from the same epoch on CLOCK_MONOTONIC, which the caller gives
 * to each. So equal times in their logs mean the same instant.
 */
#ifndef AQM_TOOLS_CLOCK_H
#define AQM_TOOLS_CLOCK_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000LL
#define NSEC_PER_MSEC 1000000LL

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline int64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline struct timespec ns_to_timespec(int64_t ns)
{
	struct timespec ts = {
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};

	return ts;
}

/* Parse a whole decimal number in [min, max], or exit naming @what. */
static inline int64_t parse_number(const char *what, const char *text,
				   int64_t min, int64_t max)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		errx(2, "%s: \"%s\" is not a whole number from %lld to %lld",
		     what, text, (long long)min, (long long)max);
	return value;
}

/* File descriptor of the namespace that `ip netns add NAME` made. */
static inline int netns_open(const char *name)
{
	char path[256];
	int fd;

	if (snprintf(path, sizeof(path), "/run/netns/%s", name) >=
	    (int)sizeof(path))
		errx(2, "namespace name too long: %s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(2, "network namespace %s", name);
	return fd;
}

static inline void netns_enter(int fd)
{
	if (setns(fd, CLONE_NEWNET))
		err(2, "setns (needs root)");
}

#endif /* AQM_TOOLS_CLOCK_H */
