// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the fred queue discipline; see tc-fred(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_fred.h>

PLUGIN_OPTIONS(TC_FRED_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_fred_qdisc_stats, TC_FRED_QDISC_STATS);

PLUGIN(fred) = {
	.util		= PLUGIN_UTIL("fred"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
