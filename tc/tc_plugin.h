/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a q_KIND.so needs: the part of tc's interface that it uses, and what
 * every plugin would otherwise repeat.
 *
 * tc opens q_KIND.so in its library directory and looks up KIND_qdisc_util.
 * The functions of tc resolve against the tc binary, which exports them. No
 * distribution ships its headers, so the few declarations stand here. They hold
 * for iproute2 5.0 and later; later versions differ in a const in front of the
 * first argument and in return types that nobody reads.
 *
 * A discipline describes its options and its statistics in tables. From them
 * come the parsing, the range checks and their messages, and the output in text
 * and JSON. Text output is accepted as input. A plugin that needs something
 * else writes its own function with the same helpers.
 *
 * Include this before the kernel's headers of the discipline.
 */
#ifndef _TC_PLUGIN_H
#define _TC_PLUGIN_H

#define __SANE_USERSPACE_TYPES__	/* __u64 is long long everywhere */

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- exported by tc ---- */

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
	int (*has_block)(const struct qdisc_util *qu, struct rtattr *opt,
			 bool *has);
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

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags);
int get_rate64(__u64 *rate, const char *str);
bool is_json_context(void);
void open_json_object(const char *key);
void close_json_object(void);
void open_json_array(enum output_type type, const char *key);
void close_json_array(enum output_type type, const char *key);
void print_color_u64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __u64 value);
void print_color_s64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __s64 value);
void print_color_bool(enum output_type t, enum color_attr color,
		      const char *key, const char *fmt, bool value);
void print_color_float(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, double value);
void print_color_string(enum output_type t, enum color_attr color,
			const char *key, const char *fmt, const char *value);

/*
 * The name that tc looks up for a kind. One that begins with a digit is no C
 * identifier: QDISC_UTIL_AS(tworegionred, "2regionred") = { ... }. GCC hands
 * the label to the assembler as it stands, which wants it quoted; clang quotes
 * by itself.
 */
#define QDISC_UTIL(kind)	struct qdisc_util kind##_qdisc_util
#ifdef __clang__
#define QDISC_UTIL_AS(ident, kind) \
	struct qdisc_util ident __asm__(kind "_qdisc_util")
#else
#define QDISC_UTIL_AS(ident, kind) \
	struct qdisc_util ident __asm__("\"" kind "_qdisc_util\"")
#endif

/* ---- options ---- */

#define PLUGIN_MAX_MSG	16384	/* bytes; tc's own buffer is larger */

enum plugin_type {
	OPT_NUMBER,	/* u32, a plain number */
	OPT_PACKETS,	/* u32, shown with a "p" behind it, accepted with or without */
	OPT_SIZE,	/* u32, bytes; b, kb, mb, gb, kbit, mbit, gbit */
	OPT_TIME_US,	/* u32, microseconds; s, ms, us, ns, us if bare */
	OPT_TIME_NS,	/* u64, nanoseconds; as above */
	OPT_RATE,	/* u64, bytes per second; bit, kbit, ... as tc's rates */
	OPT_REAL,	/* u32, the number given times @scale */
	OPT_FLAG,	/* u8, 0 or 1: "NAME" sets it, "noNAME" clears it */
	OPT_CHOICE,	/* u8, position in @choices */
};

/**
 * struct plugin_option - one option of a discipline
 * @name: as typed, and its key in JSON
 * @type: how it is written, and its attribute
 * @attr: its netlink attribute
 * @min: least value allowed, in the attribute's unit
 * @max: greatest value allowed, in the attribute's unit
 * @unit: what a plain number counts, for messages; may be NULL
 * @scale: OPT_REAL: the attribute holds the number times this
 * @choices: OPT_CHOICE: the words, NULL at the end
 */
struct plugin_option {
	const char		*name;
	enum plugin_type	type;
	unsigned short		attr;
	__u64		min;
	__u64		max;
	const char		*unit;
	double			scale;
	const char *const	*choices;
};

struct plugin_unit {
	const char	*name;
	double		factor;
};

static const struct plugin_unit plugin_sizes[] = {
	{ "", 1 }, { "b", 1 },
	{ "k", 1024 }, { "kb", 1024 }, { "m", 1 << 20 }, { "mb", 1 << 20 },
	{ "g", 1 << 30 }, { "gb", 1 << 30 }, { "kbit", 128 },
	{ "mbit", 1 << 17 }, { "gbit", 1 << 27 }, { NULL, 0 },
};

