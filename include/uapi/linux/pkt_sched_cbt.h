/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the cbt queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_CBT_H
#define _UAPI_LINUX_PKT_SCHED_CBT_H

#include <linux/types.h>

/* The classes; as minor numbers, too. */
enum {
	CBT_ALL,	/* not a class: the queue as a whole */
	CBT_TCP,
	CBT_TAGGED,
	CBT_OTHER,
	CBT_CLASSES
};

/* Thresholds and averages are in 1/256 packet. */
#define CBT_UNIT		256
#define CBT_MAX_LIMIT		(1 << 20)
#define CBT_MAX_THRESHOLD	(CBT_MAX_LIMIT * CBT_UNIT)

enum {
	CBT_RED_TCP,	/* TCP faces RED on the average of its own packets */
	CBT_RED_ALL,	/* all face RED on the average of the whole queue */
};

enum {
	CBT_VICTIM_RANDOM,	/* a forced drop takes any packet of the queue */
	CBT_VICTIM_ARRIVAL,	/* a forced drop takes the arrival */
};

enum {
	TCA_CBT_UNSPEC,
	TCA_CBT_LIMIT,		/* u32, packets, 1 to CBT_MAX_LIMIT */
	TCA_CBT_BANDWIDTH,	/* u64, bytes per second, >= 1 */
	TCA_CBT_LATENCY,	/* u32, us, >= 1 */
	TCA_CBT_SHARE_TCP,	/* u32, 2^-32 of the bytes, >= 1 */
	TCA_CBT_SHARE_TAGGED,	/* u32 */
	TCA_CBT_SHARE_OTHER,	/* u32 */
	TCA_CBT_PACKET_TCP,	/* u32, mean size, bytes, >= 1 */
	TCA_CBT_PACKET_TAGGED,	/* u32 */
	TCA_CBT_PACKET_OTHER,	/* u32 */
	TCA_CBT_MIN_TH,		/* u32, 1/256 packet; 0: from the shares */
	TCA_CBT_MAX_TH,		/* u32 */
	TCA_CBT_TAGGED_TH,	/* u32 */
	TCA_CBT_OTHER_TH,	/* u32 */
	TCA_CBT_RED,		/* u8, CBT_RED_TCP or _ALL */
	TCA_CBT_PROBABILITY,	/* u32, 2^-32: max_p, at max */
	TCA_CBT_WEIGHT,		/* u32, 2^-32: of RED's averages, >= 1 */
	TCA_CBT_CLASS_WEIGHT,	/* u32, 2^-32: of tagged's and other's, >= 1 */
	TCA_CBT_DSCP,		/* u64: bit n tags packets with DSCP n */
	TCA_CBT_MARK,		/* u32: value of skb->mark that tags */
	TCA_CBT_MARK_MASK,	/* u32: the bits compared; 0: none tags */
	TCA_CBT_GENTLE,		/* u8, 0 or 1 */
	TCA_CBT_ECN,		/* u8, 0 or 1 */
	TCA_CBT_HARDDROP,	/* u8, 0 or 1 */
	TCA_CBT_DROP,		/* u8; 0: queue what cannot be marked, needs ecn */
	TCA_CBT_SEED,		/* u32; 0: unpredictable */
	TCA_CBT_PAD,
	TCA_CBT_VICTIM,		/* u8, CBT_VICTIM_RANDOM or _ARRIVAL */
	__TCA_CBT_MAX
};

#define TCA_CBT_MAX		(__TCA_CBT_MAX - 1)

enum {
	TCA_CBT_XSTATS_QDISC,
	TCA_CBT_XSTATS_CLASS,
};

/**
 * struct tc_cbt_qdisc_stats - statistics of the discipline
 * @avg: average number of packets in the queue, 2^-32 of 1/256 packet
 * @avg_tcp: the same of TCP's packets
 * @avg_tagged: the same of tagged packets
 * @avg_other: the same of other packets
 * @dropped_bytes: bytes of all packets dropped
 * @tcp: packets in the queue
 * @tagged: packets in the queue
 * @other: packets in the queue
 * @tagged_drop: tagged arrivals dropped above their threshold
 * @other_drop: other arrivals dropped above their threshold
 * @early_drop: arrivals dropped by RED's chance
 * @early_mark: arrivals marked by RED's chance
 * @forced_drop: packets dropped at random because RED's average was too high
 * @forced_mark: arrivals marked for that reason
 * @spared: arrivals queued because of nodrop though they could not be marked
 * @full_drop: packets dropped at random because the queue held limit packets
 * @drop_change: packets dropped because a change lowered the limit
 * @victims: those of forced_drop and full_drop that were in the queue
 * @probability: RED's p_b, 2^-32; 2^32 - 1 stands for 1
 */
struct tc_cbt_qdisc_stats {
	__u64	avg;
	__u64	avg_tcp;
	__u64	avg_tagged;
	__u64	avg_other;
	__u64	dropped_bytes;
	__u32	tcp;
	__u32	tagged;
	__u32	other;
	__u32	tagged_drop;
	__u32	other_drop;
	__u32	early_drop;
	__u32	early_mark;
	__u32	forced_drop;
	__u32	forced_mark;
	__u32	spared;
	__u32	full_drop;
	__u32	drop_change;
	__u32	victims;
	__u32	probability;
};

/**
 * struct tc_cbt_class_stats - statistics of one class
 * @avg: average number of its packets in the queue, 2^-32 of 1/256 packet
 * @arrivals: packets that arrived
 * @class_id: CBT_TCP, CBT_TAGGED or CBT_OTHER
 * @threshold: of the average, 1/256 packet; TCP: RED's max
 * @threshold_drop: arrivals dropped above the threshold
 * @early_drop: arrivals dropped by RED's chance
 * @mark: arrivals marked
 * @random_drop: packets lost to a forced drop, RED's or of a full queue
 */
struct tc_cbt_class_stats {
	__u64	avg;
	__u64	arrivals;
	__u32	class_id;
	__u32	threshold;
	__u32	threshold_drop;
	__u32	early_drop;
	__u32	mark;
	__u32	random_drop;
};

/**
 * struct tc_cbt_xstats - what TCA_STATS_APP holds
 * @type: TCA_CBT_XSTATS_QDISC or _CLASS
 */
struct tc_cbt_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_cbt_qdisc_stats	qdisc;
		struct tc_cbt_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_CBT_H */
