// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_mine - a congestion control that decides as Reno does.
 *
 * An example for docs/your-own.md: a module outside the repository.
 */
#include <linux/module.h>
#include <net/tcp.h>

static struct tcp_congestion_ops mine __read_mostly = {
	.name		= "mine",
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
};

static int __init mine_register(void)
{
	return tcp_register_congestion_control(&mine);
}

static void __exit mine_unregister(void)
{
	tcp_unregister_congestion_control(&mine);
}

module_init(mine_register)
module_exit(mine_unregister)
MODULE_DESCRIPTION("Example of a congestion control outside the repository");
MODULE_LICENSE("GPL");
