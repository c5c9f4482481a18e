// SPDX-License-Identifier: GPL-2.0
/*
 * Flow Random Early Drop (FRED)
 *
 * RED drops the same fraction of every flow's packets. A flow with few packets
 * in the queue loses as often as a flow that fills the queue and does not slow
 * down. FRED knows how many packets each queued flow has, and how often it had
 * too many ("strikes"). It spares flows with few packets, drops at random from
 * flows with their share or more, and limits flows with strikes to the average.
 * A flow's state exists only while it has packets in the queue.
 *
 * D. Lin, R. Morris, "Dynamics of Random Early Detection", SIGCOMM 1997, as
 * described by G. F. Ali Ahammed, R. Banu, "Analyzing the Performance of Active
 * Queue Management Algorithms", sections 2.2, 3.3.1 and 4.1.
 *
 * The rule for an arrival of flow i, where avg is the average queue length,
 * qlen_i the number of packets of i in the queue, and avgcq = max(avg / flows,
 * 1):
 *
 *	maxq = min, but 2 if avg >= max		two-packet mode
 *	qlen_i >= maxq, or
 *	avg >= max and qlen_i > 2 avgcq, or
 *	strike_i > 1 and qlen_i >= avgcq:
 *		drop the arrival, strike_i = strike_i + 1
 *	else min <= avg < max and qlen_i >= max(minq, avgcq):
 *		drop the arrival with RED's probability
 *	else avg >= max: drop the arrival			unless two-packet mode
 *	else: queue it
 *
 *	avg = avg + w (q - avg)		after each packet queued and each sent
 *	avg = avg (1 - w)^m		after the queue was empty for m ptime
 *
 * With ecn, an arrival that RED's probability selects is marked instead of
 * dropped. So is an arrival at avg >= max without two-packet mode, unless
 * harddrop. A strike always drops, because this bounds the queue of a flow that
 * ignores marks.
 *
 * Dropped arrivals are not sampled. Otherwise a flow that sends more than the
 * link carries would drive the average.
 *
 * Our decisions where the paper is silent, or where Ali Ahammed and Banu's
 * listing differs from the text:
 *  - Their listing omits avg >= max and qlen_i from the second condition. It
 *    has RED's fraction upside down and without max_p, returns below min before
 *    it queues, and never decrements a flow's packets. The text contradicts all
 *    of this, and we follow the text.
 *  - In two-packet mode ("many flow support"), each flow may have two packets
 *    once the average is at max, and no arrival is dropped because of the
 *    average. Arrivals are then lost only if the queue is full. Without it
 *    (notwo_packet) a flow may have min packets at any average, and all
 *    arrivals are dropped from max on. With more than min / minq flows that is
 *    drop tail, and the shares depend on luck (their figure 6).
 *  - RED's count includes every arrival that passed since the last drop by
 *    chance, also arrivals for which no random number was drawn.
 *  - avgcq uses the present number of flows.
 *  - min is a quarter of the limit or the packets of one round trip, if these
 *    are fewer. max is twice min. Only the operator knows the round-trip time;
 *    the default is 100 ms.
 *  - minq is "2 for small buffers, 4 for large ones". A buffer is large if it
 *    has room for 4 packets of each of a hundred flows.
 *  - The weight is computed from the link and the limit: see <aqm/red_fifo.h>.
 *    It is half of RED's because there are two samples per packet. The paper
 *    has 0.002.
 *  - <aqm/packet_flow.h> defines a flow. A filter's class can replace it.
 *  - A flow's state, including its strikes, ends with its last packet, as in
 *    the paper. A packet that a parent has peeked at is still in the queue.
 *  - GSO packets: frame/split_gso.c. This applies to a flow's length, too.
 *
 * Options, units and defaults: TC_FRED_OPTIONS.
 */

#include <aqm/fred/active_flows.h>
#include <aqm/packet_flow.h>
#include <aqm/plain_fifo.h>
#include <aqm/red_queue.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_fred.h>

#define FRED_FEW	2U	/* maxq in two-packet mode, packets */
#define FRED_MANY	100U	/* a large buffer holds 4 packets of so many flows */

/* The three conditions of a strike. */
#define FRED_DROP_MAXQ	AQM_DROP_OWN	/* qlen_i >= maxq */
#define FRED_DROP_TWICE	AQM_DROP_OWN_2	/* avg >= max and qlen_i > 2 avgcq */
#define FRED_DROP_AVGCQ	AQM_DROP_OWN_3	/* strike_i > 1 and qlen_i >= avgcq */

struct fred_params {
	struct aqm_given		given;
	struct gentle_red_params	red;
	struct congestion_policy	signal;

