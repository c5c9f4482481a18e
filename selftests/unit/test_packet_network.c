// SPDX-License-Identifier: GPL-2.0
/* packet_network.h: any number of tags, in packets of any length. */
#include <aqm/packet_network.h>
#include "unit.h"

#define ECT	2
#define CE	3

/* An IP packet behind @tags, of both kinds in turn, its network header at the first. */
static struct sk_buff packet(int tags)
{
	static const __be16 types[] = { htons(ETH_P_8021Q), htons(ETH_P_8021AD) };
	struct sk_buff skb = { .network = ETH_HLEN, .len = sizeof(skb.data) };
	__be16 type;
	int i;

	for (i = 0; i <= tags; i++) {
		type = i < tags ? types[i % 2] : htons(ETH_P_IP);
		memcpy(skb.data + ETH_HLEN - 2 + VLAN_HLEN * i, &type, 2);
	}
	memcpy(&skb.protocol, skb.data + ETH_HLEN - 2, 2);
	skb.data[ETH_HLEN + VLAN_HLEN * tags + 1] = ECT;
	return skb;
}

static void test_tags(void)
{
	int tags, offset, at, length, was;
	bool found, marked, left, cut;
	struct sk_buff skb;

	for (tags = 0; tags <= VLAN_MAX_DEPTH; tags++) {
		at = ETH_HLEN + VLAN_HLEN * tags;
		found = true;
		marked = true;
		left = true;
		/* The kernel takes IP to be at the first of them, or where it is. */
		for (was = ETH_HLEN; was <= at; was += tags ? at - ETH_HLEN : 1) {
			skb = packet(tags);
			skb.network = was;
			found &= packet_network(&skb, &offset) == htons(ETH_P_IP) &&
				 offset == at;
			marked &= packet_set_ce(&skb) && skb.data[at + 1] == CE;
			left &= skb.network == was && skb.protocol == packet(tags).protocol;
		}
		unit_ok(found && marked, "behind %d tags there is IP, and its mark", tags);
		unit_ok(left, "which leaves the rest alone");

		cut = true;
		for (length = 0; tags && length < at; length++) {
			skb = packet(tags);
			skb.len = length;
			cut &= !packet_network(&skb, &offset) && !packet_set_ce(&skb);
			cut &= skb.network == ETH_HLEN && !memcmp(skb.data, packet(tags).data,
								  sizeof(skb.data));
		}
		unit_ok(cut, "if they are whole");
	}
}

static void test_too_many(void)
{
	struct sk_buff skb = packet(VLAN_MAX_DEPTH + 1), was = skb;
	int offset;

	unit_ok(!packet_network(&skb, &offset), "behind one more is nobody knows what");
	unit_ok(!packet_set_ce(&skb) && !memcmp(&skb, &was, sizeof(skb)), "and no mark");
}

UNIT_TESTS
{
	test_tags();
	test_too_many();
}
