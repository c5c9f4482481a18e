/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow-Proportional Queuing: how long a queue N flows of TCP need, and how many
 * packets they must lose to have it.
 *
 * R. Morris, "Scalable TCP Congestion Control", 1999, in K. Wang,
 * MIT-LCS-TR-829, equations 3.4 and 3.5; P is the packets of one round trip:
 *
 *	target(N) = max(P / (2 N - 1), 6 N)
 *	loss(N) = min((0.87 / ((target + P) / N + 1))^2, 0.021)
 *
 * Few flows need a queue to fill the link after they have halved their windows;
 * many need six packets each, or they time out. The cap of the loss is out of
 * reach while the target is 6 N: windows are then above 6 packets, and the loss
 * below 0.0155.
 *
 * The target is rounded down to whole packets. The loss is Q0.32, and within
 * 2^-31 of exact. Nothing here sees an sk_buff or a Qdisc.
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

/* Packets; @flows from 1 to 2^24, @pipe up to FLOW_PROPORTIONAL_PIPE. */
static inline u32 flow_proportional_target(u32 pipe, u32 flows)
{
	return max(pipe / (2 * flows - 1), FLOW_PROPORTIONAL_WINDOW * flows);
}

/* Q0.32 = (0.87 N / (target + P + N))^2 */
static inline u32 flow_proportional_loss(u32 pipe, u32 flows)
{
	u32 sum = flow_proportional_target(pipe, flows) + pipe + flows;
	u64 root = div_u64(FLOW_PROPORTIONAL_087 * flows, sum);

	return min_t(u64, (root * root) >> 32, FLOW_PROPORTIONAL_CAP);
}

#endif /* _AQM_FLOW_PROPORTIONAL_H */