static const struct plugin_unit plugin_times_ns[] = {
	{ "", 1e3 }, { "us", 1e3 }, { "usec", 1e3 }, { "usecs", 1e3 },
	{ "ms", 1e6 }, { "msec", 1e6 }, { "msecs", 1e6 },
	{ "s", 1e9 }, { "sec", 1e9 }, { "secs", 1e9 },
	{ "ns", 1 }, { "nsec", 1 }, { "nsecs", 1 }, { NULL, 0 },
};

/* A non-negative decimal number; *end points behind it. */
static inline bool plugin_real(double *value, const char *arg, char **end)
{
	if (!strchr("0123456789.", *arg) || !*arg ||
	    (arg[0] == '0' && strchr("xX", arg[1]) && arg[1]))
		return false;
	*value = strtod(arg, end);
	return *end != arg;
}

/* As above with a unit; false also if the unit makes no whole number of it. */
static inline bool plugin_measure(__u64 *value, const char *arg,
				  const struct plugin_unit *units,
				  double divisor)
{
	double real;
	char *end;

	if (!plugin_real(&real, arg, &end))
		return false;
	while (units->name && strcasecmp(units->name, end))
		units++;
	if (!units->name)
		return false;
	real = real * units->factor / divisor;
	if (real >= 0x1p63) {
		*value = UINT64_MAX;
		return true;
	}
	*value = real + 0.5;
	real -= *value;
	return !(int)(real * 1e6);
}

/* A whole decimal number; too large for 64 bits reads as the greatest. */
static inline bool plugin_number(__u64 *value, const char *arg,
				 const char *suffix)
{
	char *end;

	if (!strchr("0123456789", *arg) || !*arg)
		return false;
	*value = strtoull(arg, &end, 10);
	return !*end || !strcasecmp(end, suffix);
}

static inline bool plugin_choice(__u64 *value, const char *arg,
				 const char *const *choices)
{
	for (*value = 0; choices[*value]; ++*value)
		if (!strcmp(choices[*value], arg))
			return true;
	return false;
}

static inline bool plugin_value(__u64 *value, const char *arg,
				const struct plugin_option *o)
{
	double real;
	__u64 rate;
	char *end;

	switch (o->type) {
	case OPT_NUMBER:
	case OPT_PACKETS:
		return plugin_number(value, arg,
				     o->type == OPT_PACKETS ? "p" : "");
	case OPT_SIZE:
		return plugin_measure(value, arg, plugin_sizes, 1);
	case OPT_TIME_US:
		return plugin_measure(value, arg, plugin_times_ns, 1e3);
	case OPT_TIME_NS:
		return plugin_measure(value, arg, plugin_times_ns, 1);
	case OPT_RATE:
		if (!plugin_real(&real, arg, &end) || get_rate64(&rate, arg))
			return false;
		*value = rate;
		return true;
	case OPT_REAL:
		if (!plugin_real(&real, arg, &end) || *end)
			return false;
		real *= o->scale;
		*value = real < 0x1p63 ? real + 0.5 : UINT64_MAX;
		return true;
	case OPT_CHOICE:
		return plugin_choice(value, arg, o->choices);
	case OPT_FLAG:
		break;
	}
	return false;
}

/* "32Mb" where that is exact, else "33554433b": nothing is rounded away. */
static inline const char *plugin_format(char *buf, size_t size,
					const struct plugin_option *o,
					__u64 v)
{
	static const char *const size_units[] = { "b", "Kb", "Mb", "Gb" };
	static const char *const time_units[] = { "ns", "us", "ms", "s" };
	static const char *const rate_units[] = { "bit", "Kbit", "Mbit",
						  "Gbit", "Tbit" };
	const char *const *units = size_units;
	unsigned int step = 1000, last = 3, i = 0;
	int digits = 0;
	__u64 back;

	switch (o->type) {
	case OPT_SIZE:
		step = 1024;
		break;
	case OPT_TIME_US:
		units = time_units + 1;
		last = 2;
		break;
	case OPT_TIME_NS:
		units = time_units;
		break;
	case OPT_RATE:
		units = rate_units;
		last = 4;
		v *= 8;
		break;
	case OPT_REAL:
		/* The fewest digits, up to 9, that mean the same when typed; 20
		 * rather than 2e+01.
		 */
		do {
			snprintf(buf, size, "%.*g", ++digits, v / o->scale);
		} while (digits < 9 &&
			 (strstr(buf, "e+") ||
			  !plugin_value(&back, buf, o) || back != v));
		return buf;
	default:
		snprintf(buf, size, "%llu", v);
		return buf;
	}
	while (v && v % step == 0 && i < last) {
		v /= step;
		i++;
	}
	snprintf(buf, size, "%llu%s", v, units[i]);
	return buf;
}

