// SPDX-License-Identifier: GPL-2.0
/*
 * Throughput Deficit Round Robin (TDRR)
 *
 * With a small buffer and many flows no queue is longer than a packet or two,
 * and length no longer tells who uses more of the link than others. TDRR
 * remembers what each queue has sent over a time much longer than the buffer
 * takes to drain, and makes room at the cost of the one that has sent most.
 *
 * A. Kantawala, J. Turner, "Efficient Queue Management for TCP Flows",
 * WUCS-01-22, Washington University, August 2001, section 2, "Throughput DRR".
 *
 * The rule, when a packet arrives and there is no room for it:
 *
 *	discard from the front of the active queue with the highest throughput,
 *	an exponentially weighted average, until the packet fits
 *
 * and deficit round robin over the queues.
 *
 * What the paper leaves open, and what is done here:
 *  - Throughput counts bytes that depart, at the moment they do; what is
 *    discarded never counts. A packet departs when it is dequeued, or when the
 *    parent peeks at it, which commits the choice.
 *  - The average is exact in continuous time: a byte that left t ago has the
 *    weight exp(-t / T) / T, and an idle queue's throughput decays all the
 *    while, with or without packets. <aqm/throughput_index.h> says how, and
 *    how exactly: the queue named is within 1/8 octave of the highest.
 *  - T, for which the paper has no value: 100 ms; docs/tdrr-time-constant.md.
 *  - Active is a queue that holds a packet. The arrival is not counted: it may
 *    be the first packet of its queue, and is itself never discarded, except
 *    when even an empty buffer could not hold it.
 *  - A queue that is discarded from keeps its throughput: it is hit again until
 *    it is empty, or another one has sent more.
 *  - Equally high: as close as <aqm/throughput_index.h> tells apart; the queue
 *    that came to that throughput first.
 *  - Round robin charges a packet after it was sent: <aqm/flow_queues.h>.
 *
 * Nothing is marked instead of discarded: a discard happens because there is
 * no room, and a mark makes none.
 *
 * Parameters:
 *	limit		packets held			1 to 2^32 - 1
 *	memory_limit	bytes of truesize held		1 to 2^32 - 1
 *	flows		number of queues		1 to 2^20; fixed once set up
 *	quantum		bytes per turn			256 to 2^20
 *	time_constant	T, microseconds			1 ms to 100 s
 */

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/flow_queues.h>
#include <aqm/throughput_index.h>
#include <uapi/linux/pkt_sched_tdrr.h>

#define TDRR_DEFAULT_LIMIT		1000
#define TDRR_DEFAULT_MEMORY_LIMIT	(32 << 20)
#define TDRR_DEFAULT_FLOWS		1024
#define TDRR_DEFAULT_TIME_CONSTANT	100000		/* us */

static_assert(TDRR_MIN_TIME_CONSTANT == THROUGHPUT_MIN_TIME_CONSTANT);
static_assert(TDRR_MAX_TIME_CONSTANT == THROUGHPUT_MAX_TIME_CONSTANT);

/**
 * struct tdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @sent: its throughput; in the index while the queue holds a packet
 */
struct tdrr_flow {
	struct flow_queue	fq;
	struct throughput_score	sent;
};

static_assert(sizeof(struct tdrr_flow) <= 80);

/**
 * struct tdrr_params - configuration; written by change under the tree lock
 * @limit: packets held at most
 * @memory_limit: truesize held at most, bytes
 * @flows: number of queues
 * @quantum: bytes a queue may send per turn
 * @time_constant: of the throughput, us
 */
struct tdrr_params {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	quantum;
	u32	time_constant;
};

/**
 * struct tdrr_vars - state of the datapath; under the qdisc lock
 * @ring: the active queues
 * @victim: the queue that lost the last discard; NULL before the first
 * @salt: of the flow hash
 */
struct tdrr_vars {
	struct flow_ring	ring;
	struct tdrr_flow	*victim;
	u32			salt;
};