	TC_FRED_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(fred_options, struct fred_params, TC_FRED_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_fred_qdisc_stats, TC_FRED_QDISC_STATS);

/**
 * struct fred_vars - state of the datapath; under the qdisc lock
 * @red: the average, and RED's count
 * @flows: table of the flows with packets in the queue
 * @struck: number of flows with more than one strike
 * @flow_key: key of the flow hash
 * @number: flow hash of the arrival
 * @random: generator for the decisions about arrivals
 */
struct fred_vars {
	struct gentle_red_vars	red;
	struct active_flows	flows;
	u32			struck;
	hsiphash_key_t		flow_key;
	u32			number;
	struct seeded_random	random;
};

struct fred_sched_data {
	struct aqm_queue		queue;
	struct fred_params		params;
	struct fred_vars		vars;
};

/**
 * struct fred_cb - values stored with a queued packet
 * @queued: see struct queued_cb
 * @flow: slot of its flow
 */
struct fred_cb {
	struct queued_cb	queued;
	u32		flow;
};

static struct fred_cb *fred_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct fred_cb));
	return container_of(queued_cb(skb), struct fred_cb, queued);
}

/* Convert a number of packets to Q32.32, the format of the average. */
static u64 fred_length(u32 packets)
{
	return (u64)packets << 32;
}

static bool fred_is_crowded(const struct fred_params *p, u64 avg)
{
	return avg >= fred_length(p->red.max_th);
}

/* avgcq, Q32.32 */
static u64 fred_avgcq(const struct fred_vars *v, u64 avg)
{
	return max(div_u64(avg, max(v->flows.count, 1U)), fred_length(1));
}

static u32 fred_maxq(const struct fred_params *p, u64 avg)
{
	return p->two_packet && fred_is_crowded(p, avg) ? FRED_FEW :
							  p->red.min_th;
}

/* Check for a strike. Return: its condition, or AQM_DROP_NONE. */
static __always_inline enum aqm_drop
fred_strike(const struct fred_sched_data *q, const struct active_flow *flow,
	    u64 avgcq)
{
	u64 qlen = fred_length(flow->qlen), avg = q->vars.red.avg;

	if (flow->qlen >= fred_maxq(&q->params, avg))
		return FRED_DROP_MAXQ;
	if (fred_is_crowded(&q->params, avg) && qlen > 2 * avgcq)
		return FRED_DROP_TWICE;
	if (flow->strikes > 1 && qlen >= avgcq)
		return FRED_DROP_AVGCQ;
	return AQM_DROP_NONE;
}

/* Apply RED to an arrival without a strike. Flows below their share are spared. */
static __always_inline enum gentle_red_verdict
fred_choose(struct fred_sched_data *q, const struct active_flow *flow,
	    u64 avgcq)
{
	const struct fred_params *p = &q->params;
	struct fred_vars *v = &q->vars;
	u64 p_b = gentle_red_probability(&p->red, &v->red);
	bool drop = false;

	if (v->red.avg < fred_length(p->red.min_th)) {
		v->red.count = 0;
		return GENTLE_RED_PASS;
	}
	if (fred_is_crowded(p, v->red.avg)) {
		v->red.count = 0;
		return p->two_packet ? GENTLE_RED_PASS : GENTLE_RED_FORCED;
	}
	if (p_b && fred_length(flow->qlen) >= max(fred_length(p->minq), avgcq))
		drop = gentle_red_chance(p_b, v->red.count,
					 seeded_random_u32(&v->random));
	return gentle_red_decided(&p->red, &v->red, drop);
}

/* Sample the queue. Arrivals at an empty queue use red_queue_arrival() instead. */
static void fred_sample(struct fred_sched_data *q)
{
	struct gentle_red_vars *red = &q->vars.red;

	red->avg = gentle_red_fold(red->avg, q->params.red.weight,
				   q->queue.segments);
}

