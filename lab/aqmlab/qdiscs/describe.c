// SPDX-License-Identifier: GPL-2.0
/*
 * Print the options and statistics of the qdiscs as JSON, from the lists in
 * their uapi headers. interface.py appends a function for each qdisc, then
 * compiles and runs this file.
 */
#include <stddef.h>
#include <stdio.h>

static const char *comma;

static void string(const char *key, const char *text)
{
	printf("\"%s\": \"", key);
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	printf("\", ");
}

static void begin(const char *before)
{
	printf("%s", before);
	comma = "";
}

#define OPTION(x, attr, option, kind, units, low, high, dflt, about)		\
	printf("%s{\"attribute\": %d, ", comma, attr);				\
	comma = ",\n";								\
	string("name", #option);						\
	string("type", #kind);							\
	string("unit", units);							\
	string("help", about);							\
	printf("\"least\": %llu, \"greatest\": %llu, \"default\": %llu}",	\
	       (unsigned long long)(low), (unsigned long long)(high),		\
	       (unsigned long long)(dflt));

/* s is the struct that holds the statistic. */
#define STATISTIC(s, ctype, statistic, how, units, about)			\
	printf("%s{", comma);							\
	comma = ",\n";								\
	string("name", #statistic);						\
	string("show", #how);							\
	string("unit", units);							\
	string("help", about);							\
	printf("\"offset\": %zu, \"size\": %zu, \"signed\": %s}",		\
	       8 + offsetof(s, statistic), sizeof(((s *)0)->statistic),		\
	       (ctype)-1 < 0 ? "true" : "false");