/**
 * struct tdrr_queues - all queues
 * @by_throughput: the active ones
 * @flows: by number, less one
 */
struct tdrr_queues {
	struct throughput_index	by_throughput;
	struct tdrr_flow	flows[];
};

/**
 * struct tdrr_stats - counters; see struct tc_tdrr_qdisc_stats
 * @dropped_bytes: bytes of the packets discarded
 * @drop_limit: packets discarded for want of packet slots
 * @drop_memory: packets discarded for want of memory
 * @drop_oversize: arrivals larger than memory_limit
 * @drop_change: packets discarded because a change lowered a limit
 * @overflows: arrivals that found no room
 * @victims: discards that hit another queue than the one before
 */
struct tdrr_stats {
	u64	dropped_bytes;
	u32	drop_limit;
	u32	drop_memory;
	u32	drop_oversize;
	u32	drop_change;
	u32	overflows;
	u32	victims;
};

struct tdrr_sched_data {
	struct tdrr_params	params;
	struct tdrr_vars	vars;
	struct tdrr_stats	stats;
	struct tdrr_queues	*queues;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
};

static void tdrr_trim(struct Qdisc *sch);

static struct netlink_range_validation tdrr_flows_range = {
	.min = 1, .max = TDRR_MAX_FLOWS,
};

static struct netlink_range_validation tdrr_quantum_range = {
	.min = TDRR_MIN_QUANTUM, .max = TDRR_MAX_QUANTUM,
};

static struct netlink_range_validation tdrr_time_constant_range = {
	.min = TDRR_MIN_TIME_CONSTANT, .max = TDRR_MAX_TIME_CONSTANT,
};

static const struct nla_policy tdrr_policy[TCA_TDRR_MAX + 1] = {
	[TCA_TDRR_LIMIT]	 = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_TDRR_MEMORY_LIMIT] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_TDRR_FLOWS]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &tdrr_flows_range),
	[TCA_TDRR_QUANTUM]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &tdrr_quantum_range),
	[TCA_TDRR_TIME_CONSTANT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &tdrr_time_constant_range),
};

/* Read the options given over @p, which holds what is in force. */
static int tdrr_parse(struct tdrr_params *p, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_TDRR_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_TDRR_MAX, opt, tdrr_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_TDRR_LIMIT])
		p->limit = nla_get_u32(tb[TCA_TDRR_LIMIT]);
	if (tb[TCA_TDRR_MEMORY_LIMIT])
		p->memory_limit = nla_get_u32(tb[TCA_TDRR_MEMORY_LIMIT]);
	if (tb[TCA_TDRR_FLOWS])
		p->flows = nla_get_u32(tb[TCA_TDRR_FLOWS]);
	if (tb[TCA_TDRR_QUANTUM])
		p->quantum = nla_get_u32(tb[TCA_TDRR_QUANTUM]);
	if (tb[TCA_TDRR_TIME_CONSTANT])
		p->time_constant = nla_get_u32(tb[TCA_TDRR_TIME_CONSTANT]);
	return 0;
}

/* Another time constant: each queue's throughput stays, and decays anew. */
static void tdrr_rebase(struct tdrr_sched_data *q, u32 time_constant)
{
	struct throughput_index *ti = &q->queues->by_throughput;
	struct throughput_clock before = ti->clock;
	struct tdrr_flow *flow;
	u32 i;

	throughput_index_init(ti, time_constant, ktime_get_ns());
	for (i = 0; i < q->params.flows; i++) {
		flow = &q->queues->flows[i];
		INIT_LIST_HEAD(&flow->sent.node);
		throughput_score_rebase(&flow->sent, &before, &ti->clock);
		if (flow->fq.qlen)
			throughput_index_add(ti, &flow->sent);
	}
	WRITE_ONCE(q->params.time_constant, time_constant);
}

