/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_NET_SCH_GENERIC_H
#define SHIM_NET_SCH_GENERIC_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct gnet_stats_queue {
	u32	qlen;
	u32	backlog;
};

static inline u32 qdisc_pkt_len(const struct sk_buff *skb)
{
	return skb->len;
}

#endif
