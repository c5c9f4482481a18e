// SPDX-License-Identifier: GPL-2.0
/*
 * Adaptive RED
 *
 * RED's average queue settles at a length that depends on max_p and on the
 * number of flows: near min with few flows, near or above max with many.
 * Adaptive RED moves max_p slowly until the average is about halfway between
 * min and max. It also derives RED's other parameters from the rate of the
 * link.
 *
 * S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing
 * the Robustness of RED's Active Queue Management", August 2001. Drops above
 * max as in S. Floyd, "Recommendation on using the gentle variant of RED",
 * 2000.
 *
 * The rule, where C is the number of packets that the link sends in a second:
 *
 *	w = 1 - exp(-1 / C)
 *	min = max(5, target C / 2),  max = 3 min
 *
 *	each 0.5 s, d = max - min:
 *		avg > min + 0.6 d, max_p < top:		max_p += min(0.01, max_p / 4)
 *		avg < min + 0.4 d, max_p > bottom:	max_p *= 0.9
 *
 *	each arrival: drop it with probability p_b, spread over the arrivals,
 *		0 below min, up to max_p at max, up to 1 at 2 max (gentle), then 1
 *
 * <aqm/gentle_red.h> implements it, with the formulas of avg, p_b and the
 * spacing. With ecn, packets are marked instead of dropped. With harddrop, they
 * are dropped where p_b is 1.
 *
 * Our decisions where the paper is silent:
 *  - min is at most a sixth of the limit, because the gentle slope ends at 6
 *    min. A slope beyond the limit would make the queue drop-tail. This matters
 *    below 4.5 Mb/s, where 30 packets take 80 ms, or with a limit below 12
 *    times the target.
 *  - No timer moves max_p. An arrival makes all the steps that have come due
 *    since the last arrival, each with the current average. In the paper's
 *    simulator an arrival makes one step, however much time has passed.
 *  - max_p stops at its bounds instead of stepping over them.
 *  - The average of an empty queue decays by time: <aqm/red_fifo.h>.
 *  - "target" is the paper's target average delay. The average settles at 2
 *    min, which is that delay.
 *  - GSO packets: frame/split_gso.c.
 *  - Without adaptive, gentle and wait this is the RED of the earlier papers.
 *
 * Options, units and defaults: TC_ARED_OPTIONS.
 */

#include <aqm/plain_fifo.h>
#include <aqm/red_queue.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_ared.h>

#define ARED_LEAST	5U	/* packets: the paper's lower bound of min */

struct ared_params {
	struct aqm_given		given;
	struct gentle_red_params	red;
	struct congestion_policy	signal;

	TC_ARED_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(ared_options, struct ared_params, TC_ARED_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_ared_qdisc_stats, TC_ARED_QDISC_STATS);

/**
 * struct ared_vars - state of the datapath; under the qdisc lock
 * @red: the average, and max_p
 * @random: generator for the decisions about arrivals
 * @adapt_from: jiffy before which max_p does not change
 */
struct ared_vars {
	struct gentle_red_vars	red;
	struct seeded_random	random;
	unsigned long		adapt_from;
};

struct ared_sched_data {
	struct aqm_queue		queue;
	struct ared_params		params;
	struct ared_vars		vars;
	struct gentle_red_stats		adapted;	/* steps of max_p */
};

/*
 * Adapt max_p if it is due. Jiffies tell when that may be, because the clock costs a
 * fifth of a packet's time. Two of them are for a tick that is late.
 */
static void ared_adapt(struct ared_sched_data *q)
{
	struct ared_vars *v = &q->vars;
	u64 now;

	if (likely(time_before(jiffies, v->adapt_from)))
		return;
	now = ktime_get_ns();
	gentle_red_adapt(&q->params.red, &v->red, &q->adapted, now);
	v->adapt_from = jiffies + nsecs_to_jiffies(v->red.adapt_at - now) - 2;
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int ared_arrival(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free, u32 packets,
					u32 class)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	const struct ared_params *p = &q->params;
	enum congestion_signal signal;
	struct ared_vars *v = &q->vars;
	bool forced;
	int lost;

	red_queue_arrival(&p->red, &v->red, q->queue.segments);
	ared_adapt(q);
	signal = red_queue_signal(sch, skb, &p->red, &v->red, &v->random,
				  &p->signal, &forced);
	lost = plain_fifo_try_drop(sch, skb, packets, signal, forced,
				   to_free);
	if (unlikely(lost))
		return lost;
	return plain_fifo_add(sch, skb, packets, 0);
}

/* A packet has left the queue. If none is left, idle time begins. */
static void ared_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct ared_sched_data *q = qdisc_priv(sch);

	red_queue_removed(&q->vars.red, q->queue.segments);
}

static int ared_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct ared_sched_data *q = qdisc_priv(sch);

	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, ared_arrival);
	return ared_arrival(skb, sch, to_free, 1, 0);
}

static struct sk_buff *ared_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = plain_fifo_remove(sch);

	if (!skb)
		return NULL;
	ared_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *ared_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		ared_departed(sch, skb);
	return skb;
}

static void ared_reset(struct Qdisc *sch)
{
	struct ared_sched_data *q = qdisc_priv(sch);

	plain_fifo_reset(sch);
	gentle_red_init(&q->vars.red, &q->params.red, ktime_get_ns());
	q->vars.adapt_from = jiffies;
}

