/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * How a discipline describes its options and its statistics, once for all.
 *
 * pkt_sched_KIND.h has two or three lists. A list is a macro that calls the
 * macro given to it, "_", once an entry, with "x" passed through:
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
 * The attributes, the module's parameters, policy, parser, range messages and
 * dump (<aqm/options.h>), tc's parser, help and output (tc/plugin.h) and the
 * structs of statistics follow from them. Why a table in C, and not a YAML spec
 * with a generator: both sides are C, and compile this as it stands; nothing
 * generated can be out of date, and a module builds with nothing but a kernel's
 * headers. Other languages get the lists as JSON (aqmlab/qdiscs/interface.py);
 * `make spec` writes the YAML from them, for the kernel's ynl.
 *
 * Least, greatest and default are plain decimal numbers, or macros for such:
 * the kernel's messages quote them as text. The default TC_AQM_DERIVED says that
 * the option follows from others, or from the device, until it is given; the
 * value 0 makes it follow again, and is no value that it can have.
 *
 * Entries of both lists are added at the end only. An entry of statistics never
 * needs padding: 64-bit members are at multiples of 8, and a struct's size is
 * one, so 32-bit members come in pairs. A reader takes as many bytes as it
 * knows; what an older kernel did not send is not known.
 *
 * Types of options. The unit is what tc's help and messages say; of NUMBER, what
 * is counted; of CHOICE, the words for 0, 1, 2..., with "|" between:
 *
 *	FLAG		u8	0 or 1
 *	CHOICE		u8	one of some words
 *	NUMBER		u32	a number
 *	PACKETS		u32	packets
 *	PACKETS_Q8	u32	1/256 packets
 *	BYTES		u32	bytes
 *	LENGTH		u32	bytes of a queue; for tc also the time to send them
 *	TIME		u32	us
 *	FRACTION	u32	2^32 - 1 is 1
 *	RATE		u64	bytes per second
 *	CODEPOINTS	u64	a set of DSCPs: bit n for DSCP n
 *	MASKED		bitfield32	a value and the mask of its bits that count
 *
 * How statistics are shown. The unit is for people, but for CHOICE:
 *
 *	EVENTS		how often something has happened; it only grows, and is __u64
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
 * A dump holds each option with the value in force. Two attributes more are masks,
 * u64, with bit n for attribute n: GIVEN says which options were given, all others
 * are derived or have their defaults; ASSUMED says which of the derived ones are a
 * guess, because the device does not know: the bandwidth.
 *
 * In a request GIVEN makes the message a whole configuration: only options whose
 * bits are set are read, and all others are derived or get their defaults. So a
 * dump can be sent back as it is. ASSUMED is ignored. Without GIVEN all options in
 * the message are given, and the others stay as they are.
 */

/* The default of an option that follows from others or from the device. */
#define TC_AQM_DERIVED		0xffffffffffffffffULL

/* Each kind's first attributes. PAD aligns 64-bit ones. */
#define TC_AQM_PAD		1
#define TC_AQM_GIVEN		2
#define TC_AQM_ASSUMED		3

/* Entries of the enum of attributes; and members of a struct of statistics. */
#define TC_AQM_ATTRIBUTE(x, attr, ...)		attr,
#define TC_AQM_MEMBER(x, type, name, ...)	type name;

/*
 * TCA_STATS_APP holds a struct tc_KIND_xstats: its type, one of these, says
 * which of the kind's structs follows 8 bytes after its start.
 */
enum {
	TC_AQM_XSTATS_QDISC,
	TC_AQM_XSTATS_CLASS,
};

/*
 * Options that mean the same in each kind that has them. K is the prefix of
 * the kind's attributes, TCA_KIND.
 */
#define TC_AQM_MAX_BANDWIDTH	1099511627776	/* bytes/s: 2^40 */

#define TC_AQM_BANDWIDTH_OPTION(_, x, K) \
	_(x, K##_BANDWIDTH, bandwidth, RATE, "", 1, TC_AQM_MAX_BANDWIDTH, \
	  TC_AQM_DERIVED, "rate of the link; auto: the device's speed")

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

/* The words of the statistic bandwidth_source. */
enum {
	TC_AQM_SOURCE_NONE,	/* the kind needs no rate */
	TC_AQM_SOURCE_GIVEN,	/* the option */
	TC_AQM_SOURCE_DEVICE,	/* the speed that the device reports */
	TC_AQM_SOURCE_ASSUMED,	/* the device reports none */
};

/*
 * What the statistics of each kind begin with, so that a reader finds these
 * without knowing the kind.
 *
 * A packet that the discipline's "dropped" counts has one cause, and is in the
 * counter of that cause alone: one of drop_..., or of what the kind itself adds
 * as dropped. dropped_bytes is their length. What a filter stole or trapped is
 * not lost, and neither is what a reset frees.
 */
#define TC_AQM_COMMON_STATS(_, x) \
	_(x, __u64, bandwidth, RATE, "", "in force; 0: not needed") \
	_(x, __u64, link_refused, RATE, "", \
	  "the device's speed, if the options are invalid at it; otherwise 0") \
	_(x, __u64, delay, NS, "", "time that the last sampled packet spent in the queue") \
	_(x, __u64, delay_avg, NS, "", "moving average of delay") \
	_(x, __u64, delay_max, NS, "", "maximum of delay") \
	_(x, __u64, dropped_bytes, BYTES, "", "length of all dropped packets") \
	_(x, __u32, limit, COUNT, "", "in force, in the unit of the option") \
	_(x, __u32, memory_limit, BYTES, "", "in force; 0: none") \
	_(x, __u32, memory_used, BYTES, "", "memory of the queued packets") \
	_(x, __u32, bandwidth_source, CHOICE, "none|given|device|assumed", \
	  "origin of bandwidth; assumed: not given, and the device reports no speed") \
	_(x, __u64, marked, EVENTS, "packets", "marked, whatever the cause") \
	_(x, __u64, spared, EVENTS, "packets", \
	  "could not be marked and were queued because of nodrop") \
	_(x, __u64, drop_limit, EVENTS, "packets", "dropped: limit was reached") \
	_(x, __u64, drop_memory, EVENTS, "packets", \
	  "dropped: memory_limit was reached, or no memory to split them") \
	_(x, __u64, drop_change, EVENTS, "packets", \
	  "dropped because a change lowered a limit")

/* Of the kinds that take filters. */
#define TC_AQM_FILTER_STATS(_, x) \
	_(x, __u64, drop_filter, EVENTS, "packets", "dropped by a filter")

/*
 * Options and statistics of flow queues that share one buffer: qsdrr, tdrr.
 * Each begins with them.
 */
#define TC_AQM_FLOWS_OPTIONS(_, x, K) \
	_(x, K##_LIMIT, limit, PACKETS, "", 1, 4294967295, TC_AQM_DERIVED, \
	  "maximum number of queued wire packets; auto: 80 ms of bandwidth") \
	TC_AQM_MEMORY_OPTION(_, x, K) \
	_(x, K##_FLOWS, flows, NUMBER, "queues", 1, 65536, 1024, \
	  "number of queues to which flows are hashed; cannot be changed") \
	_(x, K##_AVOID_COLLISIONS, avoid_collisions, FLAG, "", 0, 1, 1, \
	  "give a new flow an empty queue; not if flows is no multiple of 8") \
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
	_(x, __u32, flows, COUNT, "queues", "in all") \
	_(x, __u64, quantum, BYTES, "", "in force")

#endif /* _UAPI_LINUX_PKT_SCHED_AQM_H */
