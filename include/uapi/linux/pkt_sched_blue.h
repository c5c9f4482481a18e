/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the blue queue discipline; <linux/pkt_sched_aqm.h> says
 * how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_BLUE_H
#define _UAPI_LINUX_PKT_SCHED_BLUE_H

#include "pkt_sched_aqm.h"

#define TC_BLUE_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_BLUE, 4294967295) \
	_(x, TCA_BLUE_THRESHOLD, threshold, PACKETS, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "L: a longer queue counts as a loss; auto: limit") \
	_(x, TCA_BLUE_INCREMENT, increment, FRACTION, "", 1, 4294967295, \
	  10737418, "d1: increase of the probability after a loss") \
	_(x, TCA_BLUE_DECREMENT, decrement, FRACTION, "", 1, 4294967295, \
	  1073742, "d2: decrease of the probability while the link is idle") \
	_(x, TCA_BLUE_FREEZE_TIME, freeze_time, TIME, "", 1, 10000000, \
	  100000, "minimum time between two rises, and between two falls") \
	TC_AQM_BANDWIDTH_OPTION(_, x, TCA_BLUE) \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_BLUE)

enum {
	TCA_BLUE_UNSPEC,
	TCA_BLUE_PAD,
	TCA_BLUE_GIVEN,
	TCA_BLUE_ASSUMED,
	TC_BLUE_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_BLUE_MAX
};

#define TCA_BLUE_MAX		(__TCA_BLUE_MAX - 1)

#define TC_BLUE_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, threshold, COUNT, "packets", "L in force") \
	_(x, __u32, probability, FRACTION, "", "drop probability p_m now") \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by chance") \
	_(x, __u64, rises, EVENTS, "times", "the probability rose") \
	_(x, __u64, falls, EVENTS, "times", "the probability fell")

struct tc_blue_qdisc_stats {
	TC_BLUE_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_blue_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_blue_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_BLUE_H */
