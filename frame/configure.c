// SPDX-License-Identifier: GPL-2.0
/* Come, change, dump and go: see <aqm/frame.h>. */
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include <aqm/congestion_signal.h>
#include <aqm/fifo_limit.h>
#include <aqm/frame.h>
#include "internal.h"

/*
 * Return the default of memory_limit, bytes, for the @limit that was given, or 0, and the
 * @rate of the link, bytes/s.
 */
u32 aqm_memory(u32 limit, u64 rate)
{
	return fifo_memory(limit ? TC_AQM_MAX_BANDWIDTH : rate,
			   (u64)totalram_pages() << PAGE_SHIFT);
}
EXPORT_SYMBOL_GPL(aqm_memory);

/* Return the default limit of a FIFO in packets: see fifo_limit(). */
u32 aqm_fifo_limit(const struct Qdisc *sch, u64 rate, u32 memory_limit)
{
	return fifo_limit(rate, READ_ONCE(qdisc_dev(sch)->mtu), memory_limit);
}
EXPORT_SYMBOL_GPL(aqm_fifo_limit);

/* Warn if @memory_limit is too small for one full packet. Return: whether it is */
bool aqm_warn_of_memory(const struct Qdisc *sch, u32 memory_limit,
			struct netlink_ext_ack *extack)
{
	if (memory_limit >= SKB_TRUESIZE(psched_mtu(qdisc_dev(sch))))
		return false;
	NL_SET_ERR_MSG_MOD(extack, "memory_limit is too small for one full packet");
	return true;
}
EXPORT_SYMBOL_GPL(aqm_warn_of_memory);

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
void aqm_set(struct Qdisc *sch, const struct aqm_given *given,
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
EXPORT_SYMBOL_GPL(aqm_set);

/* Return whether the refused rate, or else the rate in force, was measured. */
bool aqm_is_measured(const struct link_rate *lr)
{
	return lr->refused ? lr->refused != lr->speed : lr->measured;
}

/* Return a copy of the parameters, with all options that were not given reset, or NULL. */
struct aqm_given *aqm_copy(struct Qdisc *sch)
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
static int aqm_read(const struct aqm_kind *k, struct aqm_given *given,
		    struct nlattr *opt, struct netlink_ext_ack *extack)
{
	int err = aqm_options_read(k->options, given, opt, extack);

	if (err || !k->reconcile)
		return err;
	return k->reconcile(given, extack);
}

/* Switch to @given and the link's @rate in bytes/s, or change nothing. */
int aqm_apply_at(struct Qdisc *sch, struct aqm_given *given, u64 rate,
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
int aqm_change(struct Qdisc *sch, struct nlattr *opt,
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
EXPORT_SYMBOL_GPL(aqm_change);

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
int aqm_init(struct Qdisc *sch, const struct aqm_kind *kind,
	     struct aqm_given *given, struct nlattr *opt,
	     struct netlink_ext_ack *extack)
{
	struct aqm_queue *q = aqm_queue(sch);
	int err;

	q->kind = kind;
	q->given = given;
	link_rate_init(sch);
	/* The parameters of a new qdisc are 0. */
	aqm_options_again(kind->options, given);
	err = aqm_read(kind, given, opt, extack);
	if (err || !sch->ops->cl_ops)
		return err;
	return tcf_block_get(&q->block, &q->filters, sch, extack);
}
EXPORT_SYMBOL_GPL(aqm_init);

/* The last step of an init that succeeds. Return: 0 */
int aqm_start(struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	old_parents_init(sch, extack);
	return 0;
}
EXPORT_SYMBOL_GPL(aqm_start);

/* Also after a failed init. The qdisc then frees its own memory. */
void aqm_destroy(struct Qdisc *sch)
{
	struct aqm_queue *q = aqm_queue(sch);

	cancel_delayed_work_sync(&q->link.work);
	if (q->block)
		tcf_block_put(q->block);
}
EXPORT_SYMBOL_GPL(aqm_destroy);

/*
 * Dump the options in force, all of one configuration. Changes and dumps have RTNL. If a
 * kernel dumps without it, the assertion says so, and the dump needs the tree lock: with
 * READ_ONCE() of each value it could mix two configurations, and sent back it would be
 * refused or set up a third one.
 */
int aqm_dump(struct Qdisc *sch, struct sk_buff *skb)
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
EXPORT_SYMBOL_GPL(aqm_dump);

void __aqm_common_stats(struct Qdisc *sch, struct aqm_common_stats *st)
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
EXPORT_SYMBOL_GPL(__aqm_common_stats);
