/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The service of RED+Tail: two queues share a link, and the share of the short
 * queue grows with its length.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4, section III-B. Queue 1 holds the short flows,
 * q1 is its length, and C is the rate of the link:
 *
 *	q1 = 0:			C1 = 0
 *	0 < q1 <= min1:		C1 = C1min
 *	min1 < q1:		C1 = min(C q1 / max1, C1max)
 *				C2 = C - C1
 *
 * The paper's rates are shares of the bytes served here, so that any parent or
 * device can set the pace. C1min is a floor above min1 too, so that C1 never
 * falls while q1 grows.
 *
 * Shares are Q0.32 in u32, where U32_MAX means 1. q1 / max1 is at most 2^-31
 * too small. The credit is in bytes times 2^32, in s64. With packets below 2^30
 * bytes it stays within 2^63.
 *
 * This header uses no sk_buff and no Qdisc.
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
 * @min1: length up to which the short queue gets @least, bytes
 * @max1: length at which it would get the whole link, bytes; above @min1, at most
 *	SHORT_SHARE_MAX_TH
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

/* @least defaults to min1 / max1, so that the share does not jump at min1. */
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

/* Return C1 / C for a short queue of @q1 bytes, Q0.32. */
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
 * short_share_pick() - choose the queue to serve, and update the credit
 * @p: configuration
 * @credit: bytes owed to the short queue, times 2^32
 * @short_waits: the short queue has a packet
 * @short_len: length of its first packet, bytes
 * @long_waits: the long queue has a packet; at least one of the queues has
 * @long_len: length of its first packet, bytes
 * @q1: length of the short queue, bytes
 *
 * While both queues have packets, each byte served adds the short queue's share of
 * a byte to the credit, and each byte of the short queue subtracts one. The bytes
 * that the short queue got differ from the sum of its shares by at most one packet,
 * at any pace of the dequeues.
 *
 * A queue earns no credit while it is empty, and pays nothing while it is served
 * alone. But the last packet of the short queue was sent ahead of its share: at
 * rate C1, bit by bit, it would still be in service. So the next packet waits until
 * this advance is paid back at C1min.
 *
 * Return: the queue to serve.
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
