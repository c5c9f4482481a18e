// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the sfbx queue discipline; see tc-sfbx(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_sfbx.h>

PLUGIN_OPTIONS(TC_SFBX_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_sfbx_qdisc_stats, TC_SFBX_QDISC_STATS);

PLUGIN(sfbx) = {
	.util		= PLUGIN_UTIL("sfbx"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
