// SPDX-License-Identifier: GPL-2.0
/*
 * Follow the rate of the link, from which qdiscs compute their defaults. In this order:
 *
 *  given	by the option bandwidth; it always wins
 *  measured	by the departures of a busy queue, see rate_meter.h
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
 */
#include <linux/ethtool.h>
#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>
#if defined(HAVE_NETIF_GET_LINK_KSETTINGS) && defined(CONFIG_LOCKDEP)
#include <net/netdev_lock.h>
#endif
#include <uapi/linux/pkt_sched_aqm.h>
#include <compat_5.h>
#include <aqm/frame.h>
#include "internal.h"
#include "rate_meter.h"

#define LINK_RATE_DEFAULT	125000000ULL	/* bytes/s: 1 Gb/s */
#define LINK_RATE_PAUSE		100000000U	/* ns between two changes, at least */

static_assert(RATE_METER_MOST == TC_AQM_MAX_BANDWIDTH);

/* The operations of our qdiscs, by which the notifier knows them; under RTNL */
static const struct Qdisc_ops *aqm_registered[32];

/*
 * A device on top of others, such as a bridge, asks each of them for its speed and
 * takes its lock for that. So none of them may be locked already.
 */
static void link_rate_assert_lower_unlocked(struct net_device *dev)
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
static u64 link_rate_of(struct net_device *dev)
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

/* Return the rate to derive parameters from, bytes/s; @given: the option, or 0. */
u64 aqm_rate(struct Qdisc *sch, u64 given)
{
	return given ?: aqm_queue(sch)->link.rate ?: LINK_RATE_DEFAULT;
}
EXPORT_SYMBOL_GPL(aqm_rate);

/* Return the source of the rate in force, TC_AQM_SOURCE_... */
u32 aqm_source(struct Qdisc *sch)
{
	const struct aqm_queue *q = aqm_queue(sch);

	if (!q->bandwidth)
		return TC_AQM_SOURCE_NONE;
	if (q->given->ever & BIT_ULL(q->kind->bandwidth))
		return TC_AQM_SOURCE_GIVEN;
	if (q->link.measured)
		return TC_AQM_SOURCE_MEASURED;
	return q->link.rate ? TC_AQM_SOURCE_DEVICE : TC_AQM_SOURCE_ASSUMED;
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
static u32 link_rate_look(struct link_rate *lr, u64 total, bool emptied)
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

/* Look at the rate of the link; called for few departures. */
void aqm_queue_look(struct Qdisc *sch)
{
	struct aqm_queue *q = aqm_queue(sch);

	q->delay.look = link_rate_look(&q->link, aqm_bstats_bytes(&sch->bstats),
				       q->delay.emptied) - 1;
	/* If it is empty now, the time until the next arrival must not count. */
	q->delay.emptied = !sch->q.qlen;
}
EXPORT_SYMBOL_GPL(aqm_queue_look);

/**
 * aqm_new_rate() - follow the rate of the link
 * @sch: the qdisc
 * @rate: bytes/s
 * @measured: it was measured; otherwise the device reports it
 *
 * Under RTNL. If the options do not fit the rate, the one before stays. If there is no
 * memory, options that follow the rate or the MTU stay until the link changes again.
 */
static void aqm_new_rate(struct Qdisc *sch, u64 rate, bool measured)
{
	struct aqm_queue *q = aqm_queue(sch);
	struct link_rate *lr = &q->link;
	struct aqm_given *given;
	int err = -ENOMEM;

	ASSERT_RTNL();
	given = aqm_copy(sch);
	if (given)
		err = aqm_apply_at(sch, given, rate, measured);
	/* At the rate before, derived options still follow a new MTU. */
	if (given && err && rate != lr->rate) {
		aqm_options_again(q->kind->options, given);
		q->kind->apply(sch, given, NULL);
	}
	kfree(given);
	if (err == -ENOMEM)
		netdev_warn(qdisc_dev(sch), "%s %x: no memory to follow the link's rate or MTU\n",
			    sch->ops->id, TC_H_MAJ(sch->handle) >> 16);
	if (!err || rate == lr->rate)
		return;
	/* A measured rate changes often. */
	if (err != -ENOMEM && rate != lr->refused && !measured)
		netdev_warn(qdisc_dev(sch),
			    "%s %x: the options do not fit %llu kbit/s, the link's rate now; %llu kbit/s stays in force\n",
			    sch->ops->id, TC_H_MAJ(sch->handle) >> 16,
			    div_u64(rate, 125),
			    div_u64(lr->rate ?: LINK_RATE_DEFAULT, 125));
	lr->refused = rate;
}

/*
 * The device came up, or its MTU or @speed changed. The speed is in bytes/s, 0 if the
 * device does not report one. A speed that is not new leaves a measured rate.
 */
static void aqm_new_link(struct Qdisc *sch, u64 speed)
{
	struct link_rate *lr = &aqm_queue(sch)->link;

	if (!speed || speed == lr->speed) {
		aqm_new_rate(sch, lr->refused ?: lr->rate, aqm_is_measured(lr));
		return;
	}
	lr->speed = speed;
	aqm_new_rate(sch, speed, false);
}

/*
 * Take RTNL in the work of a qdisc, or else do the work again in a jiffy.
 *
 * Why not wait for RTNL? The task that destroys the qdisc has RTNL, and waits for the
 * work with cancel_delayed_work_sync(). Why not let the work outlive the qdisc? It would
 * need a reference to the qdisc, and then the module could be unloaded only after it. The
 * work is rare: a new rate, a larger table, a minute without packets.
 */
bool aqm_rtnl_trylock(struct delayed_work *work)
{
	if (rtnl_trylock())
		return true;
	schedule_delayed_work(work, 1);
	return false;
}

/* The rate was measured. */
static void aqm_rate_work(struct work_struct *work)
{
	struct link_rate *lr = container_of(to_delayed_work(work),
					    struct link_rate, work);
	u64 rate;

	if (!aqm_rtnl_trylock(&lr->work))
		return;
	sch_tree_lock(lr->sch);
	rate = lr->meter.rate;
	sch_tree_unlock(lr->sch);
	if (lr->follow && rate)
		aqm_new_rate(lr->sch, rate, true);
	rtnl_unlock();
}

void link_rate_init(struct Qdisc *sch)
{
	struct link_rate *lr = &aqm_queue(sch)->link;

	INIT_DELAYED_WORK(&lr->work, aqm_rate_work);
	lr->sch = sch;
	lr->speed = link_rate_of(qdisc_dev(sch));
	lr->rate = lr->speed;
}

/* Return the slot of a qdisc's operations; NULL: it is not ours. @ops NULL: a free slot. */
static const struct Qdisc_ops **aqm_slot(const struct Qdisc_ops *ops)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(aqm_registered); i++)
		if (aqm_registered[i] == ops)
			return &aqm_registered[i];
	return NULL;
}

