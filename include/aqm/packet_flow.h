/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the flow of a packet, also as a number.
 *
 * We parse TCP and UDP directly behind a plain IPv4 or IPv6 header ourselves,
 * because the kernel's flow dissector costs more than everything else in a packet's
 * path. Other packets (VLAN tags in the data, options, fragments, tunnels) go
 * through the dissector. Both give the same flow, unless a BPF program replaces
 * the dissector; it sees only the other packets.
 *
 * Packets are of one flow if they have the same protocol, addresses, ports, GRE key
 * and VLAN number, or if a filter gave them the same class. The number is a 32-bit
 * SipHash (1-3) with a secret key of the discipline. Two flows are confused with
 * probability 2^-32 per comparison, and a sender cannot force that. Fragments have
 * no ports. Packets that the flow dissector cannot parse are one flow per protocol.
 *
 * An encrypted tunnel, such as WireGuard or IPsec, has one outer header for many
 * flows. The kernel keeps the hash of the inner flow in skb->hash, by which fq_codel
 * tells them apart. We then add this hash to the number. We do so only if the headers
 * say less than the hash, because the hash of a TCP socket changes after a timeout,
 * and a forged or weak hash must not merge flows.
 */
#ifndef _AQM_PACKET_FLOW_H
#define _AQM_PACKET_FLOW_H

#include <linux/if_vlan.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/flow_dissector.h>
#include <net/ip.h>
#include <aqm/flow_key.h>

/**
 * struct packet_flow - fields of a packet's headers; unused parts are 0
 * @key: addresses and ports; fragments have no ports
 * @protocol: IPPROTO_* behind IP; 0 if the packet is truncated
 * @network: ETH_P_* of packets other than IP and TIPC, in network byte order
 * @vlan: tag protocol in the upper half, number in the lower
 * @gre: key
 */
struct packet_flow {
	struct flow_key	key;
	u32		protocol;
	u32		network;
	u32		vlan;
	u32		gre;
};

/* The rest is in frame/packet_flow.c. */
void packet_flow_dissect(const struct sk_buff *skb, struct packet_flow *f);
bool flow_hash_is_inner(const struct sk_buff *skb, const struct packet_flow *f);

static inline u32 packet_flow_vlan(__be16 protocol, u16 number)
{
	return (__force u32)protocol << 16 | number;
}

/* Parse plain headers. Return false for other headers. */
static inline bool packet_flow_plain(const struct sk_buff *skb,
				     struct packet_flow *f)
{
	const void *tail = skb_tail_pointer(skb);
	const struct ipv6hdr *v6 = ipv6_hdr(skb);
	const struct iphdr *v4 = ip_hdr(skb);
	const void *ports;

	if (skb->protocol == htons(ETH_P_IP)) {
		ports = v4 + 1;
		if (ports + sizeof(f->key.ports) > tail || v4->ihl != 5 ||
		    ip_is_fragment(v4))
			return false;
		f->key.kind = FLOW_DISSECTOR_KEY_IPV4_ADDRS;
		f->key.src[0] = (__force u32)v4->saddr;
		f->key.src[1] = 0;
		f->key.dst[0] = (__force u32)v4->daddr;
		f->key.dst[1] = 0;
		f->protocol = v4->protocol;
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		ports = v6 + 1;
		if (ports + sizeof(f->key.ports) > tail)
			return false;
		f->key.kind = FLOW_DISSECTOR_KEY_IPV6_ADDRS;
		memcpy(f->key.src, &v6->saddr, sizeof(f->key.src));
		memcpy(f->key.dst, &v6->daddr, sizeof(f->key.dst));
		f->protocol = v6->nexthdr;
	} else {
		return false;
	}
	memcpy(&f->key.ports, ports, sizeof(f->key.ports));
	f->network = 0;
	f->vlan = skb_vlan_tag_present(skb) ?
		  packet_flow_vlan(skb->vlan_proto, skb_vlan_tag_get_id(skb)) :
		  0;
	f->gre = 0;
	return f->protocol == IPPROTO_TCP || f->protocol == IPPROTO_UDP;
}

/* Return the flow of a packet. */
static inline void packet_flow_read(const struct sk_buff *skb,
				    struct packet_flow *f)
{
	if (unlikely(!packet_flow_plain(skb, f)))
		packet_flow_dissect(skb, f);
}

/* Return the number of the flow that the headers name. */
static inline u32 flow_hash_of_headers(const struct packet_flow *f,
				       const hsiphash_key_t *key)
{
	/* Most packets have only these fields, and hashing fewer words is faster. */
	if (f->key.kind == FLOW_DISSECTOR_KEY_IPV4_ADDRS && !f->vlan && !f->gre)
		return hsiphash_4u32(f->key.src[0], f->key.dst[0], f->key.ports,
				     f->protocol, key);
	return hsiphash(f, sizeof(*f), key);
}

/* Return the number of a packet's flow, never 0. */
static inline u32 flow_hash(const struct sk_buff *skb,
			    const hsiphash_key_t *key)
{
	struct packet_flow f;
	u32 number;

	packet_flow_read(skb, &f);
	number = flow_hash_of_headers(&f, key);
	if (unlikely(skb->l4_hash && f.protocol != IPPROTO_TCP) &&
	    flow_hash_is_inner(skb, &f))
		number = hsiphash_2u32(number, skb->hash, key);
	return number ?: 1;
}

/* Return the number of a flow that a filter named. */
static inline u32 flow_hash_of_class(u32 minor, const hsiphash_key_t *key)
{
	return hsiphash_1u32(minor, key) ?: 1;
}

#endif /* _AQM_PACKET_FLOW_H */
