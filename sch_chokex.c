// SPDX-License-Identifier: GPL-2.0
/*
 * CHOKe, M-CHOKe and A-CHOKe (chokex)
 *
 * RED drops the same fraction of every flow's packets, so a flow that does not
 * slow down keeps its share of the link, however large. CHOKe samples the queue
 * to find such flows. It compares an arrival with packets drawn at random from
 * the queue, and drops the arrival and every drawn packet of the same flow. A
 * flow with a fraction f of the queue loses about that fraction of its packets
 * twice. There is no state per flow.
 *
 * R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a Stateless Active Queue Management
 * Scheme for Approximating Fair Bandwidth Allocation", INFOCOM 2000. The three
 * variants and their settings are from G. F. Ali Ahammed, R. Banu, "Analyzing
 * the Performance of Active Queue Management Algorithms", sections 2.5, 3.3.4
 * and 4.4.
 *
 * The rule for each arrival, where avg is RED's average of the queue length:
 *
 *	avg < min:	queue it
 *	else:		draw m candidates from the queue
 *			drop each candidate of the arrival's flow
 *			if there was one: drop the arrival
 *			else avg < max: drop the arrival with RED's probability
 *			else: drop the arrival
 *
 *	CHOKe		m = 1			candidates 1
 *	M-CHOKe		m given			candidates M
 *	A-CHOKe		m = 2i in region i of k	adaptive K
 *
 * The regions divide [min, max) into k equal parts; at and above max, i = k.
 *
 * Our decisions where the papers are silent or contradict themselves:
 *  - The pseudo code of 2.5 queues with RED's probability, where the text drops
 *    with it. The text is right.
 *  - Draws are with replacement: each is uniform over the packets in the queue
 *    at that moment. A matching packet is removed before the next draw; other
 *    packets may be drawn again. This costs O(m). As m is much smaller than the
 *    queue, packets are hardly ever drawn twice.
 *  - All m candidates are drawn, even after a match.
 *  - A flow has the same protocol, full addresses of either family, ports, GRE
 *    key and VLAN number. If a filter names a class, the class defines the
 *    flow. We compare hashes of these fields: <aqm/packet_flow.h>.
 *  - GSO packets: frame/split_gso.c. A whole one is one candidate.
 *  - With ecn, packets that RED would drop are marked if they allow it, also
 *    above max unless harddrop. With nodrop, packets that cannot be marked are
 *    queued. See <aqm/congestion_signal.h>. A match is always dropped, because
 *    a flow that is found this way did not respond to marks.
 *  - With gentle, RED's probability rises from max_p to 1 between max and twice
 *    max. The paper's rule has no such slope.
 *  - A packet that a parent has peeked at, or that the driver handed back, has
 *    left the queue: it does not count in the average or the limit, and is not
 *    drawn.
 *  - The average of an empty queue decays by time: <aqm/red_fifo.h>.
 *
 * Options, units and defaults: TC_CHOKEX_OPTIONS.
 */

#include <linux/siphash.h>
#include <aqm/fifo_limit.h>
#include <aqm/packet_flow.h>
#include <aqm/red_fifo.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_chokex.h>

struct chokex_params {
	struct aqm_given		given;
	struct gentle_red_params	red;
	struct congestion_policy	signal;

