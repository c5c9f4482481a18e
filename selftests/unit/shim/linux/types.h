/* SPDX-License-Identifier: GPL-2.0 */
/* Just enough of the kernel's types to compile include/aqm in userspace. */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include_next <linux/types.h>

/* The test stops wherever the kernel would print an oops or a warning. */
#ifndef SHIM_TRAP
#define SHIM_TRAP(what)	(fprintf(stderr, "trap: %s\n", what), abort())
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef __u64 u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef __s64 s64;

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define S16_MAX		INT16_MAX
#define S32_MAX		INT32_MAX
#define U64_MAX		UINT64_MAX
#define S64_MAX		INT64_MAX

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((__fallthrough__))
#define noinline	__attribute__((__noinline__))

#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define data_race(x)	(x)
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#endif
