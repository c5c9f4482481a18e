/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Default limits: the packets that the link sends in 80 ms, if memory can hold
 * them, and the memory for them. This header uses no sk_buff and no Qdisc.
 */
#ifndef _AQM_FIFO_LIMIT_H
#define _AQM_FIFO_LIMIT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define FIFO_MEMORY	33554432U	/* default of memory_limit, bytes, at most */
#define FIFO_MEMORY_LEAST	1048576U	/* and at least */
#define FIFO_MEMORY_PART	16	/* of the machine's memory, at most */
#define FIFO_MEMORY_COST	4	/* bytes of memory per byte of a small or split packet */
#define FIFO_PACKET	1500U	/* bytes of a full packet, at least */
#define FIFO_TRUESIZE	2304U	/* memory of a full packet: 2048 + 256 */
#define FIFO_DELAY	80000U	/* delay of a full queue, us */
#define FIFO_LEAST	8U	/* packets, however slow the link */

/*
 * The default of memory_limit for a link of @rate bytes/s, at most 2^40, in a machine
 * with @memory bytes. A given limit in packets has a @rate of 2^40, because its
 * packets must fit. Several qdiscs must leave room on a router with 128 MB.
 */
static inline u32 fifo_memory(u64 rate, u64 memory)
{
	u64 most = min_t(u64, FIFO_MEMORY, memory / FIFO_MEMORY_PART);
	u64 full = mul_u64_u32_div(rate, FIFO_DELAY, 1000000);

	return clamp_t(u64, full * FIFO_MEMORY_COST,
		       min_t(u64, FIFO_MEMORY_LEAST, most), most);
}

/* Return the number of packets of FIFO_TRUESIZE that fit into memory. */
static inline u32 fifo_room(u32 memory_limit)
{
	return max(memory_limit / FIFO_TRUESIZE, FIFO_LEAST);
}

/*
 * The limit for a link of @rate bytes/s, at most 2^40, and packets of @mtu bytes:
 *
 *	rate 80 ms / max(mtu, 1500)
 *
 * A full queue then delays packets by less than 100 ms, and has room for the window
 * of a TCP flow on most paths. The limit is at most what fits into memory.
 * Otherwise thresholds derived from the limit could not be reached.
 */
static inline u32 fifo_limit(u64 rate, u32 mtu, u32 memory_limit)
{
	u64 packets = div_u64(mul_u64_u32_div(rate, FIFO_DELAY, 1000000),
			      max(mtu, FIFO_PACKET));

	return clamp_t(u64, packets, FIFO_LEAST, fifo_room(memory_limit));
}

#endif /* _AQM_FIFO_LIMIT_H */
