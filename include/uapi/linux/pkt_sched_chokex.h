/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the chokex queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_CHOKEX_H
#define _UAPI_LINUX_PKT_SCHED_CHOKEX_H

#include <linux/types.h>

enum {
	TCA_CHOKEX_UNSPEC,
	TCA_CHOKEX_LIMIT,	/* u32, packets, 1 to CHOKEX_MAX_LIMIT */
	TCA_CHOKEX_MIN_TH,	/* u32, packets; 0: limit / 3 */
	TCA_CHOKEX_MAX_TH,	/* u32, packets, above min; 0: 2 limit / 3 */
	TCA_CHOKEX_PROBABILITY,	/* u32, 2^-32: max_p, at max */
	TCA_CHOKEX_WEIGHT,	/* u32, 2^-32: of the average, >= 1 */
	TCA_CHOKEX_BANDWIDTH,	/* u64, bytes per second, >= 1 */
	TCA_CHOKEX_AVPKT,	/* u32, bytes, >= 1 */
	TCA_CHOKEX_CANDIDATES,	/* u32, 1 to CHOKEX_MAX_CANDIDATES */
	TCA_CHOKEX_ADAPTIVE,	/* u32, regions, 1 to CHOKEX_MAX_REGIONS; not
				 * together with _CANDIDATES. Either of the
				 * two replaces the other.
				 */
	TCA_CHOKEX_GENTLE,	/* u8, 0 or 1 */
	TCA_CHOKEX_ECN,		/* u8, 0 or 1 */
	TCA_CHOKEX_HARDDROP,	/* u8, 0 or 1 */
	TCA_CHOKEX_DROP,	/* u8; 0: queue what cannot be marked, needs ecn */
	TCA_CHOKEX_SEED,	/* u32; 0: unpredictable */
	TCA_CHOKEX_PAD,
	__TCA_CHOKEX_MAX
};

#define TCA_CHOKEX_MAX		(__TCA_CHOKEX_MAX - 1)

#define CHOKEX_MAX_LIMIT	(1 << 20)
#define CHOKEX_MAX_CANDIDATES	64
#define CHOKEX_MAX_REGIONS	(CHOKEX_MAX_CANDIDATES / 2)

enum {
	TCA_CHOKEX_XSTATS_QDISC,
};

/**
 * struct tc_chokex_qdisc_stats - statistics of the discipline
 * @avg: average queue length, 2^-32 packets
 * @drawn: candidates drawn and compared
 * @dropped_bytes: bytes of all packets dropped
 * @matched: arrivals dropped because a candidate was of their flow
 * @victims: queued packets dropped because an arrival was of their flow
 * @early_drop: arrivals dropped by chance
 * @early_mark: arrivals marked by chance
 * @forced_drop: arrivals dropped because the average was too high
 * @forced_mark: arrivals marked because the average was too high
 * @spared: arrivals queued because of nodrop though they could not be marked
 * @drop_limit: arrivals dropped because the queue held limit packets
 * @drop_change: packets dropped because a change lowered the limit
 * @candidates: m, what an arrival would draw at this average; 0 below min
 * @probability: RED's p_b at this average, 2^-32; 2^32 - 1 stands for 1
 * @ptime: transmission time of an average packet, ns
 * @count: arrivals since the last early drop or mark, at or above min
 */
struct tc_chokex_qdisc_stats {
	__u64	avg;
	__u64	drawn;
	__u64	dropped_bytes;
	__u32	matched;
	__u32	victims;
	__u32	early_drop;
	__u32	early_mark;
	__u32	forced_drop;
	__u32	forced_mark;
	__u32	spared;
	__u32	drop_limit;
	__u32	drop_change;
	__u32	candidates;
	__u32	probability;
	__u32	ptime;
	__u32	count;
	__u32	reserved;
};

/**
 * struct tc_chokex_xstats - what TCA_STATS_APP holds
 * @type: TCA_CHOKEX_XSTATS_QDISC
 */
struct tc_chokex_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_chokex_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_CHOKEX_H */
