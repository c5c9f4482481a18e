// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the redtail queue discipline; see tc-redtail(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_redtail.h>

/* Bytes, or the time that the bandwidth on the line needs to send them. */
static bool parse_length(__u64 *value, const char *arg,
			 const struct plugin_option *o,
			 const struct plugin_line *line)
{
	__u64 ns, rate;

	if (plugin_type_BYTES.parse(value, arg, o, line))
		return true;
	if (!plugin_time(&ns, arg))
		return false;
	if (!plugin_given(&rate, line, "bandwidth")) {
		fprintf(stderr, "redtail: \"%s %s\" is a time: give the bandwidth too\n",
			o->name, arg);
		return false;
	}
	*value = ns / 1e9 * rate + 0.5;
	return true;
}

static void text_length(char *buf, const struct plugin_option *o, __u64 value)
{
	plugin_type_BYTES.text(buf, o, value);
}

static void allowed_length(char *buf, const struct plugin_option *o)
{
	plugin_type_BYTES.allowed(buf, o);
	strcat(buf, ", or with bandwidth a time");
}

static const struct plugin_type plugin_type_LENGTH = {
	.size		= sizeof(__u32),
	.word		= "LENGTH",
	.parse		= parse_length,
	.text		= text_length,
	.json		= plugin_json_number,
	.allowed	= allowed_length,
};

PLUGIN_OPTIONS(TC_REDTAIL_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_redtail_qdisc_stats,
	     TC_REDTAIL_QDISC_STATS);
PLUGIN_STATS(class_stats, struct tc_redtail_class_stats,
	     TC_REDTAIL_CLASS_STATS);

PLUGIN(redtail) = {
	.util		= PLUGIN_UTIL("redtail"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
	.cls		= class_stats,
};
