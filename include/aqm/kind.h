/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame: what all our qdiscs do around their algorithm. It reads options, follows
 * the device, dumps, and comes and goes. No packet passes through this code.
 *
 * A qdisc X has these functions, as mainline's qdiscs do, and a struct aqm_kind for
 * what this code must know of it:
 *
 *	X_init()	aqm_init(), X_derive(), allocate, start, aqm_start()
 *	X_change()	aqm_change(), which calls X_apply()
 *	X_apply()	X_derive(), allocate, lock, switch to the parameters, unlock
 *	X_dump()	aqm_dump()
 *	X_dump_stats()	fill in a struct tc_X_xstats; aqm_common_stats() has its start
 *	X_destroy()	aqm_destroy(), free
 *
 * Its private data, struct X_sched_data, has these members:
 *
 *	queue	struct aqm_queue, the first one
 *	params	struct X_params, the parameters in force: the mask of given options,
 *		what X_derive() computes for the datapath, and all options. Written
 *		under the tree lock.
 *	vars	struct X_vars, the state of the datapath; under the qdisc lock
 *
 * A configuration is applied completely or not at all. aqm_change() reads the options
 * into a copy of the parameters. X_apply() derives and checks the rest, and allocates
 * memory. Only then does it lock the tree and switch to the new configuration. The
 * columns are the three occasions:
 *
 *	init			change			new rate of the link,
 *							reported or measured
 *
 *	options over the	options over the	options
 *	defaults		given options		unchanged
 *	reconcile()		reconcile()
 *	derive			X_apply()		X_apply()
 *	allocate, start
 *
 * If the given options are invalid at a new rate, the old configuration stays
 * in force; see <aqm/link_rate.h>.
 */
#ifndef _AQM_KIND_H
#define _AQM_KIND_H

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"
#include "congestion_signal.h"
#include "fifo_limit.h"
#include "filter_class.h"
#include "link_rate.h"
#include "old_parents.h"
#include "options.h"
#include "queue.h"

