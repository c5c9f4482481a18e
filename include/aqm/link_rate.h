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
 * A discipline has a struct link_rate in its private data; <aqm/kind.h> starts and
 * stops it and listens to the device.
 */
#ifndef _AQM_LINK_RATE_H
#define _AQM_LINK_RATE_H

#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/minmax.h>
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

/* Where the rate in force is from: the statistic bandwidth_source. */
static inline u32 link_rate_source(const struct link_rate *lr, u64 given)
{
	if (given)
		return TC_AQM_SOURCE_GIVEN;
	return lr->rate ? TC_AQM_SOURCE_DEVICE : TC_AQM_SOURCE_ASSUMED;
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

#endif /* _AQM_LINK_RATE_H */
