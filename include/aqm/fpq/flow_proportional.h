/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow-Proportional Queuing: the queue length that N TCP flows need, and the
 * loss rate that leads to it.
 *
 * R. Morris, "Scalable TCP Congestion Control", 1999, in K. Wang,
 * MIT-LCS-TR-829, equations 3.4 and 3.5, where P is the number of packets of
 * one round trip:
 *
 *	target(N) = max(P / (2 N - 1), 6 N)
 *	loss(N) = min((0.87 / ((target + P) / N + 1))^2, 0.021)
 *
 * Few flows need a queue that keeps the link full after they have halved their
 * windows. Many flows need six packets each, or they time out. The loss cannot
 * reach its cap while the target is 6 N, because windows are then above 6
 * packets and the loss is below 0.0155.
 *
 * The target is rounded down to whole packets. The loss is Q0.32, and within
 * 2^-31 of exact. This header uses no sk_buff and no Qdisc.
 */
#ifndef _AQM_FLOW_PROPORTIONAL_H
#define _AQM_FLOW_PROPORTIONAL_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define FLOW_PROPORTIONAL_WINDOW	6U	/* packets of each flow */
#define FLOW_PROPORTIONAL_087	3736621548ULL	/* 0.87 in Q0.32 */
#define FLOW_PROPORTIONAL_CAP	90194313U	/* 0.021 in Q0.32 */
#define FLOW_PROPORTIONAL_PIPE	16777216U	/* packets: largest P, 2^24 */

/* Return the target, packets; @flows is 1 to 2^24, @pipe at most FLOW_PROPORTIONAL_PIPE. */
static inline u32 flow_proportional_target(u32 pipe, u32 flows)
{
	return max(pipe / (2 * flows - 1), FLOW_PROPORTIONAL_WINDOW * flows);
}

/* Return the loss (0.87 N / (target + P + N))^2, Q0.32. */
static inline u32 flow_proportional_loss(u32 pipe, u32 flows)
{
	u32 sum = flow_proportional_target(pipe, flows) + pipe + flows;
	u64 root = div_u64(FLOW_PROPORTIONAL_087 * flows, sum);

	return min_t(u64, (root * root) >> 32, FLOW_PROPORTIONAL_CAP);
}

#endif /* _AQM_FLOW_PROPORTIONAL_H */
