/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common part of all our qdiscs: options, device notifications, dumps, and
 * creation and destruction. No packet passes through this code.
 *
 * Each qdisc defines a struct aqm_kind with AQM_KIND(). It has a callback for
 * each step that differs between qdiscs, and the offsets of the members that
 * this code reads. Its struct Qdisc_ops leaves out the operations that are the
 * same for all qdiscs: init, change, destroy, dump, dump_stats.
 *
 * The private data of a qdisc x, struct x_sched_data, has these members:
 *
 *	queue	struct aqm_queue, first: limits, counters, filters, the link's rate
 *	params	struct x_params, the parameters in force: the mask of given options,
 *		what derive() computes for the datapath, and all options. Written
 *		under the tree lock.
 *	vars	struct x_vars, the state of the datapath; under the qdisc lock
 *
 * A configuration is applied completely or not at all. We read the options into
 * a copy of the parameters, derive and check the rest, and allocate memory.
 * Only then do we lock the tree and switch to the new configuration. The
 * columns are the three occasions:
 *
 *	init			change			new rate of the link,
 *							reported or measured
 *
 *	options over the	options over the	options
 *	defaults		given options		unchanged
 *	reconcile()		reconcile()
 *	derive()		derive()		derive()
 *	get the filters' block
 *	alloc()			alloc()			alloc()
 *				lock			lock
 *	setup()			commit()		commit()
 *				unlock			unlock
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
#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"
#include "congestion_signal.h"
#include "delay.h"
#include "fifo_limit.h"
#include "filter_class.h"
#include "old_parents.h"
#include "options.h"
#include "queue.h"

/**
 * struct aqm_memory - memory for a configuration
 * @block: set by alloc(); commit() replaces it by the block to free
 * @more: a second block. One block for both would be rounded up to a power of two.
 */
struct aqm_memory {
	void	*block;
	void	*more;
};