/* The struct @kind_params that contains @given. */
#define aqm_params_of(kind, given) \
	container_of(given, struct kind##_params, given)

/**
 * struct aqm_kind - what the frame must know of a qdisc
 * @ops: its operations
 * @options: its options
 * @bandwidth: attribute of the option for the rate of the link
 * @follows_mtu: derived parameters also depend on the device's MTU
 * @reconcile: resolve or reject conflicts between given options; optional
 * @apply: switch to the parameters in @given, or return an error and change nothing.
 *	@given is a copy, in which derived options are 0 unless they were given.
 *	@extack is NULL for a new rate of the link.
 * @notifier: called on changes of devices
 */
struct aqm_kind {
	struct Qdisc_ops		*ops;
	const struct aqm_options	*options;
	u16				bandwidth;
	bool				follows_mtu;
	int	(*reconcile)(struct aqm_given *given,
			     struct netlink_ext_ack *extack);
	int	(*apply)(struct Qdisc *sch, struct aqm_given *given,
			 struct netlink_ext_ack *extack);
	struct notifier_block		notifier;
};

/* Parameters */

/* Return the rate to derive parameters from, bytes/s; @given: the option, or 0. */
static inline u64 aqm_rate(struct Qdisc *sch, u64 given)
{
	return link_rate_in_force(&aqm_queue(sch)->link, given);
}

/*
 * Return the default of memory_limit, bytes, for the @limit that was given, or 0, and the
 * @rate of the link, bytes/s.
 */
static inline u32 aqm_memory(u32 limit, u64 rate)
{
	return fifo_memory(limit ? TC_AQM_MAX_BANDWIDTH : rate,
			   (u64)totalram_pages() << PAGE_SHIFT);
}

/* Warn if @memory_limit is too small for one full packet. Return: whether it is */
static inline bool aqm_warn_of_memory(const struct Qdisc *sch, u32 memory_limit,
				      struct netlink_ext_ack *extack)
{
	if (memory_limit >= SKB_TRUESIZE(psched_mtu(qdisc_dev(sch))))
		return false;
	NL_SET_ERR_MSG_MOD(extack, "memory_limit is too small for one full packet");
	return true;
}

/* Initialize a struct congestion_policy from parameters with TC_AQM_MARK_OPTIONS. */
#define AQM_CONGESTION_POLICY(params) \
	{ TC_AQM_MARK_OPTIONS(AQM_TAKE, params, AQM) }

static inline bool aqm_policy_is_right(const struct congestion_policy *p,
				       struct netlink_ext_ack *extack)
{
	if (p->ecn || !p->nodrop)
		return true;
	NL_SET_ERR_MSG_MOD(extack, "nodrop needs ecn");
	return false;
}

/**
 * aqm_set() - put the parameters that all qdiscs have in force
 * @sch: the qdisc
 * @given: the new parameters
 * @bandwidth: rate that they depend on, bytes/s; 0: none
 * @limit: packets on the wire, unless the qdisc has its own check of the limit
 * @memory_limit: bytes
 *
 * Under the tree lock, or in init. If a limit became lower, call aqm_queue_trim().
 */
static inline void aqm_set(struct Qdisc *sch, const struct aqm_given *given,
			   u64 bandwidth, u32 limit, u32 memory_limit)
{
	struct aqm_queue *q = aqm_queue(sch);

	q->bandwidth = bandwidth;
	q->limit = limit;
	q->memory_limit = memory_limit;
	WRITE_ONCE(sch->limit, limit);
	WRITE_ONCE(q->link.follow, bandwidth &&
		   !(given->ever & BIT_ULL(q->kind->bandwidth)));
}

/* Return the source of the rate in force, TC_AQM_SOURCE_... */
static inline u32 aqm_source(struct Qdisc *sch)
{
	const struct aqm_queue *q = aqm_queue(sch);

	if (!q->bandwidth)
		return TC_AQM_SOURCE_NONE;
	return link_rate_source(&q->link, q->given->ever & BIT_ULL(q->kind->bandwidth));
}

/* Change */

/* Return whether the refused rate, or else the rate in force, was measured. */
static inline bool aqm_is_measured(const struct link_rate *lr)
{
	return lr->refused ? lr->refused != lr->speed : lr->measured;
}

/* Return a copy of the parameters, with all options that were not given reset, or NULL. */
static inline struct aqm_given *aqm_copy(struct Qdisc *sch)
{
	const struct aqm_queue *q = aqm_queue(sch);
	struct aqm_given *copy;

	copy = kmemdup(q->given, q->kind->options->size, GFP_KERNEL);
	if (!copy)
		return NULL;
	copy->now = 0;
	aqm_options_again(q->kind->options, copy);
	return copy;
}

/* Read options into the parameters @given. Return: 0 or an error */
static inline int aqm_read(const struct aqm_kind *k, struct aqm_given *given,
			   struct nlattr *opt, struct netlink_ext_ack *extack)
{
	int err = aqm_options_read(k->options, given, opt, extack);

	if (err || !k->reconcile)
		return err;
	return k->reconcile(given, extack);
}

/* Switch to @given and the link's @rate in bytes/s, or change nothing. */
static inline int aqm_apply_at(struct Qdisc *sch, struct aqm_given *given, u64 rate,
			       bool measured)
{
	struct aqm_queue *q = aqm_queue(sch);
	bool was_measured = q->link.measured;
	u64 before = q->link.rate;
	int err;

	WRITE_ONCE(q->link.rate, rate);
	WRITE_ONCE(q->link.measured, measured);
	err = q->kind->apply(sch, given, NULL);
	if (err) {
		WRITE_ONCE(q->link.rate, before);
		WRITE_ONCE(q->link.measured, was_measured);
	} else {
		q->link.refused = 0;
	}
	return err;
}

/* Switch to the options @opt, or change nothing. */
static inline int aqm_change(struct Qdisc *sch, struct nlattr *opt,
			     struct netlink_ext_ack *extack)
{
	struct aqm_queue *q = aqm_queue(sch);
	struct link_rate *lr = &q->link;
	struct aqm_given *given;
	int err;

	ASSERT_RTNL();
	given = aqm_copy(sch);
	if (!given)
		return -ENOMEM;
	err = aqm_read(q->kind, given, opt, extack);
	if (err)
		goto free;
	/* The new options may be valid at the rate that we refused before. */
	if (lr->refused) {
		if (!aqm_apply_at(sch, given, lr->refused, aqm_is_measured(lr)))
			goto free;
		aqm_options_again(q->kind->options, given);
	}
	err = q->kind->apply(sch, given, extack);
free:
	kfree(given);
	return err;
}

/**
 * aqm_new_rate() - follow the rate of the link
 * @sch: the qdisc
 * @rate: bytes/s
 * @measured: it was measured; otherwise the device reports it
 *
 * Under RTNL. If the options do not fit the rate, the one before stays.
 */
static inline void aqm_new_rate(struct Qdisc *sch, u64 rate, bool measured)
{
	struct aqm_queue *q = aqm_queue(sch);
	struct link_rate *lr = &q->link;
	struct aqm_given *given;
	int err = -ENOMEM;

	ASSERT_RTNL();
	if (!q->kind->follows_mtu && (rate == lr->rate ||
				      aqm_source(sch) == TC_AQM_SOURCE_GIVEN)) {
		WRITE_ONCE(lr->rate, rate);
		WRITE_ONCE(lr->measured, measured);
		lr->refused = 0;
		return;
	}
	given = aqm_copy(sch);
	if (given)
		err = aqm_apply_at(sch, given, rate, measured);
	kfree(given);
	if (!err || rate == lr->rate)
		return;
	/* A measured rate changes often. */
	if (rate != lr->refused && !measured)
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
static inline void aqm_new_link(struct Qdisc *sch, u64 speed)
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
 * The rate was measured. The task that destroys the qdisc holds RTNL and waits for
 * us, so we do not wait for RTNL.
 */
static inline void aqm_rate_work(struct work_struct *work)
{
	struct link_rate *lr = container_of(to_delayed_work(work),
					    struct link_rate, work);
	u64 rate;

	if (!rtnl_trylock()) {
		schedule_delayed_work(&lr->work, 1);
		return;
	}
	sch_tree_lock(lr->sch);
	rate = lr->meter.rate;
	sch_tree_unlock(lr->sch);
	if (lr->follow && rate)
		aqm_new_rate(lr->sch, rate, true);
	rtnl_unlock();
}

/* Init and destroy */

/**
 * aqm_init() - begin with the init of a qdisc
 * @sch: the qdisc
 * @kind: its definition
 * @given: its parameters; gets the options and the defaults of others
 * @opt: the options, or NULL
 * @extack: gets an error
 *
 * Next derive the other parameters and allocate memory. If both succeed, set up the
 * qdisc and call aqm_start(). The core calls destroy() after a failure, too.
 *
 * Return: 0 or an error
 */
static inline int aqm_init(struct Qdisc *sch, const struct aqm_kind *kind,
			   struct aqm_given *given, struct nlattr *opt,
			   struct netlink_ext_ack *extack)
{
	struct aqm_queue *q = aqm_queue(sch);
	struct link_rate *lr = &q->link;
	int err;

	q->kind = kind;
	q->given = given;
	INIT_DELAYED_WORK(&lr->work, aqm_rate_work);
	lr->sch = sch;
	lr->speed = link_rate_of(qdisc_dev(sch));
	lr->rate = lr->speed;
	/* The parameters of a new qdisc are 0. */
	aqm_options_again(kind->options, given);
	err = aqm_read(kind, given, opt, extack);
	if (err || !sch->ops->cl_ops)
		return err;
	return tcf_block_get(&q->block, &q->filters, sch, extack);
}

/* The last step of an init that succeeds. Return: 0 */
static inline int aqm_start(struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	old_parents_init(sch, extack);
	return 0;
}

/* Also after a failed init. The qdisc then frees its own memory. */
static inline void aqm_destroy(struct Qdisc *sch)
{
	struct aqm_queue *q = aqm_queue(sch);

	cancel_delayed_work_sync(&q->link.work);
	if (q->block)
		tcf_block_put(q->block);
}

/* Dump */

/* Dump the options in force. */
static inline int aqm_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct aqm_queue *q = aqm_queue(sch);
	u64 bandwidth = BIT_ULL(q->kind->bandwidth), kept = 0, assumed = 0;

	ASSERT_RTNL();
	/* A copy of a qdisc that refused a new rate must use the old rate, too. */
	if (q->link.refused)
		kept = bandwidth;
	else if (aqm_source(sch) == TC_AQM_SOURCE_ASSUMED)
		assumed = bandwidth;
	return aqm_options_dump(skb, q->kind->options, q->given, kept, assumed);
}

/* The first members of each qdisc's statistics. */
struct aqm_common_stats {
	TC_AQM_COMMON_STATS(TC_AQM_MEMBER, 0)
};

static inline void __aqm_common_stats(struct Qdisc *sch, struct aqm_common_stats *st)
{
	const struct aqm_queue *q = aqm_queue(sch);

	*st = (struct aqm_common_stats) {
		.bandwidth		= q->bandwidth,
		.link_refused		= q->link.refused,
		.delay			= q->delay.last,
		.delay_avg		= q->delay.avg,
		.delay_max		= q->delay.max,
		.dropped_bytes		= q->dropped_bytes,
		.limit			= q->limit,
		.memory_limit		= q->memory_limit,
		.memory_used		= q->truesize,
		.bandwidth_source	= aqm_source(sch),
		.marked			= congestion_marked(&q->signal),
		.spared			= q->signal.spared,
		.drop_limit		= q->drops[AQM_DROP_LIMIT],
		.drop_memory		= q->drops[AQM_DROP_MEMORY],
		.drop_change		= q->drops[AQM_DROP_CHANGE],
	};
}

/* Fill in the first members of @st, a struct of statistics; under the tree lock. */
#define aqm_common_stats(sch, st) do {					\
	static_assert(offsetof(typeof(*(st)), bandwidth) ==		\
		      offsetof(struct aqm_common_stats, bandwidth) &&	\
		      offsetof(typeof(*(st)), drop_change) ==		\
		      offsetof(struct aqm_common_stats, drop_change));	\
	__aqm_common_stats(sch, (struct aqm_common_stats *)(st));	\
} while (0)

