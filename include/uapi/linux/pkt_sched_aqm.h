/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * How a qdisc describes its options and its statistics, in one place.
 *
 * pkt_sched_KIND.h has two or three lists. A list is a macro that calls the
 * macro "_" once per entry, and passes "x" through:
 *
 *	#define TC_KIND_OPTIONS(_, x) \
 *		_(x, TCA_KIND_LIMIT, limit, PACKETS, "", 1, 1000000, 1000, \
 *		  "packets held at most") \
 *		...
 *	_(x, attribute, name, type, unit, least, greatest, default, help)
 *
 *	#define TC_KIND_QDISC_STATS(_, x) \
 *		_(x, __u64, marked, EVENTS, "packets", "packets marked") \
 *		...
 *	_(x, C type, name, show, unit, meaning)
 *
 * The lists generate the attributes, the module's parameters, policy, parser,
 * range messages and dump (<aqm/options.h>), tc's parser, help and output
 * (tc/plugin.h), and the structs of statistics. Why C and not a YAML spec with
 * a generator? Both sides are C and compile the lists as they are. No generated
 * file can be out of date, and a module needs only a kernel's headers to build.
 * Other languages get the lists as JSON (lab/aqmlab/qdiscs/interface.py). `make
 * spec` writes the YAML from them, for the kernel's ynl.
 *
 * Minimum, maximum and default are plain decimal numbers, or macros for such
 * numbers, because the kernel's messages quote them as text. An option with the
 * default TC_AQM_DERIVED is computed from other options or from the device
 * until it is given. The value 0 makes it derived again, so 0 is not a possible
 * value of the option.
 *
 * New entries go to the end of a qdisc's lists. A list that several qdiscs share,
 * such as TC_AQM_FLOWS_OPTIONS, gets no new entry, because the entries that follow
 * it in each qdisc would move. Define a second shared list for the end instead.
 *
 * A struct of statistics has no padding: 64-bit members are at multiples of 8, and
 * the size is a multiple of 8, so 32-bit members come in pairs. A reader uses the
 * bytes that it knows. Members that an older kernel did not send are unknown.
 *
 * Types of options. tc prints the unit in its help and messages. For NUMBER,
 * the unit is the counted thing; for CHOICE, it is the words for 0, 1, 2...,
 * separated by "|":
 *
 *	FLAG		u8	0 or 1
 *	CHOICE		u8	one of some words
 *	NUMBER		u32	a number
 *	PACKETS		u32	packets
 *	PACKETS_Q8	u32	1/256 packets
 *	BYTES		u32	bytes
 *	LENGTH		u32	bytes of a queue; tc also accepts the time to send them
 *	TIME		u32	us
 *	FRACTION	u32	2^32 - 1 is 1
 *	RATE		u64	bytes per second
 *	CODEPOINTS	u64	a set of DSCPs: bit n for DSCP n
 *	MASKED		bitfield32	a value and the mask of its valid bits
 *
 * How statistics are shown. The unit is for people, except for CHOICE:
 *
 *	EVENTS		number of events; it only grows, and is __u64
 *	COUNT		a number that may also fall
 *	PACKETS_Q32	2^-32 packets
 *	PACKETS_Q40	2^-40 packets
 *	PACKETS_Q8	1/256 packets
 *	BYTES		bytes
 *	NS, US		time
 *	FRACTION	2^32 - 1 is 1
 *	RATE		bytes per second
 *	BITRATE		bits per second
 *	FLAG		0 or 1
 *	CHOICE		as above
 */
#ifndef _UAPI_LINUX_PKT_SCHED_AQM_H
#define _UAPI_LINUX_PKT_SCHED_AQM_H

#include <linux/types.h>

/*
 * A dump has each option with the value in force, and two u64 masks with bit n for
 * attribute n. GIVEN marks the options that were given; all others are derived or
 * have their defaults. ASSUMED marks derived options that are a guess: the bandwidth,
 * if the device reports no speed and none was measured.
 *
 * A request with GIVEN is a complete configuration. Options whose bit is not set are
 * ignored, and are derived or get their defaults. So a dump can be sent back
 * unchanged. ASSUMED is ignored. In a request without GIVEN, all options in the
 * message are given, and all others stay the same.
 */

