/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The IP protocol and the DSCP of a packet, as a classifier needs them.
 *
 * Nearly all packets take a few instructions: the header is in the linear part
 * and names the protocol. All others take a call: packets with extension headers
 * or with VLAN tags in their data, and packets whose header is in a fragment.
 */
#ifndef _AQM_IP_CLASS_H
#define _AQM_IP_CLASS_H

#include <linux/in6.h>
#include <net/flow_dissector.h>
#include <aqm/packet_network.h>

#define IP_CLASS_BYTES	10	/* of a header: up to the protocol, with the DSCP */

/**
 * struct ip_class - what a packet's header says; in one register
 * @is_ip: it is IPv4 or IPv6; otherwise the rest is 0
 * @protocol: IPPROTO_*, behind extension headers; 0 if the header is cut off
 * @dscp: 0 to 63
 */
struct ip_class {
	bool	is_ip;
	u8	protocol;
	u8	dscp;
};

/* Return true if a header's first protocol is an IPv6 extension header. */
static inline bool ip_class_is_extension(u8 protocol)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_DSTOPTS:
		return true;
	}
	return false;
}

/* Read the header at @ip. */
static inline struct ip_class ip_class_header(__be16 proto, const u8 *ip)
{
	if (proto == htons(ETH_P_IP))
		return (struct ip_class) { true, ip[9], ip[1] >> 2 };
	return (struct ip_class) {
		true, ip[6], (ip[0] & 0xf) << 2 | ip[1] >> 6
	};
}

static inline struct ip_class ip_class_any(const struct sk_buff *skb)
{
	struct flow_keys_basic keys;
	u8 buf[IP_CLASS_BYTES];
	struct ip_class class;
	const u8 *ip;
	__be16 proto;
	int offset;

	proto = packet_network(skb, &offset);
	if (proto != htons(ETH_P_IP) && proto != htons(ETH_P_IPV6))
		return (struct ip_class) {};
	ip = skb_header_pointer(skb, offset, sizeof(buf), buf);
	if (!ip)
		return (struct ip_class) { .is_ip = true };
	class = ip_class_header(proto, ip);
	if (ip_class_is_extension(class.protocol)) {
		skb_flow_dissect_flow_keys_basic(NULL, skb, &keys, skb->data,
						 proto, offset,
						 skb_headlen(skb),
						 FLOW_DISSECTOR_F_STOP_AT_ENCAP);
		class.protocol = keys.basic.ip_proto;
	}
	return class;
}

/* Read the protocol and the DSCP of a packet. A tunnel counts by its outer header. */
static inline struct ip_class ip_class(const struct sk_buff *skb)
{
	int left = skb_tail_pointer(skb) - skb_network_header(skb);
	__be16 proto = skb->protocol;
	struct ip_class class;

	if (unlikely(left < IP_CLASS_BYTES))
		return ip_class_any(skb);
	if (likely(proto == htons(ETH_P_IP)))
		return ip_class_header(htons(ETH_P_IP), skb_network_header(skb));
	if (proto != htons(ETH_P_IPV6))
		return ip_class_any(skb);
	class = ip_class_header(proto, skb_network_header(skb));
	return ip_class_is_extension(class.protocol) ? ip_class_any(skb) : class;
}

#endif /* _AQM_IP_CLASS_H */
