/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_RANDOM_H
#define SHIM_LINUX_RANDOM_H

#include <stdlib.h>
#include <sys/random.h>

#include <linux/types.h>

static inline u64 get_random_u64(void)
{
	u64 x;

	if (getrandom(&x, sizeof(x), 0) != sizeof(x))
		abort();
	return x;
}

#endif