/* Queue an arrival. If its flow has no @slot yet, add one for the hash @number. */
static __always_inline int
fred_add(struct sk_buff *skb, struct Qdisc *sch, u32 packets, u32 slot,
	 u32 number)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct fred_vars *v = &q->vars;
	int ret;

	if (!slot)
		slot = active_flows_add(&v->flows, number);
	ret = plain_fifo_add(sch, skb, packets, 0);
	fred_cb(skb)->flow = slot;
	v->flows.flows[slot].qlen += packets;
	fred_sample(q);
	return ret;
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int
fred_arrival(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
	     u32 packets, u32 class)
{
	struct active_flow none = {}, *flow = &none;
	struct fred_sched_data *q = qdisc_priv(sch);
	const struct fred_params *p = &q->params;
	enum gentle_red_verdict verdict;
	enum congestion_signal signal;
	struct fred_vars *v = &q->vars;
	enum aqm_drop cause;
	bool forced;
	u64 avgcq;
	u32 slot;
	int ret;

	slot = active_flows_find(&v->flows, v->number);
	if (slot)
		flow = &v->flows.flows[slot];
	if (!q->queue.segments)
		red_queue_arrival(&p->red, &v->red, 0);
	avgcq = fred_avgcq(v, v->red.avg);

	/* Only a flow with packets gets a strike, so it has a slot. */
	cause = fred_strike(q, flow, avgcq);
	if (cause) {
		v->struck += flow->strikes == 1;
		flow->strikes += flow->strikes < U32_MAX;
		return aqm_drop(skb, sch, cause, to_free);
	}

	signal = CONGESTION_PASS;
	verdict = fred_choose(q, flow, avgcq);
	forced = verdict == GENTLE_RED_FORCED;
	if (verdict != GENTLE_RED_PASS) {
		qdisc_qstats_overlimit(sch);
		signal = congestion_signal(&p->signal, skb, forced);
	}
	ret = plain_fifo_try_drop(sch, skb, packets, signal, forced,
				  to_free);
	if (unlikely(ret))
		return ret;
	return fred_add(skb, sch, packets, slot, v->number);
}

static int fred_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct fred_vars *v = &q->vars;
	u32 minor;
	int ret;

	ret = filter_class(skb, sch, TC_H_MIN_MASK, &minor, to_free);
	if (ret)
		return ret;
	v->number = minor ? flow_hash_of_class(minor, &v->flow_key) :
			    flow_hash(skb, &v->flow_key);
	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, fred_arrival);
	return fred_arrival(skb, sch, to_free, 1, 0);
}

/* A packet has left the queue. Update its flow. */
static void fred_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	u32 slot = fred_cb(skb)->flow;
	struct fred_vars *v = &q->vars;
	struct active_flow *flow;

	flow = &v->flows.flows[slot];
	flow->qlen -= queued_cb(skb)->segments;
	if (!flow->qlen) {
		v->struck -= flow->strikes > 1;
		active_flows_remove(&v->flows, slot);
	}
	red_queue_removed(&v->red, q->queue.segments);
}

static struct sk_buff *fred_dequeue(struct Qdisc *sch)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = plain_fifo_remove(sch);
	if (!skb)
		return NULL;
	fred_sample(q);
	fred_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *fred_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		fred_departed(sch, skb);
	return skb;
}

static void fred_reset(struct Qdisc *sch)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct fred_vars *v = &q->vars;

	/* Also called after a failed init. */
	if (!v->flows.flows)
		return;
	plain_fifo_reset(sch);
	gentle_red_init(&v->red, &q->params.red, ktime_get_ns());
	active_flows_clear(&v->flows);
	v->struck = 0;
}

/*
 * min: a quarter of the limit or the packets of one round trip, whichever is less,
 * but at least two packets. At most half of a given max.
 */
static u32 fred_min_th(const struct fred_params *p)
{
	u64 pipe = div_u64(mul_u64_u32_div(p->bandwidth, p->rtt,
					   USEC_PER_SEC), p->avpkt);
	u64 min_th = max_t(u64, min_t(u64, p->limit / 4, pipe), FRED_FEW);

	return p->max ? max(min_t(u64, min_th, p->max / 2), 1ULL) : min_th;
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int fred_derive(struct Qdisc *sch, struct fred_params *p,
		       struct netlink_ext_ack *extack)
{
	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: min_t(u32, aqm_fifo_limit(sch, p->bandwidth,
							p->memory_limit),
			       FRED_MAX_LIMIT);
	p->min = p->min ?: fred_min_th(p);
	p->max = p->max ?: min_t(u64, 2ULL * p->min, GENTLE_RED_MAX_TH);
	p->minq = p->minq ?: p->limit < 4 * FRED_MANY ? 2 : 4;
	/* Two samples per packet. */
	p->weight = p->weight ?: red_queue_weight(2 * p->bandwidth, p->avpkt,
						  2 * p->limit);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->red = (struct gentle_red_params) {
		.min_th	= p->min,
		.max_th	= p->max,
		.max_p	= p->probability,
		.weight	= p->weight,
		.ptime	= red_queue_ptime(2 * p->bandwidth, p->avpkt),
	};
	if (p->red.ptime == U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack,
				   "avpkt takes more than 8 s at this bandwidth: raise bandwidth");
		return -EINVAL;
	}
	return red_queue_check(sch, &p->red, &p->signal, p->limit,
			       p->memory_limit, extack);
}

/* Allocate a table of @limit flows. Return: 0 or an error */
static int fred_alloc(struct active_flow **flows, u32 limit,
		      struct netlink_ext_ack *extack)
{
	*flows = kvmalloc(active_flows_size(limit), GFP_KERNEL_ACCOUNT);
	if (*flows)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the flows");
	return -ENOMEM;
}

