/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the qsdrr queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_QSDRR_H
#define _UAPI_LINUX_PKT_SCHED_QSDRR_H

#include "pkt_sched_aqm.h"

#define QSDRR_MAX_FLOWS		65536
#define QSDRR_MIN_QUANTUM	256
#define QSDRR_MAX_QUANTUM	1048576

#define TC_QSDRR_OPTIONS(_, x) \
	_(x, TCA_QSDRR_LIMIT, limit, PACKETS, "", 1, 4294967295, 1000, \
	  "held at most, as the wire will carry them") \
	_(x, TCA_QSDRR_MEMORY_LIMIT, memory_limit, BYTES, "", 1, 4294967295, \
	  33554432, "that packets take at most, truesize") \
	_(x, TCA_QSDRR_FLOWS, flows, NUMBER, "queues", 1, QSDRR_MAX_FLOWS, \
	  1024, "into which flows are hashed; fixed once set up") \
	_(x, TCA_QSDRR_QUANTUM, quantum, BYTES, "", QSDRR_MIN_QUANTUM, \
	  QSDRR_MAX_QUANTUM, TC_AQM_DERIVED, \
	  "that a queue sends in a round; auto: the device's MTU and header") \
	_(x, TCA_QSDRR_HYSTERESIS, hysteresis, FLAG, "", 0, 1, 1, \
	  "queue Q stays Q until it is the shortest")

enum {
	TCA_QSDRR_UNSPEC,
	TCA_QSDRR_PAD,
	TC_QSDRR_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_QSDRR_MAX
};

#define TCA_QSDRR_MAX		(__TCA_QSDRR_MAX - 1)

#define TC_QSDRR_QDISC_STATS(_, x) \
	_(x, __u64, dropped_bytes, BYTES, "", "of the packets lost") \
	_(x, __u32, drop_limit, COUNT, "packets", \
	  "discarded because the buffer held limit packets") \
	_(x, __u32, drop_memory, COUNT, "packets", \
	  "discarded because the buffer held memory_limit bytes") \
	_(x, __u32, drop_oversize, COUNT, "packets", \
	  "whose truesize alone exceeds memory_limit") \
	_(x, __u32, drop_change, COUNT, "packets", \
	  "discarded because a change lowered a limit") \
	_(x, __u32, overflows, COUNT, "packets", "that found no room") \
	_(x, __u32, q_chosen, COUNT, "times", "Q was chosen afresh") \
	_(x, __u32, q, COUNT, "", \
	  "number of queue Q, from 1; 0: Q is undefined") \
	_(x, __u32, active, COUNT, "queues", "that hold at least one packet") \
	_(x, __u32, memory_used, BYTES, "", "truesize of the packets held") \
	_(x, __u32, drop_filter, COUNT, "packets", "lost to a filter")

struct tc_qsdrr_qdisc_stats {
	TC_QSDRR_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_QSDRR_CLASS_STATS(_, x) \
	_(x, __u32, queue, COUNT, "", \
	  "number of the queue, from 1; as a class, 65536 is 0") \
	_(x, __s32, deficit, BYTES, "", \
	  "that it may still send in this round; 0 or negative: what it has to wait for") \
	_(x, __u32, is_q, FLAG, "", "this queue is Q") \
	_(x, __u32, reserved, HIDDEN, "", "0")

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

enum {
	TCA_QSDRR_XSTATS_QDISC = TC_AQM_XSTATS_QDISC,
	TCA_QSDRR_XSTATS_CLASS = TC_AQM_XSTATS_CLASS,
};

#endif /* _UAPI_LINUX_PKT_SCHED_QSDRR_H */
