/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the fpq queue discipline; <linux/pkt_sched_aqm.h> says
 * how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_FPQ_H
#define _UAPI_LINUX_PKT_SCHED_FPQ_H

#include "pkt_sched_aqm.h"

#define TC_FPQ_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_FPQ, 4294967295) \
	_(x, TCA_FPQ_RTT, rtt, TIME, "", 1, 10000000, 100000, \
	  "typical round-trip time; the link sends P packets in it") \
	_(x, TCA_FPQ_MIN_TH, min, PACKETS, "", 1, 11, 5, \
	  "Bmin: average queue length where drops begin") \
	_(x, TCA_FPQ_VECTOR, vector, NUMBER, "bits", 64, 1048576, 5000, \
	  "v_max: number of bits that count the flows") \
	_(x, TCA_FPQ_CLEAR, clear, TIME, "", 1000, 10000000, 4000000, \
	  "t_clear: time in which each bit is cleared once") \
	_(x, TCA_FPQ_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of an arrival in the average; auto: the average remembers 1 s of packets") \
	TC_AQM_LINK_OPTIONS(_, x, TCA_FPQ) \
	_(x, TCA_FPQ_GENTLE, gentle, FLAG, "", 0, 1, 1, \
	  "let the drop probability rise to 1 between max and 2 max, instead of at max") \
	_(x, TCA_FPQ_WAIT, wait, FLAG, "", 0, 1, 1, \
	  "with drop probability p, at least 1/p packets between two drops") \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_FPQ)

enum {
	TCA_FPQ_UNSPEC,
	TCA_FPQ_PAD,
	TCA_FPQ_GIVEN,
	TCA_FPQ_ASSUMED,
	TC_FPQ_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_FPQ_MAX
};

#define TCA_FPQ_MAX		(__TCA_FPQ_MAX - 1)

#define TC_FPQ_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q32, "", "average queue length now") \
	TC_AQM_RED_STATS(_, x) \
	_(x, __u32, flows, COUNT, "flows", "N, the counted flows") \
	_(x, __u32, target, COUNT, "packets", "target queue length for N flows") \
	_(x, __u32, max_th, COUNT, "packets", "Bmax: twice the target") \
	_(x, __u32, max_p, FRACTION, "", "Pmax: loss rate for N flows") \
	_(x, __u32, probability, FRACTION, "", "RED's drop probability p_b at this average") \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, pipe, COUNT, "packets", "P: packets of one round trip") \
	_(x, __u32, min_th, COUNT, "packets", "Bmin in force") \
	_(x, __u32, weight, FRACTION, "", "weight of the average, in force") \
	_(x, __u32, ptime, NS, "", "transmission time of an average packet") \
	_(x, __u32, vector, COUNT, "bits", "v_max in force") \
	_(x, __u32, count, COUNT, "arrivals", \
	  "since the last early drop or mark, while the average was at least min")

struct tc_fpq_qdisc_stats {
	TC_FPQ_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_fpq_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_fpq_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_FPQ_H */
