/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the qsdrr queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_QSDRR_H
#define _UAPI_LINUX_PKT_SCHED_QSDRR_H

#include <linux/types.h>

enum {
	TCA_QSDRR_UNSPEC,
	TCA_QSDRR_LIMIT,	/* u32, packets, >= 1 */
	TCA_QSDRR_MEMORY_LIMIT,	/* u32, bytes of skb truesize, >= 1 */
	TCA_QSDRR_FLOWS,	/* u32, queues, 1 to QSDRR_MAX_FLOWS */
	TCA_QSDRR_QUANTUM,	/* u32, bytes, QSDRR_MIN_QUANTUM to _MAX_ */
	TCA_QSDRR_HYSTERESIS,	/* u8, 0 or 1 */
	__TCA_QSDRR_MAX
};

#define TCA_QSDRR_MAX		(__TCA_QSDRR_MAX - 1)

#define QSDRR_MAX_FLOWS		(1 << 20)
#define QSDRR_MIN_QUANTUM	256
#define QSDRR_MAX_QUANTUM	(1 << 20)

enum {
	TCA_QSDRR_XSTATS_QDISC,
	TCA_QSDRR_XSTATS_CLASS,
};

/**
 * struct tc_qsdrr_qdisc_stats - statistics of the discipline
 * @dropped_bytes: bytes of the packets discarded
 * @drop_limit: packets discarded because the buffer held @limit packets
 * @drop_memory: packets discarded because the buffer held memory_limit bytes
 * @drop_oversize: arrivals whose truesize alone exceeds memory_limit
 * @drop_change: packets discarded because a change lowered a limit
 * @overflows: arrivals that found no room
 * @q_chosen: times Q was chosen afresh
 * @q: number of queue Q, counted from 1; 0 while Q is undefined
 * @active: queues that hold at least one packet
 * @memory_used: truesize of the packets held, bytes
 */
struct tc_qsdrr_qdisc_stats {
	__u64	dropped_bytes;
	__u32	drop_limit;
	__u32	drop_memory;
	__u32	drop_oversize;
	__u32	drop_change;
	__u32	overflows;
	__u32	q_chosen;
	__u32	q;
	__u32	active;
	__u32	memory_used;
	__u32	reserved;
};

/**
 * struct tc_qsdrr_class_stats - statistics of one queue
 * @queue: number of the queue, counted from 1. The minor number of the class
 *	holds only its low 16 bits.
 * @deficit: bytes that the queue may still send in this round; negative after
 *	a packet that was larger than what was left
 * @is_q: 1 if this queue is Q
 */
struct tc_qsdrr_class_stats {
	__u32	queue;
	__s32	deficit;
	__u32	is_q;
	__u32	reserved;
};

/**
 * struct tc_qsdrr_xstats - what TCA_STATS_APP holds
 * @type: TCA_QSDRR_XSTATS_QDISC or _CLASS
 */
struct tc_qsdrr_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_qsdrr_qdisc_stats	qdisc;
		struct tc_qsdrr_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_QSDRR_H */
