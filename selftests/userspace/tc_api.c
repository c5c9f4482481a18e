// SPDX-License-Identifier: GPL-2.0
/*
 * tc without tc: what its plugins call, so that options are written and
 * statistics are read as a person would. KIND is the plugin's kind, in quotes,
 * HEADER the file and STATS the name of its list of statistics.
 */
#include <stdarg.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugin.h"
#include HEADER

/* The assembler needs quotes if the label starts with a digit. clang adds them. */
#ifdef __clang__
extern struct plugin kind_plugin __asm__(KIND "_qdisc_util");
#else
extern struct plugin kind_plugin __asm__("\"" KIND "_qdisc_util\"");
#endif

struct tc_statistic {
	const char *name;
	const char *meaning;
};

#define TC_STATISTIC(x, type, member, shown, units, about) { #member, about },

/* Of the discipline; one without a name at the end. */
extern const struct tc_statistic tc_statistics[];
const struct tc_statistic tc_statistics[] = { STATS(TC_STATISTIC, 0) {} };

bool tc_has_classes(void);
int tc_options(const char *words, void *msg, size_t room);
int tc_print(const void *attr, bool xstats, char *json, size_t room);

static char *out;
static size_t out_room, out_used;
static bool overflow;

static void add(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + out_used, out_room - out_used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= out_room - out_used)
		overflow = true;
	else
		out_used += n;
}

/* A comma unless this is the first of its kind. */
static void key_is(const char *key)
{
	if (out_used && !strchr("{[:", out[out_used - 1]))
		add(",");
	if (key)
		add("\"%s\":", key);
}

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_LENGTH(alen) > (size_t)maxlen)
		return -1;
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(alen);
	if (alen)
		memcpy(RTA_DATA(a), data, alen);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return 0;
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	addattr_l(n, maxlen, type, NULL, 0);
	return a;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	nest->rta_len = (char *)n + n->nlmsg_len - (char *)nest;
	return 0;
}

int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags)
{
	memset(tb, 0, sizeof(*tb) * (max + 1));
	for (; RTA_OK(rta, len); rta = RTA_NEXT(rta, len))
		if ((rta->rta_type & ~flags) <= max)
			tb[rta->rta_type & ~flags] = rta;
	return 0;
}

bool is_json_context(void)
{
	return true;
}

struct json_writer *get_json_writer(void)
{
	return NULL;
}

void jsonw_name(struct json_writer *w, const char *name)
{
	key_is(name);
}

void jsonw_printf(struct json_writer *w, const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add("%s", text);
}

void open_json_array(enum output_type type, const char *key)
{
	key_is(key);
	add("[");
}

void close_json_array(enum output_type type, const char *key)
{
	add("]");
}

void print_color_u64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __u64 value)
{
	key_is(key);
	add("%llu", (unsigned long long)value);
}

void print_color_s64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __s64 value)
{
	key_is(key);
	add("%lld", (long long)value);
}

void print_color_bool(enum output_type t, enum color_attr color,
		      const char *key, const char *fmt, bool value)
{
	key_is(key);
	add(value ? "true" : "false");
}

void print_color_float(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, double value)
{
	key_is(key);
	add("%.17g", value);
}

void print_color_string(enum output_type t, enum color_attr color,
			const char *key, const char *fmt, const char *value)
{
	key_is(key);
	add("\"%s\"", value);
}

/* The attribute that tc would send, at the start of @msg; its length, or -1. */
int tc_options(const char *words, void *msg, size_t room)
{
	static union {
		struct nlmsghdr n;
		char space[65536];
	} m;
	struct rtattr *opt = (void *)(m.space + NLMSG_LENGTH(20));
	char copy[4096], *argv[256], *save;
	int argc = 0;

	if (strlen(words) >= sizeof(copy))
		return -1;
	strcpy(copy, words);
	for (char *w = strtok_r(copy, " ", &save); w && argc < 256;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	memset(&m, 0, 4096);
	m.n.nlmsg_len = NLMSG_LENGTH(20);
	if (kind_plugin.util.parse_qopt(&kind_plugin.util, argc, argv, &m.n, "g0"))
		return -1;
	if (m.n.nlmsg_len == NLMSG_LENGTH(20) || opt->rta_len > room)
		return 0;
	memcpy(msg, opt, opt->rta_len);
	return opt->rta_len;
}

/* Options or statistics as JSON; how long it is, or -1. */
int tc_print(const void *attr, bool xstats, char *json, size_t room)
{
	out = json;
	out_room = room;
	out_used = 0;
	overflow = false;
	add("{");
	if ((xstats ? kind_plugin.util.print_xstats : kind_plugin.util.print_qopt)
	    (&kind_plugin.util, stderr, (void *)attr))
		return -1;
	add("}");
	return overflow ? -1 : (int)out_used;
}

/* Whether its classes have statistics: then they hold all that it holds. */
bool tc_has_classes(void)
{
	return kind_plugin.cls;
}