	TC_CHOKEX_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(chokex_options, struct chokex_params, TC_CHOKEX_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_chokex_qdisc_stats, TC_CHOKEX_QDISC_STATS);

#define CHOKEX_DROP_MATCHED	AQM_DROP_OWN	/* the arrival, on a match */
#define CHOKEX_DROP_VICTIM	AQM_DROP_OWN_2	/* a candidate, on a match */

/**
 * struct chokex_vars - state of the datapath; under the qdisc lock
 * @fifo: the packets; the tag is the packet's flow hash, 0 until it is computed
 * @flow_key: key of the flow hash
 * @flow: flow hash of the arriving GSO packet, 0 until it is computed
 * @drawn: number of candidates drawn
 */
struct chokex_vars {
	struct red_fifo		fifo;
	hsiphash_key_t		flow_key;
	u32			flow;
	u64			drawn;
};

struct chokex_sched_data {
	struct aqm_queue		queue;
	struct chokex_params		params;
	struct chokex_vars		vars;
};

/* Convert a threshold in packets to the average's format, Q32.32. */
static u64 chokex_avg_at(u32 th)
{
	return (u64)th << 32;
}

/* Return m, the number of draws for an arrival; avg >= min. */
static u32 chokex_candidates(const struct chokex_params *p, u64 avg)
{
	u64 above = avg - chokex_avg_at(p->red.min_th);

	if (!p->adaptive)
		return p->candidates;
	if (avg >= chokex_avg_at(p->red.max_th))
		return 2 * p->adaptive;
	/* avg is at most 2^20 packets, so this stays below 2^57. */
	return 2 + 2 * (u32)(div_u64(above * p->adaptive,
				     p->red.max_th - p->red.min_th) >> 32);
}

/**
 * chokex_match() - draw candidates and drop each one of the arrival's flow
 * @sch: the qdisc
 * @flow: flow hash of the arrival
 * @to_free: list of packets to free
 *
 * Return: true if a candidate matched.
 */
static bool chokex_match(struct Qdisc *sch, u32 flow,
			 struct sk_buff **to_free)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	u32 m = chokex_candidates(&q->params, fifo->red.avg);
	struct sk_buff *skb;
	bool match = false;
	u32 *tag;

	for (; m && red_fifo_count(fifo); m--) {
		skb = red_fifo_drawn(fifo);
		tag = &red_fifo_cb(skb)->tag;
		q->vars.drawn++;
		if (!*tag)
			*tag = flow_hash(skb, &q->vars.flow_key);
		if (*tag != flow)
			continue;
		red_fifo_remove(sch, fifo, skb);
		aqm_queue_lost(sch, skb, CHOKEX_DROP_VICTIM);
		__qdisc_drop(skb, to_free);
		match = true;
	}
	return match;
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int chokex_arrival(struct sk_buff *skb,
					  struct Qdisc *sch,
					  struct sk_buff **to_free,
					  u32 segments, u32 *flow, bool report)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	const struct chokex_params *p = &q->params;
	enum congestion_signal signal;
	enum aqm_drop cause;
	bool forced;

	red_queue_arrival(&p->red, &fifo->red, q->queue.segments);

	if (fifo->red.avg >= chokex_avg_at(p->red.min_th)) {
		struct parents_before before =
			parents_before(sch);
		u32 len = qdisc_pkt_len(skb);

		if (!*flow)
			*flow = flow_hash(skb, &q->vars.flow_key);
		if (chokex_match(sch, *flow, to_free)) {
			aqm_drop(skb, sch, CHOKEX_DROP_MATCHED, to_free);
			if (!report)
				return NET_XMIT_CN;
			return parents_report(sch, &before, len, NET_XMIT_CN);
		}
	}

	signal = red_queue_signal(sch, skb, &p->red, &fifo->red,
				  &fifo->random, &p->signal, &forced);
	cause = signal == CONGESTION_DROP ? aqm_drop_signal(forced) :
		aqm_queue_full(&q->queue, skb, segments);
	if (unlikely(cause))
		return aqm_drop(skb, sch, cause, to_free);
	congestion_count(&q->queue.signal, signal, forced);
	red_fifo_add(sch, fifo, skb, segments, *flow);
	return NET_XMIT_SUCCESS;
}

/* As chokex_arrival(), for a GSO packet or a segment of it; its flow is vars.flow. */
static int chokex_segment(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free, u32 segments, u32 class)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	return chokex_arrival(skb, sch, to_free, segments, &q->vars.flow,
			      false);
}

