/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the network header of a packet behind VLAN tags in its data.
 *
 * The outermost tag is usually in the packet's descriptor. Further tags, and tags
 * written by a packet socket, are in the data. skb_network_header() is normally
 * behind them. But if a bridge or act_vlan forwards the packet, it is at the first
 * tag, so the kernel would read and write a tag there. We parse from the link-layer
 * header. The kernel uses mac_len, which is wrong by 4 on 6.1 after act_vlan's
 * second tag.
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
 * Return the protocol behind the tags (ETH_P_*) and its @offset, or 0 if the packet
 * is truncated or has too many tags.
 */
static inline __be16 packet_network(const struct sk_buff *skb, int *offset)
{
	*offset = skb_network_offset(skb);
	if (likely(!eth_type_vlan(skb->protocol)))
		return skb->protocol;
	return packet_behind_tags(skb, offset);
}

/* Like INET_ECN_set_ce(), for a packet with tags in its data. */
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

/* Mark a packet if possible. Return whether it was. */
static inline bool packet_set_ce(struct sk_buff *skb)
{
	if (unlikely(eth_type_vlan(skb->protocol)))
		return packet_set_ce_behind_tags(skb);
	return INET_ECN_set_ce(skb);
}

#endif /* _AQM_PACKET_NETWORK_H */
