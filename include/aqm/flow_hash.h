/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flow of a packet as one number.
 *
 * One flow means: the same protocol, addresses of either family in full, ports,
 * GRE key and VLAN number; or the class that a filter named, in its place. The
 * number is a 32-bit SipHash (1-3) of these under a key of the discipline: two
 * flows are mistaken for one with probability 2^-32 per comparison, and nobody
 * outside can bring it about. Fragments have no ports. Packets that the flow
 * dissector cannot read are one flow per protocol.
 */
#ifndef _AQM_FLOW_HASH_H
#define _AQM_FLOW_HASH_H

#include <linux/siphash.h>
#include <aqm/packet_flow.h>

/* The flow of a packet, never 0. */
static inline u32 flow_hash(const struct sk_buff *skb,
			    const hsiphash_key_t *key)
{
	struct packet_flow f;

	packet_flow_read(skb, &f);
	/* Most have no more than these, and a hash takes long. */
	if (f.key.kind == FLOW_DISSECTOR_KEY_IPV4_ADDRS && !f.vlan && !f.gre)
		return hsiphash_4u32(f.key.src[0], f.key.dst[0], f.key.ports,
				     f.protocol, key) ?: 1;
	return hsiphash(&f, sizeof(f), key) ?: 1;
}

/* The flow that a filter named, in the same number space. */
static inline u32 flow_hash_of_class(u32 minor, const hsiphash_key_t *key)
{
	return hsiphash_1u32(minor, key) ?: 1;
}

#endif /* _AQM_FLOW_HASH_H */