/* The struct @kind_params that contains @given. */
#define aqm_params_of(kind, given) \
	container_of(given, struct kind##_params, given)

/**
 * struct aqm_kind - definition of a qdisc
 * @ops: the operations of this qdisc only, enqueue() and others
 * @options: its options
 * @params: offset of struct x_params in the private data, bytes
 * @bandwidth: attribute of the option for the rate of the link
 * @limit: attribute of the option for the queue's length
 * @memory: attribute of the option for its memory
 * @xstats: size of struct tc_KIND_xstats, bytes
 * @follows_mtu: derived parameters also depend on the device's MTU
 * @has_rate: a rate that was not given is set before derive(). memory_limit always is.
 * @reconcile: resolve or reject conflicts between given options; optional
 * @derive: compute the parameters that were not given, or that depend on other
 *	parameters, or return an error. Set an option that another one replaces to 0,
 *	so that it is not dumped. @extack is NULL for a new rate of the link.
 * @alloc: allocate the memory that the new parameters need in addition; optional
 * @setup: start with these parameters
 * @commit: switch to these parameters; under the tree lock
 * @destroy: free the qdisc's own memory, also after a failed init; optional
 * @stats: fill in the zeroed struct tc_KIND_qdisc_stats; under the tree lock
 * @notifier: called on changes of devices
 */
struct aqm_kind {
	struct Qdisc_ops		ops;
	const struct aqm_options	*options;
	u16				params;
	u16				bandwidth;
	u16				limit;
	u16				memory;
	u16				xstats;
	bool				follows_mtu;
	bool				has_rate;
	int	(*reconcile)(struct aqm_given *given,
			     struct netlink_ext_ack *extack);
	int	(*derive)(struct Qdisc *sch, struct aqm_given *given,
			  struct netlink_ext_ack *extack);
	int	(*alloc)(struct Qdisc *sch, struct aqm_given *given,
			 struct aqm_memory *m, struct netlink_ext_ack *extack);
	void	(*setup)(struct Qdisc *sch, struct aqm_given *given,
			 struct aqm_memory *m);
	void	(*commit)(struct Qdisc *sch, struct aqm_given *given,
			  struct aqm_memory *m);
	void	(*destroy)(struct Qdisc *sch);
	void	(*stats)(struct Qdisc *sch, void *stats);
	struct notifier_block		notifier;
};

/* Return the definition of @sch. */
static inline struct aqm_kind *aqm_kind(const struct Qdisc *sch)
{
	return container_of(sch->ops, struct aqm_kind, ops);
}

static inline void *aqm_params(const struct aqm_kind *k, struct Qdisc *sch)
{
	return qdisc_priv(sch) + k->params;
}

static inline struct link_rate *aqm_link(struct Qdisc *sch)
{
	return &aqm_queue(sch)->link;
}

/* Return the source of the rate in the parameters @p, TC_AQM_SOURCE_... */
static inline u32 aqm_source_in(const struct aqm_kind *k, struct Qdisc *sch,
				const void *p)
{
	const struct aqm_option *o = &k->options->options[k->bandwidth];
	const struct aqm_given *given = p;

	if (!aqm_option_load(p + o->offset, o->size))
		return TC_AQM_SOURCE_NONE;
	return link_rate_source(aqm_link(sch),
				given->ever & BIT_ULL(k->bandwidth));
}

/* Return the source of the rate in force, TC_AQM_SOURCE_... */
static inline u32 aqm_source(const struct aqm_kind *k, struct Qdisc *sch)
{
	return aqm_source_in(k, sch, aqm_params(k, sch));
}

/* Return whether the parameters @p depend on a rate that was not given. */
static inline bool aqm_follows(const struct aqm_kind *k, struct Qdisc *sch,
			       const void *p)
{
	u32 source = aqm_source_in(k, sch, p);

	return source != TC_AQM_SOURCE_NONE && source != TC_AQM_SOURCE_GIVEN;
}

/* Copy the parameters to @p, and reset all options that were not given. */
static inline void aqm_given_params(const struct aqm_kind *k, struct Qdisc *sch,
				    void *p)
{
	struct aqm_given *given = p;

	memcpy(p, aqm_params(k, sch), k->options->size);
	given->now = 0;
	aqm_options_again(k->options, p);
}

/* Read options into the parameters @p. Return: 0 or an error */
static inline int aqm_read(const struct aqm_kind *k, void *p,
			   struct nlattr *opt, struct netlink_ext_ack *extack)
{
	int err = aqm_options_read(k->options, p, opt, extack);

	if (err || !k->reconcile)
		return err;
	return k->reconcile(p, extack);
}

/* Compute the parameters that were not given. Return: 0 or an error */
static inline int aqm_derive(struct Qdisc *sch, const struct aqm_kind *k,
			     void *p, struct netlink_ext_ack *extack)
{
	u64 *given = p + k->options->options[k->bandwidth].offset;
	u32 *memory = p + k->options->options[k->memory].offset;
	u32 *limit = p + k->options->options[k->limit].offset;
	u64 rate = link_rate_in_force(aqm_link(sch), *given);

	if (k->has_rate)
		*given = rate;
	if (!*memory)
		*memory = fifo_memory(*limit ? TC_AQM_MAX_BANDWIDTH : rate,
				      (u64)totalram_pages() << PAGE_SHIFT);
	return k->derive(sch, p, extack);
}

/* Switch to the parameters @p. Return: 0 or an error */
static inline int __aqm_change(struct Qdisc *sch, const struct aqm_kind *k,
			       void *p, struct netlink_ext_ack *extack)
{
	struct aqm_memory m = {};
	int err;

	ASSERT_RTNL();
	err = aqm_derive(sch, k, p, extack);
	if (err)
		return err;
	if (k->alloc) {
		err = k->alloc(sch, p, &m, extack);
		if (err)
			return err;
	}

	sch_tree_lock(sch);
	WRITE_ONCE(aqm_link(sch)->follow, aqm_follows(k, sch, p));
	k->commit(sch, p, &m);
	sch_tree_unlock(sch);
	kvfree(m.block);
	kvfree(m.more);
	return 0;
}

/* Return whether the refused rate, or else the rate in force, was measured. */
static inline bool aqm_is_measured(const struct link_rate *lr)
{
	return lr->refused ? lr->refused != lr->speed : lr->measured;
}

/* Switch to @p and the link's @rate in bytes/s, or change nothing. */
static inline int aqm_change_rate(struct Qdisc *sch, const struct aqm_kind *k,
				  void *p, u64 rate, bool measured)
{
	struct link_rate *lr = aqm_link(sch);
	bool was_measured = lr->measured;
	u64 before = lr->rate;
	int err;

	WRITE_ONCE(lr->rate, rate);
	WRITE_ONCE(lr->measured, measured);
	err = __aqm_change(sch, k, p, NULL);
	if (err) {
		WRITE_ONCE(lr->rate, before);
		WRITE_ONCE(lr->measured, was_measured);
	} else {
		lr->refused = 0;
	}
	return err;
}

static inline int aqm_change(struct Qdisc *sch, struct nlattr *opt,
			     struct netlink_ext_ack *extack)
{
	const struct aqm_kind *k = aqm_kind(sch);
	const struct link_rate *lr = aqm_link(sch);
	u8 p[AQM_MAX_PARAMS] __aligned(8);
	int err;

	aqm_given_params(k, sch, p);
	err = aqm_read(k, p, opt, extack);
	if (err)
		return err;
	/* The new options may be valid at the rate that we refused before. */
	if (lr->refused) {
		if (!aqm_change_rate(sch, k, p, lr->refused,
				     aqm_is_measured(lr)))
			return 0;
		aqm_options_again(k->options, p);
	}
	return __aqm_change(sch, k, p, extack);
}

/**
 * aqm_new_rate() - follow the rate of the link
 * @sch: the qdisc
 * @k: its kind
 * @rate: bytes/s
 * @measured: it was measured; otherwise the device reports it
 *
 * Under RTNL. If the options do not fit the rate, the one before stays.
 */
static inline void aqm_new_rate(struct Qdisc *sch, const struct aqm_kind *k,
				u64 rate, bool measured)
{
	struct link_rate *lr = aqm_link(sch);
	u8 p[AQM_MAX_PARAMS] __aligned(8);

	ASSERT_RTNL();
	if (!k->follows_mtu && (rate == lr->rate ||
				aqm_source(k, sch) == TC_AQM_SOURCE_GIVEN)) {
		WRITE_ONCE(lr->rate, rate);
		WRITE_ONCE(lr->measured, measured);
		lr->refused = 0;
		return;
	}
	aqm_given_params(k, sch, p);
	if (!aqm_change_rate(sch, k, p, rate, measured) || rate == lr->rate)
		return;
	/* A measured rate changes often. */
	if (rate != lr->refused && !measured)
		netdev_warn(qdisc_dev(sch),
			    "%s %x: the options do not fit %llu kbit/s, the link's rate now; %llu kbit/s stays in force\n",
			    k->ops.id, TC_H_MAJ(sch->handle) >> 16,
			    div_u64(rate, 125),
			    div_u64(lr->rate ?: LINK_RATE_DEFAULT, 125));
	lr->refused = rate;
}

/*
 * The device came up, or its MTU or @speed changed. The speed is in bytes/s, 0 if the
 * device does not report one. A speed that is not new leaves a measured rate.
 */
static inline void aqm_new_link(struct Qdisc *sch, const struct aqm_kind *k,
				u64 speed)
{
	struct link_rate *lr = aqm_link(sch);

	if (!speed || speed == lr->speed) {
		aqm_new_rate(sch, k, lr->refused ?: lr->rate,
			     aqm_is_measured(lr));
		return;
	}
	lr->speed = speed;
	aqm_new_rate(sch, k, speed, false);
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
		aqm_new_rate(lr->sch, aqm_kind(lr->sch), rate, true);
	rtnl_unlock();
}

static inline int aqm_init(struct Qdisc *sch, struct nlattr *opt,
			   struct netlink_ext_ack *extack)
{
	u8 p[AQM_MAX_PARAMS] __aligned(8);
	struct aqm_memory m = {};
	const struct aqm_kind *k = aqm_kind(sch);
	struct aqm_queue *q = aqm_queue(sch);
	struct link_rate *lr = aqm_link(sch);
	int err;

	INIT_DELAYED_WORK(&lr->work, aqm_rate_work);
	lr->sch = sch;
	lr->speed = link_rate_of(qdisc_dev(sch));
	lr->rate = lr->speed;
	aqm_options_default(k->options, p);
	err = aqm_read(k, p, opt, extack);
	if (err)
		return err;
	err = aqm_derive(sch, k, p, extack);
	if (err)
		return err;
	if (k->ops.cl_ops) {
		err = tcf_block_get(&q->block, &q->filters, sch, extack);
		if (err)
			return err;
	}
	if (k->alloc) {
		err = k->alloc(sch, (void *)p, &m, extack);
		if (err)
			return err;
	}
	k->setup(sch, (void *)p, &m);
	lr->follow = aqm_follows(k, sch, p);
	old_parents_init(sch, extack);
	return 0;
}

/* Also called after a failed init. */
static inline void aqm_destroy(struct Qdisc *sch)
{
	const struct aqm_kind *k = aqm_kind(sch);

	cancel_delayed_work_sync(&aqm_link(sch)->work);
	if (k->ops.cl_ops)
		tcf_block_put(aqm_queue(sch)->block);
	if (k->destroy)
		k->destroy(sch);
}

static inline int aqm_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct aqm_kind *k = aqm_kind(sch);
	u64 bandwidth = BIT_ULL(k->bandwidth), kept = 0, assumed = 0;

	ASSERT_RTNL();
	/* A copy of a qdisc that refused a new rate must use the old rate, too. */
	if (aqm_link(sch)->refused)
		kept = bandwidth;
	else if (aqm_source(k, sch) == TC_AQM_SOURCE_ASSUMED)
		assumed = bandwidth;
	return aqm_options_dump(sch, skb, k->options, aqm_params(k, sch), kept,
				assumed);
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

/* The first members of each qdisc's statistics. */
struct aqm_common_stats {
	TC_AQM_COMMON_STATS(TC_AQM_MEMBER, 0)
};

/* Fill them in, with the bandwidth in force. */
static inline void aqm_common_stats(struct Qdisc *sch, void *stats, u64 bandwidth)
{
	const struct aqm_queue *q = aqm_queue(sch);
	struct aqm_common_stats *st = stats;

	st->dropped_bytes = q->dropped_bytes;
	st->marked = congestion_marked(&q->signal);
	st->spared = q->signal.spared;
	st->drop_limit = q->drops[AQM_DROP_LIMIT];
	st->drop_memory = q->drops[AQM_DROP_MEMORY];
	st->drop_change = q->drops[AQM_DROP_CHANGE];
	st->bandwidth = bandwidth;
	st->delay = q->delay.last;
	st->delay_avg = q->delay.avg;
	st->delay_max = q->delay.max;
	st->limit = q->limit;
	st->memory_limit = q->memory_limit;
	st->memory_used = q->truesize;
}

/* Fill in the statistics of a qdisc that signals as RED does. */
#define AQM_SIGNAL_STATS(st, q) do {					\
	(st)->early_drop = (q)->drops[AQM_DROP_EARLY];			\
	(st)->early_mark = (q)->signal.early_mark;			\
	(st)->forced_drop = (q)->drops[AQM_DROP_FORCED];		\
	(st)->forced_mark = (q)->signal.forced_mark;			\
} while (0)

