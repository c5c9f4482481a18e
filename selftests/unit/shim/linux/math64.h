/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_MATH64_H
#define SHIM_LINUX_MATH64_H

#include <linux/types.h>

/*
 * The kernel's divisions as x86-64 has them, whose divide instruction traps
 * also when the quotient does not fit: what other machines would cut off.
 */
static inline void shim_divisor(u64 divisor)
{
	if (!divisor)
		SHIM_TRAP("divide error: division by zero");
}

static inline u64 shim_quotient(unsigned __int128 dividend, u64 divisor)
{
	shim_divisor(divisor);
	if (dividend / divisor > U64_MAX)
		SHIM_TRAP("divide error: the quotient does not fit 64 bits");
	return dividend / divisor;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	shim_divisor(divisor);
	return dividend / divisor;
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	shim_divisor(divisor);
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	shim_divisor(divisor);
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	shim_divisor(divisor);
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return ((unsigned __int128)a * mul) >> shift;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 mul, unsigned int shift)
{
	return ((unsigned __int128)a * mul) >> shift;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor)
{
	return shim_quotient((unsigned __int128)a * mul, divisor);
}

#endif
