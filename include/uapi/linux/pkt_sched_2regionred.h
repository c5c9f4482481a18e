/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the 2regionred queue discipline.
 *
 * Attributes are only ever added at the end. The statistics are a fixed
 * layout that grows only at its end: a reader takes as many bytes as it knows
 * and treats what an older kernel did not send as 0.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_2REGIONRED_H
#define _UAPI_LINUX_PKT_SCHED_2REGIONRED_H

#include <linux/types.h>

/*
 * LIMIT, BMIN, BFLAT, TARGET, BMAX and N_1DPR follow from the others where
 * they are 0, and are sent to userspace as they were given. What is in force
 * is in the statistics.
 */
enum {
	TCA_2REGIONRED_UNSPEC,
	TCA_2REGIONRED_PAD,
	TCA_2REGIONRED_LIMIT,		/* u32, packets */
	TCA_2REGIONRED_BANDWIDTH,	/* u64, bytes/s, to _MAX_BANDWIDTH */
	TCA_2REGIONRED_RTT,		/* u32, us, _MIN_RTT to _MAX_RTT */
	TCA_2REGIONRED_FLOWS,		/* u32, N_Bmin, 1 to _MAX_FLOWS */
	TCA_2REGIONRED_AVPKT,		/* u32, bytes, _MIN_AVPKT to _MAX_ */
	TCA_2REGIONRED_BMIN,		/* u32, packets */
	TCA_2REGIONRED_BFLAT,		/* u32, packets */
	TCA_2REGIONRED_TARGET,		/* u32, packets */
	TCA_2REGIONRED_BMAX,		/* u32, packets */
	TCA_2REGIONRED_N_1DPR,		/* u32, flows */
	TCA_2REGIONRED_ESTIMATOR,	/* u8, TC_2REGIONRED_ABSMIN... */
	TCA_2REGIONRED_GENTLE,		/* u8, 0 or 1 */
	TCA_2REGIONRED_LITERAL,		/* u8, 0 or 1 */
	TCA_2REGIONRED_ECN,		/* u8, 0 or 1 */
	TCA_2REGIONRED_NODROP,		/* u8, 0 or 1; 1 only with ECN */
	TCA_2REGIONRED_HARDDROP,	/* u8, 0 or 1 */
	TCA_2REGIONRED_SEED,		/* u32, 0: random; giving it restarts */
	__TCA_2REGIONRED_MAX
};

#define TCA_2REGIONRED_MAX		(__TCA_2REGIONRED_MAX - 1)

#define TC_2REGIONRED_MAX_BANDWIDTH	(1ULL << 37)
#define TC_2REGIONRED_MIN_RTT		1000
#define TC_2REGIONRED_MAX_RTT		10000000
#define TC_2REGIONRED_MAX_FLOWS		65535
#define TC_2REGIONRED_MIN_AVPKT		64
#define TC_2REGIONRED_MAX_AVPKT		65535
#define TC_2REGIONRED_MAX_PACKETS	((1 << 24) - 1)

enum {
	TC_2REGIONRED_ABSMIN,
	TC_2REGIONRED_EWMA,
	TC_2REGIONRED_EWMA_DRAIN,
	__TC_2REGIONRED_ESTIMATORS
};

enum {
	TCA_2REGIONRED_XSTATS_QDISC,
};

/**
 * struct tc_2regionred_qdisc_stats - statistics of the discipline
 * @q_est: estimated persistent queue, 2^-32 packets
 * @ppd: packets per drop as the High-N controller has it, 2^-32 packets; 0
 *	before the queue first crosses Bflat
 * @window: the controller's W, 2^-32 packets; 0 as above
 * @pipe: bandwidth times rtt, 2^-32 packets
 * @phase: 1 to 4, the thesis's I to IV, at the last arrival
 * @limit: in force, packets; so are the next five
 * @bmin: packets
 * @bflat: packets
 * @target: packets
 * @bmax: packets
 * @n_1dpr: flows that need one drop per round trip, rounded down
 * @hold_off: what is left of the Low-N silence, us
 * @entered_quiet: times phase I was entered
 * @entered_low: times phase II was entered
 * @entered_high: times phase III was entered
 * @entered_max: times phase IV was entered
 * @updates: runs of the controller
 * @negative: runs in which the new drop rate was not positive
 * @dropped_low: arrivals dropped in phase II
 * @dropped_high: arrivals dropped in phase III
 * @dropped_max: arrivals dropped in phase IV
 * @dropped_limit: arrivals that found @limit packets queued
 * @dropped_change: packets dropped because a change lowered the limit
 * @marked_low: arrivals marked in phase II
 * @marked_high: arrivals marked in phase III
 * @marked_max: arrivals marked in phase IV
 * @spared: arrivals that nodrop kept although they could not be marked
 */
struct tc_2regionred_qdisc_stats {
	__u64	q_est;
	__u64	ppd;
	__u64	window;
	__u64	pipe;
	__u32	phase;
	__u32	limit;
	__u32	bmin;
	__u32	bflat;
	__u32	target;
	__u32	bmax;
	__u32	n_1dpr;
	__u32	hold_off;
	__u32	entered_quiet;
	__u32	entered_low;
	__u32	entered_high;
	__u32	entered_max;
	__u32	updates;
	__u32	negative;
	__u32	dropped_low;
	__u32	dropped_high;
	__u32	dropped_max;
	__u32	dropped_limit;
	__u32	dropped_change;
	__u32	marked_low;
	__u32	marked_high;
	__u32	marked_max;
	__u32	spared;
	__u32	reserved;
};

/**
 * struct tc_2regionred_xstats - what TCA_STATS_APP holds
 * @type: TCA_2REGIONRED_XSTATS_QDISC
 */
struct tc_2regionred_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_2regionred_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_2REGIONRED_H */
