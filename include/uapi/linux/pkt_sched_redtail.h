/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the redtail queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0. Probabilities and shares
 * are Q0.32: 2^32 would be 1.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_REDTAIL_H
#define _UAPI_LINUX_PKT_SCHED_REDTAIL_H

#include <linux/types.h>

enum {
	TCA_REDTAIL_UNSPEC,
	TCA_REDTAIL_BANDWIDTH,	/* u64, bytes per second */
	TCA_REDTAIL_LIMIT,	/* u32, bytes; 0: from the bandwidth */
	TCA_REDTAIL_MIN1,	/* u32, bytes; 0: from the limit */
	TCA_REDTAIL_MAX1,	/* u32, bytes; 0: from the limit */
	TCA_REDTAIL_MIN2,	/* u32, bytes; 0: from the limit */
	TCA_REDTAIL_MAX2,	/* u32, bytes; 0: from the limit */
	TCA_REDTAIL_SHARE_MIN,	/* u32, Q0.32; 0: min1 / max1 */
	TCA_REDTAIL_SHARE_MAX,	/* u32, Q0.32, > 0 */
	TCA_REDTAIL_AVPKT,	/* u32, bytes, REDTAIL_MIN_AVPKT to _MAX_ */
	TCA_REDTAIL_WEIGHT,	/* u32, Q0.32; 0: from bandwidth and avpkt */
	TCA_REDTAIL_PROBABILITY, /* u32, Q0.32, > 0 */
	TCA_REDTAIL_ADAPTIVE,	/* u8, 0 or 1 */
	TCA_REDTAIL_ECN,	/* u8, 0 or 1 */
	TCA_REDTAIL_HARDDROP,	/* u8, 0 or 1 */
	TCA_REDTAIL_NODROP,	/* u8, 0 or 1 */
	TCA_REDTAIL_PACKETS,	/* u32, packets of a flow that count as short */
	TCA_REDTAIL_AGE,	/* u32, us that a flow counts as short */
	TCA_REDTAIL_TAU,	/* u32, us, >= 1 */
	TCA_REDTAIL_FLOWS,	/* u32, slots, 1 to REDTAIL_MAX_FLOWS */
	TCA_REDTAIL_KEY,	/* u8, enum redtail_key */
	TCA_REDTAIL_DYNAMIC,	/* u8, 0 or 1 */
	TCA_REDTAIL_LOW,	/* u32, Q0.32 */
	TCA_REDTAIL_HIGH,	/* u32, Q0.32 */
	TCA_REDTAIL_GAMMA,	/* u32, Q0.32, > 0 */
	TCA_REDTAIL_SEED,	/* u32; 0: random */
	__TCA_REDTAIL_MAX
};

#define TCA_REDTAIL_MAX		(__TCA_REDTAIL_MAX - 1)

#define REDTAIL_MIN_BANDWIDTH	1000
#define REDTAIL_MAX_BANDWIDTH	(1ULL << 40)
#define REDTAIL_MAX_LIMIT	(1U << 30)
#define REDTAIL_MIN_AVPKT	64
#define REDTAIL_MAX_AVPKT	65535
#define REDTAIL_MAX_FLOWS	(1U << 20)

enum redtail_key {
	REDTAIL_KEY_ADDRESSES,	/* source and destination address */
	REDTAIL_KEY_FLOW,	/* and both ports */
	__REDTAIL_KEY_MAX
};

#define REDTAIL_KEY_MAX		(__REDTAIL_KEY_MAX - 1)

enum {
	TCA_REDTAIL_XSTATS_QDISC,
	TCA_REDTAIL_XSTATS_CLASS,
};

