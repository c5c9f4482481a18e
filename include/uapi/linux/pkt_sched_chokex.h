/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the chokex queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_CHOKEX_H
#define _UAPI_LINUX_PKT_SCHED_CHOKEX_H

#include "pkt_sched_aqm.h"

#define CHOKEX_MAX_LIMIT	1048576
#define CHOKEX_MAX_CANDIDATES	64
#define CHOKEX_MAX_REGIONS	32	/* half of that */

#define TC_CHOKEX_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_CHOKEX, CHOKEX_MAX_LIMIT) \
	_(x, TCA_CHOKEX_MIN_TH, min, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average queue length where RED begins; auto: limit / 3, at least 5") \
	_(x, TCA_CHOKEX_MAX_TH, max, PACKETS, "", 2, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average queue length where probability is reached; auto: halfway from min to limit") \
	_(x, TCA_CHOKEX_PROBABILITY, probability, FRACTION, "", 0, 4294967295, \
	  85899346, "RED's drop probability at max") \
	_(x, TCA_CHOKEX_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of an arrival in the average; auto: it remembers 3 limit packets, at most 1 s") \
	TC_AQM_LINK_OPTIONS(_, x, TCA_CHOKEX) \
	_(x, TCA_CHOKEX_CANDIDATES, candidates, NUMBER, "packets", 1, \
	  CHOKEX_MAX_CANDIDATES, 1, \
	  "packets drawn and compared with each arrival; not together with adaptive") \
	_(x, TCA_CHOKEX_ADAPTIVE, adaptive, NUMBER, "regions", 1, \
	  CHOKEX_MAX_REGIONS, TC_AQM_DERIVED, \
	  "regions of the average, each with 2 more candidates; auto: use candidates") \
	_(x, TCA_CHOKEX_GENTLE, gentle, FLAG, "", 0, 1, 0, \
	  "let the drop probability rise to 1 between max and 2 max, instead of at max") \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_CHOKEX)

enum {
	TCA_CHOKEX_UNSPEC,
	TCA_CHOKEX_PAD,
	TCA_CHOKEX_GIVEN,
	TCA_CHOKEX_ASSUMED,
	TC_CHOKEX_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_CHOKEX_MAX
};

#define TCA_CHOKEX_MAX		(__TCA_CHOKEX_MAX - 1)

#define TC_CHOKEX_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q32, "", "average queue length now") \
	_(x, __u64, drawn, EVENTS, "candidates", "drawn and compared") \
	_(x, __u64, matched, EVENTS, "arrivals", \
	  "dropped because a candidate belonged to their flow") \
	_(x, __u64, victims, EVENTS, "packets", \
	  "dropped from the queue because an arrival belonged to their flow") \
	TC_AQM_RED_STATS(_, x) \
	_(x, __u64, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, candidates, COUNT, "packets", \
	  "draws per arrival at this average; 0 below min") \
	_(x, __u32, probability, FRACTION, "", "RED's drop probability p_b at this average") \
	_(x, __u32, max_p, FRACTION, "", "RED's probability at max") \
	_(x, __u32, min_th, COUNT, "packets", "min in force") \
	_(x, __u32, max_th, COUNT, "packets", "max in force") \
	_(x, __u32, weight, FRACTION, "", "weight of the average, in force") \
	_(x, __u32, ptime, NS, "", "transmission time of an average packet") \
	_(x, __u32, count, COUNT, "arrivals", \
	  "since the last early drop or mark, while the average was at least min") \
	TC_AQM_FILTER_STATS(_, x)

struct tc_chokex_qdisc_stats {
	TC_CHOKEX_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_chokex_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_chokex_qdisc_stats	qdisc;
	};
};

enum {
	TCA_CHOKEX_XSTATS_QDISC = TC_AQM_XSTATS_QDISC,
};

#endif /* _UAPI_LINUX_PKT_SCHED_CHOKEX_H */
