// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the tdrr queue discipline; see tc-tdrr(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_tdrr.h>

static const char tdrr_help[] =
	"Usage: ... tdrr [ limit PACKETS ] [ memory_limit BYTES ]\n"
	"                [ flows NUMBER ] [ quantum BYTES ]\n"
	"                [ time_constant TIME ]\n";

static const struct plugin_option tdrr_options[] = {
	{ "limit", OPT_PACKETS, TCA_TDRR_LIMIT, 1, UINT32_MAX },
	{ "memory_limit", OPT_SIZE, TCA_TDRR_MEMORY_LIMIT, 1, UINT32_MAX },
	{ "flows", OPT_NUMBER, TCA_TDRR_FLOWS, 1, TDRR_MAX_FLOWS,
	  .unit = "queues" },
	{ "quantum", OPT_SIZE, TCA_TDRR_QUANTUM, TDRR_MIN_QUANTUM,
	  TDRR_MAX_QUANTUM },
	{ "time_constant", OPT_TIME_US, TCA_TDRR_TIME_CONSTANT,
	  TDRR_MIN_TIME_CONSTANT, TDRR_MAX_TIME_CONSTANT },
	{},
};

#define QDISC_FIELD(name) PLUGIN_FIELD(struct tc_tdrr_qdisc_stats, name)

static const struct plugin_field tdrr_qdisc_fields[] = {
	QDISC_FIELD(active),
	QDISC_FIELD(memory_used),
	QDISC_FIELD(top),
	QDISC_FIELD(top_throughput),
	QDISC_FIELD(victims),
	QDISC_FIELD(overflows),
	QDISC_FIELD(dropped_bytes),
	PLUGIN_NEWLINE,
	QDISC_FIELD(drop_limit),
	QDISC_FIELD(drop_memory),
	QDISC_FIELD(drop_oversize),
	QDISC_FIELD(drop_change),
	{},
};

static const struct plugin_field tdrr_class_fields[] = {
	PLUGIN_FIELD(struct tc_tdrr_class_stats, queue),
	PLUGIN_FIELD(struct tc_tdrr_class_stats, throughput),
	PLUGIN_FIELD_AS(struct tc_tdrr_class_stats, deficit, FIELD_SIGNED),
	PLUGIN_FIELD_AS(struct tc_tdrr_class_stats, is_top, FIELD_BOOL),
	{},
};

static int tdrr_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	(void)dev;
	return plugin_parse(qu->id, tdrr_options, tdrr_help, argc, argv, n);
}

static int tdrr_print_opt(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt)
{
	(void)qu;
	return plugin_print(tdrr_options, TCA_TDRR_MAX, f, opt);
}

static int tdrr_print_xstats(const struct qdisc_util *qu, FILE *f,
			     struct rtattr *xstats)
{
	struct tc_tdrr_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	switch (st.type) {
	case TCA_TDRR_XSTATS_QDISC:
		plugin_print_fields(f, tdrr_qdisc_fields, &st.qdisc);
		break;
	case TCA_TDRR_XSTATS_CLASS:
		plugin_print_fields(f, tdrr_class_fields, &st.cls);
		break;
	}
	return 0;
}

QDISC_UTIL(tdrr) = {
	.id		= "tdrr",
	.parse_qopt	= tdrr_parse_opt,
	.print_qopt	= tdrr_print_opt,
	.print_xstats	= tdrr_print_xstats,
};
