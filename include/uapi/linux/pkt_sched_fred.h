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
	_(x, TCA_FRED_LIMIT, limit, PACKETS, "", 1, FRED_MAX_LIMIT, \
	  TC_AQM_DERIVED, \
	  "on the wire, held at most; auto: 80 ms of the link, at least 8") \
	_(x, TCA_FRED_MIN_TH, min, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average where drops begin, and most for a flow; auto: limit / 4, rtt at most") \
	_(x, TCA_FRED_MAX_TH, max, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "average from which a flow may have two packets; auto: 2 min") \
	_(x, TCA_FRED_MINQ, minq, PACKETS, "", 1, 2147483647, \
	  TC_AQM_DERIVED, \
	  "a flow with fewer in the queue is spared; auto: 4, below a limit of 400 2") \
	_(x, TCA_FRED_PROBABILITY, probability, FRACTION, "", 0, 4294967295, \
	  85899346, "of a random drop at max") \
	_(x, TCA_FRED_WEIGHT, weight, FRACTION, "", 1, 4294967295, \
	  TC_AQM_DERIVED, \
	  "of each arrival and departure in the average; auto: 3 limit or 1 s of packets in all") \
	_(x, TCA_FRED_RTT, rtt, TIME, "", 1, 10000000, 100000, \
	  "of which min is no more than the packets") \
	TC_AQM_BANDWIDTH_OPTION(_, x, TCA_FRED) \
	_(x, TCA_FRED_AVPKT, avpkt, BYTES, "", 1, 4294967295, 1000, \
	  "size of a packet") \
	_(x, TCA_FRED_TWO_PACKET, two_packet, FLAG, "", 0, 1, 1, \
	  "from max on queue up to two packets of each flow; else none") \
	TC_AQM_MARK_OPTIONS(_, x, TCA_FRED) \
	TC_AQM_SEED_OPTION(_, x, TCA_FRED) \
	TC_AQM_MEMORY_OPTION(_, x, TCA_FRED) \
	TC_AQM_SPLIT_OPTION(_, x, TCA_FRED, 1)

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
	_(x, __u64, avg, PACKETS_Q32, "", "average queue length, decayed to the present") \
	_(x, __u64, avgcq, PACKETS_Q32, "", \
	  "average queue of an active flow; at least 1") \
	_(x, __u64, maxq_drop, EVENTS, "arrivals", \
	  "dropped for a strike: their flow had maxq") \
	_(x, __u64, twice_drop, EVENTS, "arrivals", \
	  "dropped for a strike: their flow had over twice avgcq at max") \
	_(x, __u64, avgcq_drop, EVENTS, "arrivals", \
	  "dropped for a strike: their flow had avgcq, and two strikes") \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by chance") \
	_(x, __u64, early_mark, EVENTS, "arrivals", "marked by chance") \
	_(x, __u64, forced_drop, EVENTS, "arrivals", \
	  "dropped because the average was too high") \
	_(x, __u64, forced_mark, EVENTS, "arrivals", \
	  "marked because the average was too high") \
	_(x, __u32, active, COUNT, "flows", "that have packets in the queue") \
	_(x, __u32, struck, COUNT, "flows", \
	  "of these, held to avgcq after more than one strike") \
	_(x, __u32, maxq, COUNT, "packets", "that a flow may have at this average") \
	_(x, __u32, segments, COUNT, "packets", \
	  "in the queue, as the wire will carry them") \
	_(x, __u32, probability, FRACTION, "", "of a random drop at this average") \
	_(x, __u32, max_p, FRACTION, "", "the same at max") \
	_(x, __u32, min_th, COUNT, "packets", "min in force") \
	_(x, __u32, max_th, COUNT, "packets", "max in force") \
	_(x, __u32, minq, COUNT, "packets", "in force") \
	_(x, __u32, weight, FRACTION, "", "of the average, in force") \
	_(x, __u32, ptime, NS, "", "half the time that an average packet takes") \
	_(x, __u32, count, COUNT, "arrivals", \
	  "since the last random drop or mark, from min to max") \
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
