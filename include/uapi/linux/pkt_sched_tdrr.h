/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the tdrr queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_TDRR_H
#define _UAPI_LINUX_PKT_SCHED_TDRR_H

#include <linux/types.h>

enum {
	TCA_TDRR_UNSPEC,
	TCA_TDRR_LIMIT,		/* u32, packets, >= 1 */
	TCA_TDRR_MEMORY_LIMIT,	/* u32, bytes of skb truesize, >= 1 */
	TCA_TDRR_FLOWS,		/* u32, queues, 1 to TDRR_MAX_FLOWS */
	TCA_TDRR_QUANTUM,	/* u32, bytes, TDRR_MIN_QUANTUM to _MAX_ */
	TCA_TDRR_TIME_CONSTANT,	/* u32, us, TDRR_MIN_TIME_CONSTANT to _MAX_ */
	__TCA_TDRR_MAX
};

#define TCA_TDRR_MAX		(__TCA_TDRR_MAX - 1)

#define TDRR_MAX_FLOWS		(1 << 20)
#define TDRR_MIN_QUANTUM	256
#define TDRR_MAX_QUANTUM	(1 << 20)
#define TDRR_MIN_TIME_CONSTANT	1000		/* 1 ms */
#define TDRR_MAX_TIME_CONSTANT	100000000	/* 100 s */

enum {
	TCA_TDRR_XSTATS_QDISC,
	TCA_TDRR_XSTATS_CLASS,
};

/**
 * struct tc_tdrr_qdisc_stats - statistics of the discipline
 * @dropped_bytes: bytes of the packets discarded
 * @top_throughput: throughput of queue @top, bits per second
 * @drop_limit: packets discarded because the buffer held @limit packets
 * @drop_memory: packets discarded because the buffer held memory_limit bytes
 * @drop_oversize: arrivals whose truesize alone exceeds memory_limit
 * @drop_change: packets discarded because a change lowered a limit
 * @overflows: arrivals that found no room
 * @victims: times that a discard hit another queue than the discard before
 * @top: number of the active queue with the highest throughput, counted from
 *	1; 0 if none is active
 * @active: queues that hold at least one packet
 * @memory_used: truesize of the packets held, bytes
 */
struct tc_tdrr_qdisc_stats {
	__u64	dropped_bytes;
	__u64	top_throughput;
	__u32	drop_limit;
	__u32	drop_memory;
	__u32	drop_oversize;
	__u32	drop_change;
	__u32	overflows;
	__u32	victims;
	__u32	top;
	__u32	active;
	__u32	memory_used;
	__u32	reserved;
};

/**
 * struct tc_tdrr_class_stats - statistics of one queue
 * @throughput: what the queue has sent, averaged with the time constant up to
 *	now, bits per second
 * @queue: number of the queue, counted from 1. The minor number of the class
 *	holds only its low 16 bits.
 * @deficit: bytes that the queue may still send in this round; negative after
 *	a packet that was larger than what was left
 * @is_top: 1 if the next discard would hit this queue
 */
struct tc_tdrr_class_stats {
	__u64	throughput;
	__u32	queue;
	__s32	deficit;
	__u32	is_top;
	__u32	reserved;
};

/**
 * struct tc_tdrr_xstats - what TCA_STATS_APP holds
 * @type: TCA_TDRR_XSTATS_QDISC or _CLASS
 */
struct tc_tdrr_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_tdrr_qdisc_stats	qdisc;
		struct tc_tdrr_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_TDRR_H */
