/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_BITOPS_H
#define SHIM_LINUX_BITOPS_H

#include <linux/types.h>

#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (8 * sizeof(long) - 1 - (h))))

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return 8 * sizeof(x) - 1 - __builtin_clzl(x);
}

/* 1 to 32, 0 for 0 */
static inline int fls(u32 x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned int hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

static inline u64 ror64(u64 x, unsigned int shift)
{
	return (x >> (shift & 63)) | (x << (-shift & 63));
}

#endif
