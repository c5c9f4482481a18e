// SPDX-License-Identifier: GPL-2.0
/*
 * tc_plugin.h without tc: what the helpers make of words, attributes and
 * statistics. The functions of tc are stand-ins that record what they get.
 * Prints TAP.
 */
#include <assert.h>
#include <stdarg.h>

#include "tc_plugin.h"

static int tests, failures;
static bool json;
static char printed[4096];

static void record(const char *fmt, ...)
{
	size_t used = strlen(printed);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(printed + used, sizeof(printed) - used, fmt, ap);
	va_end(ap);
}

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	assert(NLMSG_ALIGN(n->nlmsg_len) + RTA_LENGTH(alen) <= (size_t)maxlen);
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(alen);
	memcpy(RTA_DATA(a), data, alen);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return 0;
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	addattr_l(n, maxlen, type, "", 0);
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

int get_rate64(__u64 *rate, const char *str)
{
	char *end;

	*rate = strtoull(str, &end, 10) / 8 * (strcmp(end, "mbit") ? 1 : 1000000);
	return *end && strcmp(end, "mbit") && strcmp(end, "bit") ? -1 : 0;
}

bool is_json_context(void)
{
	return json;
}

void print_color_u64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __u64 value)
{
	(void)t;
	(void)color;
	(void)fmt;
	record("%s=%llu,", key, (unsigned long long)value);
}

void print_color_s64(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, __s64 value)
{
	(void)t;
	(void)color;
	(void)fmt;
	record("%s=%lld,", key, (long long)value);
}

void print_color_bool(enum output_type t, enum color_attr color,
		      const char *key, const char *fmt, bool value)
{
	(void)t;
	(void)color;
	(void)fmt;
	record("%s=%s,", key, value ? "true" : "false");
}

void print_color_float(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, double value)
{
	(void)t;
	(void)color;
	(void)fmt;
	record("%s=%g,", key, value);
}

void print_color_string(enum output_type t, enum color_attr color,
			const char *key, const char *fmt, const char *value)
{
	(void)t;
	(void)color;
	(void)fmt;
	record("%s=\"%s\",", key, value);
}

static void check(bool good, const char *what)
{
	tests++;
	failures += !good;
	printf("%sok %d %s\n", good ? "" : "not ", tests, what);
}

static const char *const phases[] = { "low", "high", "high-literal", NULL };

static const struct plugin_option options[] = {
	{ "number", OPT_NUMBER, 1, 2, 20, .unit = "things" },
	{ "packets", OPT_PACKETS, 2, 1, UINT32_MAX },
	{ "size", OPT_SIZE, 3, 1, UINT32_MAX },
	{ "us", OPT_TIME_US, 4, 1, 10000000 },
	{ "ns", OPT_TIME_NS, 5, 1, 10000000000ULL },
	{ "rate", OPT_RATE, 6, 1, 1ULL << 40 },
	{ "real", OPT_REAL, 7, 1, 65536, .scale = 65536 },
	{ "flag", OPT_FLAG, 8 },
	{ "choice", OPT_CHOICE, 9, .choices = phases },
	{},
};

/* What text comes out for the words that went in; "refused" for an error. */
static const char *through(const char *words)
{
	static char buf[2 * sizeof(printed)], out[sizeof(printed)];
	static union {
		struct nlmsghdr n;
		char space[8192];
	} msg;
	char *argv[32], *copy = strdup(words);
	FILE *f = fmemopen(out, sizeof(out), "w");
	int argc = 0, err;

	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	memset(&msg, 0, sizeof(msg));
	msg.n.nlmsg_len = NLMSG_HDRLEN;
	printed[0] = 0;
	err = plugin_parse("kind", options, "help\n", argc, argv, &msg.n);
	if (!err)
		plugin_print(options, 9, f, NLMSG_DATA(&msg.n));
	fclose(f);
	free(copy);
	if (err)
		return "refused";
	snprintf(buf, sizeof(buf), "%s%s", out, printed);
	out[0] = 0;
	return buf;
}

static void expect(const char *words, const char *text)
{
	const char *got = through(words);
	bool good = !strcmp(got, text);

	check(good, words);
	if (!good)
		printf("# expected \"%s\", got \"%s\"\n", text, got);
}

struct statistics {
	__u32	type;
	__u32	reserved;
	__u64	large;
	__s32	small;
	__u16	half;
	__u8	yes;
	__u8	pad;
	__u32	fixed;
	__u32	last;
};

