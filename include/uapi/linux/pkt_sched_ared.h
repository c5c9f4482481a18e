/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the ared queue discipline; <linux/pkt_sched_aqm.h> says
 * how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_ARED_H
#define _UAPI_LINUX_PKT_SCHED_ARED_H

#include "pkt_sched_aqm.h"

#define TC_ARED_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_ARED, 4294967295) \
	_(x, TCA_ARED_TARGET, target, TIME, "", 1, 10000000, 5000, \
	  "average delay from which the thresholds are derived") \
	_(x, TCA_ARED_MIN_TH, min, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average queue length where drops begin; auto: target / 2, but from 5 to limit / 6") \
	_(x, TCA_ARED_MAX_TH, max, PACKETS, "", 2, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average queue length where the drop probability is max_p; auto: 3 min") \
	_(x, TCA_ARED_PROBABILITY, probability, FRACTION, "", 1, 4294967295, \
	  429496730, "max_p; with adaptive, its initial value") \
	_(x, TCA_ARED_BOTTOM, bottom, FRACTION, "", 1, 4294967295, \
	  42949673, "lower bound of max_p") \
	_(x, TCA_ARED_TOP, top, FRACTION, "", 1, 4294967295, \
	  2147483648, "upper bound of max_p") \
	_(x, TCA_ARED_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of an arrival in the average; auto: the average remembers 1 s of packets") \
	TC_AQM_LINK_OPTIONS(_, x, TCA_ARED) \
	_(x, TCA_ARED_ADAPTIVE, adaptive, FLAG, "", 0, 1, 1, \
	  "move max_p to keep the average halfway between min and max") \
	_(x, TCA_ARED_GENTLE, gentle, FLAG, "", 0, 1, 1, \
	  "let the drop probability rise to 1 between max and 2 max, instead of at max") \
	_(x, TCA_ARED_WAIT, wait, FLAG, "", 0, 1, 1, \
	  "with drop probability p, at least 1/p packets between two drops") \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_ARED)

enum {
	TCA_ARED_UNSPEC,
	TCA_ARED_PAD,
	TCA_ARED_GIVEN,
	TCA_ARED_ASSUMED,
	TC_ARED_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_ARED_MAX
};

#define TCA_ARED_MAX		(__TCA_ARED_MAX - 1)

#define TC_ARED_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q32, "", "average queue length now") \
	_(x, __u32, max_p, FRACTION, "", "drop probability at max") \
	_(x, __u32, probability, FRACTION, "", "RED's drop probability p_b at this average") \
	_(x, __u64, raised, EVENTS, "times", "max_p was raised") \
	_(x, __u64, lowered, EVENTS, "times", "max_p was lowered") \
	TC_AQM_RED_STATS(_, x) \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, min_th, COUNT, "packets", "min in force") \
	_(x, __u32, max_th, COUNT, "packets", "max in force") \
	_(x, __u32, weight, FRACTION, "", "weight of the average, in force") \
	_(x, __u32, ptime, NS, "", "transmission time of an average packet") \
	_(x, __u32, count, COUNT, "arrivals", \
	  "since the last early drop or mark, while the average was at least min")

struct tc_ared_qdisc_stats {
	TC_ARED_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_ared_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_ared_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_ARED_H */
