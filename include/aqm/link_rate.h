/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, from which qdiscs compute their defaults.
 *
 * A given rate (option bandwidth) is used as it is. Otherwise we use the speed
 * that the device reports, as cbs and taprio do, and read it again when the
 * device comes up or its link changes. If the link is down and the device
 * reports no speed, its last speed stays. If it never reported one, we assume
 * LINK_RATE_DEFAULT. Below a shaper the device cannot know the rate, so it must
 * be given.
 *
 * A new speed may not fit the given options. Then the old rate stays in force,
 * and the new one is stored as refused, for the statistics and for the next
 * change of options.
 *
 * A qdisc has a struct link_rate in its private data. <aqm/kind.h> follows the
 * device.
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
 * struct link_rate - the device's speed; under RTNL
 * @rate: rate in force unless one was given, bytes/s; 0: the device reported none
 * @refused: the device's speed if the options do not fit it, bytes/s; otherwise 0
 */
struct link_rate {
	u64	rate;
	u64	refused;
};

/*
 * Return the device's speed in bytes/s, 0 if it reports none; under RTNL. A virtual
 * device can report any speed, so we limit it to the range of the option.
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

/* Return the rate in force, bytes/s. Warn if it is an assumption. */
static inline u64 link_rate_in_force(const struct link_rate *lr, u64 given,
				     struct netlink_ext_ack *extack)
{
	if (!given && !lr->rate)
		NL_SET_ERR_MSG_MOD(extack, "bandwidth is 1Gbit: the device reports no speed");
	return given ?: lr->rate ?: LINK_RATE_DEFAULT;
}

/* Return the source of the rate in force, for the statistic bandwidth_source. */
static inline u32 link_rate_source(const struct link_rate *lr, bool given)
{
	if (given)
		return TC_AQM_SOURCE_GIVEN;
	return lr->rate ? TC_AQM_SOURCE_DEVICE : TC_AQM_SOURCE_ASSUMED;
}

#endif /* _AQM_LINK_RATE_H */
