/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Identify the flow of a packet by a number.
 *
 * Packets are of one flow if they have the same protocol, addresses, ports, GRE key
 * and VLAN number, or if a filter gave them the same class. The number is a 32-bit
 * SipHash (1-3) with a secret key of the discipline. Two flows are confused with
 * probability 2^-32 per comparison, and a sender cannot force that. Fragments have
 * no ports. Packets that the flow dissector cannot parse are one flow per protocol.
 */
#ifndef _AQM_FLOW_HASH_H
#define _AQM_FLOW_HASH_H

#include <linux/siphash.h>
#include <aqm/packet_flow.h>

/* Return the number of a packet's flow, never 0. */
static inline u32 flow_hash(const struct sk_buff *skb,
			    const hsiphash_key_t *key)
{
	struct packet_flow f;

	packet_flow_read(skb, &f);
	/* Most packets have only these fields, and hashing fewer words is faster. */
	if (f.key.kind == FLOW_DISSECTOR_KEY_IPV4_ADDRS && !f.vlan && !f.gre)
		return hsiphash_4u32(f.key.src[0], f.key.dst[0], f.key.ports,
				     f.protocol, key) ?: 1;
	return hsiphash(&f, sizeof(f), key) ?: 1;
}

/* Return the number of a flow that a filter named. */
static inline u32 flow_hash_of_class(u32 minor, const hsiphash_key_t *key)
{
	return hsiphash_1u32(minor, key) ?: 1;
}

#endif /* _AQM_FLOW_HASH_H */
