// SPDX-License-Identifier: GPL-2.0
/*
 * Flow-Proportional Queuing with RED (FPQ-RED)
 *
 * TCP times out if its window is so small that too few packets follow a lost
 * one to reveal the loss. With a buffer of fixed length, many flows have
 * windows of two or three packets, spend seconds in timeouts, and share the
 * link by luck. FPQ lets the queue grow with the number of flows, so that each
 * flow has six packets in it, and sets the loss rate that leads to such
 * windows. Many flows then cost delay, which is the same for all.
 *
 * R. Morris, "Scalable TCP Congestion Control", Ph.D. thesis, Harvard, 1999
 * (and INFOCOM 2000, "Scalable TCP congestion control"), as described by K.
 * Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, sections 3.3.3 and 6.1.
 *
 * The rule, where P is the number of packets of one round trip:
 *
 *	N = number of flows = bits set in a vector. Each packet sets the bit that
 *		its flow hashes to. The vector is cleared bit by bit, and entirely
 *		within t_clear.
 *	target = max(P / (2 N - 1), 6 N)			(3.4)
 *	loss = min((0.87 / ((target + P) / N + 1))^2, 0.021)	(3.5)
 *
 *	RED with Bmin = 5, Bmax = 2 target, Pmax = loss, w = 1 - exp(-1 / C)
 *
 * <aqm/fpq/flow_count.h> counts the flows and states the error, and
 * <aqm/fpq/flow_proportional.h> has the two equations. RED is in
 * <aqm/gentle_red.h>. With ecn, packets are marked instead of dropped. With
 * harddrop, they are dropped where RED's probability is 1.
 *
 * Our decisions where the texts are silent or contradict each other:
 *  - Section 6.1 swaps the values of Bmax and Pmax: a loss rate stands where a
 *    number of packets belongs. Section 3.3.3 has them right.
 *  - N is at least 1. It counts all flows, TCP or not.
 *  - Bits are cleared in order. Hash collisions are not corrected for: of 1000
 *    flows 906 are counted on average.
 *  - Bmax and Pmax are recomputed at the first arrival at least 7.5 ms after
 *    the last time. That is the middle of the 4 to 11 ms of tables 6.6 and 6.9.
 *  - RED is gentle and spaces its drops ("wait"), as in table 6.2. It also has
 *    the fault that 3.3.3 warns of: its probability is Pmax at Bmax, and half
 *    of Pmax at the target. So the queue settles above the target.
 *  - The limit defaults to 80 ms of the link, as for our other qdiscs, because
 *    no default should delay packets longer. If 2 Bmax = 4 target is above the
 *    limit, the rest is drop tail. To get FPQ's delay with many flows, set the
 *    limit: the texts have 10 to 15 P.
 *  - <aqm/packet_flow.h> defines a flow.
 *  - The average of an empty queue decays by time: <aqm/red_fifo.h>.
 *  - GSO packets: frame/split_gso.c.
 *
 * Options, units and defaults: TC_FPQ_OPTIONS.
 */

#include <linux/siphash.h>
#include <aqm/fpq/flow_count.h>
#include <aqm/fpq/flow_proportional.h>
#include <aqm/packet_flow.h>
#include <aqm/plain_fifo.h>
#include <aqm/red_queue.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_fpq.h>

#define FPQ_INTERVAL	7500000ULL	/* ns between two updates of Bmax and Pmax */

struct fpq_params {
	struct aqm_given		given;
	struct gentle_red_params	red;
	struct congestion_policy	signal;
	u32				pipe;	/* P, packets */