static inline int aqm_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	u64 xstats[AQM_MAX_XSTATS / sizeof(u64)] = {};
	const struct aqm_kind *k = aqm_kind(sch);
	struct aqm_common_stats *st = (void *)(xstats + 1);

	BUILD_BUG_ON(TC_AQM_XSTATS_QDISC);	/* the type, which is 0 */
	ASSERT_RTNL();
	sch_tree_lock(sch);
	k->stats(sch, st);
	st->bandwidth_source = aqm_source(k, sch);
	sch_tree_unlock(sch);
	st->link_refused = aqm_link(sch)->refused;
	return gnet_stats_copy_app(d, xstats, k->xstats);
}

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

/* Class operations of a qdisc with filters; the two functions show its classes. */
#define AQM_CLASS_OPS(walking, dumping) {				\
	.leaf		= filter_class_leaf,				\
	.find		= filter_class_find,				\
	.walk		= walking,					\
	.tcf_block	= aqm_tcf_block,				\
	.bind_tcf	= filter_class_bind,				\
	.unbind_tcf	= filter_class_unbind,				\
	.dump		= filter_class_dump,				\
	.dump_stats	= dumping,					\
}

static void filter_class_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
}

/* For a qdisc without classes to show. */
static const struct Qdisc_class_ops filter_class_ops __maybe_unused =
	AQM_CLASS_OPS(filter_class_walk, NULL);

