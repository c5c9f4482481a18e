/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the sfbx queue discipline; <linux/pkt_sched_aqm.h> says
 * how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_SFBX_H
#define _UAPI_LINUX_PKT_SCHED_SFBX_H

#include "pkt_sched_aqm.h"

#define SFBX_MAX_BINS	4096
#define SFBX_MAX_LEVELS	8

#define TC_SFBX_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_SFBX, 4294967295) \
	_(x, TCA_SFBX_BINS, bins, NUMBER, "bins", 1, SFBX_MAX_BINS, 23, \
	  "N: bins of each level") \
	_(x, TCA_SFBX_LEVELS, levels, NUMBER, "levels", 1, SFBX_MAX_LEVELS, 2, \
	  "L: levels; a flow has one bin in each") \
	_(x, TCA_SFBX_BIN_SIZE, bin_size, PACKETS, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "a bin with more packets is overfull; auto: 1.5 limit / bins, at least 4") \
	_(x, TCA_SFBX_BIN_DROP, bin_drop, CHOICE, "all|any|none", 0, 2, 0, \
	  "drop arrivals of which all bins are overfull, or any bin, or none because of that") \
	_(x, TCA_SFBX_INCREMENT, increment, FRACTION, "", 1, 4294967295, \
	  21474836, "d1: increase of a bin's probability at an arrival when it is overfull") \
	_(x, TCA_SFBX_DECREMENT, decrement, FRACTION, "", 1, 4294967295, \
	  4294967, "d2: decrease of a bin's probability when it is empty") \
	_(x, TCA_SFBX_FREEZE_TIME, freeze_time, TIME, "", 0, 10000000, 1000, \
	  "minimum time between two changes of a bin's probability; 0: each packet may change it") \
	_(x, TCA_SFBX_BOX_TIME, box_time, TIME, "", 1, 10000000, \
	  TC_AQM_DERIVED, \
	  "Boxtime: time between two packets of flows with probability 1; auto: of 6.25 avpkt") \
	_(x, TCA_SFBX_BOX_RANDOM, box_random, FRACTION, "", 0, 4294967295, \
	  2147483648, "each Boxtime is random, by up to this part shorter or longer; 0: fixed") \
	_(x, TCA_SFBX_REHASH, rehash, TIME, "", 0, 4294967295, 5000000, \
	  "Hinterval: time between two changes of the hash functions; 0: no change") \
	TC_AQM_LINK_OPTIONS(_, x, TCA_SFBX) \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_SFBX)

enum {
	TCA_SFBX_UNSPEC,
	TCA_SFBX_PAD,
	TCA_SFBX_GIVEN,
	TCA_SFBX_ASSUMED,
	TC_SFBX_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_SFBX_MAX
};

#define TCA_SFBX_MAX		(__TCA_SFBX_MAX - 1)

enum {
	SFBX_BIN_DROP_ALL,
	SFBX_BIN_DROP_ANY,
	SFBX_BIN_DROP_NONE,
};

#define TC_SFBX_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by chance") \
	_(x, __u64, bin_drop, EVENTS, "arrivals", \
	  "dropped because their bins were overfull") \
	_(x, __u64, box_drop, EVENTS, "arrivals", "dropped by the penalty box") \
	_(x, __u64, box_passed, EVENTS, "arrivals", "let through by the penalty box") \
	_(x, __u64, rises, EVENTS, "times", "the probability of a bin rose") \
	_(x, __u64, falls, EVENTS, "times", "the probability of a bin fell") \
	_(x, __u64, rehashes, EVENTS, "times", "the hash functions changed") \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, bin_size, COUNT, "packets", "in force") \
	_(x, __u32, box_time, US, "", "Boxtime in force") \
	_(x, __u32, used, COUNT, "bins", "with packets, of all levels") \
	_(x, __u32, polluted, COUNT, "bins", "with probability 1, of all levels") \
	_(x, __u32, warmed, COUNT, "bins", \
	  "with probability 1 by the next hash functions, of all levels") \
	_(x, __u32, highest, FRACTION, "", "highest probability of a bin now") \
	_(x, __u32, false_alarm, FRACTION, "", \
	  "chance that all bins of a new flow have probability 1") \
	TC_AQM_FILTER_STATS(_, x)

struct tc_sfbx_qdisc_stats {
	TC_SFBX_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_sfbx_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_sfbx_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_SFBX_H */
