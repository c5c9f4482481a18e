// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the fpq queue discipline; see tc-fpq(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_fpq.h>

PLUGIN_OPTIONS(TC_FPQ_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_fpq_qdisc_stats, TC_FPQ_QDISC_STATS);

PLUGIN(fpq) = {
	.util		= PLUGIN_UTIL("fpq"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
