/* SPDX-License-Identifier: GPL-2.0 */
/* A packet that is nothing but its bytes, its type and where the kernel takes IP to be. */
#ifndef SHIM_NET_INET_ECN_H
#define SHIM_NET_INET_ECN_H

#include <string.h>
#include <asm/byteorder.h>
#include <linux/if_ether.h>
#include <linux/types.h>

#define htons(x)	__cpu_to_be16(x)

struct sk_buff {
	__be16	protocol;
	int	network;
	int	len;
	u8	data[64];
};

#define VLAN_HLEN	4
#define VLAN_MAX_DEPTH	8

struct vlan_hdr {
	__be16	h_vlan_TCI;
	__be16	h_vlan_encapsulated_proto;
};

static inline bool eth_type_vlan(__be16 type)
{
	return type == htons(ETH_P_8021Q) || type == htons(ETH_P_8021AD);
}

static inline void *skb_header_pointer(const struct sk_buff *skb, int offset,
				       int len, void *buf)
{
	if (offset + len > skb->len)
		return NULL;
	return memcpy(buf, skb->data + offset, len);
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
	u8 *tos = skb->data + skb->network + 1;

	if (skb->protocol != htons(ETH_P_IP) || !(*tos & 3))
		return 0;
	*tos |= 3;
	return 1;
}

#endif