/* Fill in the statistics of a qdisc that signals as RED does. */
#define AQM_SIGNAL_STATS(st, q) do {					\
	(st)->early_drop = (q)->drops[AQM_DROP_EARLY];			\
	(st)->early_mark = (q)->signal.early_mark;			\
	(st)->forced_drop = (q)->drops[AQM_DROP_FORCED];		\
	(st)->forced_mark = (q)->signal.forced_mark;			\
} while (0)

/* Classes */

/* Qdisc_class_ops.tcf_block: filters are on the qdisc, not on its classes. */
static inline struct tcf_block *aqm_tcf_block(struct Qdisc *sch,
					      unsigned long cl,
					      struct netlink_ext_ack *extack)
{
	return cl ? NULL : aqm_queue(sch)->block;
}

/* Walk over classes 1 to @count. */
static inline void aqm_walk(struct Qdisc *sch, struct qdisc_walker *arg,
			    u32 count)
{
	u32 i;

	for (i = 1; i <= count && !arg->stop; i++)
		tc_qdisc_stats_dump(sch, i, arg);
}

static inline void filter_class_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
}

/* Class operations of a qdisc with filters and no classes to show. */
#define AQM_FILTER_CLASS_OPS {						\
	.leaf		= filter_class_leaf,				\
	.find		= filter_class_find,				\
	.walk		= filter_class_walk,				\
	.tcf_block	= aqm_tcf_block,				\
	.bind_tcf	= filter_class_bind,				\
	.unbind_tcf	= filter_class_unbind,				\
	.dump		= filter_class_dump,				\
}

