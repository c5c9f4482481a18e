/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Identify the flow of a packet by a number.
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
#ifndef _AQM_FLOW_HASH_H
#define _AQM_FLOW_HASH_H

#include <linux/siphash.h>
#include <net/sock.h>
#include <aqm/packet_flow.h>

/*
 * Return whether we can read only the headers of a tunnel, and skb->hash is of a flow
 * inside. Call if the hash knows ports (l4_hash), and the protocol is not TCP.
 *
 * If we found no ports, they are inside: ESP, MACsec. UDP may carry anything. Tunnels
 * note where the inner headers are. A few (L2TP, OpenVPN) do not, but keep the socket
 * of a local sender.
 */
static noinline bool flow_hash_is_inner(const struct sk_buff *skb,
					const struct packet_flow *f)
{
	const struct sock *sk = skb->sk;

	if (f->protocol != IPPROTO_UDP)
		return !f->key.ports;
	return skb->inner_network_header ||
	       (sk && sk_fullsock(sk) && sk->sk_protocol != IPPROTO_UDP);
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

#endif /* _AQM_FLOW_HASH_H */
