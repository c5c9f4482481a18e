/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the qsdrr queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_QSDRR_H
#define _UAPI_LINUX_PKT_SCHED_QSDRR_H

#include "pkt_sched_aqm.h"

#define TC_QSDRR_OPTIONS(_, x) \
	TC_AQM_FLOWS_OPTIONS(_, x, TCA_QSDRR) \
	_(x, TCA_QSDRR_HYSTERESIS, hysteresis, FLAG, "", 0, 1, 1, \
	  "keep dropping from queue Q until it is the shortest")

enum {
	TCA_QSDRR_UNSPEC,
	TCA_QSDRR_PAD,
	TCA_QSDRR_GIVEN,
	TCA_QSDRR_ASSUMED,
	TC_QSDRR_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_QSDRR_MAX
};

#define TCA_QSDRR_MAX		(__TCA_QSDRR_MAX - 1)

#define TC_QSDRR_QDISC_STATS(_, x) \
	TC_AQM_FLOWS_STATS(_, x) \
	_(x, __u64, q_chosen, EVENTS, "times", "a new Q was chosen") \
	_(x, __u64, q, COUNT, "", "number of queue Q, from 1; 0: no Q")

struct tc_qsdrr_qdisc_stats {
	TC_QSDRR_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_QSDRR_CLASS_STATS(_, x) \
	_(x, __u32, queue, COUNT, "", \
	  "number of the queue, from 1; 65536 is class 0") \
	_(x, __u32, is_q, FLAG, "", "this queue is Q") \
	_(x, __s64, deficit, BYTES, "", \
	  "bytes that it may still send in this round; negative: bytes to pay back")

struct tc_qsdrr_class_stats {
	TC_QSDRR_CLASS_STATS(TC_AQM_MEMBER, 0)
};

struct tc_qsdrr_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_qsdrr_qdisc_stats	qdisc;
		struct tc_qsdrr_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_QSDRR_H */
