/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the tdrr queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_TDRR_H
#define _UAPI_LINUX_PKT_SCHED_TDRR_H

#include "pkt_sched_aqm.h"

#define TDRR_MAX_FLOWS		65536
#define TDRR_MIN_QUANTUM	256
#define TDRR_MAX_QUANTUM	1048576
#define TDRR_MIN_TIME_CONSTANT	1000		/* us */
#define TDRR_MAX_TIME_CONSTANT	100000000

#define TC_TDRR_OPTIONS(_, x) \
	_(x, TCA_TDRR_LIMIT, limit, PACKETS, "", 1, 4294967295, 1000, \
	  "held at most, as the wire will carry them") \
	_(x, TCA_TDRR_MEMORY_LIMIT, memory_limit, BYTES, "", 1, 4294967295, \
	  33554432, "that packets take at most, truesize") \
	_(x, TCA_TDRR_FLOWS, flows, NUMBER, "queues", 1, TDRR_MAX_FLOWS, 1024, \
	  "into which flows are hashed; fixed once set up") \
	_(x, TCA_TDRR_QUANTUM, quantum, BYTES, "", TDRR_MIN_QUANTUM, \
	  TDRR_MAX_QUANTUM, TC_AQM_DERIVED, \
	  "that a queue sends in a round; auto: the device's MTU and header") \
	_(x, TCA_TDRR_TIME_CONSTANT, time_constant, TIME, "", \
	  TDRR_MIN_TIME_CONSTANT, TDRR_MAX_TIME_CONSTANT, 100000, \
	  "of the average that is a queue's throughput")

enum {
	TCA_TDRR_UNSPEC,
	TCA_TDRR_PAD,
	TC_TDRR_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_TDRR_MAX
};

#define TCA_TDRR_MAX		(__TCA_TDRR_MAX - 1)

#define TC_TDRR_QDISC_STATS(_, x) \
	_(x, __u64, dropped_bytes, BYTES, "", "of the packets lost") \
	_(x, __u64, top_throughput, BITRATE, "", "of queue top") \
	_(x, __u32, drop_limit, COUNT, "packets", \
	  "discarded because the buffer held limit packets") \
	_(x, __u32, drop_memory, COUNT, "packets", \
	  "discarded because the buffer held memory_limit bytes") \
	_(x, __u32, drop_oversize, COUNT, "packets", \
	  "whose truesize alone exceeds memory_limit") \
	_(x, __u32, drop_change, COUNT, "packets", \
	  "discarded because a change lowered a limit") \
	_(x, __u32, overflows, COUNT, "packets", "that found no room") \
	_(x, __u32, victims, COUNT, "times", \
	  "a discard hit another queue than the discard before") \
	_(x, __u32, top, COUNT, "", \
	  "number of the active queue with the highest throughput, from 1; 0: none is active") \
	_(x, __u32, active, COUNT, "queues", "that hold at least one packet") \
	_(x, __u32, memory_used, BYTES, "", "truesize of the packets held") \
	_(x, __u32, drop_filter, COUNT, "packets", "lost to a filter")

struct tc_tdrr_qdisc_stats {
	TC_TDRR_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_TDRR_CLASS_STATS(_, x) \
	_(x, __u64, throughput, BITRATE, "", \
	  "what the queue has sent, averaged up to now") \
	_(x, __u32, queue, COUNT, "", \
	  "number of the queue, from 1; as a class, 65536 is 0") \
	_(x, __s32, deficit, BYTES, "", \
	  "that it may still send in this round; 0 or negative: what it has to wait for") \
	_(x, __u32, is_top, FLAG, "", "the next discard would hit this queue") \
	_(x, __u32, reserved, HIDDEN, "", "0")

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

enum {
	TCA_TDRR_XSTATS_QDISC = TC_AQM_XSTATS_QDISC,
	TCA_TDRR_XSTATS_CLASS = TC_AQM_XSTATS_CLASS,
};

#endif /* _UAPI_LINUX_PKT_SCHED_TDRR_H */