/**
 * struct tc_redtail_qdisc_stats - statistics of the discipline
 * @sent_short: bytes served from the short queue
 * @sent_long: bytes served from the long queue
 * @credit: bytes that the short queue is owed; negative: that it was served
 *	ahead of its share
 * @limit: bytes held at most, in force; so for the rest of the thresholds
 * @min1: lower threshold of the short queue, bytes
 * @max1: upper threshold of the short queue, bytes
 * @min2: lower threshold of the long queue, bytes; moves with dynamic
 * @max2: upper threshold of the long queue, bytes; moves with dynamic
 * @share_min: least share of the short queue, Q0.32
 * @share_max: greatest share of the short queue, Q0.32
 * @weight: of the average, Q0.32
 * @backlog_short: bytes held in the short queue
 * @backlog_long: bytes held in the long queue
 * @qlen_short: packets held in the short queue
 * @qlen_long: packets held in the long queue
 * @share: of the short queue at its present length, Q0.32
 * @avg: average length of the long queue, bytes
 * @max_p: Adaptive RED's, Q0.32
 * @loss_short: average of lost to arrived packets, short queue, Q0.32
 * @loss_long: average of lost or marked to arrived, long queue, Q0.32
 * @early_drop: packets dropped by chance
 * @early_mark: packets marked by chance
 * @forced_drop: packets dropped because the average was above 2 max2
 * @forced_mark: packets marked because the average was above 2 max2
 * @overflow_short: short queue's arrivals that found the buffer full
 * @overflow_long: long queue's arrivals that found the buffer full
 * @drop_change: packets discarded because a change lowered the limit
 * @max_p_raised: steps of max_p up
 * @max_p_lowered: steps of max_p down
 * @min2_raised: steps of the dynamic thresholds up
 * @min2_lowered: steps of the dynamic thresholds down
 * @flows_new: flows that were new
 * @flows_long: flows that became long
 * @flows_evicted: flows forgotten early for want of a slot
 * @marked: packets marked, by chance or not
 * @reserved: 0
 */
struct tc_redtail_qdisc_stats {
	__u64	sent_short;
	__u64	sent_long;
	__s32	credit;
	__u32	limit;
	__u32	min1;
	__u32	max1;
	__u32	min2;
	__u32	max2;
	__u32	share_min;
	__u32	share_max;
	__u32	weight;
	__u32	backlog_short;
	__u32	backlog_long;
	__u32	qlen_short;
	__u32	qlen_long;
	__u32	share;
	__u32	avg;
	__u32	max_p;
	__u32	loss_short;
	__u32	loss_long;
	__u32	early_drop;
	__u32	early_mark;
	__u32	forced_drop;
	__u32	forced_mark;
	__u32	overflow_short;
	__u32	overflow_long;
	__u32	drop_change;
	__u32	max_p_raised;
	__u32	max_p_lowered;
	__u32	min2_raised;
	__u32	min2_lowered;
	__u32	flows_new;
	__u32	flows_long;
	__u32	flows_evicted;
	__u32	marked;
	__u32	reserved;
};

/**
 * struct tc_redtail_class_stats - statistics of one queue, 1 short or 2 long
 * @sent: bytes served
 * @arrived: packets that came for this queue
 * @share: of the service while both queues hold packets, Q0.32
 * @loss: average of lost (or marked) to arrived packets, Q0.32
 * @min: lower threshold in force, bytes
 * @max: upper threshold in force, bytes
 * @avg: average length, bytes; long queue only
 * @max_p: Adaptive RED's, Q0.32; long queue only
 * @marked: packets marked; long queue only
 */
struct tc_redtail_class_stats {
	__u64	sent;
	__u32	arrived;
	__u32	share;
	__u32	loss;
	__u32	min;
	__u32	max;
	__u32	avg;
	__u32	max_p;
	__u32	marked;
};

/**
 * struct tc_redtail_xstats - what TCA_STATS_APP holds
 * @type: TCA_REDTAIL_XSTATS_QDISC or _CLASS
 * @reserved: 0
 */
struct tc_redtail_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_redtail_qdisc_stats	qdisc;
		struct tc_redtail_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_REDTAIL_H */