/* Move the flows to a new table and their packets to the new slots. Return: the old one. */
static struct active_flow *fred_move(struct Qdisc *sch, struct active_flow *flows,
				     u32 limit)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct active_flow *old;
	struct sk_buff *skb;

	old = active_flows_move(&q->vars.flows, flows, limit);
	for (skb = sch->q.head; skb; skb = skb->next)
		fred_cb(skb)->flow = old[fred_cb(skb)->flow].next;
	return old;
}

static int fred_apply(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	struct fred_params *p = aqm_params_of(fred, given);
	struct fred_sched_data *q = qdisc_priv(sch);
	struct fred_vars *v = &q->vars;
	struct active_flow *flows = NULL;
	int err;

	err = fred_derive(sch, p, extack);
	if (!err && p->limit != v->flows.capacity)
		err = fred_alloc(&flows, p->limit, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	gentle_red_settle(&v->red, &q->params.red, &p->red, q->queue.segments,
			  ktime_get_ns());
	if (p->bandwidth != q->params.bandwidth)
		gentle_red_follow(&v->red, q->params.red.max_th,
				  p->red.max_th, q->queue.segments);
	gentle_red_change(&v->red, &q->params.red, &p->red);
	q->params = *p;
	if (aqm_changed(p, TCA_FRED_SEED))
		seeded_random_init(&v->random, p->seed);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, fred_evict);
	if (flows)
		flows = fred_move(sch, flows, p->limit);
	sch_tree_unlock(sch);
	kvfree(flows);
	return 0;
}

static const struct aqm_kind fred_kind = {
	.options	= &fred_options,
	.bandwidth	= TCA_FRED_BANDWIDTH,
	.apply		= fred_apply,
};

static int fred_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int fred_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	struct fred_params *p = &q->params;
	struct fred_vars *v = &q->vars;
	struct active_flow *flows;
	int err;

	err = aqm_init(sch, &fred_kind, &p->given, opt, extack);
	if (!err)
		err = fred_derive(sch, p, extack);
	if (!err)
		err = fred_alloc(&flows, p->limit, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	gentle_red_init(&v->red, &p->red, ktime_get_ns());
	active_flows_init(&v->flows, flows, p->limit);
	seeded_random_init(&v->random, p->seed);
	get_random_bytes(&v->flow_key, sizeof(v->flow_key));
	return aqm_start(sch, extack);
}

static void fred_destroy(struct Qdisc *sch)
{
	struct fred_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	kvfree(q->vars.flows.flows);
}

static int fred_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Report the options in force, and the state as of now. */
static int fred_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_fred_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct fred_sched_data *q = qdisc_priv(sch);
	const struct gentle_red_params *rp = &q->params.red;
	const struct fred_params *p = &q->params;
	const struct fred_vars *v = &q->vars;
	const u64 *drops = q->queue.drops;
	struct gentle_red_vars red;

	sch_tree_lock(sch);
	red = gentle_red_snapshot(rp, &v->red, q->queue.segments,
				  ktime_get_ns());
	aqm_common_stats(sch, &st.qdisc);
	RED_QUEUE_STATS(&st.qdisc, &q->queue, rp, &red);
	st.qdisc.maxq_drop = drops[FRED_DROP_MAXQ];
	st.qdisc.twice_drop = drops[FRED_DROP_TWICE];
	st.qdisc.avgcq_drop = drops[FRED_DROP_AVGCQ];
	st.qdisc.drop_filter = drops[AQM_DROP_FILTER];
	st.qdisc.avgcq = fred_avgcq(v, red.avg);
	st.qdisc.active = v->flows.count;
	st.qdisc.struck = v->struck;
	st.qdisc.maxq = fred_maxq(p, red.avg);
	if (p->two_packet && fred_is_crowded(p, red.avg))
		st.qdisc.probability = 0;
	st.qdisc.minq = p->minq;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops fred_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= filter_class_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
};

static struct Qdisc_ops fred_qdisc_ops __read_mostly = {
	.cl_ops		= &fred_class_ops,
	.id		= "fred",
	.priv_size	= sizeof(struct fred_sched_data),
	.enqueue	= fred_enqueue,
	.dequeue	= fred_dequeue,
	.peek		= qdisc_peek_head,
	.init		= fred_init,
	.reset		= fred_reset,
	.destroy	= fred_destroy,
	.change		= fred_change,
	.dump		= fred_dump,
	.dump_stats	= fred_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init fred_module_init(void)
{
	return aqm_register(&fred_qdisc_ops);
}

static void __exit fred_module_exit(void)
{
	aqm_unregister(&fred_qdisc_ops);
}

module_init(fred_module_init);
module_exit(fred_module_exit);
MODULE_ALIAS_NET_SCH("fred");
MODULE_DESCRIPTION("Flow Random Early Drop (FRED) queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
