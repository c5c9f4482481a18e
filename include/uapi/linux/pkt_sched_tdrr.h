/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the tdrr queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_TDRR_H
#define _UAPI_LINUX_PKT_SCHED_TDRR_H

#include "pkt_sched_aqm.h"

#define TDRR_MIN_TIME_CONSTANT	1000		/* us */
#define TDRR_MAX_TIME_CONSTANT	100000000

#define TDRR_MAX_TARGET		1000000		/* us */

#define TC_TDRR_OPTIONS(_, x) \
	TC_AQM_FLOWS_OPTIONS(_, x, TCA_TDRR) \
	_(x, TCA_TDRR_TIME_CONSTANT, time_constant, TIME, "", \
	  TDRR_MIN_TIME_CONSTANT, TDRR_MAX_TIME_CONSTANT, 100000, \
	  "time constant of the throughput averages") \
	_(x, TCA_TDRR_SPARSE, sparse, FLAG, "", 0, 1, 0, \
	  "a queue that becomes active with a low throughput goes first in its round") \
	_(x, TCA_TDRR_TARGET, target, TIME, "", 0, TDRR_MAX_TARGET, 0, \
	  "delay above which each queue loses a packet every 100 ms; 0: off") \
	_(x, TCA_TDRR_ECN, ecn, FLAG, "", 0, 1, 0, \
	  "with target: mark packets instead of dropping them, if they support ECN") \
	_(x, TCA_TDRR_DROP_CUT, drop_cut, FRACTION, "", 0, 4294967295, 0, \
	  "part of its throughput that a queue loses with its only packet; 0: off") \
	_(x, TCA_TDRR_FOLLOW_RTT, follow_rtt, FLAG, "", 0, 1, 0, \
	  "the time constant is twice the round-trip time of new TCP flows, at most time_constant")

enum {
	TCA_TDRR_UNSPEC,
	TCA_TDRR_PAD,
	TCA_TDRR_GIVEN,
	TCA_TDRR_ASSUMED,
	TC_TDRR_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_TDRR_MAX
};

#define TCA_TDRR_MAX		(__TCA_TDRR_MAX - 1)

#define TC_TDRR_QDISC_STATS(_, x) \
	TC_AQM_FLOWS_STATS(_, x) \
	_(x, __u64, top_throughput, BITRATE, "", "throughput of queue top") \
	_(x, __u64, victims, EVENTS, "times", \
	  "a full buffer dropped from a different queue than the time before") \
	_(x, __u64, top, COUNT, "", \
	  "number of the active queue with the highest throughput, from 1; 0: no queue is active") \
	_(x, __u64, went_first, EVENTS, "times", "a sparse queue went first in its round") \
	_(x, __u64, target_drop, EVENTS, "packets", "dropped because of target") \
	_(x, __u64, rate, RATE, "", \
	  "at which packets leave while others wait, with target; 0: unknown") \
	_(x, __u64, expected_delay, NS, "", "the backlog at that rate") \
	_(x, __u64, recalled, EVENTS, "flows", \
	  "got a queue and the throughput that they had with an earlier one") \
	_(x, __u64, records, COUNT, "", "of flows without a queue, to give their throughput back") \
	_(x, __u64, rtt, NS, "", "of new TCP flows, averaged; only with follow_rtt; 0: unknown") \
	_(x, __u64, memory, NS, "", "time constant in force; only with follow_rtt")

struct tc_tdrr_qdisc_stats {
	TC_TDRR_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_TDRR_CLASS_STATS(_, x) \
	_(x, __u64, throughput, BITRATE, "", \
	  "average of the bytes sent by the queue") \
	_(x, __u32, queue, COUNT, "", \
	  "number of the queue, from 1; 65536 is class 0") \
	_(x, __u32, is_top, FLAG, "", "this queue loses the next packet") \
	_(x, __s64, deficit, BYTES, "", \
	  "bytes that it may still send in this round; negative: bytes to pay back")

struct tc_tdrr_class_stats {
	TC_TDRR_CLASS_STATS(TC_AQM_MEMBER, 0)
};

struct tc_tdrr_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_tdrr_qdisc_stats	qdisc;
		struct tc_tdrr_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_TDRR_H */
