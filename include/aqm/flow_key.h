/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Key of a flow: addresses and, if needed, ports.
 */
#ifndef _AQM_FLOW_KEY_H
#define _AQM_FLOW_KEY_H

#include <linux/types.h>

/**
 * struct flow_key - addresses and ports; unused parts are 0
 * @src: source address, as in the packet; IPv4 in the first word
 * @dst: destination address
 * @ports: both ports
 * @kind: FLOW_DISSECTOR_KEY_*_ADDRS of the addresses; 0: no addresses
 */
struct flow_key {
	u64	src[2];
	u64	dst[2];
	u32	ports;
	u32	kind;
};

static inline bool flow_key_equal(const struct flow_key *a,
				  const struct flow_key *b)
{
	return !((a->src[0] ^ b->src[0]) | (a->src[1] ^ b->src[1]) |
		 (a->dst[0] ^ b->dst[0]) | (a->dst[1] ^ b->dst[1]) |
		 (a->ports ^ b->ports) | (a->kind ^ b->kind));
}

#endif /* _AQM_FLOW_KEY_H */
