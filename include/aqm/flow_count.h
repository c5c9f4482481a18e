/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many flows there are, from a vector of bits and without knowing any.
 *
 * R. Morris, "Scalable TCP Congestion Control", 1999, as K. Wang, MIT-LCS-TR-829,
 * sections 3.3.3 and 6.1, tells it: each packet sets the bit that its flow hashes
 * to, and bits are cleared one after the other, all of them in t_clear. The count
 * is the number of bits that are set.
 *
 *	packet:		bit[hash] = 1
 *	each t_clear / bits of time:	bit[hand] = 0, hand = hand + 1 mod bits
 *
 * A bit is cleared once in t_clear, so a flow is counted until t_clear after its
 * last packet at most, half of that on average. What it says of n flows that send
 * packets every tau:
 *
 *  - Two flows may share a bit. Of v bits n flows set v (1 - (1 - 1/v)^n) on
 *    average, which is n less about n^2 / 2v, with a standard deviation below
 *    sqrt(n^2 / 2v).
 *  - A bit that was cleared is set again by the flow's next packet: a part
 *    tau / t_clear of the flows, at most, is missing.
 *
 * Time is counted in whole bits; what is left of it counts the next time. Up to
 * 64 bits are cleared at once: no packet takes more than bits / 64 + 2 steps, and
 * all packets of t_clear together no more than bits.
 *
 * The caller brings the hash and the time. Nothing here sees an sk_buff or a
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
 * @words: its bits
 * @bits: how many, 1 at least
 * @count: how many are set
 * @hand: the one that is cleared next
 * @cleared_at: up to when bits have been cleared, ns
 */
struct flow_count {
	u64	*words;
	u32	bits;
	u32	count;
	u32	hand;
	u64	cleared_at;
};

/* Words of memory for so many bits. */
static inline u32 flow_count_words(u32 bits)
{
	return DIV_ROUND_UP(bits, 64);
}

/* No flow has been seen at @now, ns. */
static inline void flow_count_clear(struct flow_count *c, u64 now)
{
	memset(c->words, 0, sizeof(u64) * flow_count_words(c->bits));
	c->count = 0;
	c->hand = 0;
	c->cleared_at = now;
}

/* A vector of @bits in @words, of which there are flow_count_words(@bits). */
static inline void flow_count_init(struct flow_count *c, u64 *words, u32 bits,
				   u64 now)
{
	c->words = words;
	c->bits = bits;
	flow_count_clear(c, now);
}

/* The part of the next @n bits, at most all, that lies in the hand's word. */
static inline u64 flow_count_mask(const struct flow_count *c, u32 hand, u32 *n)
{
	u32 at = hand % 64;

	*n = min3(*n, 64 - at, c->bits - hand);
	return (~0ULL >> (64 - *n)) << at;
}

/* Bits that have come due at @now, below @bits. */
static inline u32 flow_count_due(const struct flow_count *c, u64 clear, u64 now)
{
	/* Below 2^35 2^24. */
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
 * flow_count_advance() - clear what has come due
 * @c: the vector
 * @clear: t_clear, ns, not 0 and at most 2^35
 * @now: ns, never before an earlier call's
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
	/* When the last of them came due, rounded up: no bit comes due early. */
	c->cleared_at += div_u64(due * clear + c->bits - 1, c->bits);
}

/* The count as flow_count_advance() would leave it: to show. */
static inline u32 flow_count_seen(const struct flow_count *c, u64 clear, u64 now)
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

/* A packet of the flow with this hash, uniform over the range of u32. */
static inline void flow_count_see(struct flow_count *c, u32 hash)
{
	u32 bit = reciprocal_scale(hash, c->bits);
	u64 *word = &c->words[bit / 64];
	u64 mask = 1ULL << bit % 64;

	c->count += !(*word & mask);
	*word |= mask;
}

#endif /* _AQM_FLOW_COUNT_H */
