/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thresholds of CBT, which divide a link between classes.
 *
 * A FIFO that is never empty sends what it contains: the fraction of the link
 * that a class gets is the fraction of the queue's bytes that it has. We want
 * class i to get the fraction b_i of a link of rate C, and a full queue to
 * drain in time L. Its threshold, in packets of mean size P_i, is then
 *
 *	Q_i = b_i C L / P_i
 *
 * Fixed point: C in bytes/s, L in us, b in Q0.32, P in bytes, Q in 1/256
 * packet, rounded to the nearest. C L is rounded down to whole bytes, so Q is
 * within half a unit and 256 b / P units of exact. With C at most
 * SHARE_LAW_MAX_RATE:
 *
 *	C L		< 2^40 2^32 / 10^6 < 2^53
 *	256 C L b	< 2^61, the product itself in 96 bits
 *
 * No quotient exceeds 64 bits, which would trap on x86-64.
 */
#ifndef _AQM_SHARE_LAW_H
#define _AQM_SHARE_LAW_H

#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define SHARE_LAW_UNIT		256	/* of a packet */
#define SHARE_LAW_ONE		0x100000000ULL	/* the whole link, Q0.32 */
#define SHARE_LAW_MAX_RATE	BIT_ULL(40)	/* bytes/s: 8.8 Tb/s */

/**
 * share_law() - compute the threshold of a class
 * @rate: C, bytes/s, at most SHARE_LAW_MAX_RATE
 * @latency: L, us
 * @share: b, Q0.32
 * @packet: P, bytes, not 0
 *
 * Return: Q, 1/256 packet, at least 1.
 */
static inline u64 share_law(u64 rate, u32 latency, u32 share, u32 packet)
{
	u64 bytes = mul_u64_u32_div(rate, latency, 1000000);
	u64 q = mul_u64_u32_shr(bytes * SHARE_LAW_UNIT, share, 32);

	return max_t(u64, div_u64(q + packet / 2, packet), 1);
}

/**
 * share_law_limit() - compute the queue limit for a sum of thresholds
 * @sum: sum of the thresholds, 1/256 packet
 *
 * The limit is twice the sum, because the thresholds bound averages, and the queue
 * can exceed them for a while.
 *
 * Return: packets, at least 1.
 */
static inline u64 share_law_limit(u64 sum)
{
	return max_t(u64, (2 * sum + SHARE_LAW_UNIT - 1) >> 8, 1);
}

/**
 * struct share_class - a class of traffic
 * @share: b, Q0.32
 * @packet: P, bytes, not 0
 * @given: threshold that the operator has set, 1/256 packet; 0: from the share
 * @least: minimum of a threshold from the share, 1/256 packet
 */
struct share_class {
	u32	share;
	u32	packet;
	u32	given;
	u32	least;
};

/**
 * struct share_total - sums over all classes, 1/256 packet
 * @sum: sum of the thresholds
 * @raised: part of @sum that is due to minimum thresholds
 */
struct share_total {
	u64	sum;
	u64	raised;
};

/**
 * share_law_threshold() - compute a class's threshold, and add it to the total
 * @c: the class
 * @rate: C, bytes/s
 * @latency: L, us
 * @total: the total
 *
 * Return: the threshold, 1/256 packet.
 */
static inline u64 share_law_threshold(const struct share_class *c, u64 rate,
				      u32 latency, struct share_total *total)
{
	u64 q = share_law(rate, latency, c->share, c->packet);
	u64 threshold = c->given ?: max_t(u64, q, c->least);

	total->sum += threshold;
	if (!c->given)
		total->raised += threshold - q;
	return threshold;
}

/*
 * Return the limit for these thresholds, packets. The raised part of a slow link's
 * thresholds counts once, not twice, so that it does not delay packets further.
 */
static inline u64 share_law_room(const struct share_total *total)
{
	return max_t(u64, share_law_limit(total->sum - total->raised),
		     (total->sum + SHARE_LAW_UNIT - 1) / SHARE_LAW_UNIT);
}

/**
 * share_law_latency() - reduce the latency until its limit fits into memory
 * @classes: the classes
 * @count: their number
 * @rate: C, bytes/s
 * @latency: desired latency, us
 * @room: number of packets that fit into memory
 *
 * Return: at most @latency, us, not 0.
 */
static inline u32 share_law_latency(const struct share_class *classes,
				    u32 count, u64 rate, u32 latency, u32 room)
{
	u64 limit, sum = 0;
	u32 i;

	for (i = 0; i < count; i++)
		sum += share_law(rate, latency, classes[i].share,
				 classes[i].packet);
	limit = share_law_limit(sum);
	if (limit <= room)
		return latency;
	return max_t(u32, div64_u64((u64)room * latency, limit), 1);
}

#endif /* _AQM_SHARE_LAW_H */