/*
 * min: half of the target, but at least 5 packets. At most limit / 6, so that the
 * slope to 2 max = 6 min ends within the limit, and at most a third of a given max.
 */
static u32 ared_min_th(const struct ared_params *p)
{
	u64 target = div_u64(mul_u64_u32_div(p->bandwidth, p->target,
					     USEC_PER_SEC), p->avpkt);
	u64 min_th = min_t(u64, max_t(u64, target / 2, ARED_LEAST),
			   p->limit / 6);

	if (p->max)
		min_th = min_t(u64, min_th, p->max / 3);
	return clamp_t(u64, min_th, 1, GENTLE_RED_MAX_TH);
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int ared_derive(struct Qdisc *sch, struct ared_params *p,
		       struct netlink_ext_ack *extack)
{
	int err;

	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: aqm_fifo_limit(sch, p->bandwidth, p->memory_limit);
	p->min = p->min ?: ared_min_th(p);
	p->max = p->max ?: min_t(u64, 3ULL * p->min, GENTLE_RED_MAX_TH);
	/* 1 s of packets, whatever the limit. */
	p->weight = p->weight ?: red_queue_weight(p->bandwidth, p->avpkt,
						  U32_MAX);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->red = (struct gentle_red_params) {
		.min_th		= p->min,
		.max_th		= p->max,
		.max_p		= p->probability,
		.bottom		= p->bottom,
		.top		= p->top,
		.weight		= p->weight,
		.ptime		= red_queue_ptime(p->bandwidth, p->avpkt),
		.gentle		= p->gentle,
		.wait		= p->wait,
		.adaptive	= p->adaptive,
	};
	err = red_queue_check(sch, &p->red, &p->signal, p->limit,
			      p->memory_limit, extack);
	if (err)
		return err;
	if (p->bottom < GENTLE_RED_MIN_BOTTOM) {
		NL_SET_ERR_MSG_MOD(extack, "bottom must be at least 0.000001");
		return -EINVAL;
	}
	if (p->bottom > p->top) {
		NL_SET_ERR_MSG_MOD(extack, "bottom must not be above top");
		return -EINVAL;
	}
	return 0;
}

static int ared_apply(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	struct ared_params *p = aqm_params_of(ared, given);
	struct ared_sched_data *q = qdisc_priv(sch);
	struct ared_vars *v = &q->vars;
	u64 now;
	int err;

	err = ared_derive(sch, p, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	/* The old parameters apply to the steps that are already due. */
	gentle_red_settle(&v->red, &q->params.red, &p->red, q->queue.segments,
			  now);
	gentle_red_adapt(&q->params.red, &v->red, &q->adapted, now);
	if (p->bandwidth != q->params.bandwidth)
		gentle_red_follow(&v->red, q->params.red.max_th,
				  p->red.max_th, q->queue.segments);
	gentle_red_change(&v->red, &q->params.red, &p->red);
	q->params = *p;
	if (aqm_changed(p, TCA_ARED_SEED))
		seeded_random_init(&v->random, p->seed);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, ared_evict);
	sch_tree_unlock(sch);
	return 0;
}

static const struct aqm_kind ared_kind = {
	.options	= &ared_options,
	.bandwidth	= TCA_ARED_BANDWIDTH,
	.apply		= ared_apply,
};

static int ared_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int ared_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	struct ared_params *p = &q->params;
	int err;

	err = aqm_init(sch, &ared_kind, &p->given, opt, extack);
	if (!err)
		err = ared_derive(sch, p, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	gentle_red_init(&q->vars.red, &p->red, ktime_get_ns());
	q->vars.adapt_from = jiffies;
	seeded_random_init(&q->vars.random, p->seed);
	return aqm_start(sch, extack);
}

static void ared_destroy(struct Qdisc *sch)
{
	aqm_destroy(sch);
}

static int ared_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Report the options in force, and the state as of now. */
static int ared_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_ared_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct ared_sched_data *q = qdisc_priv(sch);
	const struct gentle_red_params *p = &q->params.red;
	struct gentle_red_stats adapted;
	struct gentle_red_vars red;
	u64 now;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	adapted = q->adapted;
	red = gentle_red_snapshot(p, &q->vars.red, q->queue.segments, now);
	gentle_red_adapt(p, &red, &adapted, now);
	aqm_common_stats(sch, &st.qdisc);
	RED_QUEUE_STATS(&st.qdisc, &q->queue, p, &red);
	st.qdisc.raised = adapted.raised;
	st.qdisc.lowered = adapted.lowered;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops ared_qdisc_ops __read_mostly = {
	.id		= "ared",
	.priv_size	= sizeof(struct ared_sched_data),
	.enqueue	= ared_enqueue,
	.dequeue	= ared_dequeue,
	.peek		= qdisc_peek_head,
	.init		= ared_init,
	.reset		= ared_reset,
	.destroy	= ared_destroy,
	.change		= ared_change,
	.dump		= ared_dump,
	.dump_stats	= ared_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init ared_module_init(void)
{
	return aqm_register(&ared_qdisc_ops);
}

static void __exit ared_module_exit(void)
{
	aqm_unregister(&ared_qdisc_ops);
}

module_init(ared_module_init);
module_exit(ared_module_exit);
MODULE_ALIAS_NET_SCH("ared");
MODULE_DESCRIPTION("Adaptive RED queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
