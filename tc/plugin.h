/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plugin is data: the lists of options and statistics in the discipline's
 * uapi header (<linux/pkt_sched_aqm.h>). From them come the parsing, the range
 * checks and their messages, help, and the output in text and JSON.
 *
 *	#include "plugin.h"
 *	#include <linux/pkt_sched_kind.h>
 *
 *	PLUGIN_OPTIONS(TC_KIND_OPTIONS);
 *	PLUGIN_STATS(qdisc_stats, struct tc_kind_qdisc_stats,
 *		     TC_KIND_QDISC_STATS);
 *
 *	PLUGIN(kind) = {
 *		.util		= PLUGIN_UTIL("kind"),
 *		.options	= plugin_options,
 *		.qdisc		= qdisc_stats,
 *	};
 *
 * If only one discipline uses a type of option, its plugin defines the type:
 * static const struct plugin_type plugin_type_NAME, before PLUGIN_OPTIONS().
 *
 * Text output is valid input. Options that were not given follow the word "auto"
 * (or "assumed", if the device does not know the value). tc accepts them on input
 * but sends only the given options and their mask. JSON has plain numbers in the
 * units of the attributes. Fractions are real numbers that read back as the same
 * attribute.
 */
#ifndef _PLUGIN_H
#define _PLUGIN_H

#include "tc_abi.h"

#include <linux/pkt_sched_aqm.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define PLUGIN_TEXT	1024	/* bytes, for one value in text */
#define PLUGIN_MAX_MSG	16384	/* bytes; tc's own buffer is larger */

struct plugin_option;

/**
 * struct plugin_line - the words of a command
 * @options: options of the plugin
 * @argc: number of words
 * @argv: the words
 * @dev: name of the device; may be NULL
 */
struct plugin_line {
	const struct plugin_option	*options;
	int				argc;
	char				**argv;
	const char			*dev;
};

/**
 * struct plugin_type - a type of option: parse and print its values
 * @size: size of the attribute in bytes
 * @word: placeholder for a value in help
 * @parse: parse a word; return false if it is no value. Accepts values out of range.
 * @text: print the word for exactly this value, at most PLUGIN_TEXT bytes
 * @json: print the value in JSON
 * @allowed: describe allowed values; NULL: from the lower to the upper bound by @text
 */
struct plugin_type {
	unsigned int	size;
	const char	*word;
	bool (*parse)(__u64 *value, const char *arg,
		      const struct plugin_option *o,
		      const struct plugin_line *line);
	void (*text)(char *buf, const struct plugin_option *o, __u64 value);
	void (*json)(const struct plugin_option *o, __u64 value);
	void (*allowed)(char *buf, const struct plugin_option *o);
};

/**
 * struct plugin_option - one option of a discipline
 * @name: as typed, and its key in JSON
 * @type: its type
 * @attr: its netlink attribute
 * @least: lower bound, in the attribute's unit
 * @greatest: upper bound, in the attribute's unit
 * @value: default, or TC_AQM_DERIVED
 * @unit: unit of a plain number; for a choice, its words separated by "|"
 * @help: description in one line
 */
struct plugin_option {
	const char			*name;
	const struct plugin_type	*type;
	unsigned short			attr;
	__u64				least;
	__u64				greatest;
	__u64				value;
	const char			*unit;
	const char			*help;
};

extern const struct plugin_type plugin_type_FLAG;
extern const struct plugin_type plugin_type_CHOICE;
extern const struct plugin_type plugin_type_NUMBER;
extern const struct plugin_type plugin_type_PACKETS;
extern const struct plugin_type plugin_type_PACKETS_Q8;
extern const struct plugin_type plugin_type_BYTES;
extern const struct plugin_type plugin_type_TIME;
extern const struct plugin_type plugin_type_FRACTION;
extern const struct plugin_type plugin_type_RATE;

enum plugin_show {
	SHOW_EVENTS,
	SHOW_COUNT,
	SHOW_PACKETS_Q32,
	SHOW_PACKETS_Q40,
	SHOW_PACKETS_Q8,
	SHOW_BYTES,
	SHOW_NS,
	SHOW_US,
	SHOW_FRACTION,
	SHOW_RATE,
	SHOW_BITRATE,
	SHOW_FLAG,
	SHOW_CHOICE,
};

/**
 * struct plugin_stat - one statistic
 * @name: its name in text and its key in JSON
 * @show: how to print it
 * @negative: the type is signed
 * @offset: offset in bytes
 * @size: 4 or 8 bytes
 * @unit: for a choice, its words separated by "|"
 */
struct plugin_stat {
	const char		*name;
	enum plugin_show	show;
	bool			negative;
	unsigned short		offset;
	unsigned short		size;
	const char		*unit;
};

/**
 * struct plugin - one discipline
 * @util: tc's entry for it
 * @options: options in output order, ended by one without a name
 * @qdisc: statistics of the discipline, ended by one without a name
 * @cls: statistics of its classes; NULL: none
 */
struct plugin {
	struct qdisc_util		util;
	const struct plugin_option	*options;
	const struct plugin_stat	*qdisc;
	const struct plugin_stat	*cls;
};

#define PLUGIN_OPTION(x, at, opt, kind, units, lo, hi, dflt, about) { \
	.name = #opt, \
	.type = &plugin_type_##kind, \
	.attr = at, \
	.least = lo, \
	.greatest = hi, \
	.value = dflt, \
	.unit = units, \
	.help = about, \
},

#define PLUGIN_STAT(strct, ctype, member, shown, units, about) { \
	.name = #member, \
	.show = SHOW_##shown, \
	.negative = (ctype)(-1) < 1, \
	.offset = offsetof(strct, member), \
	.size = sizeof(ctype), \
	.unit = units, \
},

#define PLUGIN_OPTIONS(list) \
	static const struct plugin_option plugin_options[] = { \
		list(PLUGIN_OPTION, 0) {} \
	}

#define PLUGIN_STATS(name, strct, list) \
	static const struct plugin_stat name[] = { list(PLUGIN_STAT, strct) {} }

/*
 * The symbol that tc looks up for a kind. A name that begins with a digit is not a
 * C identifier, so the assembler sets it: PLUGIN_AS(tworegionred, "2regionred").
 */
#define PLUGIN(ident) \
	__attribute__((visibility("default"))) \
	struct plugin ident##_qdisc_util
#define PLUGIN_AS(ident, kind) \
	__asm__(".globl \"" kind "_qdisc_util\"\n" \
		".set \"" kind "_qdisc_util\", " #ident "_qdisc_util"); \
	PLUGIN(ident)

#define PLUGIN_UTIL(kind) { \
	.id = kind, \
	.parse_qopt = plugin_parse, \
	.print_qopt = plugin_print, \
	.print_xstats = plugin_print_xstats, \
}

int plugin_parse(const struct qdisc_util *qu, int argc, char **argv,
		 struct nlmsghdr *n, const char *dev);
int plugin_print(const struct qdisc_util *qu, FILE *f, struct rtattr *opt);
int plugin_print_xstats(const struct qdisc_util *qu, FILE *f,
			struct rtattr *xstats);

/* For plugins that define types. */
bool plugin_whole(__u64 *value, const char *arg, char **end);
bool plugin_time(__u64 *ns, const char *arg);
bool plugin_given(__u64 *value, const struct plugin_line *line,
		  const char *name);
void plugin_json_number(const struct plugin_option *o, __u64 value);

#endif /* _PLUGIN_H */
