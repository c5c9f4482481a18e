// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the tdrr queue discipline; see tc-tdrr(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_tdrr.h>

PLUGIN_OPTIONS(TC_TDRR_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_tdrr_qdisc_stats, TC_TDRR_QDISC_STATS);
PLUGIN_STATS(class_stats, struct tc_tdrr_class_stats, TC_TDRR_CLASS_STATS);

PLUGIN(tdrr) = {
	.util		= PLUGIN_UTIL("tdrr"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
	.cls		= class_stats,
};
