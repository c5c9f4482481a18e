// SPDX-License-Identifier: GPL-2.0
/*
 * DCTCP's sender over AccECN and with ECT(1), for experiments with L4S.
 *
 * Linux's dctcp sends ECT(0) and has the feedback of RFC 8257. This module asks for
 * AccECN (RFC 9768), which reports the number of marked packets even if ACKs are
 * lost. It sends ECT(1), by which an L4S queue knows a scalable control (RFC 9331,
 * section 4.1). It needs a kernel with these flags of congestion controls.
 *
 * Linux 7.3 has ECT(1) for the handshake only, and sends all data with ECT(0). So the
 * module changes the field just before a packet goes to IP. It replaces queue_xmit() of
 * the connection, as MPTCP replaces functions.
 *
 * The window follows RFC 8257: once per round trip, alpha moves by g = 1/16 towards the
 * share of packets that were marked, and a window with a mark shrinks by alpha / 2.
 * The congestion avoidance between marks is Reno's.
 *
 * It is not TCP Prague. It does not meet all requirements of RFC 9331, section 4.3: it
 * does not fall back to a classic control behind a classic AQM that marks, and its
 * rate depends on the round-trip time as Reno's does. Its window is at least two
 * packets. So it may share a bottleneck only in a lab or in a data center.
 */

#include <linux/module.h>
#include <net/tcp.h>

#ifdef TCP_CONG_ECT_1_NEGOTIATION
#include <linux/ipv6.h>
#include <net/inet_ecn.h>
#include <net/tcp_ecn.h>

#define ALPHA_SHIFT	10	/* alpha 1 is 1024 */
#define GAIN_SHIFT	4	/* g = 1/16 */

/**
 * struct dctcp_ect1 - state of a connection
 * @delivered: packets delivered when this round trip began
 * @delivered_ce: the same for packets with CE
 * @next_seq: the round trip ends when this byte is acknowledged
 * @alpha: average share of marked packets, in 1/1024
 * @loss_cwnd: window before the last reduction, packets
 */
struct dctcp_ect1 {
	u32	delivered;
	u32	delivered_ce;
	u32	next_seq;
	u32	alpha;
	u32	loss_cwnd;
};

/* What IPv4 and IPv6 do for connections, with our transmit function. */
static struct inet_connection_sock_af_ops with_ect1[2];
static const struct inet_connection_sock_af_ops *original[2];

static __u8 ect1(__u8 field)
{
	if ((field & INET_ECN_MASK) != INET_ECN_ECT_0)
		return field;
	return (field & ~INET_ECN_MASK) | INET_ECN_ECT_1;
}

static int transmit4(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	inet_sk(sk)->tos = ect1(inet_sk(sk)->tos);
	return original[0]->queue_xmit(sk, skb, fl);
}

static int transmit6(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	inet6_sk(sk)->tclass = ect1(inet6_sk(sk)->tclass);
	return original[1]->queue_xmit(sk, skb, fl);
}

/* Send the packets of a connection with ECT(1). All connections of a family have one set. */
static void send_ect1(struct sock *sk)
{
	bool v6 = sk->sk_family == AF_INET6;
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_af_ops->queue_xmit == (v6 ? transmit6 : transmit4))
		return;
	if (!original[v6]) {
		with_ect1[v6] = *icsk->icsk_af_ops;
		with_ect1[v6].queue_xmit = v6 ? transmit6 : transmit4;
		/* Another CPU that sees the pointer sees the copy, too. */
		smp_store_release(&original[v6], icsk->icsk_af_ops);
	}
	/* Pairs with the release above. */
	if (smp_load_acquire(&original[v6]) == icsk->icsk_af_ops)
		icsk->icsk_af_ops = &with_ect1[v6];
}

static void dctcp_ect1_release(struct sock *sk)
{
	bool v6 = sk->sk_family == AF_INET6;

	if (inet_csk(sk)->icsk_af_ops == &with_ect1[v6])
		inet_csk(sk)->icsk_af_ops = original[v6];
}

static void begin_round_trip(const struct tcp_sock *tp, struct dctcp_ect1 *ca)
{
	ca->next_seq = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

static void dctcp_ect1_init(struct sock *sk)
{
	struct dctcp_ect1 *ca = inet_csk_ca(sk);

	ca->alpha = 1 << ALPHA_SHIFT;
	ca->loss_cwnd = 0;
	begin_round_trip(tcp_sk(sk), ca);
	send_ect1(sk);
}

static void dctcp_ect1_ack(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ect1 *ca = inet_csk_ca(sk);
	u32 delivered, marked;

	if (before(tp->snd_una, ca->next_seq))
		return;
	delivered = max(1U, tp->delivered - ca->delivered);
	marked = min(delivered, tp->delivered_ce - ca->delivered_ce);
	ca->alpha -= min_not_zero(ca->alpha, ca->alpha >> GAIN_SHIFT);
	ca->alpha += div_u64((u64)marked << (ALPHA_SHIFT - GAIN_SHIFT), delivered);
	ca->alpha = min(ca->alpha, 1U << ALPHA_SHIFT);
	begin_round_trip(tp, ca);
}

static u32 dctcp_ect1_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	struct dctcp_ect1 *ca = inet_csk_ca(sk);

	ca->loss_cwnd = cwnd;
	return max(cwnd - (cwnd * ca->alpha >> (ALPHA_SHIFT + 1)), 2U);
}

static void react_to_loss(struct sock *sk)
{
	struct dctcp_ect1 *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->loss_cwnd = tcp_snd_cwnd(tp);
	WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp) >> 1, 2U));
}

static void dctcp_ect1_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Recovery && state != inet_csk(sk)->icsk_ca_state)
		react_to_loss(sk);
}

static void dctcp_ect1_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		react_to_loss(sk);
}

static u32 dctcp_ect1_undo(struct sock *sk)
{
	const struct dctcp_ect1 *ca = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_cwnd);
}

static struct tcp_congestion_ops dctcp_ect1 __read_mostly = {
	.init		= dctcp_ect1_init,
	.release	= dctcp_ect1_release,
	.in_ack_event	= dctcp_ect1_ack,
	.cwnd_event	= dctcp_ect1_event,
	.ssthresh	= dctcp_ect1_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= dctcp_ect1_undo,
	.set_state	= dctcp_ect1_state,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION,
	.owner		= THIS_MODULE,
	.name		= "dctcp_ect1",
};

static int __init dctcp_ect1_register(void)
{
	BUILD_BUG_ON(sizeof(struct dctcp_ect1) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&dctcp_ect1);
}

static void __exit dctcp_ect1_unregister(void)
{
	tcp_unregister_congestion_control(&dctcp_ect1);
}
#else
static int __init dctcp_ect1_register(void)
{
	pr_err("tcp_dctcp_ect1 needs AccECN: Linux 7.0 or later\n");
	return -EOPNOTSUPP;
}

static void __exit dctcp_ect1_unregister(void)
{
}
#endif

module_init(dctcp_ect1_register);
module_exit(dctcp_ect1_unregister);
MODULE_VERSION("1");
MODULE_DESCRIPTION("DCTCP over AccECN with ECT(1)");
MODULE_LICENSE("GPL");
