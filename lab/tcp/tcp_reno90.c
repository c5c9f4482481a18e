// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Reno of 1990 (4.3BSD), as ns-2 implements it and the papers use it.
 *
 * Linux without SACK is NewReno (RFC 6582). There, each partial ACK in fast
 * recovery triggers the next retransmission. So several losses in a window take
 * one round trip each, and rarely a timeout. In Reno, the first ACK of new data
 * ends fast recovery. Until all data sent before this ACK is acknowledged,
 * duplicate ACKs do not start another recovery (ns-2's bugfix_, on by default;
 * RFC 6582 section 4.1 has the reason). So a second loss in a window must wait
 * for the retransmission timer.
 *
 * Slow start and congestion avoidance are the kernel's Reno. Two differences
 * from 1990 remain: proportional rate reduction (RFC 6937) instead of inflating
 * the window by duplicate ACKs, and limited transmit (RFC 3042). On connections
 * with SACK this module behaves like the kernel's Reno.
 */

#include <linux/module.h>
#include <net/tcp.h>

#define RENO90_DUPACKS	3	/* duplicate ACKs that start fast recovery */

/**
 * struct reno90 - state of a connection
 * @una: first unacknowledged byte at the start of fast recovery
 * @recover: end of the data sent before fast recovery began
 * @unrecovered: fast recovery has ended, but @recover is not yet acknowledged
 */
struct reno90 {
	u32	una;
	u32	recover;
	bool	unrecovered;
};

static void reno90_set_state(struct sock *sk, u8 state)
{
	struct reno90 *ca = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery)
		ca->una = tcp_sk(sk)->snd_una;
}

/* TCP calls this after it has processed the ACK number and before it reacts. */
static void reno90_in_ack_event(struct sock *sk, u32 flags)
{
	struct reno90 *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_sack(tp))
		return;
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
	    after(tp->snd_una, ca->una) && before(tp->snd_una, tp->high_seq)) {
		ca->recover = tp->high_seq;
		ca->unrecovered = true;
		/* An ACK above high_seq ends recovery. */
		tp->high_seq = tp->snd_una - 1;
	}
	if (ca->unrecovered && after(tp->snd_una, ca->recover))
		ca->unrecovered = false;
	/* U32_MAX duplicate ACKs never arrive, so no recovery starts. */
	tp->reordering = ca->unrecovered ? U32_MAX : RENO90_DUPACKS;
}

/* Restore the threshold for the connection's next congestion control. */
static void reno90_release(struct sock *sk)
{
	const struct reno90 *ca = inet_csk_ca(sk);

	if (ca->unrecovered)
		tcp_sk(sk)->reordering = RENO90_DUPACKS;
}

static struct tcp_congestion_ops reno90 __read_mostly = {
	.name		= "reno90",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.set_state	= reno90_set_state,
	.in_ack_event	= reno90_in_ack_event,
	.release	= reno90_release,
};

static int __init reno90_register(void)
{
	BUILD_BUG_ON(sizeof(struct reno90) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&reno90);
}
module_init(reno90_register);

static void __exit reno90_unregister(void)
{
	tcp_unregister_congestion_control(&reno90);
}
module_exit(reno90_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("1");
MODULE_DESCRIPTION("TCP Reno of 1990: a partial ACK ends fast recovery");
