/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/minmax.h>
#include <linux/types.h>

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

/* A number in 0 to n - 1 from one in 0 to 2^32 - 1. */
static inline u32 reciprocal_scale(u32 value, u32 n)
{
	return ((u64)value * n) >> 32;
}

#endif
