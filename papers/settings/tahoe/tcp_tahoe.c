// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Tahoe (4.3BSD, 1988), as ns-2 implements it.
 *
 * V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988. Kantawala and
 * Turner (2001) say that their results with Tahoe and Reno are similar.
 *
 * The third duplicate ACK sets the threshold to half of the window and the window
 * to one packet. TCP then sends all that is not acknowledged once more, from the
 * first packet on, in slow start. Until all data sent before is acknowledged,
 * duplicate ACKs do nothing (ns-2's bugfix_).
 *
 * Linux does the same when the retransmission timer expires. So the third duplicate
 * ACK lets the timer expire at the next tick of the clock. Differences from Tahoe
 * remain: the restart is up to 1/HZ late; the kernel counts a timeout, and doubles
 * the timer until it measures a round trip again; limited transmit (RFC 3042). On
 * connections with SACK this module behaves like the kernel's Reno.
 */

#include <linux/module.h>
#include <net/tcp.h>

#define TAHOE_DUPACKS	3

/**
 * struct tahoe - state of a connection
 * @una: first unacknowledged byte at the last ACK
 * @dupacks: duplicate ACKs in a row
 * @window: if the timer expires because of duplicate ACKs, the window before them,
 *	packets; else 0
 */
struct tahoe {
	u32	una;
	u32	dupacks;
	u32	window;
};

static u32 tahoe_ssthresh(struct sock *sk)
{
	const struct tahoe *ca = inet_csk_ca(sk);

	return ca->window ? max(ca->window / 2, 2U) : tcp_reno_ssthresh(sk);
}

/* TCP calls this after it has processed the ACK number and before it reacts. */
static void tahoe_in_ack_event(struct sock *sk, u32 flags)
{
	struct tahoe *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_sack(tp))
		return;
	/* U32_MAX duplicate ACKs never arrive, so no fast recovery starts. */
	tp->reordering = U32_MAX;
	if (tp->snd_una != ca->una || !tp->packets_out ||
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss) {
		/* The packets were late, not lost. */
		if (ca->window && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)
			tcp_snd_cwnd_set(tp, ca->window);
		ca->una = tp->snd_una;
		ca->dupacks = 0;
		ca->window = 0;
		return;
	}
	if (flags & CA_ACK_WIN_UPDATE || ++ca->dupacks != TAHOE_DUPACKS)
		return;
	/* Nothing leaves until the timer expires. */
	ca->window = tcp_snd_cwnd(tp);
	tcp_snd_cwnd_set(tp, 1);
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, 1, tcp_rto_max(sk));
}

/* Restore the threshold for the connection's next congestion control. */
static void tahoe_release(struct sock *sk)
{
	if (tcp_sk(sk)->reordering == U32_MAX)
		tcp_sk(sk)->reordering = TAHOE_DUPACKS;
}

static struct tcp_congestion_ops tahoe __read_mostly = {
	.name		= "tahoe",
	.owner		= THIS_MODULE,
	.ssthresh	= tahoe_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.in_ack_event	= tahoe_in_ack_event,
	.release	= tahoe_release,
};

static int __init tahoe_register(void)
{
	BUILD_BUG_ON(sizeof(struct tahoe) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tahoe);
}
module_init(tahoe_register);

static void __exit tahoe_unregister(void)
{
	tcp_unregister_congestion_control(&tahoe);
}
module_exit(tahoe_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("1");
MODULE_DESCRIPTION("TCP Tahoe: three duplicate ACKs start slow start");
