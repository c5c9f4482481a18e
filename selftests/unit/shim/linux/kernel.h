/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

/* A number in 0 to n - 1 from one in 0 to 2^32 - 1. */
static inline u32 reciprocal_scale(u32 value, u32 n)
{
	return ((u64)value * n) >> 32;
}

/* Largest y with y^2 <= x, a bit at a time. */
static inline u32 int_sqrt64(u64 x)
{
	u64 y = 0;
	int i;

	for (i = 31; i >= 0; i--)
		if ((y | BIT_ULL(i)) * (y | BIT_ULL(i)) <= x)
			y |= BIT_ULL(i);
	return y;
}

#endif