/* Apply the device's rate to @sch. @rate caches it; U64_MAX: not read yet. */
static void aqm_link_changed(struct Qdisc *sch, u64 *rate)
{
	if (!aqm_slot(sch->ops))
		return;
	if (*rate == U64_MAX)
		*rate = link_rate_of(qdisc_dev(sch));
	aqm_new_link(sch, *rate);
}

/* Netdevice notifier: update our qdiscs of the device. */
static int aqm_link_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	/*
	 * A device on top of others hears of their MTU while they are locked, and
	 * would lock them again to learn its speed. See link_rate_of().
	 */
	u64 rate = event == NETDEV_CHANGEMTU ? 0 : U64_MAX;
	struct Qdisc *sch;
	int i;

	if (event != NETDEV_UP && event != NETDEV_CHANGE && event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	/* The root qdisc is not in the hash table. */
	sch = rtnl_dereference(dev->qdisc);
	if (sch)
		aqm_link_changed(sch, &rate);
	hash_for_each(dev->qdisc_hash, i, sch, hash)
		aqm_link_changed(sch, &rate);
	return NOTIFY_DONE;
}

static struct notifier_block aqm_notifier = {
	.notifier_call	= aqm_link_event,
};

static int aqm_replace(const struct Qdisc_ops *old, const struct Qdisc_ops *new)
{
	const struct Qdisc_ops **slot;

	rtnl_lock();
	slot = aqm_slot(old);
	if (slot)
		*slot = new;
	rtnl_unlock();
	return slot ? 0 : -ENOSPC;
}

/*
 * The first qdisc brings the notifier. With an init function of its own, this module
 * would stir the kernel's random numbers once more than a qdisc alone, and change
 * every result of the lab.
 */
static DEFINE_MUTEX(aqm_users_lock);
static u32 aqm_users;

static int aqm_get(void)
{
	int err = 0;

	mutex_lock(&aqm_users_lock);
	if (!aqm_users)
		err = register_netdevice_notifier(&aqm_notifier);
	if (!err)
		aqm_users++;
	mutex_unlock(&aqm_users_lock);
	return err;
}

static void aqm_put(void)
{
	mutex_lock(&aqm_users_lock);
	if (!--aqm_users)
		unregister_netdevice_notifier(&aqm_notifier);
	mutex_unlock(&aqm_users_lock);
}

/* Register a qdisc whose private data begin with struct aqm_queue. Return: 0 or an error */
int aqm_register(struct Qdisc_ops *ops)
{
	int err = aqm_get();

	if (err)
		return err;
	err = aqm_replace(NULL, ops);
	if (err)
		goto put;
	err = register_qdisc(ops);
	if (!err)
		return 0;
	aqm_replace(ops, NULL);
put:
	aqm_put();
	return err;
}
EXPORT_SYMBOL_GPL(aqm_register);

void aqm_unregister(struct Qdisc_ops *ops)
{
	unregister_qdisc(ops);
	aqm_replace(ops, NULL);
	aqm_put();
}
EXPORT_SYMBOL_GPL(aqm_unregister);

MODULE_DESCRIPTION("Common part of the qdiscs of sch-aqm");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
