/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the redtail queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_REDTAIL_H
#define _UAPI_LINUX_PKT_SCHED_REDTAIL_H

#include "pkt_sched_aqm.h"

#define REDTAIL_MAX_LIMIT	1073741824
#define REDTAIL_MIN_AVPKT	64
#define REDTAIL_MAX_AVPKT	65535
#define REDTAIL_MAX_FLOWS	1048576

#define TC_REDTAIL_OPTIONS(_, x) \
	TC_AQM_BANDWIDTH_OPTION(_, x, TCA_REDTAIL) \
	_(x, TCA_REDTAIL_LIMIT, limit, LENGTH, "", 1, REDTAIL_MAX_LIMIT, \
	  TC_AQM_DERIVED, "shared buffer; auto: 100 ms of bandwidth") \
	TC_AQM_MEMORY_OPTION(_, x, TCA_REDTAIL) \
	TC_AQM_SPLIT_OPTION(_, x, TCA_REDTAIL, 1) \
	_(x, TCA_REDTAIL_MIN1, min1, LENGTH, "", 1, REDTAIL_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "length of the short queue where its share begins to grow; auto: limit / 80") \
	_(x, TCA_REDTAIL_MAX1, max1, LENGTH, "", 1, REDTAIL_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "length of the short queue that would get the whole link; auto: 3 limit / 16") \
	_(x, TCA_REDTAIL_MIN2, min2, LENGTH, "", 1, REDTAIL_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "average length of the long queue where RED begins; auto: limit / 8") \
	_(x, TCA_REDTAIL_MAX2, max2, LENGTH, "", 1, REDTAIL_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "average length of the long queue where RED's probability is max_p; auto: limit / 2") \
	_(x, TCA_REDTAIL_SHARE_MIN, share_min, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "minimum share of the short queue; auto: min1 / max1") \
	_(x, TCA_REDTAIL_SHARE_MAX, share_max, FRACTION, "", 1, 4294967295, \
	  3435973836, "maximum share of the short queue") \
	_(x, TCA_REDTAIL_AVPKT, avpkt, BYTES, "", REDTAIL_MIN_AVPKT, \
	  REDTAIL_MAX_AVPKT, 1000, "size of an average packet") \
	_(x, TCA_REDTAIL_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of an arrival in the average; auto: it remembers 1 s of packets") \
	_(x, TCA_REDTAIL_PROBABILITY, probability, FRACTION, "", 1, 4294967295, \
	  85899346, "max_p, the drop probability at max2; with adaptive, its initial value") \
	_(x, TCA_REDTAIL_ADAPTIVE, adaptive, FLAG, "", 0, 1, 1, "adapt max_p") \
	TC_AQM_MARK_OPTIONS(_, x, TCA_REDTAIL) \
	_(x, TCA_REDTAIL_PACKETS, packets, PACKETS, "", 0, 4294967295, 128, \
	  "packets of a new flow that join the short queue") \
	_(x, TCA_REDTAIL_AGE, age, TIME, "", 0, 4294967295, 0, \
	  "age below which a flow is short, however much it has sent") \
	_(x, TCA_REDTAIL_TAU, tau, TIME, "", 1, 4294967295, 5000000, \
	  "silence after which a flow counts as new") \
	_(x, TCA_REDTAIL_FLOWS, flows, NUMBER, "slots", 1, REDTAIL_MAX_FLOWS, \
	  1024, "slots of the flow table") \
	_(x, TCA_REDTAIL_KEY, key, CHOICE, "addresses|flow", 0, 1, 0, \
	  "a flow is identified by both addresses, or also by the ports") \
	_(x, TCA_REDTAIL_DYNAMIC, dynamic, FLAG, "", 0, 1, 0, \
	  "move min2 and max2 by the loss rate of the long queue") \
	_(x, TCA_REDTAIL_LOW, low, FRACTION, "", 0, 4294967295, 42949673, \
	  "loss below which dynamic lowers them") \
	_(x, TCA_REDTAIL_HIGH, high, FRACTION, "", 0, 4294967295, 85899346, \
	  "loss above which dynamic raises them, above low") \
	_(x, TCA_REDTAIL_GAMMA, gamma, FRACTION, "", 1, 4294967295, 85899346, \
	  "step of dynamic, as a fraction of min2") \
	TC_AQM_SEED_OPTION(_, x, TCA_REDTAIL)

enum {
	TCA_REDTAIL_UNSPEC,
	TCA_REDTAIL_PAD,
	TCA_REDTAIL_GIVEN,
	TCA_REDTAIL_ASSUMED,
	TC_REDTAIL_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_REDTAIL_MAX
};

#define TCA_REDTAIL_MAX		(__TCA_REDTAIL_MAX - 1)

enum redtail_key {
	REDTAIL_KEY_ADDRESSES,	/* source and destination address */
	REDTAIL_KEY_FLOW,	/* and both ports */
	__REDTAIL_KEY_MAX
};

#define REDTAIL_KEY_MAX		(__REDTAIL_KEY_MAX - 1)

#define TC_REDTAIL_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, sent_short, BYTES, "", "sent from the short queue") \
	_(x, __u64, sent_long, BYTES, "", "sent from the long queue") \
	_(x, __s64, credit, BYTES, "", \
	  "bytes that the short queue is owed; negative: it was served in advance") \
	_(x, __u32, min1, BYTES, "", "lower threshold of the short queue") \
	_(x, __u32, max1, BYTES, "", "upper threshold of the short queue") \
	_(x, __u32, min2, BYTES, "", \
	  "lower threshold of the long queue; moves with dynamic") \
	_(x, __u32, max2, BYTES, "", \
	  "upper threshold of the long queue; moves with dynamic") \
	_(x, __u32, share_min, FRACTION, "", "minimum share of the short queue") \
	_(x, __u32, share_max, FRACTION, "", \
	  "maximum share of the short queue") \
	_(x, __u32, weight, FRACTION, "", "weight of the average") \
	_(x, __u32, backlog_short, BYTES, "", "in the short queue") \
	_(x, __u32, backlog_long, BYTES, "", "in the long queue") \
	_(x, __u32, qlen_short, COUNT, "packets", "in the short queue") \
	_(x, __u32, qlen_long, COUNT, "packets", "in the long queue") \
	_(x, __u32, share, FRACTION, "", \
	  "share of the short queue at its current length") \
	_(x, __u32, avg, BYTES, "", "average length of the long queue") \
	_(x, __u32, max_p, FRACTION, "", "RED's drop probability at max2") \
	_(x, __u32, loss_short, FRACTION, "", \
	  "average fraction of packets lost, short queue") \
	_(x, __u32, loss_long, FRACTION, "", \
	  "average fraction of packets lost or marked, long queue") \
	_(x, __u64, early_drop, EVENTS, "packets", "dropped by chance") \
	_(x, __u64, early_mark, EVENTS, "packets", "marked by chance") \
	_(x, __u64, forced_drop, EVENTS, "packets", \
	  "dropped because the average was above 2 max2") \
	_(x, __u64, forced_mark, EVENTS, "packets", \
	  "marked because the average was above 2 max2") \
	_(x, __u64, overflow_short, EVENTS, "arrivals", \
	  "for the short queue that did not fit") \
	_(x, __u64, overflow_long, EVENTS, "arrivals", \
	  "for the long queue that did not fit") \
	_(x, __u64, max_p_raised, EVENTS, "steps", "max_p rose") \
	_(x, __u64, max_p_lowered, EVENTS, "steps", "max_p fell") \
	_(x, __u64, min2_raised, EVENTS, "steps", \
	  "min2 and max2 rose") \
	_(x, __u64, min2_lowered, EVENTS, "steps", \
	  "min2 and max2 fell") \
	_(x, __u64, flows_new, EVENTS, "flows", "that were new") \
	_(x, __u64, flows_long, EVENTS, "flows", "that became long") \
	_(x, __u64, flows_evicted, EVENTS, "flows", \
	  "replaced early because their set was full") \
	TC_AQM_FILTER_STATS(_, x)

struct tc_redtail_qdisc_stats {
	TC_REDTAIL_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_REDTAIL_CLASS_STATS(_, x) \
	_(x, __u64, sent, BYTES, "", "sent") \
	_(x, __u64, arrived, EVENTS, "packets", "arrived for this queue") \
	_(x, __u32, share, FRACTION, "", \
	  "share of the link while both queues hold packets") \
	_(x, __u32, loss, FRACTION, "", \
	  "average fraction of packets lost or marked") \
	_(x, __u32, min, BYTES, "", "lower threshold in force") \
	_(x, __u32, max, BYTES, "", "upper threshold in force") \
	_(x, __u32, avg, BYTES, "", "average length; long queue only") \
	_(x, __u32, max_p, FRACTION, "", "RED's drop probability at max2; long queue only") \
	_(x, __u64, marked, EVENTS, "packets", "long queue only")

struct tc_redtail_class_stats {
	TC_REDTAIL_CLASS_STATS(TC_AQM_MEMBER, 0)
};

struct tc_redtail_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_redtail_qdisc_stats	qdisc;
		struct tc_redtail_class_stats	cls;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_REDTAIL_H */