/* Apply the device's rate to @sch. @rate caches it; U64_MAX: not read yet. */
static inline void aqm_link_changed(struct Qdisc *sch, const struct aqm_kind *k,
				    u64 *rate)
{
	if (sch->ops != &k->ops)
		return;
	if (*rate == U64_MAX)
		*rate = link_rate_of(qdisc_dev(sch));
	aqm_new_link(sch, k, *rate);
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

static inline int aqm_register(struct aqm_kind *k, struct module *owner)
{
	int err;

	k->ops.init = aqm_init;
	k->ops.change = aqm_change;
	k->ops.destroy = aqm_destroy;
	k->ops.dump = aqm_dump;
	k->ops.dump_stats = aqm_dump_stats;
	k->ops.owner = owner;
	k->notifier.notifier_call = aqm_link_event;
	err = register_netdevice_notifier(&k->notifier);
	if (err)
		return err;
	err = register_qdisc(&k->ops);
	if (err)
		unregister_netdevice_notifier(&k->notifier);
	return err;
}

static inline void aqm_unregister(struct aqm_kind *k)
{
	unregister_qdisc(&k->ops);
	unregister_netdevice_notifier(&k->notifier);
}

/**
 * AQM_KIND() - define the struct aqm_kind of a qdisc, and its module
 * @x: prefix of its functions and structs
 * @name: tc's name for it, without quotes
 * @NAME: the same in capitals, for TCA_NAME_BANDWIDTH
 * @about: description of the module
 *
 * Further members of struct aqm_kind follow as designated initializers.
 */
#define AQM_KIND(x, name, NAME, about, ...)				\
	__AQM_KIND(x, name, NAME, about, queue, x##_derive,		\
		   .has_rate = true, __VA_ARGS__)

/* The same, with the first member, a struct aqm_queue, and the function to derive. */
#define __AQM_KIND(x, name, NAME, about, first, deriving, ...)		\
static_assert(!offsetof(struct x##_sched_data, first));			\
static_assert(__same_type(struct aqm_queue,				\
			  ((struct x##_sched_data *)0)->first));	\
static_assert(__same_type(struct x##_params,				\
			  ((struct x##_sched_data *)0)->params));	\
AQM_OPTIONS(x##_options, struct x##_params, TC_##NAME##_OPTIONS);	\
AQM_STATS_ARE_WHOLE(struct tc_##name##_qdisc_stats,			\
		    TC_##NAME##_QDISC_STATS);				\
static_assert(offsetof(struct tc_##name##_qdisc_stats, drop_change) ==	\
	      offsetof(struct aqm_common_stats, drop_change));		\
static struct aqm_kind x##_kind __read_mostly = {			\
	.options	= &x##_options,					\
	.params		= offsetof(struct x##_sched_data, params),	\
	.bandwidth	= TCA_##NAME##_BANDWIDTH,			\
	.limit		= TCA_##NAME##_LIMIT,				\
	.memory		= TCA_##NAME##_MEMORY_LIMIT,			\
	.xstats		= sizeof(struct tc_##name##_xstats),		\
	.derive		= deriving,					\
	.setup		= x##_setup,					\
	.commit		= x##_commit,					\
	.stats		= x##_stats,					\
	.ops.id		= #name,					\
	.ops.priv_size	= sizeof(struct x##_sched_data),		\
	.ops.enqueue	= x##_enqueue,					\
	.ops.dequeue	= x##_dequeue,					\
	.ops.reset	= x##_reset,					\
	__VA_ARGS__							\
};									\
MODULE_ALIAS_NET_SCH(#name);						\
MODULE_DESCRIPTION(about " queue discipline");				\
MODULE_INFO(protections, OLD_PARENTS_NAME);				\
module_aqm_kind(x##_kind)

/* Module init and exit of one qdisc. */
#define module_aqm_kind(kind)						\
static int __init kind##_register(void)					\
{									\
	return aqm_register(&(kind), THIS_MODULE);			\
}									\
static void __exit kind##_unregister(void)				\
{									\
	aqm_unregister(&(kind));					\
}									\
module_init(kind##_register);						\
module_exit(kind##_unregister);						\
MODULE_AUTHOR("The sch-aqm maintainers");				\
MODULE_LICENSE("GPL");							\
MODULE_VERSION(AQM_VERSION)

#endif /* _AQM_KIND_H */
