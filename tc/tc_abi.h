/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of tc, because no distribution ships its headers.
 *
 * tc opens q_KIND.so in its library directory and looks up KIND_qdisc_util. The
 * functions resolve against the tc binary, which exports them. They hold for
 * iproute2 5.0 to 7.1. Some differences have no effect. Older versions have no
 * const before the callbacks' first argument. The print_color functions return
 * nothing in some versions and a count in others; we do not read it. has_block
 * has one more argument in the newest version; it is NULL here.
 *
 * A weak function may be missing: a distribution for small machines (OpenWrt)
 * exports only what its own plugins need. Without is_json_context there is
 * text only.
 */
#ifndef _TC_ABI_H
#define _TC_ABI_H

#define __SANE_USERSPACE_TYPES__	/* __u64 is long long everywhere */

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>

#define TC_WEAK	__attribute__((weak))

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*has_block)(void);
};

enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

/* The colour is read in text only, which is written with fprintf() here. */
enum color_attr {
	COLOR_UNUSED,
};

struct json_writer;

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags);

TC_WEAK bool is_json_context(void);
TC_WEAK struct json_writer *get_json_writer(void);
TC_WEAK void jsonw_name(struct json_writer *w, const char *name);
TC_WEAK void jsonw_printf(struct json_writer *w, const char *fmt, ...);
TC_WEAK void open_json_array(enum output_type type, const char *key);
TC_WEAK void close_json_array(enum output_type type, const char *key);
TC_WEAK void print_color_u64(enum output_type t, enum color_attr color,
			     const char *key, const char *fmt, __u64 value);
TC_WEAK void print_color_s64(enum output_type t, enum color_attr color,
			     const char *key, const char *fmt, __s64 value);
TC_WEAK void print_color_bool(enum output_type t, enum color_attr color,
			      const char *key, const char *fmt, bool value);
TC_WEAK void print_color_float(enum output_type t, enum color_attr color,
			       const char *key, const char *fmt, double value);
TC_WEAK void print_color_string(enum output_type t, enum color_attr color,
				const char *key, const char *fmt,
				const char *value);

#endif /* _TC_ABI_H */
