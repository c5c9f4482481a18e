/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, for disciplines whose settings follow from it.
 *
 * A rate that was given holds. Otherwise it is the speed that the device reports,
 * as for cbs and taprio, read again when the device comes up or its link changes.
 * A device whose link is down and that no longer knows a speed keeps its last
 * one; a device that never knew one counts as LINK_RATE_DEFAULT. Below a shaper
 * the device cannot know the rate: there it must be given.
 *
 * A new speed counts only once the discipline has settings for it. Options that
 * were given may not fit it; then the old rate stays in force, and the new one
 * is kept as refused, for the statistics and for the next change.
 *
 * A discipline has a struct link_rate in its private data; <aqm/kind.h> listens to
 * the device.
 */
#ifndef _AQM_LINK_RATE_H
#define _AQM_LINK_RATE_H

#include <linux/ethtool.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>

#define LINK_RATE_DEFAULT	125000000ULL	/* bytes/s: 1 Gb/s */

/**
 * struct link_rate - what a discipline knows of its device's speed; under RTNL
 * @rate: in force unless one was given, bytes/s; 0: the device never knew one
 * @refused: the device's speed, bytes/s, if the options do not fit it; 0: they do
 */
struct link_rate {
	u64	rate;
	u64	refused;
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

/* The rate in force, bytes/s; says so where it is neither given nor known. */
static inline u64 link_rate_in_force(const struct link_rate *lr, u64 given,
				     struct netlink_ext_ack *extack)
{
	if (!given && !lr->rate)
		NL_SET_ERR_MSG_MOD(extack, "bandwidth is taken to be 1Gbit: the device knows none");
	return given ?: lr->rate ?: LINK_RATE_DEFAULT;
}

/* The source of the rate in force, as the statistic bandwidth_source has it. */
static inline u32 link_rate_source(const struct link_rate *lr, bool given)
{
	if (given)
		return TC_AQM_SOURCE_GIVEN;
	return lr->rate ? TC_AQM_SOURCE_DEVICE : TC_AQM_SOURCE_ASSUMED;
}

#endif /* _AQM_LINK_RATE_H */