/* Modules */

/* Apply the device's rate to @sch. @rate caches it; U64_MAX: not read yet. */
static inline void aqm_link_changed(struct Qdisc *sch, const struct aqm_kind *k,
				    u64 *rate)
{
	if (sch->ops != k->ops)
		return;
	if (*rate == U64_MAX)
		*rate = link_rate_of(qdisc_dev(sch));
	aqm_new_link(sch, *rate);
}

/* Netdevice notifier: update the qdiscs of the device that are of this kind. */
static inline int aqm_link_event(struct notifier_block *nb,
				 unsigned long event, void *info)
{
	struct aqm_kind *k = container_of(nb, struct aqm_kind, notifier);
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	/*
	 * A device on top of others hears of their MTU while they are locked, and
	 * would lock them again to learn its speed. See link_rate_of().
	 */
	u64 rate = event == NETDEV_CHANGEMTU ? 0 : U64_MAX;
	struct Qdisc *sch;
	int i;

	if (event != NETDEV_UP && event != NETDEV_CHANGE &&
	    (event != NETDEV_CHANGEMTU || !k->follows_mtu))
		return NOTIFY_DONE;
	/* The root qdisc is not in the hash table. */
	sch = rtnl_dereference(dev->qdisc);
	if (sch)
		aqm_link_changed(sch, k, &rate);
	hash_for_each(dev->qdisc_hash, i, sch, hash)
		aqm_link_changed(sch, k, &rate);
	return NOTIFY_DONE;
}

static inline int aqm_register(struct aqm_kind *k)
{
	int err;

	k->notifier.notifier_call = aqm_link_event;
	err = register_netdevice_notifier(&k->notifier);
	if (err)
		return err;
	err = register_qdisc(k->ops);
	if (err)
		unregister_netdevice_notifier(&k->notifier);
	return err;
}

static inline void aqm_unregister(struct aqm_kind *k)
{
	unregister_qdisc(k->ops);
	unregister_netdevice_notifier(&k->notifier);
}

#endif /* _AQM_KIND_H */