	TC_FPQ_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(fpq_options, struct fpq_params, TC_FPQ_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_fpq_qdisc_stats, TC_FPQ_QDISC_STATS);

/**
 * struct fpq_vars - state of the datapath; under the qdisc lock
 * @red: the average
 * @rule: RED's parameters for the present N
 * @flows: N
 * @flow_key: key of the flow hash
 * @target: target length of the queue, packets
 * @adjust_at: time of the next update of @rule, ns
 * @random: generator for the decisions about arrivals
 */
struct fpq_vars {
	struct gentle_red_vars	red;
	struct gentle_red_params rule;
	struct flow_count	flows;
	hsiphash_key_t		flow_key;
	u32			target;
	u64			adjust_at;
	struct seeded_random	random;
};

struct fpq_sched_data {
	struct aqm_queue		queue;
	struct fpq_params		params;
	struct fpq_vars			vars;
};

/* Set Bmax and Pmax for the number of flows at @now. */
static void fpq_adjust(struct fpq_sched_data *q, u64 now)
{
	const struct fpq_params *p = &q->params;
	struct fpq_vars *v = &q->vars;
	u32 flows = max(v->flows.count, 1U);

	v->adjust_at = now + FPQ_INTERVAL;
	v->target = flow_proportional_target(p->pipe, flows);
	v->rule = p->red;
	v->rule.max_th = 2 * v->target;
	v->rule.max_p = flow_proportional_loss(p->pipe, flows);
	gentle_red_set(&v->rule, &v->red, v->rule.max_p);
}

/* Queue, mark or drop an arrival, or one segment of it. */
static int fpq_arrival(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free, u32 packets,
		       u32 class)
{
	struct fpq_sched_data *q = qdisc_priv(sch);
	const struct fpq_params *p = &q->params;
	enum congestion_signal signal;
	struct fpq_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	bool forced;
	int lost;

	flow_count_advance(&v->flows, (u64)p->clear * NSEC_PER_USEC, now);
	flow_count_see(&v->flows, flow_hash(skb, &v->flow_key));
	if (unlikely(now >= v->adjust_at))
		fpq_adjust(q, now);

	gentle_red_average(&v->rule, &v->red, q->queue.segments, now);
	signal = red_queue_signal(sch, skb, &v->rule, &v->red, &v->random,
				  &p->signal, &forced);
	lost = plain_fifo_try_drop(sch, skb, packets, signal, forced,
				   to_free);
	if (unlikely(lost))
		return lost;
	return plain_fifo_add(sch, skb, packets, now);
}

/* A packet has left the queue. If none is left, idle time begins. */
static void fpq_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct fpq_sched_data *q = qdisc_priv(sch);

	red_queue_removed(&q->vars.red, q->queue.segments);
}

static int fpq_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct fpq_sched_data *q = qdisc_priv(sch);

	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, fpq_arrival);
	return fpq_arrival(skb, sch, to_free, 1, 0);
}

static struct sk_buff *fpq_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = plain_fifo_remove(sch);

	if (!skb)
		return NULL;
	fpq_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *fpq_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		fpq_departed(sch, skb);
	return skb;
}

static void fpq_reset(struct Qdisc *sch)
{
	struct fpq_sched_data *q = qdisc_priv(sch);
	struct fpq_vars *v = &q->vars;
	u64 now = ktime_get_ns();

	/* Also called after an init that failed. */
	if (!v->flows.words)
		return;
	plain_fifo_reset(sch);
	gentle_red_init(&v->red, &q->params.red, now);
	flow_count_clear(&v->flows, now);
	fpq_adjust(q, now);
}

