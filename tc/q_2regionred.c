// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the 2regionred queue discipline; see tc-2regionred(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_2regionred.h>

PLUGIN_OPTIONS(TC_2REGIONRED_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_2regionred_qdisc_stats,
	     TC_2REGIONRED_QDISC_STATS);

PLUGIN_AS(tworegionred, "2regionred") = {
	.util		= PLUGIN_UTIL("2regionred"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