static int chokex_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	u32 minor, flow = 0;
	int ret;

	ret = filter_class(skb, sch, TC_H_MIN_MASK, &minor, to_free);
	if (unlikely(ret))
		return ret;
	if (minor)
		flow = flow_hash_of_class(minor, &q->vars.flow_key);
	if (likely(!queued_is_gso(skb)))
		return chokex_arrival(skb, sch, to_free, 1, &flow, true);
	q->vars.flow = flow;
	return split_gso_enqueue(skb, sch, to_free, q->params.split_gso, 0,
				 chokex_segment);
}

static struct sk_buff *chokex_dequeue(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb = skb_peek(&fifo->packets);

	if (!skb)
		return NULL;
	red_fifo_remove(sch, fifo, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

static void chokex_reset(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	red_fifo_reset(sch, &q->vars.fifo, &q->params.red);
}

/* For aqm_queue_trim(): remove the newest packet, unless the rest fits. */
static struct sk_buff *chokex_evict(struct Qdisc *sch, bool again)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = red_fifo_excess(sch, &q->vars.fifo);

	if (skb)
		red_fifo_remove(sch, &q->vars.fifo, skb);
	return skb;
}

/*
 * min: a third of the limit, as in the papers, but at least 5 packets, or five
 * eighths of a limit below 8. TCP with a window of W loses 1.5 / W^2 of its
 * packets, 6 % at W = 5, and all flows in the queue share this loss rate. At most
 * half of a given max, which is 2 or more. At least 1, because with a min of 0 RED
 * would draw even at an empty queue.
 */
static u32 chokex_min_th(u32 limit, u32 max_th)
{
	u32 min_th = max3(limit / 3, min(5U, 5 * limit / 8), 1U);

	return max_th ? min(min_th, max_th / 2) : min_th;
}

/*
 * Return the default limit. The other threshold is derived from it, so a larger MTU
 * must not lower it below one that is given in packets.
 */
static u32 chokex_limit(const struct Qdisc *sch, const struct chokex_params *p)
{
	u32 mtu = p->min || p->max ? 0 : READ_ONCE(qdisc_dev(sch)->mtu);

	return min_t(u32, fifo_limit(p->bandwidth, mtu, p->memory_limit),
		     CHOKEX_MAX_LIMIT);
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int chokex_derive(struct Qdisc *sch, struct chokex_params *p,
			 struct netlink_ext_ack *extack)
{
	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: chokex_limit(sch, p);
	p->min = p->min ?: chokex_min_th(p->limit, p->max);
	p->max = p->max ?: max(DIV_ROUND_UP(p->min + p->limit, 2), 2U);
	p->weight = p->weight ?: red_queue_weight(p->bandwidth, p->avpkt,
						  p->limit);
	if (p->adaptive)
		p->candidates = 0;
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->red = (struct gentle_red_params) {
		.min_th	= p->min,
		.max_th	= p->max,
		.max_p	= p->probability,
		.weight	= p->weight,
		.ptime	= red_queue_ptime(p->bandwidth, p->avpkt),
		.gentle	= p->gentle,
	};
	return red_queue_check(sch, &p->red, &p->signal, p->limit,
			       p->memory_limit, extack);
}

/* candidates and adaptive replace each other. */
static int chokex_reconcile(struct aqm_given *given,
			    struct netlink_ext_ack *extack)
{
	struct chokex_params *p = aqm_params_of(chokex, given);
	bool candidates = aqm_changed(p, TCA_CHOKEX_CANDIDATES);
	bool adaptive = aqm_changed(p, TCA_CHOKEX_ADAPTIVE) && p->adaptive;

	if (candidates && adaptive) {
		NL_SET_ERR_MSG_MOD(extack,
				   "candidates and adaptive exclude each other: give one of them");
		return -EINVAL;
	}
	if (candidates) {
		p->given.ever &= ~BIT_ULL(TCA_CHOKEX_ADAPTIVE);
		p->adaptive = 0;
	}
	if (adaptive)
		p->given.ever &= ~BIT_ULL(TCA_CHOKEX_CANDIDATES);
	return 0;
}

/* Keep the packets that fit. */
static int chokex_apply(struct Qdisc *sch, struct aqm_given *given,
			struct netlink_ext_ack *extack)
{
	struct chokex_params *p = aqm_params_of(chokex, given);
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	void **slots = NULL;
	int err;

	err = chokex_derive(sch, p, extack);
	if (!err && p->limit != q->queue.limit)
		err = red_fifo_alloc(&slots, p->limit, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	gentle_red_settle(&fifo->red, &q->params.red, &p->red,
			  q->queue.segments, ktime_get_ns());
	if (p->bandwidth != q->params.bandwidth)
		gentle_red_follow(&fifo->red, q->params.red.max_th,
				  p->red.max_th, q->queue.segments);
	gentle_red_change(&fifo->red, &q->params.red, &p->red);
	q->params = *p;
	if (aqm_changed(p, TCA_CHOKEX_SEED))
		seeded_random_init(&fifo->random, p->seed);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, chokex_evict);
	slots = red_fifo_draw(fifo, slots, true);
	sch_tree_unlock(sch);
	kvfree(slots);
	return 0;
}

static const struct aqm_kind chokex_kind = {
	.options	= &chokex_options,
	.bandwidth	= TCA_CHOKEX_BANDWIDTH,
	.reconcile	= chokex_reconcile,
	.apply		= chokex_apply,
};

static int chokex_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int chokex_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct chokex_params *p = &q->params;
	void **slots;
	int err;

	err = aqm_init(sch, &chokex_kind, &p->given, opt, extack);
	if (!err)
		err = chokex_derive(sch, p, extack);
	if (!err)
		err = red_fifo_alloc(&slots, p->limit, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	red_fifo_init(&q->vars.fifo, slots, &p->red, p->seed);
	get_random_bytes(&q->vars.flow_key, sizeof(q->vars.flow_key));
	return aqm_start(sch, extack);
}

static void chokex_destroy(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	red_fifo_destroy(&q->vars.fifo);
}

static int chokex_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

static int chokex_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_chokex_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct chokex_sched_data *q = qdisc_priv(sch);
	const struct gentle_red_params *p = &q->params.red;
	const struct red_fifo *fifo = &q->vars.fifo;
	const u64 *drops = q->queue.drops;
	struct gentle_red_vars red;

	sch_tree_lock(sch);
	red = gentle_red_snapshot(p, &fifo->red, q->queue.segments,
				  ktime_get_ns());
	aqm_common_stats(sch, &st.qdisc);
	st.qdisc.drawn = q->vars.drawn;
	st.qdisc.matched = drops[CHOKEX_DROP_MATCHED];
	st.qdisc.victims = drops[CHOKEX_DROP_VICTIM];
	RED_QUEUE_STATS(&st.qdisc, &q->queue, p, &red);
	if (red.avg >= chokex_avg_at(p->min_th))
		st.qdisc.candidates = chokex_candidates(&q->params, red.avg);
	st.qdisc.drop_filter = drops[AQM_DROP_FILTER];
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops chokex_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= filter_class_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
};

static struct Qdisc_ops chokex_qdisc_ops __read_mostly = {
	.cl_ops		= &chokex_class_ops,
	.id		= "chokex",
	.priv_size	= sizeof(struct chokex_sched_data),
	.enqueue	= chokex_enqueue,
	.dequeue	= chokex_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= chokex_init,
	.reset		= chokex_reset,
	.destroy	= chokex_destroy,
	.change		= chokex_change,
	.dump		= chokex_dump,
	.dump_stats	= chokex_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init chokex_module_init(void)
{
	return aqm_register(&chokex_qdisc_ops);
}

static void __exit chokex_module_exit(void)
{
	aqm_unregister(&chokex_qdisc_ops);
}

module_init(chokex_module_init);
module_exit(chokex_module_exit);
MODULE_ALIAS_NET_SCH("chokex");
MODULE_DESCRIPTION("CHOKe, M-CHOKe and A-CHOKe queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
