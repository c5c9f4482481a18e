/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What makes two packets one flow: addresses, and where they matter, ports.
 */
#ifndef _AQM_FLOW_KEY_H
#define _AQM_FLOW_KEY_H

#include <linux/types.h>

/**
 * struct flow_key - addresses and ports; unused parts are 0
 * @src: source address; IPv4 in the first word
 * @dst: destination address
 * @ports: both ports
 * @kind: of the addresses, FLOW_DISSECTOR_KEY_*_ADDRS; 0: there are none
 * @words: all of it
 */
struct flow_key {
	union {
		struct {
			u32	src[4];
			u32	dst[4];
			u32	ports;
			u32	kind;
		};
		u64	words[5];
	};
};

static inline bool flow_key_equal(const struct flow_key *a,
				  const struct flow_key *b)
{
	return !((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) |
		 (a->words[2] ^ b->words[2]) | (a->words[3] ^ b->words[3]) |
		 (a->words[4] ^ b->words[4]));
}

#endif /* _AQM_FLOW_KEY_H */
