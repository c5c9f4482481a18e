/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the 2regionred queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_2REGIONRED_H
#define _UAPI_LINUX_PKT_SCHED_2REGIONRED_H

#include "pkt_sched_aqm.h"

#define TC_2REGIONRED_MAX_PACKETS	16777215	/* 2^24 - 1 */

#define TC_2REGIONRED_OPTIONS(_, x) \
	TC_AQM_BANDWIDTH_OPTION(_, x, TCA_2REGIONRED) \
	_(x, TCA_2REGIONRED_RTT, rtt, TIME, "", 1000, 10000000, 100000, \
	  "typical round-trip time") \
	_(x, TCA_2REGIONRED_AVPKT, avpkt, BYTES, "", 64, 65535, 1500, \
	  "size of an average packet") \
	_(x, TCA_2REGIONRED_FLOWS, flows, NUMBER, "flows", \
	  1, 65535, TC_AQM_DERIVED, \
	  "N_Bmin: smallest number of flows that keep the link busy; auto: 10, or n_1dpr if less") \
	_(x, TCA_2REGIONRED_LIMIT, limit, PACKETS, "", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "maximum number of queued wire packets; auto: 1.5 bmax, at most 100 ms of bandwidth") \
	TC_AQM_MEMORY_OPTION(_, x, TCA_2REGIONRED) \
	TC_AQM_SPLIT_OPTION(_, x, TCA_2REGIONRED, 1) \
	_(x, TCA_2REGIONRED_BMIN, bmin, PACKETS, "", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "end of phase I; auto: how much one drop shortens the queue") \
	_(x, TCA_2REGIONRED_BFLAT, bflat, PACKETS, "", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "end of phase II; auto: bmin + 1.5 n_1dpr") \
	_(x, TCA_2REGIONRED_TARGET, target, PACKETS, "", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "queue length that phase III aims for; auto: bflat + 1.35 n_1dpr") \
	_(x, TCA_2REGIONRED_BMAX, bmax, PACKETS, "", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "end of phase III; auto: bandwidth times rtt, at most 7/8 limit") \
	_(x, TCA_2REGIONRED_N_1DPR, n_1dpr, NUMBER, "flows", \
	  1, TC_2REGIONRED_MAX_PACKETS, TC_AQM_DERIVED, \
	  "number of flows that need one drop per rtt; auto: from bandwidth times rtt") \
	_(x, TCA_2REGIONRED_ESTIMATOR, estimator, CHOICE, \
	  "absmin|ewma|ewma-drain", 0, 2, 0, "estimator of the persistent queue") \
	_(x, TCA_2REGIONRED_GENTLE, gentle, FLAG, "", 0, 1, 1, \
	  "let the drop fraction rise in phase IV") \
	_(x, TCA_2REGIONRED_LITERAL, literal, FLAG, "", 0, 1, 0, \
	  "phase III exactly as printed in figure 4-7 of the thesis") \
	TC_AQM_MARK_OPTIONS(_, x, TCA_2REGIONRED) \
	TC_AQM_SEED_OPTION(_, x, TCA_2REGIONRED)

enum {
	TCA_2REGIONRED_UNSPEC,
	TCA_2REGIONRED_PAD,
	TCA_2REGIONRED_GIVEN,
	TCA_2REGIONRED_ASSUMED,
	TC_2REGIONRED_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_2REGIONRED_MAX
};

#define TCA_2REGIONRED_MAX		(__TCA_2REGIONRED_MAX - 1)

enum {
	TC_2REGIONRED_ABSMIN,
	TC_2REGIONRED_EWMA,
	TC_2REGIONRED_EWMA_DRAIN,
};

#define TC_2REGIONRED_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, q_est, PACKETS_Q32, "", "estimated persistent queue") \
	_(x, __u64, ppd, PACKETS_Q32, "", \
	  "packets per drop in phase III; 0 before the queue first reached bflat") \
	_(x, __u64, window, PACKETS_Q32, "", "phase III's W; 0 until the queue reaches bflat") \
	_(x, __u64, pipe, PACKETS_Q32, "", "bandwidth times rtt") \
	_(x, __u32, phase, CHOICE, "none|quiet|low|high|max", \
	  "phases I to IV of the thesis, at the last arrival") \
	_(x, __u32, bmin, COUNT, "packets", "in force") \
	_(x, __u32, bflat, COUNT, "packets", "in force") \
	_(x, __u32, target, COUNT, "packets", "in force") \
	_(x, __u32, bmax, COUNT, "packets", "in force") \
	_(x, __u32, n_1dpr, COUNT, "flows", "in force, rounded down") \
	_(x, __u32, hold_off, US, "", "remaining pause of phase II") \
	_(x, __u32, flows, COUNT, "flows", "in force: N_Bmin") \
	_(x, __u64, entered_quiet, EVENTS, "times", "phase I began") \
	_(x, __u64, entered_low, EVENTS, "times", "phase II began") \
	_(x, __u64, entered_high, EVENTS, "times", "phase III began") \
	_(x, __u64, entered_max, EVENTS, "times", "phase IV began") \
	_(x, __u64, updates, EVENTS, "times", "phase III's controller ran") \
	_(x, __u64, negative, EVENTS, "times", \
	  "the new drop rate was not positive") \
	_(x, __u64, dropped_low, EVENTS, "packets", "dropped in phase II") \
	_(x, __u64, dropped_high, EVENTS, "packets", "dropped in phase III") \
	_(x, __u64, dropped_max, EVENTS, "packets", "dropped in phase IV") \
	_(x, __u64, marked_low, EVENTS, "packets", "marked in phase II") \
	_(x, __u64, marked_high, EVENTS, "packets", "marked in phase III") \
	_(x, __u64, marked_max, EVENTS, "packets", "marked in phase IV")

struct tc_2regionred_qdisc_stats {
	TC_2REGIONRED_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_2regionred_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_2regionred_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_2REGIONRED_H */
