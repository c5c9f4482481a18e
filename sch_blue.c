// SPDX-License-Identifier: GPL-2.0
/*
 * BLUE
 *
 * RED infers congestion from the queue's length. The length says little about
 * the number of flows, so untuned RED drops too little with many flows and too
 * much with few. BLUE has no average and no thresholds. It learns one
 * probability from two events: packets lost because the queue is full, and an
 * idle link.
 *
 * W. Feng, D. D. Kandlur, D. Saha, K. G. Shin, "BLUE: A New Class of Active
 * Queue Management Algorithms", U. Michigan CSE-TR-387-99, April 1999, and "The
 * BLUE Active Queue Management Algorithms", IEEE/ACM Transactions on Networking
 * 10(4), August 2002:
 *
 *	on packet loss (or queue longer than L):
 *		if now - last_update > freeze_time:
 *			p_m = p_m + d1,  last_update = now
 *	on link idle:
 *		if now - last_update > freeze_time:
 *			p_m = p_m - d2,  last_update = now
 *	each arrival: mark it, or drop it, with probability p_m
 *
 * <aqm/blue/marking_probability.h> implements p_m and lists its deviations.
 *
 * With ecn, a chosen arrival is marked instead of dropped. With harddrop, it is
 * dropped anyway while the queue is longer than L.
 *
 * Our decisions where the papers are silent:
 *  - Only an arrival that does not fit counts as a loss. A drop by chance does
 *    not.
 *  - The arrival counts towards the queue's length when it is compared with L.
 *    L defaults to the limit, so that only losses count.
 *  - The link is idle from the departure of the last packet until the next
 *    packet is queued. We do not wait for a dequeue of the empty queue: drr,
 *    htb and other parents do not ask a child that they know to be empty. With
 *    p_m = 1 no arrival would ever be queued to make them ask.
 *  - An arrival that does not fit is lost before any random choice. An arrival
 *    that raises p_m is judged by the new p_m.
 *  - GSO packets: frame/split_gso.c.
 *  - The defaults are d1 = 0.0025, d2 = 0.00025 and 100 ms: the best of the
 *    BLUE authors' sets in A. Kantawala, J. Turner, "Efficient Queue Management
 *    for TCP Flows", WUCS-01-22, August 2001. G. F. Ali Ahammed, R. Banu,
 *    "Analyzing the Performance of Active Queue Management Algorithms", use
 *    0.02, 0.002 and 10 ms, 80 times as fast up and down. At 50 Mb/s and 50 ms
 *    both sets fill the link with 40 flows and lose 1.5 and 2.0 %. With 6 flows
 *    they use 92 and 96 % of it, because a single step is large where p_m
 *    should be near 0.
 *
 * Options, units and defaults: TC_BLUE_OPTIONS.
 */

#include <aqm/blue/marking_probability.h>
#include <aqm/plain_fifo.h>
#include <aqm/seeded_random.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_blue.h>

struct blue_params {
	struct aqm_given		given;
	struct marking_params		marking;
	struct congestion_policy	signal;

	TC_BLUE_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(blue_options, struct blue_params, TC_BLUE_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_blue_qdisc_stats, TC_BLUE_QDISC_STATS);

/**
 * struct blue_vars - state of the datapath; under the qdisc lock
 * @marking: p_m
 * @random: generator for the decisions about arrivals
 */
struct blue_vars {
	struct marking_probability	marking;
	struct seeded_random		random;
};

struct blue_sched_data {
	struct aqm_queue		queue;
	struct blue_vars		vars;
	struct blue_params		params;
	struct tc_blue_qdisc_stats	stats;	/* blue_dump_stats() adds other members */
};

/* The rare cases are out of line: with p_m = 0 a queued packet calls none of them. */

/* Raise p_m: a packet is lost, or the queue is longer than L. */
static void blue_congested(struct blue_sched_data *q)
{
	q->stats.rises += marking_lost(&q->params.marking, &q->vars.marking,
				       ktime_get_ns());
}

/* Lower p_m: the link has been idle. */
static void blue_idled(struct blue_sched_data *q)
{
	q->stats.falls += marking_idled(&q->params.marking, &q->vars.marking,
					ktime_get_ns());
}

/* Decide by chance whether to mark or drop the arrival. */
static bool blue_choose(struct blue_vars *v)
{
	return marking_chosen(&v->marking, marking_open(&v->marking) ?
					   seeded_random_u32(&v->random) : 0);
}

/* Signal congestion to the sender. Return: false if the arrival must be dropped. */
static bool blue_signal(struct Qdisc *sch, struct sk_buff *skb, bool above)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	qdisc_qstats_overlimit(sch);
	switch (congestion_signal(&q->params.signal, skb, above)) {
	case CONGESTION_MARKED:
		q->queue.signal.early_mark++;
		return true;
	case CONGESTION_SPARED:
		q->queue.signal.spared++;
		return true;
	default:
		return false;
	}
}

