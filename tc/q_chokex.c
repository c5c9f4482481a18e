// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the chokex queue discipline; see tc-chokex(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_chokex.h>

PLUGIN_OPTIONS(TC_CHOKEX_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_chokex_qdisc_stats, TC_CHOKEX_QDISC_STATS);

PLUGIN(chokex) = {
	.util		= PLUGIN_UTIL("chokex"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
