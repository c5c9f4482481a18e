/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the cbt queue discipline; <linux/pkt_sched_aqm.h>
 * says how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_CBT_H
#define _UAPI_LINUX_PKT_SCHED_CBT_H

#include "pkt_sched_aqm.h"

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
#define CBT_MAX_LIMIT		1048576
#define CBT_MAX_PACKET		1048576
#define CBT_MAX_THRESHOLD	268435456	/* CBT_MAX_LIMIT in CBT_UNIT */

#define TC_CBT_OPTIONS(_, x) \
	_(x, TCA_CBT_LIMIT, limit, PACKETS, "", 1, CBT_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "maximum number of queued wire packets; auto: twice the sum of the thresholds") \
	TC_AQM_BANDWIDTH_OPTION(_, x, TCA_CBT) \
	_(x, TCA_CBT_LATENCY, latency, TIME, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "queueing delay if all classes send too much; auto: 40 ms, if memory_limit permits") \
	_(x, TCA_CBT_SHARE_TCP, share_tcp, FRACTION, "", 0, 4294967295, \
	  3221225471, "share of TCP packets in the bytes") \
	_(x, TCA_CBT_SHARE_TAGGED, share_tagged, FRACTION, "", 0, 4294967295, \
	  644245094, "share of tagged packets in the bytes") \
	_(x, TCA_CBT_SHARE_OTHER, share_other, FRACTION, "", 0, 4294967295, \
	  429496730, "share of other packets in the bytes") \
	_(x, TCA_CBT_PACKET_TCP, packet_tcp, BYTES, "", 1, CBT_MAX_PACKET, 1500, \
	  "mean size of TCP packets") \
	_(x, TCA_CBT_PACKET_TAGGED, packet_tagged, BYTES, "", 1, CBT_MAX_PACKET, \
	  800, "mean size of tagged packets") \
	_(x, TCA_CBT_PACKET_OTHER, packet_other, BYTES, "", 1, CBT_MAX_PACKET, \
	  1000, "mean size of other packets") \
	_(x, TCA_CBT_MIN_TH, min, PACKETS_Q8, "", 1, CBT_MAX_THRESHOLD, \
	  TC_AQM_DERIVED, "average where RED begins; auto: 9/11 max") \
	_(x, TCA_CBT_MAX_TH, max, PACKETS_Q8, "", 1, CBT_MAX_THRESHOLD, \
	  TC_AQM_DERIVED, "RED's upper threshold; auto: 1.1 times TCP's share") \
	_(x, TCA_CBT_TAGGED_TH, threshold_tagged, PACKETS_Q8, "", 1, \
	  CBT_MAX_THRESHOLD, TC_AQM_DERIVED, \
	  "average above which tagged packets are dropped; auto: from their share") \
	_(x, TCA_CBT_OTHER_TH, threshold_other, PACKETS_Q8, "", 1, \
	  CBT_MAX_THRESHOLD, TC_AQM_DERIVED, \
	  "average above which other packets are dropped; auto: from their share") \
	_(x, TCA_CBT_RED, red, CHOICE, "tcp|all", 0, 1, 0, \
	  "packets that meet RED: TCP, by TCP's average, or all, by the average of the queue") \
	_(x, TCA_CBT_PROBABILITY, probability, FRACTION, "", 0, 4294967295, \
	  429496730, "RED's drop probability at max") \
	_(x, TCA_CBT_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of an arrival in RED's averages; auto: 3 limit packets' memory, up to 1 s") \
	_(x, TCA_CBT_CLASS_WEIGHT, class_weight, FRACTION, "", 1, 4294967295, \
	  1073741824, "weight of an arrival in the averages of tagged and other") \
	_(x, TCA_CBT_DSCP, dscp, CODEPOINTS, "", 0, 18446744073709551615ULL, 0, \
	  "DSCP values that tag a packet") \
	_(x, TCA_CBT_MARK, mark, MASKED, "", 0, 18446744073709551615ULL, 0, \
	  "firewall mark that tags a packet; a mask of 0 tags none") \
	_(x, TCA_CBT_GENTLE, gentle, FLAG, "", 0, 1, 0, \
	  "let the drop probability rise to 1 between max and 2 max, instead of at max") \
	TC_AQM_MARK_OPTIONS(_, x, TCA_CBT) \
	TC_AQM_SEED_OPTION(_, x, TCA_CBT) \
	_(x, TCA_CBT_VICTIM, victim, CHOICE, "random|arrival", 0, 1, 1, \
	  "packet that a forced drop removes: a random one, or the arrival") \
	TC_AQM_MEMORY_OPTION(_, x, TCA_CBT) \
	TC_AQM_SPLIT_OPTION(_, x, TCA_CBT, 1)

enum {
	TCA_CBT_UNSPEC,
	TCA_CBT_PAD,
	TCA_CBT_GIVEN,
	TCA_CBT_ASSUMED,
	TC_CBT_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_CBT_MAX
};

#define TCA_CBT_MAX		(__TCA_CBT_MAX - 1)

enum {
	CBT_RED_TCP,
	CBT_RED_ALL,
};

enum {
	CBT_VICTIM_RANDOM,
	CBT_VICTIM_ARRIVAL,
};

#define TC_CBT_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q40, "", \
	  "average number of packets in the queue; red tcp: the sum of the next three") \
	_(x, __u64, avg_tcp, PACKETS_Q40, "", "average of TCP packets") \
	_(x, __u64, avg_tagged, PACKETS_Q40, "", "average of tagged packets") \
	_(x, __u64, avg_other, PACKETS_Q40, "", "average of other packets") \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, tcp, COUNT, "packets", "queued TCP packets") \
	_(x, __u32, tagged, COUNT, "packets", "queued tagged packets") \
	_(x, __u32, other, COUNT, "packets", "queued other packets") \
	_(x, __u32, min_th, PACKETS_Q8, "", "min in force") \
	_(x, __u32, max_th, PACKETS_Q8, "", "max in force") \
	_(x, __u64, tagged_drop, EVENTS, "arrivals", \
	  "dropped above the threshold of their class") \
	_(x, __u64, other_drop, EVENTS, "arrivals", \
	  "dropped above the threshold of their class") \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by RED at random") \
	_(x, __u64, early_mark, EVENTS, "arrivals", "marked by RED at random") \
	_(x, __u64, forced_drop, EVENTS, "packets", \
	  "dropped because RED's average was too high") \
	_(x, __u64, forced_mark, EVENTS, "arrivals", "marked because RED's average was too high") \
	_(x, __u64, victims, EVENTS, "packets", \
	  "removed from the queue by a forced drop or a full queue") \
	_(x, __u32, probability, FRACTION, "", "RED's p_b") \
	_(x, __u32, max_p, FRACTION, "", "RED's probability at max") \
	_(x, __u32, latency, US, "", "in force") \
	_(x, __u32, weight, FRACTION, "", "weight of RED's average, in force") \
	TC_AQM_FILTER_STATS(_, x)