/* Drop an arrival that does not fit. */
static int blue_lost(struct sk_buff *skb, struct Qdisc *sch,
		     enum aqm_drop cause, struct sk_buff **to_free)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	blue_congested(q);
	return aqm_drop(skb, sch, cause, to_free);
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int blue_arrival(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free, u32 packets,
					u32 class)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_vars *v = &q->vars;
	enum aqm_drop full;
	bool above;

	if (unlikely(!q->queue.segments && v->marking.p))
		blue_idled(q);

	full = aqm_queue_full(&q->queue, skb, packets);
	if (unlikely(full))
		return blue_lost(skb, sch, full, to_free);
	above = (u64)q->queue.segments + packets > q->params.threshold;
	if (unlikely(above))
		blue_congested(q);
	if (v->marking.p && blue_choose(v) && !blue_signal(sch, skb, above))
		return aqm_drop(skb, sch, AQM_DROP_EARLY, to_free);
	return plain_fifo_add(sch, skb, packets, 0);
}

/* The first packet has left the queue: the link may be idle. */
static void blue_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_vars *v = &q->vars;

	if (!q->queue.segments && v->marking.p)
		marking_idle(&v->marking, ktime_get_ns());
}

static int blue_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, blue_arrival);
	return blue_arrival(skb, sch, to_free, 1, 0);
}

static struct sk_buff *blue_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = plain_fifo_remove(sch);

	if (!skb)
		return NULL;
	blue_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *blue_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		blue_departed(sch, skb);
	return skb;
}

static void blue_reset(struct Qdisc *sch)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	plain_fifo_reset(sch);
	q->vars.marking = (struct marking_probability) {};
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int blue_derive(struct Qdisc *sch, struct blue_params *p,
		       struct netlink_ext_ack *extack)
{
	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: aqm_fifo_limit(sch, p->bandwidth, p->memory_limit);
	p->threshold = p->threshold ?: p->limit;
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->marking = (struct marking_params) {
		.freeze	= (u64)p->freeze_time * NSEC_PER_USEC,
		.up	= p->increment,
		.down	= p->decrement,
	};
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	if (!aqm_warn_of_memory(sch, p->memory_limit, extack) &&
	    p->threshold > p->limit)
		NL_SET_ERR_MSG_MOD(extack,
				   "threshold is above limit: only a full queue raises the probability");
	return 0;
}

static int blue_apply(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	struct blue_params *p = aqm_params_of(blue, given);
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_vars *v = &q->vars;
	u64 now;
	int err;

	err = blue_derive(sch, p, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	if (aqm_changed(p, TCA_BLUE_SEED))
		seeded_random_init(&v->random, p->seed);
	/* The old parameters apply to the idle time so far. */
	if (!q->queue.segments)
		q->stats.falls += marking_idled(&q->params.marking, &v->marking,
						now);
	marking_change(&p->marking, &v->marking, now);
	q->params = *p;
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, blue_evict);
	sch_tree_unlock(sch);
	return 0;
}

static const struct aqm_kind blue_kind = {
	.options	= &blue_options,
	.bandwidth	= TCA_BLUE_BANDWIDTH,
	.apply		= blue_apply,
};

static int blue_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int blue_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_params *p = &q->params;
	int err;

	err = aqm_init(sch, &blue_kind, &p->given, opt, extack);
	if (!err)
		err = blue_derive(sch, p, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	seeded_random_init(&q->vars.random, p->seed);
	return aqm_start(sch, extack);
}

static void blue_destroy(struct Qdisc *sch)
{
	aqm_destroy(sch);
}

static int blue_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Report the options in force, and the state as of now. */
static int blue_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_blue_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct blue_sched_data *q = qdisc_priv(sch);
	struct marking_probability marking;

	sch_tree_lock(sch);
	marking = q->vars.marking;
	st.qdisc = q->stats;
	aqm_common_stats(sch, &st.qdisc);
	if (!q->queue.segments)
		st.qdisc.falls += marking_idled(&q->params.marking, &marking,
						ktime_get_ns());
	st.qdisc.early_drop = q->queue.drops[AQM_DROP_EARLY];
	st.qdisc.probability = marking.p;
	st.qdisc.threshold = q->params.threshold;
	st.qdisc.segments = q->queue.segments;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops blue_qdisc_ops __read_mostly = {
	.id		= "blue",
	.priv_size	= sizeof(struct blue_sched_data),
	.enqueue	= blue_enqueue,
	.dequeue	= blue_dequeue,
	.peek		= qdisc_peek_head,
	.init		= blue_init,
	.reset		= blue_reset,
	.destroy	= blue_destroy,
	.change		= blue_change,
	.dump		= blue_dump,
	.dump_stats	= blue_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init blue_module_init(void)
{
	return aqm_register(&blue_qdisc_ops);
}

static void __exit blue_module_exit(void)
{
	aqm_unregister(&blue_qdisc_ops);
}

module_init(blue_module_init);
module_exit(blue_module_exit);
MODULE_ALIAS_NET_SCH("blue");
MODULE_DESCRIPTION("BLUE queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