static int tdrr_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_params p = q->params;
	int err;

	err = tdrr_parse(&p, opt, extack);
	if (err < 0)
		return err;
	if (p.flows != q->params.flows) {
		NL_SET_ERR_MSG_MOD(extack, "flows cannot be changed on a live qdisc");
		return -EOPNOTSUPP;
	}

	sch_tree_lock(sch);
	WRITE_ONCE(sch->limit, p.limit);
	WRITE_ONCE(q->params.limit, p.limit);
	WRITE_ONCE(q->params.memory_limit, p.memory_limit);
	WRITE_ONCE(q->params.quantum, p.quantum);
	if (p.time_constant != q->params.time_constant)
		tdrr_rebase(q, p.time_constant);
	tdrr_trim(sch);
	sch_tree_unlock(sch);
	return 0;
}

/* No queue has sent anything, and none is in the index. */
static void tdrr_forget(struct tdrr_sched_data *q)
{
	u32 i;

	throughput_index_init(&q->queues->by_throughput,
			      q->params.time_constant, ktime_get_ns());
	for (i = 0; i < q->params.flows; i++)
		throughput_score_init(&q->queues->flows[i].sent);
}

static int tdrr_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_params p = {
		.limit		= TDRR_DEFAULT_LIMIT,
		.memory_limit	= TDRR_DEFAULT_MEMORY_LIMIT,
		.flows		= TDRR_DEFAULT_FLOWS,
		.quantum	= clamp_t(u32, psched_mtu(qdisc_dev(sch)),
					  TDRR_MIN_QUANTUM, TDRR_MAX_QUANTUM),
		.time_constant	= TDRR_DEFAULT_TIME_CONSTANT,
	};
	int err;
	u32 i;

	flow_ring_init(&q->vars.ring);
	q->vars.salt = get_random_u32();

	if (opt) {
		err = tdrr_parse(&p, opt, extack);
		if (err < 0)
			return err;
	}
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	q->queues = kvzalloc(struct_size(q->queues, flows, p.flows),
			     GFP_KERNEL);
	if (!q->queues) {
		NL_SET_ERR_MSG_MOD(extack, "no memory for the flow queues");
		return -ENOMEM;
	}
	for (i = 0; i < p.flows; i++)
		flow_queue_init(&q->queues->flows[i].fq);

	q->params = p;
	sch->limit = p.limit;
	tdrr_forget(q);
	/* No TCQ_F_CAN_BYPASS: every departure must be seen. */
	return 0;
}

static void tdrr_destroy(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	kvfree(q->queues);
}

/* Packets peeked at have left their queues but still count in sch->q.qlen. */
static bool tdrr_has_slot(struct Qdisc *sch, u32 arriving)
{
	const struct tdrr_sched_data *q = qdisc_priv(sch);

	return sch->q.qlen + arriving <= q->params.limit;
}

static bool tdrr_has_memory(const struct tdrr_sched_data *q, u32 arriving)
{
	return (u64)q->vars.ring.memory_used + arriving <=
	       q->params.memory_limit;
}

/* The queue to discard from, or NULL if all are empty. */
static struct tdrr_flow *tdrr_top(const struct tdrr_sched_data *q)
{
	struct throughput_score *top;

	top = throughput_index_top(&q->queues->by_throughput);
	return top ? container_of(top, struct tdrr_flow, sent) : NULL;
}

/* Take the first packet of a queue, and all that goes with its leaving. */
static struct sk_buff *tdrr_take(struct Qdisc *sch, struct tdrr_flow *flow)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = flow_queue_take(&q->vars.ring, &flow->fq);
	if (!flow->fq.qlen)
		throughput_index_del(&q->queues->by_throughput, &flow->sent);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* As tdrr_take(), for a packet that is lost; @cause is the counter. */
static struct sk_buff *tdrr_discard(struct Qdisc *sch, struct tdrr_flow *flow,
				    u32 *cause)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = tdrr_take(sch, flow);

	if (flow != q->vars.victim)
		q->stats.victims++;
	q->vars.victim = flow;
	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	flow->fq.dropped++;
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
	return skb;
}