/* The default of an option that is computed from other options or from the device. */
#define TC_AQM_DERIVED		0xffffffffffffffffULL

/* The first attributes of each qdisc. PAD aligns 64-bit attributes. */
#define TC_AQM_PAD		1
#define TC_AQM_GIVEN		2
#define TC_AQM_ASSUMED		3

/* Generate the enum of attributes, and the members of a struct of statistics. */
#define TC_AQM_ATTRIBUTE(x, attr, ...)		attr,
#define TC_AQM_MEMBER(x, type, name, ...)	type name;

/*
 * TCA_STATS_APP has a struct tc_KIND_xstats. Its type is one of these, and selects
 * the struct of statistics that follows 8 bytes after its start.
 */
enum {
	TC_AQM_XSTATS_QDISC,
	TC_AQM_XSTATS_CLASS,
};

/* Options that several qdiscs share. K is the prefix of the attributes, TCA_KIND. */
#define TC_AQM_MAX_BANDWIDTH	1099511627776	/* bytes/s: 2^40 */

#define TC_AQM_BANDWIDTH_OPTION(_, x, K) \
	_(x, K##_BANDWIDTH, bandwidth, RATE, "", 1, TC_AQM_MAX_BANDWIDTH, \
	  TC_AQM_DERIVED, "rate of the link; auto: measured, and until then the device's speed")

#define TC_AQM_MEMORY_OPTION(_, x, K) \
	_(x, K##_MEMORY_LIMIT, memory_limit, BYTES, "", 1, 4294967295, \
	  TC_AQM_DERIVED, "maximum memory of all queued packets")

#define TC_AQM_SPLIT_OPTION(_, x, K, dflt) \
	_(x, K##_SPLIT_GSO, split_gso, FLAG, "", 0, 1, dflt, \
	  "split GSO packets into wire packets first")

#define TC_AQM_MARK_OPTIONS(_, x, K) \
	_(x, K##_ECN, ecn, FLAG, "", 0, 1, 0, \
	  "mark packets instead of dropping them, if they support ECN") \
	_(x, K##_NODROP, nodrop, FLAG, "", 0, 1, 0, \
	  "nodrop, with ecn: queue packets that cannot be marked") \
	_(x, K##_HARDDROP, harddrop, FLAG, "", 0, 1, 0, \
	  "with ecn: drop packets if the queue is too long for marks")

#define TC_AQM_SEED_OPTION(_, x, K) \
	_(x, K##_SEED, seed, NUMBER, "", 1, 4294967295, TC_AQM_DERIVED, \
	  "seed of the random numbers; setting it restarts them; auto: unpredictable")

/* The last options of several FIFOs, and others that they share. */
#define TC_AQM_FIFO_OPTIONS(_, x, K) \
	TC_AQM_MARK_OPTIONS(_, x, K) \
	TC_AQM_SEED_OPTION(_, x, K) \
	TC_AQM_MEMORY_OPTION(_, x, K) \
	TC_AQM_SPLIT_OPTION(_, x, K, 1)

#define TC_AQM_LIMIT_OPTION(_, x, K, most) \
	_(x, K##_LIMIT, limit, PACKETS, "", 1, most, TC_AQM_DERIVED, \
	  "maximum number of queued wire packets; auto: 80 ms of the link, at least 8")

