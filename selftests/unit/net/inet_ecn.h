/* SPDX-License-Identifier: GPL-2.0 */
/* A packet that is nothing but its TOS byte. */
#ifndef SHIM_NET_INET_ECN_H
#define SHIM_NET_INET_ECN_H

#include <linux/types.h>

struct sk_buff {
	u8	tos;
};

/* RFC 3168: CE can be set on ECT(0), ECT(1) and CE, not on Not-ECT. */
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (!(skb->tos & 3))
		return 0;
	skb->tos |= 3;
	return 1;
}

#endif
