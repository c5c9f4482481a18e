/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet's network header, behind the VLAN tags that are in its data.
 *
 * The outermost tag is in the packet's descriptor, mostly; further ones, and what
 * a packet socket wrote, are in the data. skb_network_header() then is behind
 * them, but at the first of them where a bridge or act_vlan sends the packet on:
 * what the kernel reads or writes there is a tag. The link's header tells.
 */
#ifndef _AQM_PACKET_NETWORK_H
#define _AQM_PACKET_NETWORK_H

#include <linux/compiler.h>
#include <net/inet_ecn.h>

/* What is behind the tags, ETH_P_*, and its @offset; 0: the packet is cut off. */
static inline __be16 packet_network(const struct sk_buff *skb, int *offset)
{
	*offset = skb_network_offset(skb);
	if (likely(!eth_type_vlan(skb->protocol)))
		return skb->protocol;
	return __vlan_get_protocol(skb, skb->protocol, offset);
}

/* INET_ECN_set_ce() for a packet with tags in its data. */
static noinline bool packet_set_ce_behind_tags(struct sk_buff *skb)
{
	int offset, was = skb_network_offset(skb);
	bool marked;

	packet_network(skb, &offset);
	skb_set_network_header(skb, offset);
	marked = INET_ECN_set_ce(skb);
	skb_set_network_header(skb, was);
	return marked;
}

/* Mark a packet. Return: whether it can be marked. */
static inline bool packet_set_ce(struct sk_buff *skb)
{
	if (unlikely(eth_type_vlan(skb->protocol)))
		return packet_set_ce_behind_tags(skb);
	return INET_ECN_set_ce(skb);
}

#endif /* _AQM_PACKET_NETWORK_H */
