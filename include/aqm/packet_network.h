/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet's network header, behind the VLAN tags that are in its data.
 *
 * The outermost tag is in the packet's descriptor, mostly; further ones, and what
 * a packet socket wrote, are in the data. skb_network_header() then is behind
 * them, but at the first of them where a bridge or act_vlan sends the packet on:
 * what the kernel reads or writes there is a tag. The link's header tells, and not
 * mac_len, by which the kernel goes: on 6.1 it is 4 behind act_vlan's second tag.
 */
#ifndef _AQM_PACKET_NETWORK_H
#define _AQM_PACKET_NETWORK_H

#include <linux/compiler.h>
#include <net/inet_ecn.h>

static noinline __be16 packet_behind_tags(const struct sk_buff *skb, int *offset)
{
	__be16 type = skb->protocol;
	struct vlan_hdr buf, *tag;
	int at = ETH_HLEN;

	for (; eth_type_vlan(type); at += VLAN_HLEN) {
		tag = skb_header_pointer(skb, at, sizeof(buf), &buf);
		if (!tag || at >= ETH_HLEN + VLAN_MAX_DEPTH * VLAN_HLEN)
			return 0;
		type = tag->h_vlan_encapsulated_proto;
	}
	*offset = at;
	return type;
}

/*
 * What is behind the tags, ETH_P_*, and its @offset; 0: the packet is cut off, or has
 * too many of them.
 */
static inline __be16 packet_network(const struct sk_buff *skb, int *offset)
{
	*offset = skb_network_offset(skb);
	if (likely(!eth_type_vlan(skb->protocol)))
		return skb->protocol;
	return packet_behind_tags(skb, offset);
}

/* INET_ECN_set_ce() for a packet with tags in its data. */
static noinline bool packet_set_ce_behind_tags(struct sk_buff *skb)
{
	int offset, was = skb_network_offset(skb);
	__be16 tag = skb->protocol;
	bool marked;

	skb->protocol = packet_network(skb, &offset);
	skb_set_network_header(skb, offset);
	marked = INET_ECN_set_ce(skb);
	skb_set_network_header(skb, was);
	skb->protocol = tag;
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
