/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets one FIFO may hold, where nothing is given: what the link
 * sends in 80 ms, as far as the memory holds them.
 *
 * Nothing here sees an sk_buff or a Qdisc.
 */
#ifndef _AQM_FIFO_LIMIT_H
#define _AQM_FIFO_LIMIT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define FIFO_MEMORY	33554432U	/* bytes: memory_limit unless given */
#define FIFO_PACKET	1500U	/* bytes of a full packet */
#define FIFO_TRUESIZE	2304U	/* what one takes in memory: 2048 + 256 */
#define FIFO_DELAY	80000U	/* us in which a full queue is sent */
#define FIFO_LEAST	8U	/* packets, however slow the link */

/* Packets that a queue may hold of which each takes FIFO_TRUESIZE. */
static inline u32 fifo_room(u32 memory_limit)
{
	return max(memory_limit / FIFO_TRUESIZE, FIFO_LEAST);
}

/*
 * The limit for a link of @rate bytes/s, at most 2^40:
 *
 *	rate 80 ms / 1500 bytes
 *
 * A full queue then makes nobody wait 100 ms, and has room for the window of a
 * TCP flow on most paths. Not more than fits into memory: else thresholds that
 * follow from the limit would be out of reach.
 */
static inline u32 fifo_limit(u64 rate, u32 memory_limit)
{
	u64 packets = div_u64(mul_u64_u32_div(rate, FIFO_DELAY, 1000000),
			      FIFO_PACKET);

	return clamp_t(u64, packets, FIFO_LEAST, fifo_room(memory_limit));
}

#endif /* _AQM_FIFO_LIMIT_H */
