// SPDX-License-Identifier: GPL-2.0
/*
 * Reno as 4.3BSD had it in 1990, and ns-2 by that name.
 *
 * The papers simulate Reno. Linux without SACK is NewReno (RFC 6582): in fast
 * recovery each partial ACK has the next hole retransmitted, so a window with
 * several losses takes a round trip for each and seldom a timeout. In Reno the
 * first ACK of new data ends fast recovery; and as long as what was sent before
 * it is not acknowledged, duplicate ACKs start no other (ns-2's bugfix_, on by
 * default; RFC 6582 section 4.1 tells why). A second loss in a window therefore waits for
 * the retransmission timer.
 *
 * Slow start and congestion avoidance are the kernel's Reno. What stays of today's: the
 * window falls by proportional rate reduction (RFC 6937) instead of being inflated
 * by duplicate ACKs, and limited transmit (RFC 3042). Needs connections without
 * SACK; with it nothing changes.
 */

#include <linux/module.h>
#include <net/tcp.h>

#define RENO90_DUPACKS	3	/* that start fast recovery */

/**
 * struct reno90 - of a connection
 * @una: first byte not acknowledged as fast recovery began
 * @recover: end of what had been sent by then
 * @unrecovered: fast recovery is over, and @recover not acknowledged
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

/* After the ACK has been counted, and before what follows from it. */
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
	/* So many duplicate ACKs there never are. */
	tp->reordering = ca->unrecovered ? U32_MAX : RENO90_DUPACKS;
}

/* For whoever comes after: without it, duplicate ACKs would never start a recovery. */
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
MODULE_DESCRIPTION("TCP Reno of 1990: a partial ACK ends fast recovery");