/**
 * tdrr_make_room() - discard from the top queue until an arrival fits
 * @sch: the discipline
 * @truesize: of the arrival, bytes; at most memory_limit
 * @arriving: the arrival's queue
 * @to_free: list that takes the discarded packets
 * @hit: set to true if the arrival's queue lost a packet
 *
 * Return: false if the queues are empty and there is still no room, which
 * happens when a packet that a parent has peeked at fills the limit.
 */
static bool tdrr_make_room(struct Qdisc *sch, u32 truesize,
			   const struct tdrr_flow *arriving,
			   struct sk_buff **to_free, bool *hit)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow;
	bool slot;

	while (!(slot = tdrr_has_slot(sch, 1)) ||
	       !tdrr_has_memory(q, truesize)) {
		flow = tdrr_top(q);
		if (!flow)
			return false;
		*hit |= flow == arriving;
		__qdisc_drop(tdrr_discard(sch, flow,
					  slot ? &q->stats.drop_memory :
						 &q->stats.drop_limit),
			     to_free);
	}
	return true;
}

static int tdrr_drop_arrival(struct sk_buff *skb, struct Qdisc *sch,
			     u32 *cause, struct sk_buff **to_free)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
	return qdisc_drop(skb, sch, to_free);
}

static int tdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 len = qdisc_pkt_len(skb);
	struct tdrr_flow *flow;
	u32 qlen = sch->q.qlen;
	bool hit = false;
	int verdict;
	u32 nr;

	nr = flow_queues_classify(skb, sch, rcu_dereference_bh(q->filter_list),
				  q->vars.salt, q->params.flows, &verdict);
	if (!nr) {
		if (verdict & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return verdict;
	}
	flow = &q->queues->flows[nr - 1];

	if (unlikely(!tdrr_has_slot(sch, 1) ||
		     !tdrr_has_memory(q, skb->truesize))) {
		q->stats.overflows++;
		if (skb->truesize > q->params.memory_limit)
			return tdrr_drop_arrival(skb, sch,
						  &q->stats.drop_oversize,
						  to_free);
		if (!tdrr_make_room(sch, skb->truesize, flow, to_free, &hit))
			return tdrr_drop_arrival(skb, sch,
						  &q->stats.drop_limit,
						  to_free);
	}

	flow_queue_add(&q->vars.ring, &flow->fq, skb, q->params.quantum);
	if (flow->fq.qlen == 1)
		throughput_index_add(&q->queues->by_throughput, &flow->sent);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);

	return flow_queues_settle(sch, qlen, backlog, len, hit);
}

static struct sk_buff *tdrr_dequeue(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_ring *ring = &q->vars.ring;
	struct tdrr_flow *flow;
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_ring_next(ring, q->params.quantum);
	if (!fq)
		return NULL;
	flow = container_of(fq, struct tdrr_flow, fq);
	skb = tdrr_take(sch, flow);
	throughput_index_count(&q->queues->by_throughput, &flow->sent,
			       qdisc_pkt_len(skb), ktime_get_ns());
	flow_ring_charge(ring, fq, qdisc_pkt_len(skb), q->params.quantum);
	qdisc_bstats_update(sch, skb);
	return skb;
}

