// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the qsdrr queue discipline; see tc-qsdrr(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_qsdrr.h>

static const char qsdrr_help[] =
	"Usage: ... qsdrr [ limit PACKETS ] [ memory_limit BYTES ]\n"
	"                 [ flows NUMBER ] [ quantum BYTES ]\n"
	"                 [ [no]hysteresis ]\n";

static const struct plugin_option qsdrr_options[] = {
	{ "limit", OPT_PACKETS, TCA_QSDRR_LIMIT, 1, UINT32_MAX },
	{ "memory_limit", OPT_SIZE, TCA_QSDRR_MEMORY_LIMIT, 1, UINT32_MAX },
	{ "flows", OPT_NUMBER, TCA_QSDRR_FLOWS, 1, QSDRR_MAX_FLOWS,
	  .unit = "queues" },
	{ "quantum", OPT_SIZE, TCA_QSDRR_QUANTUM, QSDRR_MIN_QUANTUM,
	  QSDRR_MAX_QUANTUM },
	{ "hysteresis", OPT_FLAG, TCA_QSDRR_HYSTERESIS },
	{},
};

#define QDISC_FIELD(name) PLUGIN_FIELD(struct tc_qsdrr_qdisc_stats, name)

static const struct plugin_field qsdrr_qdisc_fields[] = {
	QDISC_FIELD(active),
	QDISC_FIELD(memory_used),
	QDISC_FIELD(q),
	QDISC_FIELD(q_chosen),
	QDISC_FIELD(overflows),
	QDISC_FIELD(dropped_bytes),
	PLUGIN_NEWLINE,
	QDISC_FIELD(drop_limit),
	QDISC_FIELD(drop_memory),
	QDISC_FIELD(drop_oversize),
	QDISC_FIELD(drop_change),
	{},
};

static const struct plugin_field qsdrr_class_fields[] = {
	PLUGIN_FIELD(struct tc_qsdrr_class_stats, queue),
	PLUGIN_FIELD_AS(struct tc_qsdrr_class_stats, deficit, FIELD_SIGNED),
	PLUGIN_FIELD_AS(struct tc_qsdrr_class_stats, is_q, FIELD_BOOL),
	{},
};

static int qsdrr_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			   struct nlmsghdr *n, const char *dev)
{
	(void)dev;
	return plugin_parse(qu->id, qsdrr_options, qsdrr_help, argc, argv, n);
}

static int qsdrr_print_opt(const struct qdisc_util *qu, FILE *f,
			   struct rtattr *opt)
{
	(void)qu;
	return plugin_print(qsdrr_options, TCA_QSDRR_MAX, f, opt);
}

static int qsdrr_print_xstats(const struct qdisc_util *qu, FILE *f,
			      struct rtattr *xstats)
{
	struct tc_qsdrr_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	switch (st.type) {
	case TCA_QSDRR_XSTATS_QDISC:
		plugin_print_fields(f, qsdrr_qdisc_fields, &st.qdisc);
		break;
	case TCA_QSDRR_XSTATS_CLASS:
		plugin_print_fields(f, qsdrr_class_fields, &st.cls);
		break;
	}
	return 0;
}

QDISC_UTIL(qsdrr) = {
	.id		= "qsdrr",
	.parse_qopt	= qsdrr_parse_opt,
	.print_qopt	= qsdrr_print_opt,
	.print_xstats	= qsdrr_print_xstats,
};
