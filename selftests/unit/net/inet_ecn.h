/* SPDX-License-Identifier: GPL-2.0 */
/* A packet that is nothing but its TOS byte, and maybe behind a tag. */
#ifndef SHIM_NET_INET_ECN_H
#define SHIM_NET_INET_ECN_H

#include <linux/types.h>

struct sk_buff {
	u8	tos;
	__be16	protocol;	/* a tag's, or 0 */
	int	network;	/* where the kernel takes IP to be */
};

static inline bool eth_type_vlan(__be16 type)
{
	return type;
}

/* IP is at 0, or at 4 behind a tag. */
static inline __be16 __vlan_get_protocol(const struct sk_buff *skb, __be16 type,
					 int *depth)
{
	*depth = skb->protocol ? 4 : 0;
	return type;
}

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb->network;
}

static inline void skb_set_network_header(struct sk_buff *skb, int offset)
{
	skb->network = offset;
}

/* RFC 3168: CE can be set on ECT(0), ECT(1) and CE, not on Not-ECT. */
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (skb->network != (skb->protocol ? 4 : 0) || !(skb->tos & 3))
		return 0;
	skb->tos |= 3;
	return 1;
}

#endif