/* P: packets of one round trip. */
static u32 fpq_pipe(const struct fpq_params *p)
{
	u64 pipe = div_u64(mul_u64_u32_div(p->bandwidth, p->rtt,
					   USEC_PER_SEC), p->avpkt);

	return clamp_t(u64, pipe, 1, FLOW_PROPORTIONAL_PIPE);
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int fpq_derive(struct Qdisc *sch, struct fpq_params *p,
		      struct netlink_ext_ack *extack)
{
	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: aqm_fifo_limit(sch, p->bandwidth, p->memory_limit);
	/* 1 s of packets, whatever the limit. */
	p->weight = p->weight ?: red_queue_weight(p->bandwidth, p->avpkt,
						  U32_MAX);
	p->pipe = fpq_pipe(p);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	/* fpq_adjust() sets max_th and max_p. */
	p->red = (struct gentle_red_params) {
		.min_th	= p->min,
		.weight	= p->weight,
		.ptime	= red_queue_ptime(p->bandwidth, p->avpkt),
		.gentle	= p->gentle,
		.wait	= p->wait,
	};
	return red_queue_check(sch, &p->red, &p->signal, p->limit,
			       p->memory_limit, extack);
}

/* Allocate a vector of @bits. Return: 0 or an error */
static int fpq_alloc(u64 **words, u32 bits, struct netlink_ext_ack *extack)
{
	*words = kvmalloc_array(flow_count_words(bits), sizeof(u64),
				GFP_KERNEL_ACCOUNT);
	if (*words)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the vector: lower vector");
	return -ENOMEM;
}

/* A new vector is empty, so that counting starts again. */
static int fpq_apply(struct Qdisc *sch, struct aqm_given *given,
		     struct netlink_ext_ack *extack)
{
	struct fpq_params *p = aqm_params_of(fpq, given);
	struct fpq_sched_data *q = qdisc_priv(sch);
	struct fpq_vars *v = &q->vars;
	u64 *words = NULL, *old;
	u64 now;
	int err;

	err = fpq_derive(sch, p, extack);
	if (!err && p->vector != v->flows.bits)
		err = fpq_alloc(&words, p->vector, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	/* The old parameters apply to the bits that are already due. */
	flow_count_advance(&v->flows, (u64)q->params.clear * NSEC_PER_USEC,
			   now);
	/* The remainder was measured in the old time per bit. */
	if (p->clear != q->params.clear)
		v->flows.cleared_at = now;
	gentle_red_settle(&v->red, &v->rule, &p->red, q->queue.segments, now);
	if (p->bandwidth != q->params.bandwidth)
		gentle_red_follow(&v->red, q->params.pipe, p->pipe,
				  q->queue.segments);
	q->params = *p;
	if (aqm_changed(p, TCA_FPQ_SEED))
		seeded_random_init(&v->random, p->seed);
	if (words) {
		old = v->flows.words;
		flow_count_init(&v->flows, words, p->vector, now);
		words = old;
	}
	fpq_adjust(q, now);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, fpq_evict);
	sch_tree_unlock(sch);
	kvfree(words);
	return 0;
}

static const struct aqm_kind fpq_kind = {
	.options	= &fpq_options,
	.bandwidth	= TCA_FPQ_BANDWIDTH,
	.apply		= fpq_apply,
};

static int fpq_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int fpq_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct fpq_sched_data *q = qdisc_priv(sch);
	struct fpq_params *p = &q->params;
	struct fpq_vars *v = &q->vars;
	u64 *words, now;
	int err;

	err = aqm_init(sch, &fpq_kind, &p->given, opt, extack);
	if (!err)
		err = fpq_derive(sch, p, extack);
	if (!err)
		err = fpq_alloc(&words, p->vector, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	now = ktime_get_ns();
	gentle_red_init(&v->red, &p->red, now);
	flow_count_init(&v->flows, words, p->vector, now);
	get_random_bytes(&v->flow_key, sizeof(v->flow_key));
	seeded_random_init(&v->random, p->seed);
	fpq_adjust(q, now);
	return aqm_start(sch, extack);
}

static void fpq_destroy(struct Qdisc *sch)
{
	struct fpq_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	kvfree(q->vars.flows.words);
}

static int fpq_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Report the options in force, and the state as of now. */
static int fpq_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_fpq_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct fpq_sched_data *q = qdisc_priv(sch);
	const struct fpq_vars *v = &q->vars;
	struct gentle_red_vars red;
	u64 now;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	red = gentle_red_snapshot(&v->rule, &v->red, q->queue.segments, now);
	aqm_common_stats(sch, &st.qdisc);
	RED_QUEUE_STATS(&st.qdisc, &q->queue, &v->rule, &red);
	st.qdisc.flows = flow_count_snapshot(&v->flows,
					     (u64)q->params.clear * NSEC_PER_USEC,
					     now);
	st.qdisc.target = v->target;
	st.qdisc.pipe = q->params.pipe;
	st.qdisc.vector = v->flows.bits;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops fpq_qdisc_ops __read_mostly = {
	.id		= "fpq",
	.priv_size	= sizeof(struct fpq_sched_data),
	.enqueue	= fpq_enqueue,
	.dequeue	= fpq_dequeue,
	.peek		= qdisc_peek_head,
	.init		= fpq_init,
	.reset		= fpq_reset,
	.destroy	= fpq_destroy,
	.change		= fpq_change,
	.dump		= fpq_dump,
	.dump_stats	= fpq_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init fpq_module_init(void)
{
	return aqm_register(&fpq_qdisc_ops);
}

static void __exit fpq_module_exit(void)
{
	aqm_unregister(&fpq_qdisc_ops);
}

module_init(fpq_module_init);
module_exit(fpq_module_exit);
MODULE_ALIAS_NET_SCH("fpq");
MODULE_DESCRIPTION("Flow-Proportional Queuing with RED (FPQ-RED) queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