/* What is allowed, as the end of a message. */
static inline void plugin_say_allowed(FILE *f, const struct plugin_option *o)
{
	const char *unit = o->type == OPT_PACKETS ? "packets" : o->unit;
	char min[32], max[32];
	size_t i;

	if (o->type == OPT_CHOICE) {
		for (i = 0; o->choices[i]; i++)
			fprintf(f, "%s%s", i ? " | " : "", o->choices[i]);
		fputc('\n', f);
		return;
	}
	plugin_format(min, sizeof(min), o, o->min);
	plugin_format(max, sizeof(max), o, o->max);
	fprintf(f, "%s to %s%s%s\n", min, max, unit ? " " : "",
		unit ? unit : "");
}

static inline void plugin_add(struct nlmsghdr *n, const struct plugin_option *o,
			      __u64 value)
{
	__u64 v64 = value;
	__u32 v32 = value;
	__u8 v8 = value;

	switch (o->type) {
	case OPT_FLAG:
	case OPT_CHOICE:
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &v8, sizeof(v8));
		break;
	case OPT_TIME_NS:
	case OPT_RATE:
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &v64, sizeof(v64));
		break;
	default:
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &v32, sizeof(v32));
	}
}

/* The option that @arg names; *on is false for the "no" form of a flag. */
static inline const struct plugin_option *
plugin_find(const struct plugin_option *table, const char *arg, bool *on)
{
	const struct plugin_option *o;

	for (o = table; o->name; o++) {
		*on = true;
		if (!strcmp(arg, o->name))
			return o;
		*on = false;
		if (o->type == OPT_FLAG && !strncmp(arg, "no", 2) &&
		    !strcmp(arg + 2, o->name))
			return o;
	}
	return NULL;
}

/**
 * plugin_parse_one() - read the option that argv begins with
 * @kind: for messages
 * @table: the options, an entry without name at the end; at most 64
 * @seen: bit per entry of @table that was given; the caller starts with 0
 * @argc: words left; moved on past the option
 * @argv: the words
 * @n: message that takes the attribute
 *
 * Return: 1 if the option was read, 0 if @table does not have it, -1 after a
 * message about what is wrong with it.
 */
static inline int plugin_parse_one(const char *kind,
				   const struct plugin_option *table,
				   __u64 *seen, int *argc, char ***argv,
				   struct nlmsghdr *n)
{
	const struct plugin_option *o;
	__u64 value, bit;
	bool on;

	o = plugin_find(table, **argv, &on);
	if (!o)
		return 0;
	bit = 1ULL << (o - table);
	if (*seen & bit) {
		fprintf(stderr, "%s: \"%s\" is given twice\n", kind, **argv);
		return -1;
	}
	*seen |= bit;
	++*argv;
	--*argc;
	if (o->type == OPT_FLAG) {
		plugin_add(n, o, on);
		return 1;
	}
	if (!*argc) {
		fprintf(stderr, "%s: \"%s\" lacks its value; allowed: ", kind,
			o->name);
		plugin_say_allowed(stderr, o);
		return -1;
	}
	if (!plugin_value(&value, **argv, o) ||
	    (o->type != OPT_CHOICE && (value < o->min || value > o->max))) {
		fprintf(stderr, "%s: \"%s %s\" is not possible; allowed: ",
			kind, o->name, **argv);
		plugin_say_allowed(stderr, o);
		return -1;
	}
	++*argv;
	--*argc;
	plugin_add(n, o, value);
	return 1;
}

