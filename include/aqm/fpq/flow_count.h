/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Estimate the number of flows with a vector of bits, without state per flow.
 *
 * R. Morris, "Scalable TCP Congestion Control", 1999, as described by K. Wang,
 * MIT-LCS-TR-829, sections 3.3.3 and 6.1. Each packet sets the bit that its
 * flow hashes to. Bits are cleared one after the other, and all of them in
 * t_clear. The count is the number of bits that are set.
 *
 *	packet:		bit[hash] = 1
 *	each t_clear / bits of time:	bit[hand] = 0, hand = hand + 1 mod bits
 *
 * A bit is cleared once in t_clear, so a flow counts for at most t_clear after
 * its last packet, and for half of that on average. Errors of the count, for n
 * flows that send a packet every tau:
 *
 *  - Two flows may share a bit. Of v bits n flows set v (1 - (1 - 1/v)^n) on
 *    average, which is about n^2 / 2v less than n, with a standard deviation
 *    below sqrt(n^2 / 2v).
 *  - A cleared bit is set again by the flow's next packet. So at most a
 *    fraction tau / t_clear of the flows is missing.
 *
 * Time is counted in whole bits, and the remainder counts the next time. Up to
 * 64 bits are cleared at once. A packet takes at most bits / 64 + 2 steps, and
 * all packets within t_clear together take at most as many steps as there are
 * bits.
 *
 * The caller provides the hash and the time. This header uses no sk_buff and no
 * Qdisc.
 */
#ifndef _AQM_FLOW_COUNT_H
#define _AQM_FLOW_COUNT_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct flow_count - the vector
 * @words: the bits
 * @bits: number of bits, at least 1
 * @count: number of bits that are set
 * @hand: index of the next bit to clear
 * @cleared_at: time up to which bits have been cleared, ns
 */
struct flow_count {
	u64	*words;
	u32	bits;
	u32	count;
	u32	hand;
	u64	cleared_at;
};

/* Return the number of words for @bits. */
static inline u32 flow_count_words(u32 bits)
{
	return DIV_ROUND_UP(bits, 64);
}

/* Clear all bits at time @now, ns. */
static inline void flow_count_clear(struct flow_count *c, u64 now)
{
	memset(c->words, 0, sizeof(u64) * flow_count_words(c->bits));
	c->count = 0;
	c->hand = 0;
	c->cleared_at = now;
}

/* Set up an empty vector. @words has flow_count_words(@bits) words. */
static inline void flow_count_init(struct flow_count *c, u64 *words, u32 bits,
				   u64 now)
{
	c->words = words;
	c->bits = bits;
	flow_count_clear(c, now);
}

/* Limit @n to the bits from @hand on in its word. Return: their mask. */
static inline u64 flow_count_mask(const struct flow_count *c, u32 hand, u32 *n)
{
	u32 at = hand % 64;

	*n = min3(*n, 64 - at, c->bits - hand);
	return (~0ULL >> (64 - *n)) << at;
}

/* Return the number of bits due at @now, less than @bits. */
static inline u32 flow_count_due(const struct flow_count *c, u64 clear, u64 now)
{
	/* The product is below 2^35 2^24. */
	return div64_u64((now - c->cleared_at) * c->bits, clear);
}

/* Clear the next @due bits. */
static inline void flow_count_sweep(struct flow_count *c, u32 due)
{
	u64 *word, mask;
	u32 n;

	for (; due; due -= n) {
		n = due;
		mask = flow_count_mask(c, c->hand, &n);
		word = &c->words[c->hand / 64];
		c->count -= hweight64(*word & mask);
		*word &= ~mask;
		c->hand += n;
		if (c->hand == c->bits)
			c->hand = 0;
	}
}

/**
 * flow_count_advance() - clear the bits that are due
 * @c: the vector
 * @clear: t_clear, ns, not 0 and at most 2^35
 * @now: time in ns, never before that of an earlier call
 */
static inline void flow_count_advance(struct flow_count *c, u64 clear, u64 now)
{
	u32 due;

	if (now - c->cleared_at >= clear) {
		flow_count_clear(c, now);
		return;
	}
	due = flow_count_due(c, clear, now);
	if (!due)
		return;
	flow_count_sweep(c, due);
	/* The time at which the last bit was due. Round up, so that none is early. */
	c->cleared_at += div_u64(due * clear + c->bits - 1, c->bits);
}

/* Return the count after a flow_count_advance(), without changing the vector. */
static inline u32 flow_count_snapshot(const struct flow_count *c, u64 clear, u64 now)
{
	u32 n, due, hand = c->hand, count = c->count;
	u64 mask;

	if (now - c->cleared_at >= clear)
		return 0;
	for (due = flow_count_due(c, clear, now); due; due -= n) {
		n = due;
		mask = flow_count_mask(c, hand, &n);
		count -= hweight64(c->words[hand / 64] & mask);
		hand += n;
		if (hand == c->bits)
			hand = 0;
	}
	return count;
}

/* Count a packet of the flow with this @hash, which is uniform over all u32. */
static inline void flow_count_see(struct flow_count *c, u32 hash)
{
	u32 bit = reciprocal_scale(hash, c->bits);
	u64 *word = &c->words[bit / 64];
	u64 mask = 1ULL << bit % 64;

	c->count += !(*word & mask);
	*word |= mask;
}

#endif /* _AQM_FLOW_COUNT_H */
