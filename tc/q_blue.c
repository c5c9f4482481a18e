// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the blue queue discipline; see tc-blue(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_blue.h>

PLUGIN_OPTIONS(TC_BLUE_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_blue_qdisc_stats, TC_BLUE_QDISC_STATS);

PLUGIN(blue) = {
	.util		= PLUGIN_UTIL("blue"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
