/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, for disciplines whose settings follow from it.
 *
 * A rate that was given holds. Else it is the speed that the device reports,
 * as for cbs and taprio, taken anew when the device comes up or its link
 * changes. A device that no longer knows, its link being down, keeps what it
 * last said; one that never knew counts as LINK_RATE_DEFAULT. Below a shaper
 * the device cannot know the rate: there it must be given.
 *
 * A module includes this once, has a struct link_rate in its private data, and
 * names a function that takes on a new rate, and whether it is to be called for
 * another MTU, too:
 *
 *	static void x_new_rate(struct Qdisc *sch);
 *	LINK_RATE_NOTIFIER(x, x_new_rate, false);
 *
 * and after its operations
 *
 *	module_link_qdisc(x_qdisc_ops, x);
 *
 * in the place of module_qdisc().
 */
#ifndef _AQM_LINK_RATE_H
#define _AQM_LINK_RATE_H

#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>

#define LINK_RATE_DEFAULT	125000000ULL	/* bytes/s: 1 Gb/s */

/**
 * struct link_rate - one discipline that follows its device
 * @node: in the module's list
 * @sch: the discipline
 * @rate: what it was last told, bytes/s; 0: the device never knew one
 */
struct link_rate {
	struct list_head	node;
	struct Qdisc		*sch;
	u64			rate;
};

/*
 * The device's speed in bytes/s, 0 if it knows none; under RTNL. Virtual devices
 * claim what they were told: no more than can be given.
 */
static inline u64 link_rate_of(struct net_device *dev)
{
	struct ethtool_link_ksettings link;
	int err;

	/* Newer kernels hold the device's own lock here as well. */
#ifdef HAVE_NETIF_GET_LINK_KSETTINGS
	err = netif_get_link_ksettings(dev, &link);
#else
	err = __ethtool_get_link_ksettings(dev, &link);
#endif
	if (err || !link.base.speed || link.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return min_t(u64, TC_AQM_MAX_BANDWIDTH,
		     (u64)link.base.speed * 125000);	/* Mb/s */
}

/* The first thing that init does: from then on link_rate_stop() is right. */
static inline void link_rate_start(struct link_rate *lr, struct Qdisc *sch,
				   struct list_head *all)
{
	lr->sch = sch;
	lr->rate = link_rate_of(qdisc_dev(sch));
	list_add(&lr->node, all);
}

static inline void link_rate_stop(struct link_rate *lr)
{
	if (lr->sch)
		list_del(&lr->node);
	lr->sch = NULL;
}

/* The rate in force, bytes/s; says so where it is neither given nor known. */
static inline u64 link_rate_in_force(const struct link_rate *lr, u64 given,
				     struct netlink_ext_ack *extack)
{
	if (!given && !lr->rate)
		NL_SET_ERR_MSG_MOD(extack, "bandwidth is taken to be 1Gbit: the device knows none");
	return given ?: lr->rate ?: LINK_RATE_DEFAULT;
}

/* Take in what a notifier tells of the device. Return: whether it matters. */
static inline bool link_rate_news(struct link_rate *lr, unsigned long event,
				  bool mtu)
{
	u64 rate;

	if (event == NETDEV_CHANGEMTU)
		return mtu;
	if (event != NETDEV_UP && event != NETDEV_CHANGE)
		return false;
	rate = link_rate_of(qdisc_dev(lr->sch));
	if (!rate || rate == lr->rate)
		return false;
	lr->rate = rate;
	return true;
}

/* The list, which RTNL guards, and the notifier of a module. */
#define LINK_RATE_NOTIFIER(name, changed, mtu)				\
static LIST_HEAD(name##_link_rates);					\
									\
static int name##_link_event(struct notifier_block *nb,			\
			     unsigned long event, void *info)		\
{									\
	struct net_device *dev = netdev_notifier_info_to_dev(info);	\
	struct link_rate *lr;						\
									\
	list_for_each_entry(lr, &name##_link_rates, node)		\
		if (qdisc_dev(lr->sch) == dev &&			\
		    link_rate_news(lr, event, mtu))			\
			changed(lr->sch);				\
	return NOTIFY_DONE;						\
}									\
									\
static struct notifier_block name##_link_notifier = {			\
	.notifier_call	= name##_link_event,				\
}

/* What a module of one discipline does when it comes and goes. */
#define module_link_qdisc(ops, name)					\
static int __init ops##_register(void)					\
{									\
	int err = register_netdevice_notifier(&name##_link_notifier);	\
									\
	if (err)							\
		return err;						\
	err = register_qdisc(&(ops));					\
	if (err)							\
		unregister_netdevice_notifier(&name##_link_notifier);	\
	return err;							\
}									\
static void __exit ops##_unregister(void)				\
{									\
	unregister_qdisc(&(ops));					\
	unregister_netdevice_notifier(&name##_link_notifier);		\
}									\
module_init(ops##_register);						\
module_exit(ops##_unregister)

#endif /* _AQM_LINK_RATE_H */