/* A change made the buffer smaller: discard as for an arrival of no size. */
static void tdrr_trim(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct tdrr_flow *flow;
	struct sk_buff *skb;

	while (!tdrr_has_slot(sch, 0) || !tdrr_has_memory(q, 0)) {
		flow = tdrr_top(q);
		if (!flow)
			break;
		skb = tdrr_discard(sch, flow, &q->stats.drop_change);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static void tdrr_reset(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	flow_ring_purge(&q->vars.ring);
	tdrr_forget(q);
	q->vars.victim = NULL;
}

static int tdrr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_params *p = &q->params;
	struct nlattr *opts;

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_TDRR_LIMIT, READ_ONCE(p->limit)) ||
	    nla_put_u32(skb, TCA_TDRR_MEMORY_LIMIT,
			READ_ONCE(p->memory_limit)) ||
	    nla_put_u32(skb, TCA_TDRR_FLOWS, p->flows) ||
	    nla_put_u32(skb, TCA_TDRR_QUANTUM, READ_ONCE(p->quantum)) ||
	    nla_put_u32(skb, TCA_TDRR_TIME_CONSTANT,
			READ_ONCE(p->time_constant))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* Throughput of a queue, bits per second. */
static u64 tdrr_throughput(const struct tdrr_sched_data *q,
			   const struct tdrr_flow *flow)
{
	return throughput_score_rate(&flow->sent,
				     &q->queues->by_throughput.clock,
				     ktime_get_ns());
}

static int tdrr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tc_tdrr_xstats st = { .type = TCA_TDRR_XSTATS_QDISC };
	const struct tdrr_flow *top;

	sch_tree_lock(sch);
	top = tdrr_top(q);
	if (top) {
		st.qdisc.top = top - q->queues->flows + 1;
		st.qdisc.top_throughput = tdrr_throughput(q, top);
	}
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.drop_limit = q->stats.drop_limit;
	st.qdisc.drop_memory = q->stats.drop_memory;
	st.qdisc.drop_oversize = q->stats.drop_oversize;
	st.qdisc.drop_change = q->stats.drop_change;
	st.qdisc.overflows = q->stats.overflows;
	st.qdisc.victims = q->stats.victims;
	st.qdisc.active = q->vars.ring.active;
	st.qdisc.memory_used = q->vars.ring.memory_used;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct tcf_block *tdrr_tcf_block(struct Qdisc *sch, unsigned long cl,
					struct netlink_ext_ack *extack)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

static int tdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				 struct gnet_dump *d)
{
	struct tc_tdrr_xstats st = { .type = TCA_TDRR_XSTATS_CLASS };
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow = &q->queues->flows[cl - 1];
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	qs.qlen = flow->fq.qlen;
	qs.backlog = flow->fq.backlog;
	qs.drops = flow->fq.dropped;
	st.cls.queue = cl;
	st.cls.deficit = flow->fq.deficit;
	st.cls.is_top = flow == tdrr_top(q);
	st.cls.throughput = tdrr_throughput(q, flow);
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void tdrr_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	u32 i;

	if (arg->stop)
		return;
	for (i = 0; i < q->params.flows; i++) {
		if (!READ_ONCE(q->queues->flows[i].fq.qlen)) {
			arg->count++;
			continue;
		}
		if (!tc_qdisc_stats_dump(sch, i + 1, arg))
			break;
	}
}

static const struct Qdisc_class_ops tdrr_class_ops = {
	.leaf		= flow_queues_leaf,
	.find		= flow_queues_find,
	.walk		= tdrr_walk,
	.tcf_block	= tdrr_tcf_block,
	.bind_tcf	= flow_queues_bind,
	.unbind_tcf	= flow_queues_unbind,
	.dump		= flow_queues_dump_class,
	.dump_stats	= tdrr_dump_class_stats,
};

static struct Qdisc_ops tdrr_qdisc_ops __read_mostly = {
	.cl_ops		= &tdrr_class_ops,
	.id		= "tdrr",
	.priv_size	= sizeof(struct tdrr_sched_data),
	.enqueue	= tdrr_enqueue,
	.dequeue	= tdrr_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= tdrr_init,
	.reset		= tdrr_reset,
	.destroy	= tdrr_destroy,
	.change		= tdrr_change,
	.dump		= tdrr_dump,
	.dump_stats	= tdrr_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("tdrr");

static int __init tdrr_module_init(void)
{
	return register_qdisc(&tdrr_qdisc_ops);
}

static void __exit tdrr_module_exit(void)
{
	unregister_qdisc(&tdrr_qdisc_ops);
}

module_init(tdrr_module_init)
module_exit(tdrr_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Throughput Deficit Round Robin (TDRR) queue discipline");
MODULE_LICENSE("GPL");
