/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, from which qdiscs compute their defaults. In this order:
 *
 *  given	by the option bandwidth; it always wins
 *  measured	by the departures of a busy queue, see <aqm/rate_meter.h>
 *  device	the speed that a device with hardware reports, as cbs and taprio
 *		use it. We read it again when the device comes up or its link
 *		changes. If it then reports none, the last one stays.
 *  assumed	LINK_RATE_DEFAULT, until the queue was busy for a moment
 *
 * A device without hardware (veth, tun, bridge) reports a number that says nothing
 * about the link, so we do not ask it. It would also have to ask the device below.
 *
 * A new rate may not fit the given options. Then the old rate stays in force,
 * and the new one is stored as refused, for the statistics and for the next
 * change of options.
 *
 * A qdisc has a struct link_rate in its private data. <aqm/kind.h> follows the
 * rate.
 */
#ifndef _AQM_LINK_RATE_H
#define _AQM_LINK_RATE_H

#include <linux/ethtool.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <net/sch_generic.h>
#if defined(HAVE_NETIF_GET_LINK_KSETTINGS) && defined(CONFIG_LOCKDEP)
#include <net/netdev_lock.h>
#endif
#include <uapi/linux/pkt_sched_aqm.h>
#include "rate_meter.h"

#define LINK_RATE_DEFAULT	125000000ULL	/* bytes/s: 1 Gb/s */
#define LINK_RATE_PAUSE		100000000U	/* ns between two changes, at least */

static_assert(RATE_METER_MOST == TC_AQM_MAX_BANDWIDTH);

/**
 * struct link_rate - the link's rate; under RTNL, the meter under the qdisc lock
 * @rate: rate in force unless one was given, bytes/s; 0: LINK_RATE_DEFAULT
 * @refused: a rate that the options do not fit, bytes/s; otherwise 0
 * @speed: the device's speed when we last asked, bytes/s; 0: none
 * @measured: @rate was measured
 * @follow: use the measured rate
 * @meter: measures the rate
 * @next: when the measured rate may change @rate again, ns
 * @work: changes it
 * @sch: the qdisc
 */
struct link_rate {
	u64			rate;
	u64			refused;
	u64			speed;
	bool			measured;
	bool			follow;
	struct rate_meter	meter;
	u64			next;
	struct delayed_work	work;
	struct Qdisc		*sch;
};

/*
 * A device on top of others, such as a bridge, asks each of them for its speed and
 * takes its lock for that. So none of them may be locked already.
 */
static inline void link_rate_assert_lower_unlocked(struct net_device *dev)
{
#if defined(HAVE_NETIF_GET_LINK_KSETTINGS) && defined(CONFIG_LOCKDEP)
	struct net_device *lower;
	struct list_head *iter;

	netdev_for_each_lower_dev(dev, lower, iter)
		if (netdev_need_ops_lock(lower))
			lockdep_assert_not_held(&lower->lock);
#endif
}

/*
 * Return the device's speed in bytes/s, 0 if it has no hardware or reports none;
 * under RTNL. A driver can report any speed, so we limit it to the range of the
 * option.
 *
 * Newer kernels have a lock in each device, and hold it, too, in Qdisc_ops.init and
 * in the events NETDEV_UP and NETDEV_CHANGE. Other events come with or without it,
 * and while a device below is locked (Documentation/networking/netdevices.rst), so
 * they must not call this.
 */
static inline u64 link_rate_of(struct net_device *dev)
{
	struct ethtool_link_ksettings link;
	int err;

	ASSERT_RTNL();
	link_rate_assert_lower_unlocked(dev);
	if (!dev->dev.parent)
		return 0;
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

/* Return the rate in force, bytes/s. */
static inline u64 link_rate_in_force(const struct link_rate *lr, u64 given)
{
	return given ?: lr->rate ?: LINK_RATE_DEFAULT;
}

/* Return the source of the rate in force, for the statistic bandwidth_source. */
static inline u32 link_rate_source(const struct link_rate *lr, bool given)
{
	if (given)
		return TC_AQM_SOURCE_GIVEN;
	if (lr->measured)
		return TC_AQM_SOURCE_MEASURED;
	return lr->rate ? TC_AQM_SOURCE_DEVICE : TC_AQM_SOURCE_ASSUMED;
}

/**
 * link_rate_look() - measure the rate, and use it if it is another one
 * @lr: the rate
 * @total: bytes that left in all, including the packet that is leaving
 * @emptied: the queue was empty since the last look, or after it
 *
 * Small differences are noise, so we use a rate that differs by more than an eighth.
 * The new rate can need memory, and drops packets if a limit falls. This is done
 * by work, as for a new speed of the device.
 *
 * Return: departures until the next look
 */
static inline u32 link_rate_look(struct link_rate *lr, u64 total, bool emptied)
{
	u64 now = ktime_get_ns(), rate = READ_ONCE(lr->rate) ?: LINK_RATE_DEFAULT;
	bool sampled = rate_meter_look(&lr->meter, total, now, emptied);

	if (sampled && READ_ONCE(lr->follow) && now >= lr->next &&
	    (!READ_ONCE(lr->measured) ||
	     max(lr->meter.rate, rate) - min(lr->meter.rate, rate) > rate / 8)) {
		lr->next = now + LINK_RATE_PAUSE;
		schedule_delayed_work(&lr->work, 0);
	}
	return lr->meter.spacing;
}

#endif /* _AQM_LINK_RATE_H */