/**
 * plugin_parse() - parse_qopt of a discipline whose options are all in a table
 * @kind: for messages
 * @table: as for plugin_parse_one()
 * @help: the usage text
 * @argc: number of words
 * @argv: the words
 * @n: message that takes the options
 *
 * Return: 0, or -1 after a message; then tc sends nothing.
 */
static inline int plugin_parse(const char *kind,
			       const struct plugin_option *table,
			       const char *help, int argc, char **argv,
			       struct nlmsghdr *n)
{
	struct rtattr *opts;
	__u64 seen = 0;
	int found;

	opts = addattr_nest(n, PLUGIN_MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	while (argc > 0) {
		if (!strcmp(*argv, "help")) {
			fputs(help, stderr);
			return -1;
		}
		found = plugin_parse_one(kind, table, &seen, &argc, &argv, n);
		if (found < 0)
			return -1;
		if (!found) {
			fprintf(stderr, "%s: what is \"%s\"?\n%s", kind, *argv,
				help);
			return -1;
		}
	}
	addattr_nest_end(n, opts);
	return 0;
}

/* ---- output ---- */

/* The attribute's value; false if the kernel did not send it, or not whole. */
static inline bool plugin_get(__u64 *value, const struct plugin_option *o,
			      const struct rtattr *rta)
{
	__u64 v64 = 0;
	__u32 v32 = 0;
	size_t len;

	if (!rta)
		return false;
	len = RTA_PAYLOAD(rta);
	switch (o->type) {
	case OPT_FLAG:
	case OPT_CHOICE:
		if (len < sizeof(__u8))
			return false;
		*value = *(const __u8 *)RTA_DATA(rta);
		return true;
	case OPT_TIME_NS:
	case OPT_RATE:
		if (len < sizeof(v64))
			return false;
		memcpy(&v64, RTA_DATA(rta), sizeof(v64));
		*value = v64;
		return true;
	default:
		if (len < sizeof(v32))
			return false;
		memcpy(&v32, RTA_DATA(rta), sizeof(v32));
		*value = v32;
		return true;
	}
}

static inline size_t plugin_choices(const struct plugin_option *o)
{
	size_t n = 0;

	while (o->choices[n])
		n++;
	return n;
}

static inline void plugin_print_one(FILE *f, const struct plugin_option *o,
				    __u64 v)
{
	bool json = is_json_context();
	const char *word = NULL;
	char buf[32];

	switch (o->type) {
	case OPT_FLAG:
		if (json)
			print_color_bool(PRINT_JSON, COLOR_UNUSED, o->name,
					 NULL, v);
		else
			fprintf(f, "%s%s ", v ? "" : "no", o->name);
		return;
	case OPT_CHOICE:
		word = v < plugin_choices(o) ? o->choices[v] : "unknown";
		if (json)
			print_color_string(PRINT_JSON, COLOR_UNUSED, o->name,
					   NULL, word);
		else
			fprintf(f, "%s %s ", o->name, word);
		return;
	case OPT_REAL:
		if (json) {
			print_color_float(PRINT_JSON, COLOR_UNUSED, o->name,
					  NULL, v / o->scale);
			return;
		}
		break;
	default:
		if (json) {
			print_color_u64(PRINT_JSON, COLOR_UNUSED, o->name,
					NULL, v);
			return;
		}
	}
	fprintf(f, "%s %s%s ", o->name, plugin_format(buf, sizeof(buf), o, v),
		o->type == OPT_PACKETS ? "p" : "");
}

/**
 * plugin_print() - print_qopt of a discipline whose options are all in a table
 * @table: as for plugin_parse_one()
 * @max: the highest attribute
 * @f: where text goes
 * @opt: TCA_OPTIONS, or NULL
 *
 * JSON has plain numbers in the attributes' units.
 */
static inline int plugin_print(const struct plugin_option *table, int max,
			       FILE *f, struct rtattr *opt)
{
	const struct plugin_option *o;
	__u64 value;

	if (!opt)
		return 0;

	struct rtattr *tb[max + 1];

	if (parse_rtattr_flags(tb, max, RTA_DATA(opt), RTA_PAYLOAD(opt),
			       NLA_F_NESTED))
		return -1;
	for (o = table; o->name; o++)
		if (plugin_get(&value, o, tb[o->attr]))
			plugin_print_one(f, o, value);
	return 0;
}

/**
 * plugin_copy_xstats() - the kernel's statistics in the layout known here
 * @dst: takes them
 * @size: of @dst, bytes
 * @xstats: what the kernel sent
 *
 * The structs grow only at the end: what an older kernel did not send reads as
 * 0, what a newer one sends beyond is left out.
 */
static inline void plugin_copy_xstats(void *dst, size_t size,
				      const struct rtattr *xstats)
{
	size_t len = RTA_PAYLOAD(xstats);

	memset(dst, 0, size);
	memcpy(dst, RTA_DATA(xstats), len < size ? len : size);
}

enum plugin_field_type {
	FIELD_UNSIGNED,
	FIELD_SIGNED,
	FIELD_BOOL,	/* text: the name if true, JSON: true or false */
	FIELD_REAL,	/* the number divided by @scale */
	FIELD_NEWLINE,	/* text goes on in the next line */
};

/**
 * struct plugin_field - one statistic
 * @name: its name in text and its key in JSON
 * @type: how it is shown
 * @offset: where it lies, bytes
 * @size: 1, 2, 4 or 8 bytes
 * @scale: FIELD_REAL: what one unit is multiplied with in the kernel
 */
struct plugin_field {
	const char		*name;
	enum plugin_field_type	type;
	size_t			offset;
	size_t			size;
	double			scale;
};

#define PLUGIN_FIELD_AS(strct, member, field_type, ...) { \
	.name = #member, \
	.type = field_type, \
	.offset = offsetof(strct, member), \
	.size = sizeof(((strct *)0)->member), \
	__VA_ARGS__ \
}

