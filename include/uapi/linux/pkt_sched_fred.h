/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the fred queue discipline; <linux/pkt_sched_aqm.h> says
 * how to read the lists.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_FRED_H
#define _UAPI_LINUX_PKT_SCHED_FRED_H

#include "pkt_sched_aqm.h"

#define FRED_MAX_LIMIT	1048576

#define TC_FRED_OPTIONS(_, x) \
	TC_AQM_LIMIT_OPTION(_, x, TCA_FRED, FRED_MAX_LIMIT) \
	_(x, TCA_FRED_MIN_TH, min, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average where drops begin, and maximum of a flow; auto: limit / 4, at most one rtt") \
	_(x, TCA_FRED_MAX_TH, max, PACKETS, "", 2, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average queue length from which a flow may have only two packets; auto: 2 min") \
	_(x, TCA_FRED_MINQ, minq, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "flows with fewer queued packets are spared; auto: 4, or 2 below a limit of 400") \
	_(x, TCA_FRED_PROBABILITY, probability, FRACTION, "", 0, 4294967295, \
	  85899346, "RED's drop probability at max") \
	_(x, TCA_FRED_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "weight of each arrival and departure; auto: avg remembers 3 limit packets, up to 1 s") \
	_(x, TCA_FRED_RTT, rtt, TIME, "", 1, 10000000, 100000, \
	  "typical round-trip time; min is at most what the link sends in it") \
	TC_AQM_LINK_OPTIONS(_, x, TCA_FRED) \
	_(x, TCA_FRED_TWO_PACKET, two_packet, FLAG, "", 0, 1, 1, \
	  "from max on queue up to two packets per flow; with notwo_packet none") \
	TC_AQM_FIFO_OPTIONS(_, x, TCA_FRED)

enum {
	TCA_FRED_UNSPEC,
	TCA_FRED_PAD,
	TCA_FRED_GIVEN,
	TCA_FRED_ASSUMED,
	TC_FRED_OPTIONS(TC_AQM_ATTRIBUTE, 0)
	__TCA_FRED_MAX
};

#define TCA_FRED_MAX		(__TCA_FRED_MAX - 1)

#define TC_FRED_QDISC_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, avg, PACKETS_Q32, "", "average queue length now") \
	_(x, __u64, avgcq, PACKETS_Q32, "", \
	  "average queue length per active flow; at least 1") \
	_(x, __u64, maxq_drop, EVENTS, "arrivals", \
	  "dropped with a strike: their flow had maxq packets") \
	_(x, __u64, twice_drop, EVENTS, "arrivals", \
	  "dropped with a strike: their flow had more than 2 avgcq at max") \
	_(x, __u64, avgcq_drop, EVENTS, "arrivals", \
	  "dropped with a strike: their flow had avgcq packets and two strikes") \
	TC_AQM_RED_STATS(_, x) \
	_(x, __u32, active, COUNT, "flows", "with packets in the queue") \
	_(x, __u32, struck, COUNT, "flows", \
	  "active flows limited to avgcq after more than one strike") \
	_(x, __u32, maxq, COUNT, "packets", "maximum of a flow at this average") \
	_(x, __u32, segments, COUNT, "packets", \
	  "queued, counted as wire packets") \
	_(x, __u32, probability, FRACTION, "", "RED's drop probability at this average") \
	_(x, __u32, max_p, FRACTION, "", "RED's drop probability at max") \
	_(x, __u32, min_th, COUNT, "packets", "min in force") \
	_(x, __u32, max_th, COUNT, "packets", "max in force") \
	_(x, __u32, minq, COUNT, "packets", "in force") \
	_(x, __u32, weight, FRACTION, "", "weight of the average, in force") \
	_(x, __u32, ptime, NS, "", "half the transmission time of an average packet") \
	_(x, __u32, count, COUNT, "arrivals", \
	  "since the last random drop or mark, while the average was between min and max") \
	TC_AQM_FILTER_STATS(_, x)

struct tc_fred_qdisc_stats {
	TC_FRED_QDISC_STATS(TC_AQM_MEMBER, 0)
};

struct tc_fred_xstats {
	__u32	type;
	__u32	reserved;
	union {
		struct tc_fred_qdisc_stats	qdisc;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_FRED_H */
