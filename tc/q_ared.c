// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the ared queue discipline; see tc-ared(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_ared.h>

PLUGIN_OPTIONS(TC_ARED_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_ared_qdisc_stats, TC_ARED_QDISC_STATS);

PLUGIN(ared) = {
	.util		= PLUGIN_UTIL("ared"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
};