#define PLUGIN_FIELD(strct, member) \
	PLUGIN_FIELD_AS(strct, member, FIELD_UNSIGNED)
#define PLUGIN_NEWLINE	{ .name = "", .type = FIELD_NEWLINE }

static inline __u64 plugin_field_unsigned(const struct plugin_field *fl,
					  const void *base)
{
	const char *at = (const char *)base + fl->offset;
	__u64 v64;
	__u32 v32;
	__u16 v16;

	switch (fl->size) {
	case 1:
		return *(const __u8 *)at;
	case 2:
		memcpy(&v16, at, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, at, sizeof(v64));
		return v64;
	}
}

static inline __s64 plugin_field_signed(const struct plugin_field *fl,
					const void *base)
{
	unsigned int shift = 64 - 8 * fl->size;

	return (__s64)(plugin_field_unsigned(fl, base) << shift) >> shift;
}

/**
 * plugin_print_fields() - print statistics
 * @f: where text goes
 * @fields: what to print, an entry without name at the end
 * @base: the struct that holds them
 */
static inline void plugin_print_fields(FILE *f,
				       const struct plugin_field *fields,
				       const void *base)
{
	bool json = is_json_context();
	const struct plugin_field *fl;
	const char *gap = "  ";
	__u64 u;
	__s64 s;

	for (fl = fields; fl->name; fl++, gap = " ") {
		if (fl->type == FIELD_NEWLINE) {
			if (!json)
				fputs("\n ", f);
			continue;
		}
		u = plugin_field_unsigned(fl, base);
		s = plugin_field_signed(fl, base);
		switch (fl->type) {
		case FIELD_UNSIGNED:
			if (json)
				print_color_u64(PRINT_JSON, COLOR_UNUSED,
						fl->name, NULL, u);
			else
				fprintf(f, "%s%s %llu", gap, fl->name, u);
			break;
		case FIELD_SIGNED:
			if (json)
				print_color_s64(PRINT_JSON, COLOR_UNUSED,
						fl->name, NULL, s);
			else
				fprintf(f, "%s%s %lld", gap, fl->name, s);
			break;
		case FIELD_REAL:
			if (json)
				print_color_float(PRINT_JSON, COLOR_UNUSED,
						  fl->name, NULL,
						  u / fl->scale);
			else
				fprintf(f, "%s%s %.6g", gap, fl->name,
					u / fl->scale);
			break;
		case FIELD_BOOL:
			if (json)
				print_color_bool(PRINT_JSON, COLOR_UNUSED,
						 fl->name, NULL, u);
			else if (u)
				fprintf(f, "%s%s", gap, fl->name);
			break;
		case FIELD_NEWLINE:
			break;
		}
	}
}

#endif /* _TC_PLUGIN_H */
