// SPDX-License-Identifier: GPL-2.0
/*
 * seeded: what a lab kernel takes from its host, made repeatable.
 *
 * Preloaded into the user-mode kernel. A user-mode kernel has one source of
 * entropy, the C library's getrandom(); here it answers from a generator
 * seeded with $LAB_SEED, so that the seed decides every random number of the
 * guest. The kernel also dies with whoever started it, however that one ends.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned long long state;

/* SplitMix64 (Steele, Lea, Flood 2014): equidistributed, any seed will do. */
static unsigned long long next(void)
{
	unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	unsigned char *out = buf;
	size_t done = 0;

	(void)flags;
	while (done < len) {
		unsigned long long word = next();
		size_t n = len - done < sizeof(word) ? len - done : sizeof(word);

		memcpy(out + done, &word, n);
		done += n;
	}
	return len;
}

__attribute__((constructor)) static void begin(void)
{
	const char *seed = getenv("LAB_SEED");
	const char *starter = getenv("LAB_STARTER");

	state = seed ? strtoull(seed, NULL, 10) : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The starter may have died before the line above took effect. */
	if (starter && getppid() != (pid_t)strtol(starter, NULL, 10))
		_exit(1);
}
