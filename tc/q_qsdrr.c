// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the qsdrr queue discipline; see tc-qsdrr(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_qsdrr.h>

PLUGIN_OPTIONS(TC_QSDRR_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_qsdrr_qdisc_stats, TC_QSDRR_QDISC_STATS);
PLUGIN_STATS(class_stats, struct tc_qsdrr_class_stats, TC_QSDRR_CLASS_STATS);

PLUGIN(qsdrr) = {
	.util		= PLUGIN_UTIL("qsdrr"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
	.cls		= class_stats,
};