static const struct plugin_field fields[] = {
	PLUGIN_FIELD(struct statistics, large),
	PLUGIN_FIELD_AS(struct statistics, small, FIELD_SIGNED),
	PLUGIN_NEWLINE,
	PLUGIN_FIELD(struct statistics, half),
	PLUGIN_FIELD_AS(struct statistics, yes, FIELD_BOOL),
	PLUGIN_FIELD_AS(struct statistics, fixed, FIELD_REAL, .scale = 256),
	PLUGIN_FIELD(struct statistics, last),
	{},
};

/* Statistics of which the kernel sent only @bytes, or more than are known. */
static void expect_fields(size_t bytes, const char *text)
{
	struct statistics st = {
		.large = 1ULL << 40, .small = -5, .half = 65535,
		.yes = 1, .fixed = 128, .last = 9,
	};
	static union {
		struct rtattr a;
		char space[256];
	} sent;
	static char out[8192];
	FILE *f;
	bool good;

	memset(&sent, 0xff, sizeof(sent));
	sent.a.rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(&sent.a), &st, sizeof(st));
	memset(&st, 0xff, sizeof(st));
	plugin_copy_xstats(&st, sizeof(st), &sent.a);
	printed[0] = 0;
	memset(out, 0, sizeof(out));
	f = fmemopen(out, sizeof(out), "w");
	plugin_print_fields(f, fields, &st);
	fclose(f);
	strcat(out, printed);
	good = !strcmp(out, text);
	check(good, json ? "statistics, JSON" : "statistics, text");
	if (!good)
		printf("# expected \"%s\", got \"%s\"\n", text, out);
}

int main(void)
{
	expect("", "");
	expect("number 2 packets 7 size 3", "number 2 packets 7p size 3b ");
	expect("packets 7p", "packets 7p ");
	expect("number 7p", "refused");
	expect("number 1", "refused");
	expect("number 20", "number 20 ");
	expect("number 21", "refused");
	expect("number 010", "number 10 ");
	expect("number 0x10", "refused");
	expect("number -2", "refused");
	expect("number +2", "refused");
	expect("number 99999999999999999999", "refused");
	expect("number", "refused");
	expect("number 3 number 3", "refused");
	expect("size 1k", "size 1Kb ");
	expect("size 1.5KB", "size 1536b ");
	expect("size 4095mb", "size 4095Mb ");
	expect("size 4096mb", "refused");
	expect("size 8kbit", "size 1Kb ");
	expect("size 0.3", "refused");
	expect("size nan", "refused");
	expect("size inf", "refused");
	expect("size 0x10", "refused");
	expect("size 1e400", "refused");
	expect("size 1kk", "refused");
	expect("us 1500", "us 1500us ");
	expect("us 2ms", "us 2ms ");
	expect("us 0.5us", "refused");
	expect("us 10.0001s", "refused");
	expect("ns 0.5us", "ns 500ns ");
	expect("ns 10s", "ns 10s ");
	expect("rate 8mbit", "rate 8Mbit ");
	expect("rate fast", "refused");
	expect("real 0.5", "real 0.5 ");
	expect("real 0.3", "real 0.3 ");
	expect("real 1", "real 1 ");
	expect("real 1.01", "refused");
	expect("flag", "flag ");
	expect("noflag", "noflag ");
	expect("flag noflag", "refused");
	expect("nonumber 3", "refused");
	expect("choice high", "choice high ");
	expect("choice hig", "refused");
	expect("numb 3", "refused");
	expect("help", "refused");
	json = true;
	expect("number 2 size 1k us 1ms rate 8mbit real 0.25 noflag choice low",
	       "number=2,size=1024,us=1000,rate=1000000,real=0.25,flag=false,choice=\"low\",");
	expect("flag", "flag=true,");
	expect_fields(sizeof(struct statistics),
		      "large=1099511627776,small=-5,half=65535,yes=true,fixed=0.5,last=9,");
	json = false;
	expect_fields(sizeof(struct statistics),
		      "  large 1099511627776 small -5\n  half 65535 yes fixed 0.5 last 9");
	expect_fields(sizeof(struct statistics) + 32,
		      "  large 1099511627776 small -5\n  half 65535 yes fixed 0.5 last 9");
	expect_fields(offsetof(struct statistics, fixed),
		      "  large 1099511627776 small -5\n  half 65535 yes fixed 0 last 0");
	expect_fields(4, "  large 0 small 0\n  half 0 fixed 0 last 0");
	printf("1..%d\n", tests);
	return !!failures;
}
