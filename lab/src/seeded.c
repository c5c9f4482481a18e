// SPDX-License-Identifier: GPL-2.0
/*
 * seeded: what a lab kernel takes from its host, made repeatable.
 *
 * Linked into the user-mode kernel. A user-mode kernel has one source of
 * entropy, the C library's getrandom(); here it answers from a generator
 * seeded with $LAB_SEED, so that the seed decides every random number of the
 * guest.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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

	state = seed ? strtoull(seed, NULL, 10) : 0;
}
