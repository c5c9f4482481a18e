// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for a qdisc without a plugin: options as netlink attributes.
 *
 *	tc qdisc add ... KIND [ATTRIBUTE TYPE VALUE]...
 *	tc qdisc add ... KIND raw HEX
 *
 * ATTRIBUTE is a number from the module's enum, TYPE one of u8, u16, u32, u64, s32,
 * string and flag (which has no VALUE). With raw, HEX is all of TCA_OPTIONS, such as
 * a struct. `show` prints TCA_OPTIONS and the statistics as hexadecimal digits.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tc_abi.h"

#define OPTIONS_BYTES	65536

static int wrong(const char *what, const char *given)
{
	fprintf(stderr, KIND ": %s, not \"%s\". Options: ATTRIBUTE u8|u16|u32|u64|s32|string VALUE, ATTRIBUTE flag, or raw HEX\n",
		what, given ? given : "");
	return -1;
}

/* Hexadecimal digits into bytes; returns how many, or -1. */
static int unhex(const char *text, unsigned char *bytes, int room)
{
	int n = 0;

	for (; *text; text += 2) {
		if (n == room || sscanf(text, "%2hhx", &bytes[n++]) != 1 || !text[1])
			return -1;
	}
	return n;
}

static int attribute(struct nlmsghdr *n, int type, const char *word, const char *value)
{
	long long number;
	char *end;

	if (!strcmp(word, "string"))
		return addattr_l(n, OPTIONS_BYTES, type, value, strlen(value) + 1);
	errno = 0;
	number = *value == '-' ? strtoll(value, &end, 0) : (long long)strtoull(value, &end, 0);
	if (errno || *end || !*value)
		return wrong("a value is a whole number", value);
	/* The low bytes come first: this runs on the machine that the lab runs on. */
	return addattr_l(n, OPTIONS_BYTES, type, &number,
			 !strcmp(word, "u8") ? 1 : !strcmp(word, "u16") ? 2 :
			 !strcmp(word, "u64") ? 8 : 4);
}

static int parse(const struct qdisc_util *qu, int argc, char **argv,
		 struct nlmsghdr *n, const char *dev)
{
	static const char types[] = " u8 u16 u32 u64 s32 string ";
	unsigned char raw[OPTIONS_BYTES / 2];
	struct rtattr *nest;
	char word[16];
	int bytes;

	if (!argc)
		return 0;
	if (!strcmp(*argv, "raw")) {
		bytes = argc == 2 ? unhex(argv[1], raw, sizeof(raw)) : -1;
		if (bytes < 0)
			return wrong("raw takes an even number of hexadecimal digits", argv[1]);
		return addattr_l(n, OPTIONS_BYTES, TCA_OPTIONS, raw, bytes);
	}
	nest = addattr_nest(n, OPTIONS_BYTES, TCA_OPTIONS | NLA_F_NESTED);
	while (argc) {
		char *end;
		long type = strtol(argv[0], &end, 10);

		if (*end || end == argv[0] || type < 1 || type > 255)
			return wrong("an attribute is a number in 1..255", argv[0]);
		if (argc > 1 && !strcmp(argv[1], "flag")) {
			addattr_l(n, OPTIONS_BYTES, type, NULL, 0);
			argc -= 2;
			argv += 2;
			continue;
		}
		snprintf(word, sizeof(word), " %s ", argc > 1 ? argv[1] : "");
		if (argc < 3 || !strstr(types, word))
			return wrong("after an attribute come its type and value",
				     argc > 1 ? argv[1] : NULL);
		if (attribute(n, type, argv[1], argv[2]))
			return -1;
		argc -= 3;
		argv += 3;
	}
	addattr_nest_end(n, nest);
	return 0;
}

static int print_hex(const char *name, const struct rtattr *attr)
{
	char text[2 * OPTIONS_BYTES + 1] = "";
	const unsigned char *at;
	size_t i;

	if (!attr)
		return 0;
	at = RTA_DATA(attr);
	for (i = 0; i < RTA_PAYLOAD(attr) && i < OPTIONS_BYTES; i++)
		sprintf(&text[2 * i], "%02x", at[i]);
	if (is_json_context && is_json_context())
		print_color_string(PRINT_JSON, COLOR_UNUSED, name, NULL, text);
	else
		printf("%s %s ", name, text);
	return 0;
}

static int print_options(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	return print_hex("raw", opt);
}

static int print_statistics(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	return print_hex("statistics", xstats);
}

struct qdisc_util KIND_UTIL = {
	.id = KIND,
	.parse_qopt = parse,
	.print_qopt = print_options,
	.print_xstats = print_statistics,
};
