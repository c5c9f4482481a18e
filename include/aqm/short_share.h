/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How two queues share a link when one of them is served the faster the longer
 * it is: RED+Tail's service.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4, section III-B. Queue 1 is the short flows', q1
 * its length, C the rate of the link:
 *
 *	q1 = 0:			C1 = 0
 *	0 < q1 <= min1:		C1 = C1min
 *	min1 < q1:		C1 = min(C q1 / max1, C1max)
 *				C2 = C - C1
 *
 * The paper's rates are shares of the bytes served here, whoever decides when
 * to serve. C1min is a floor above min1 too, so that C1 never falls as q1 grows.
 *
 * Shares are Q0.32 in u32: U32_MAX stands for 1. q1 / max1 is at most 2^-31
 * below exact. The account is in bytes times 2^32, in s64; with a packet below
 * 2^30 bytes it stays within 2^63.
 *
 * Nothing here sees an sk_buff or a Qdisc.
 */
#ifndef _AQM_SHORT_SHARE_H
#define _AQM_SHORT_SHARE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define SHORT_SHARE_MAX_TH	0x40000000U

enum short_share_queue {
	SHORT_SHARE_SHORT,
	SHORT_SHARE_LONG,
	SHORT_SHARE_QUEUES
};

/**
 * struct short_share_params - configuration
 * @min1: up to which the short queue gets @least, bytes
 * @max1: with which it would get all, bytes; above @min1, to SHORT_SHARE_MAX_TH
 * @least: C1min / C, Q0.32, not 0
 * @most: C1max / C, Q0.32, not below @least
 * @slope: 1 / @max1, Q2.62
 */
struct short_share_params {
	u64	slope;
	u32	min1;
	u32	max1;
	u32	least;
	u32	most;
};

/* @least 0: min1 / max1, with which the share does not jump at min1. */
static inline void short_share_set(struct short_share_params *p, u32 min1,
				   u32 max1, u32 least, u32 most)
{
	*p = (struct short_share_params) {
		.slope	= div_u64(1ULL << 62, max1),
		.min1	= min1,
		.max1	= max1,
		.least	= least,
		.most	= most,
	};
	if (!least)
		p->least = clamp_t(u64, div_u64((u64)min1 << 32, max1), 1,
				   most);
}

/* C1 / C for a short queue of @q1 bytes, Q0.32 */
static inline u32 short_share(const struct short_share_params *p, u32 q1)
{
	if (!q1)
		return 0;
	if (q1 <= p->min1)
		return p->least;
	if (q1 >= p->max1)
		return p->most;
	return clamp_t(u64, (q1 * p->slope) >> 30, p->least, p->most);
}

/**
 * short_share_pick() - the queue to serve next, and the account of the shares
 * @p: configuration
 * @credit: bytes owed to the short queue, times 2^32
 * @short_waits: the short queue holds a packet
 * @short_len: length of its first, bytes
 * @long_waits: the long queue holds a packet; one of the two does
 * @long_len: length of its first, bytes
 * @q1: length of the short queue, bytes
 *
 * While both hold packets, every byte served entitles the short queue to its
 * share of a byte, and what it is served is taken off: what it got never
 * differs from the sum of its shares by more than one packet, however fast or
 * unevenly the bytes are asked for.
 *
 * An empty queue has no claim, and one that is served alone pays nothing. But
 * the last packet of the short queue went ahead of its share: had it been sent
 * at its rate, bit by bit, the queue would still be in service. Until what it
 * got in advance is made up for at C1min, the next packet waits.
 */
static inline enum short_share_queue
short_share_pick(const struct short_share_params *p, s64 *credit,
		 bool short_waits, u32 short_len, bool long_waits, u32 long_len,
		 u32 q1)
{
	if (!long_waits) {
		*credit = max_t(s64, *credit - ((s64)short_len << 32), 0);
		return SHORT_SHARE_SHORT;
	}
	if (!short_waits) {
		*credit = min_t(s64, *credit + (s64)p->least * long_len, 0);
		return SHORT_SHARE_LONG;
	}
	if (*credit >= 0) {
		*credit += ((s64)short_share(p, q1) - (1LL << 32)) * short_len;
		return SHORT_SHARE_SHORT;
	}
	*credit += (s64)short_share(p, q1) * long_len;
	return SHORT_SHARE_LONG;
}

#endif /* _AQM_SHORT_SHARE_H */
