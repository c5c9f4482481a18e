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
#include <linux/skbuff.h>
#include <net/flow_dissector.h>

/*
 * The flow of a packet, never 0. It is as short a hash as will do, and of no more
 * than there is: it costs as much as the rest of what is done with it.
 */
static inline u32 flow_hash(const struct sk_buff *skb,
			    const hsiphash_key_t *key)
{
	const size_t from = offsetof(struct flow_keys, basic);
	/* They come last. */
	size_t to = offsetofend(struct flow_keys, addrs);
	struct flow_keys keys;

	skb_flow_dissect_flow_keys(skb, &keys, 0);
	/* A sender may change these within a connection, and Linux does. */
	keys.tags.flow_label = 0;
	keys.vlan.vlan_priority = 0;
	keys.vlan.vlan_dei = 0;
	if (keys.control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS)
		to = offsetofend(struct flow_keys, addrs.v4addrs);
	return hsiphash((u8 *)&keys + from, to - from, key) ?: 1;
}

/* The flow that a filter named, in the same number space. */
static inline u32 flow_hash_of_class(u32 minor, const hsiphash_key_t *key)
{
	return hsiphash_1u32(minor, key) ?: 1;
}

#endif /* _AQM_FLOW_HASH_H */