struct tc_cbt_qdisc_stats {
	TC_CBT_QDISC_STATS(TC_AQM_MEMBER, 0)
};

#define TC_CBT_CLASS_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q40, "", \
	  "average number of the class's packets in the queue") \
	_(x, __u64, arrivals, EVENTS, "packets", "arrived") \
	_(x, __u32, class_id, CHOICE, "all|tcp|tagged|other", "name of the class") \
	_(x, __u32, threshold, PACKETS_Q8, "", \
	  "threshold of the average; TCP: RED's max") \
	_(x, __u64, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u64, threshold_drop, EVENTS, "arrivals", \
	  "dropped above the threshold") \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by RED at random") \
	_(x, __u64, marked, EVENTS, "arrivals", "marked") \
	_(x, __u64, random_drop, EVENTS, "packets", \
	  "removed by a forced drop or a full queue")

struct tc_cbt_class_stats {
	TC_CBT_CLASS_STATS(TC_AQM_MEMBER, 0)
};

struct tc_cbt_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_cbt_qdisc_stats	qdisc;
		struct tc_cbt_class_stats	cls;
	};
};

enum {
	TCA_CBT_XSTATS_QDISC = TC_AQM_XSTATS_QDISC,
	TCA_CBT_XSTATS_CLASS = TC_AQM_XSTATS_CLASS,
};

#endif /* _UAPI_LINUX_PKT_SCHED_CBT_H */
