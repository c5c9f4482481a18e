// SPDX-License-Identifier: GPL-2.0
/* The rare steps of <aqm/packet_flow.h>, and whether a packet is a SYN. */
#include <linux/if_vlan.h>
#include <linux/in.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/flow_dissector.h>
#include <net/sock.h>
#include <aqm/frame.h>
#include <aqm/packet_flow.h>

/* Fill @keys, which is 0, with the kernel's dissector. Return whether it read the headers. */
static bool packet_flow_keys(const struct sk_buff *skb, struct flow_keys *keys)
{
	/* With an explicit start, the dissector does not mistake IP for a tag. */
	void *tags = eth_type_vlan(skb->protocol) ? skb->data : NULL;

	return __skb_flow_dissect(NULL, skb, &flow_keys_dissector, keys, tags,
				  skb_protocol(skb, false), ETH_HLEN,
				  skb_headlen(skb), 0);
}

/* Parse all other headers with the kernel's dissector. */
void packet_flow_dissect(const struct sk_buff *skb, struct packet_flow *f)
{
	struct flow_keys keys = {};
	bool read = packet_flow_keys(skb, &keys);

	*f = (struct packet_flow) {
		.key.ports	= (__force u32)keys.ports.ports,
		.key.kind	= keys.control.addr_type,
		.protocol	= read ? keys.basic.ip_proto : 0,
		.vlan		= packet_flow_vlan(keys.vlan.vlan_tpid,
						   keys.vlan.vlan_id),
		.gre		= (__force u32)keys.keyid.keyid,
	};
	switch (keys.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		f->key.src[0] = (__force u32)keys.addrs.v4addrs.src;
		f->key.dst[0] = (__force u32)keys.addrs.v4addrs.dst;
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		memcpy(f->key.src, &keys.addrs.v6addrs.src, sizeof(f->key.src));
		memcpy(f->key.dst, &keys.addrs.v6addrs.dst, sizeof(f->key.dst));
		break;
	case FLOW_DISSECTOR_KEY_TIPC:
		f->key.src[0] = (__force u32)keys.addrs.tipckey.key;
		break;
	default:
		f->network = (__force u32)keys.basic.n_proto;
	}
}
EXPORT_SYMBOL_GPL(packet_flow_dissect);

/*
 * Return whether we can read only the headers of a tunnel, and skb->hash is of a flow
 * inside. Call if the hash knows ports (l4_hash), and the protocol is not TCP.
 *
 * If we found no ports, they are inside: MACsec, MPLS. The dissector takes the SPI of ESP
 * and AH for ports, but the ports are inside, too. UDP may carry anything. Tunnels note
 * where the inner headers are. A few (L2TP, OpenVPN) do not, but keep the socket of a
 * local sender.
 */
bool flow_hash_is_inner(const struct sk_buff *skb, const struct packet_flow *f)
{
	const struct sock *sk = skb->sk;

	switch (f->protocol) {
	case IPPROTO_UDP:
		return skb->inner_network_header ||
		       (sk && sk_fullsock(sk) && sk->sk_protocol != IPPROTO_UDP);
	case IPPROTO_ESP:
	case IPPROTO_AH:
		return true;
	default:
		return !f->key.ports;
	}
}
EXPORT_SYMBOL_GPL(flow_hash_is_inner);

/* Return whether a packet is a TCP segment with SYN, also in a tunnel. */
bool packet_is_syn(const struct sk_buff *skb)
{
	struct flow_keys keys = {};
	struct tcphdr buf, *tcp;

	if (!packet_flow_keys(skb, &keys) || keys.basic.ip_proto != IPPROTO_TCP ||
	    keys.control.flags & FLOW_DIS_IS_FRAGMENT)
		return false;
	tcp = skb_header_pointer(skb, keys.control.thoff, sizeof(buf), &buf);
	return tcp && tcp->syn;
}
EXPORT_SYMBOL_GPL(packet_is_syn);
