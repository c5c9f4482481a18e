/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MINMAX_H
#define _SHIM_LINUX_MINMAX_H

#define min_t(type, a, b) ({ type _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max_t(type, a, b) ({ type _a = (a), _b = (b); _a > _b ? _a : _b; })
#define min(a, b)	min_t(__typeof__((a) + (b)), a, b)
#define max(a, b)	max_t(__typeof__((a) + (b)), a, b)
#define min3(a, b, c)	min(min(a, b), c)
#define max3(a, b, c)	max(max(a, b), c)
#define clamp(x, lo, hi)	min(max(x, lo), hi)
#define clamp_t(type, x, lo, hi)	min_t(type, max_t(type, x, lo), hi)

#endif /* _SHIM_LINUX_MINMAX_H */