#define TC_AQM_LINK_OPTIONS(_, x, K) \
	TC_AQM_BANDWIDTH_OPTION(_, x, K) \
	_(x, K##_AVPKT, avpkt, BYTES, "", 1, 4294967295, 1000, "size of an average packet")

/* The words of the statistic bandwidth_source. */
enum {
	TC_AQM_SOURCE_NONE,	/* the qdisc needs no rate */
	TC_AQM_SOURCE_GIVEN,	/* the option */
	TC_AQM_SOURCE_DEVICE,	/* the speed that the device reports */
	TC_AQM_SOURCE_ASSUMED,	/* none: nothing better is known yet */
	TC_AQM_SOURCE_MEASURED,	/* by the departures of a busy queue */
};

/*
 * The first statistics of each qdisc, so that a program can read them without
 * knowing the qdisc.
 *
 * Each packet in tc's "dropped" has one cause, and is in the counter of that cause
 * only: one of drop_..., or a counter of dropped packets that the qdisc adds.
 * dropped_bytes is the length of all these packets. Packets that a filter stole or
 * trapped do not count as dropped, nor do packets that a reset frees.
 */
#define TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, bandwidth, RATE, "", "in force; 0: not needed") \
	_(x, __u64, link_refused, RATE, "", \
	  "the link's rate, if the options are invalid at it; otherwise 0") \
	_(x, __u64, delay, NS, "", "time that the last sampled packet spent in the queue") \
	_(x, __u64, delay_avg, NS, "", "moving average of delay") \
	_(x, __u64, delay_max, NS, "", "maximum of delay") \
	_(x, __u64, dropped_bytes, BYTES, "", "length of all dropped packets") \
	_(x, __u32, limit, COUNT, "", "in force, in the unit of the option") \
	_(x, __u32, memory_limit, BYTES, "", "in force; 0: none") \
	_(x, __u32, memory_used, BYTES, "", "memory of the queued packets") \
	_(x, __u32, bandwidth_source, CHOICE, "none|given|device|assumed|measured", \
	  "origin of bandwidth; assumed: not given, not measured yet, and no speed reported") \
	_(x, __u64, marked, EVENTS, "packets", "marked, whatever the cause") \
	_(x, __u64, spared, EVENTS, "packets", \
	  "could not be marked and were queued because of nodrop") \
	_(x, __u64, drop_limit, EVENTS, "packets", "dropped: limit was reached") \
	_(x, __u64, drop_memory, EVENTS, "packets", \
	  "dropped: memory_limit was reached, or no memory to split them") \
	_(x, __u64, drop_change, EVENTS, "packets", \
	  "dropped because a change lowered a limit")

/* For qdiscs that signal as RED does. */
#define TC_AQM_RED_STATS(_, x) \
	_(x, __u64, early_drop, EVENTS, "arrivals", "dropped by chance") \
	_(x, __u64, early_mark, EVENTS, "arrivals", "marked by chance") \
	_(x, __u64, forced_drop, EVENTS, "arrivals", \
	  "dropped because the average was too high") \
	_(x, __u64, forced_mark, EVENTS, "arrivals", \
	  "marked because the average was too high")

/* For qdiscs with filters. */
#define TC_AQM_FILTER_STATS(_, x) \
	_(x, __u64, drop_filter, EVENTS, "packets", "dropped by a filter")

/* The first options and statistics of qdiscs with <aqm/flow_buffer.h>: qsdrr, tdrr. */
#define TC_AQM_FLOWS_OPTIONS(_, x, K) \
	_(x, K##_LIMIT, limit, PACKETS, "", 1, 4294967295, TC_AQM_DERIVED, \
	  "maximum number of queued wire packets; auto: 80 ms of bandwidth") \
	TC_AQM_MEMORY_OPTION(_, x, K) \
	_(x, K##_FLOWS, flows, NUMBER, "queues", 1, 65536, 1024, \
	  "number of queues to begin with, and classes; cannot be changed") \
	_(x, K##_AVOID_COLLISIONS, avoid_collisions, FLAG, "", 0, 1, 1, \
	  "give each flow a separate queue, and add queues if too few are empty") \
	_(x, K##_QUANTUM, quantum, BYTES, "", 256, 1048576, TC_AQM_DERIVED, \
	  "bytes per queue and round; auto: the MTU plus the link-layer header") \
	TC_AQM_BANDWIDTH_OPTION(_, x, K) \
	TC_AQM_SPLIT_OPTION(_, x, K, 1)

#define TC_AQM_FLOWS_STATS(_, x) \
	TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, drop_oversize, EVENTS, "packets", \
	  "dropped: larger than memory_limit, or than limit while others wait") \
	TC_AQM_FILTER_STATS(_, x) \
	_(x, __u64, overflows, EVENTS, "packets", "arrived when the buffer was full") \
	_(x, __u32, active, COUNT, "queues", "with at least one packet") \
	_(x, __u32, flows, COUNT, "queues", "in all, with those that were added") \
	_(x, __u64, quantum, BYTES, "", "in force")

#endif /* _UAPI_LINUX_PKT_SCHED_AQM_H */
