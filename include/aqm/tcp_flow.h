/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which TCP flow a packet belongs to, as a key of <aqm/flow_age.h>.
 *
 * Plain IPv4 and IPv6 headers are read as they are, since the kernel's flow
 * dissector costs more than all else that is done to a packet; what it can look
 * into beside (VLAN tags, options, fragments, tunnels) is left to it.
 */
#ifndef _AQM_TCP_FLOW_H
#define _AQM_TCP_FLOW_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/flow_dissector.h>
#include <net/ip.h>
#include <aqm/flow_age.h>

/* Addresses and ports where a plain IPv4 header has them at once. */
static inline bool tcp_flow_v4(const struct sk_buff *skb, bool ports,
			       struct flow_age_key *key, u8 *protocol)
{
	const struct iphdr *ip = ip_hdr(skb);
	const void *tail = skb_tail_pointer(skb);
	const u8 *after = (const u8 *)(ip + 1);

	if ((const void *)(ip + 1) > tail || ip->version != 4 || ip->ihl != 5 ||
	    ip_is_fragment(ip))
		return false;
	*protocol = ip->protocol;
	*key = (struct flow_age_key) {
		.src[0]	= (__force u32)ip->saddr,
		.dst[0]	= (__force u32)ip->daddr,
		.kind	= FLOW_DISSECTOR_KEY_IPV4_ADDRS,
	};
	if (!ports)
		return true;
	if ((const void *)(after + sizeof(key->ports)) > tail)
		return false;
	memcpy(&key->ports, after, sizeof(key->ports));
	return true;
}

/* The same for IPv6 without extension headers. */
static inline bool tcp_flow_v6(const struct sk_buff *skb, bool ports,
			       struct flow_age_key *key, u8 *protocol)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	const void *tail = skb_tail_pointer(skb);
	const u8 *after = (const u8 *)(ip + 1);

	if ((const void *)(ip + 1) > tail || ip->version != 6)
		return false;
	*protocol = ip->nexthdr;
	*key = (struct flow_age_key) { .kind = FLOW_DISSECTOR_KEY_IPV6_ADDRS };
	memcpy(key->src, &ip->saddr, sizeof(key->src));
	memcpy(key->dst, &ip->daddr, sizeof(key->dst));
	if (!ports)
		return true;
	if ((const void *)(after + sizeof(key->ports)) > tail)
		return false;
	memcpy(&key->ports, after, sizeof(key->ports));
	return true;
}

/* Whatever else the kernel can look into. */
static noinline bool tcp_flow_dissect(const struct sk_buff *skb, bool ports,
				      struct flow_age_key *key)
{
	struct flow_keys keys;

	if (!skb_flow_dissect_flow_keys(skb, &keys, 0) ||
	    keys.basic.ip_proto != IPPROTO_TCP)
		return false;

	*key = (struct flow_age_key) { .kind = keys.control.addr_type };
	switch (keys.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		key->src[0] = (__force u32)keys.addrs.v4addrs.src;
		key->dst[0] = (__force u32)keys.addrs.v4addrs.dst;
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		memcpy(key->src, &keys.addrs.v6addrs.src, sizeof(key->src));
		memcpy(key->dst, &keys.addrs.v6addrs.dst, sizeof(key->dst));
		break;
	default:
		return false;
	}
	if (ports)
		key->ports = (__force u32)keys.ports.ports;
	return true;
}

/**
 * tcp_flow_key() - the flow of a TCP packet
 * @skb: the packet
 * @ports: flows between the same addresses differ by their ports
 * @key: set to what makes the flow
 *
 * Return: false for what is not TCP.
 */
static inline bool tcp_flow_key(const struct sk_buff *skb, bool ports,
				struct flow_age_key *key)
{
	u8 protocol = 0;
	bool plain;

	if (skb->protocol == htons(ETH_P_IP))
		plain = tcp_flow_v4(skb, ports, key, &protocol);
	else if (skb->protocol == htons(ETH_P_IPV6))
		plain = tcp_flow_v6(skb, ports, key, &protocol);
	else
		plain = false;
	if (protocol == IPPROTO_UDP)
		return false;
	if (plain && protocol == IPPROTO_TCP)
		return true;
	return tcp_flow_dissect(skb, ports, key);
}

#endif /* _AQM_TCP_FLOW_H */
