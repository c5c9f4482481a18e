/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame, module sch_aqm: what all our qdiscs do around their algorithm. It reads
 * options, follows the device, dumps, and comes and goes. The code is in frame/. A
 * packet passes through it only for something rare: a filter, GSO, a drop.
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
 * in force; see frame/link_rate.c.
 */
#ifndef _AQM_FRAME_H
#define _AQM_FRAME_H

#include <linux/module.h>
#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"
#include "options.h"
#include "queue.h"

/* The struct @kind_params that contains @given. */
#define aqm_params_of(kind, given) \
	container_of(given, struct kind##_params, given)

/**
 * struct aqm_kind - what the frame must know of a qdisc
 * @options: its options
 * @bandwidth: attribute of the option for the rate of the link
 * @reconcile: resolve or reject conflicts between given options; optional
 * @apply: switch to the parameters in @given, or return an error and change nothing.
 *	@given is a copy, in which derived options are 0 unless they were given.
 *	@extack is NULL for a new rate of the link.
 */
struct aqm_kind {
	const struct aqm_options	*options;
	u16				bandwidth;
	int	(*reconcile)(struct aqm_given *given,
			     struct netlink_ext_ack *extack);
	int	(*apply)(struct Qdisc *sch, struct aqm_given *given,
			 struct netlink_ext_ack *extack);
};

/* sch-aqm-doctor reads the names of protections from each module: frame/old_parents.c. */
#ifdef AQM_OLD_PARENTS
#define OLD_PARENTS_NAME	"old_parents"
#else
#define OLD_PARENTS_NAME	""
#endif

/* Modules */
int aqm_register(struct Qdisc_ops *ops);
void aqm_unregister(struct Qdisc_ops *ops);

/* Init, change and destroy */
int aqm_init(struct Qdisc *sch, const struct aqm_kind *kind, struct aqm_given *given,
	     struct nlattr *opt, struct netlink_ext_ack *extack);
int aqm_start(struct Qdisc *sch, struct netlink_ext_ack *extack);
int aqm_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
void aqm_destroy(struct Qdisc *sch);

/* Parameters */
u64 aqm_rate(struct Qdisc *sch, u64 given);
u32 aqm_memory(u32 limit, u64 rate);
u32 aqm_fifo_limit(const struct Qdisc *sch, u64 rate, u32 memory_limit);
bool aqm_warn_of_memory(const struct Qdisc *sch, u32 memory_limit,
			struct netlink_ext_ack *extack);
void aqm_set(struct Qdisc *sch, const struct aqm_given *given, u64 bandwidth, u32 limit,
	     u32 memory_limit);

/* Packets: frame/packet_flow.c */
bool packet_is_syn(const struct sk_buff *skb);

/* Dumps */
int aqm_dump(struct Qdisc *sch, struct sk_buff *skb);

/*
 * X_dump_stats() takes the tree lock, as in fq_codel, fq_pie, fq and cake, where it copies
 * values that belong together. An average belongs to the time from which it decays: of two
 * reads, the time could be later than the clock, and the average would be shown as 0. The
 * counters have 64 bits, which 32-bit machines read in two halves. red, choke and pie need
 * no lock, because they show separate counters of 32 bits.
 *
 * A long walk that no packet makes, over the bins of sfbx, is outside the lock, as in sfb.
 */

/* The first members of each qdisc's statistics. */
struct aqm_common_stats {
	TC_AQM_COMMON_STATS(TC_AQM_MEMBER, 0)
};

void __aqm_common_stats(struct Qdisc *sch, struct aqm_common_stats *st);

/* Fill in the first members of @st, a struct of statistics; under the tree lock. */
#define aqm_common_stats(sch, st) do {					\
	static_assert(offsetof(typeof(*(st)), bandwidth) ==		\
		      offsetof(struct aqm_common_stats, bandwidth) &&	\
		      offsetof(typeof(*(st)), drop_change) ==		\
		      offsetof(struct aqm_common_stats, drop_change));	\
	__aqm_common_stats(sch, (struct aqm_common_stats *)(st));	\
} while (0)

/* Classes: frame/filter_class.c */

/**
 * struct filter_verdict - answer of the filters; in one register
 * @lost: 0, or why the packet is lost, for filter_class_drop()
 * @minor: minor number of the class; 0 if none is named
 */
struct filter_verdict {
	int	lost;
	u32	minor;
};

struct filter_verdict filter_class_ask(struct sk_buff *skb,
				       const struct tcf_proto *filters);
int filter_class_drop(struct sk_buff *skb, struct Qdisc *sch, int verdict,
		      struct sk_buff **to_free);
struct Qdisc *filter_class_leaf(struct Qdisc *sch, unsigned long cl);
unsigned long filter_class_find(struct Qdisc *sch, u32 classid);
struct tcf_block *aqm_tcf_block(struct Qdisc *sch, unsigned long cl,
				struct netlink_ext_ack *extack);
unsigned long filter_class_bind(struct Qdisc *sch, unsigned long parent, u32 classid);
void filter_class_unbind(struct Qdisc *sch, unsigned long cl);
int filter_class_dump(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
		      struct tcmsg *tcm);
void filter_class_walk(struct Qdisc *sch, struct qdisc_walker *arg);
void aqm_walk(struct Qdisc *sch, struct qdisc_walker *arg, u32 count);

/**
 * filter_class() - find the class of an arrival
 * @skb: the arrival
 * @sch: the qdisc
 * @classes: number of its classes, at most 65535. With 65536, priority 0 would name the
 *	last one of a qdisc with the handle 1:
 * @minor: set to the minor number of the class; 0 if none is named
 * @to_free: list of packets to free
 *
 * skb->priority names the class if it is one of the @classes of this qdisc.
 * Otherwise the filters name it; their class may be beyond @classes. A qdisc
 * without a handle (net.core.default_qdisc, children of mq) has no class that a
 * priority could name: 1 to 15 are priorities that sockets and TOS give.
 *
 * Return: 0, or the verdict on an arrival that a filter took away.
 */
static inline int filter_class(struct sk_buff *skb, struct Qdisc *sch, u32 classes,
			       u32 *minor, struct sk_buff **to_free)
{
	const struct tcf_proto *filters = rcu_dereference_bh(aqm_queue(sch)->filters);
	struct filter_verdict answer;

	*minor = skb->priority ^ sch->handle;	/* 1 to @classes only with our major */
	if (unlikely(*minor - 1 < classes) && sch->handle)
		return 0;
	*minor = 0;
	if (likely(!filters))
		return 0;
	answer = filter_class_ask(skb, filters);
	*minor = answer.minor;
	if (likely(!answer.lost))
		return 0;
	return filter_class_drop(skb, sch, answer.lost, to_free);
}

#endif /* _AQM_FRAME_H */
