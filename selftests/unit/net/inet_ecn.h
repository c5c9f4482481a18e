/* SPDX-License-Identifier: GPL-2.0 */
/* A packet that is nothing but its TOS byte, and maybe behind a tag. */
#ifndef SHIM_NET_INET_ECN_H
#define SHIM_NET_INET_ECN_H

#include <string.h>
#include <linux/types.h>

struct sk_buff {
	u8	tos;
	__be16	protocol;	/* a tag's, or 0 */
	int	network;	/* where the kernel takes IP to be */
	int	ip;		/* where it is: 0, or 4 behind a tag */
};

#define ETH_HLEN	0
#define VLAN_HLEN	4
#define VLAN_MAX_DEPTH	8

struct vlan_hdr {
	__be16	h_vlan_TCI;
	__be16	h_vlan_encapsulated_proto;
};

static inline bool eth_type_vlan(__be16 type)
{
	return type;
}

static inline void *skb_header_pointer(const struct sk_buff *skb, int offset,
				       int len, void *buf)
{
	(void)skb;
	(void)offset;
	return memset(buf, 0, len);
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
	if (skb->protocol || skb->network != skb->ip || !(skb->tos & 3))
		return 0;
	skb->tos |= 3;
	return 1;
}

#endif
