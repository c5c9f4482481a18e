// SPDX-License-Identifier: GPL-2.0
/*
 * Queue State Deficit Round Robin (QSDRR)
 *
 * A small buffer that many TCP flows share loses packets all the time. Whom it
 * takes them from decides both whether the link stays busy and whether the
 * flows get equal shares. Dropping from the longest queue each time hits a new
 * flow with nearly every loss, and all of them back off together. QSDRR keeps
 * taking from one queue until that queue has become the shortest: few flows
 * pay for a short congestion, and those that pay, pay until it counts.
 *
 * A. Kantawala, J. Turner, "Efficient Queue Management for TCP Flows",
 * WUCS-01-22, Washington University, August 2001, section 2 and figure 1.
 *
 * The rule (figure 1), when a packet arrives and there is no room for it:
 *
 *	if Q is undefined, or Q is shorter than every other non-empty queue:
 *		Q = the longest queue
 *	discard from the front of Q until the packet fits
 *
 * and deficit round robin over the queues, section 2. "nohysteresis" makes
 * Q the longest queue at each discard: the paper's plain DRR.
 *
 * What the paper leaves open, and what is done here:
 *  - Length is in bytes (in the paper all packets have one size).
 *  - The arrival is not counted when Q is chosen: figure 1 discards to make
 *    room, then queues. An arrival may so be the first packet of its queue and
 *    is itself never discarded, except when even an empty buffer could not
 *    hold it.
 *  - An empty Q counts as shorter than the others. When Q runs dry before the
 *    arrival fits, Q is chosen again.
 *  - Q keeps its name while it is empty: figure 1 looks at it only when the
 *    buffer is full.
 *  - Equally long: <aqm/length_index.h> says what counts as equal, and takes
 *    the queue that reached that length last.
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
 *	hysteresis	0: plain DRR			0 or 1
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/flow_queues.h>
#include <aqm/length_index.h>
#include <uapi/linux/pkt_sched_qsdrr.h>

#define QSDRR_DEFAULT_LIMIT		1000
#define QSDRR_DEFAULT_MEMORY_LIMIT	(32 << 20)
#define QSDRR_DEFAULT_FLOWS		1024

/**
 * struct qsdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @by_length: its place in the index; there while it holds a packet
 */
struct qsdrr_flow {
	struct flow_queue	fq;
	struct hlist_node	by_length;
};

/* One cache line on 64 bit. */
static_assert(sizeof(struct qsdrr_flow) <= 64);

/**
 * struct qsdrr_params - configuration; written by change under the tree lock
 * @limit: packets held at most
 * @memory_limit: truesize held at most, bytes
 * @flows: number of queues
 * @quantum: bytes a queue may send per turn
 * @hysteresis: keep Q until it is the shortest
 */
struct qsdrr_params {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	quantum;
	bool	hysteresis;
};

/**
 * struct qsdrr_vars - state of the datapath; under the qdisc lock
 * @ring: the active queues
 * @by_length: the active queues by backlog, bytes
 * @q: the paper's Q; NULL while undefined
 * @salt: of the flow hash
 */
struct qsdrr_vars {
	struct flow_ring	ring;
	struct length_index	by_length;
	struct qsdrr_flow	*q;
	u32			salt;
};

/**
 * struct qsdrr_stats - counters; see struct tc_qsdrr_qdisc_stats
 * @dropped_bytes: bytes of the packets discarded
 * @drop_limit: packets discarded for want of packet slots
 * @drop_memory: packets discarded for want of memory
 * @drop_oversize: arrivals larger than memory_limit
 * @drop_change: packets discarded because a change lowered a limit
 * @overflows: arrivals that found no room
 * @q_chosen: times Q was chosen afresh
 */
struct qsdrr_stats {
	u64	dropped_bytes;
	u32	drop_limit;
	u32	drop_memory;
	u32	drop_oversize;
	u32	drop_change;
	u32	overflows;
	u32	q_chosen;
};

struct qsdrr_sched_data {
	struct qsdrr_params	params;
	struct qsdrr_vars	vars;
	struct qsdrr_stats	stats;
	struct qsdrr_flow	*flows;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
};

static void qsdrr_trim(struct Qdisc *sch);

static struct netlink_range_validation qsdrr_flows_range = {
	.min = 1, .max = QSDRR_MAX_FLOWS,
};

static struct netlink_range_validation qsdrr_quantum_range = {
	.min = QSDRR_MIN_QUANTUM, .max = QSDRR_MAX_QUANTUM,
};

static const struct nla_policy qsdrr_policy[TCA_QSDRR_MAX + 1] = {
	[TCA_QSDRR_LIMIT]	 = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_QSDRR_MEMORY_LIMIT] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_QSDRR_FLOWS]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &qsdrr_flows_range),
	[TCA_QSDRR_QUANTUM]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &qsdrr_quantum_range),
	[TCA_QSDRR_HYSTERESIS]	 = NLA_POLICY_MAX(NLA_U8, 1),
};

/* Read the options given over @p, which holds what is in force. */
static int qsdrr_parse(struct qsdrr_params *p, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_QSDRR_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_QSDRR_MAX, opt, qsdrr_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_QSDRR_LIMIT])
		p->limit = nla_get_u32(tb[TCA_QSDRR_LIMIT]);
	if (tb[TCA_QSDRR_MEMORY_LIMIT])
		p->memory_limit = nla_get_u32(tb[TCA_QSDRR_MEMORY_LIMIT]);
	if (tb[TCA_QSDRR_FLOWS])
		p->flows = nla_get_u32(tb[TCA_QSDRR_FLOWS]);
	if (tb[TCA_QSDRR_QUANTUM])
		p->quantum = nla_get_u32(tb[TCA_QSDRR_QUANTUM]);
	if (tb[TCA_QSDRR_HYSTERESIS])
		p->hysteresis = nla_get_u8(tb[TCA_QSDRR_HYSTERESIS]);
	return 0;
}

static int qsdrr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_params p = q->params;
	int err;

	err = qsdrr_parse(&p, opt, extack);
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
	WRITE_ONCE(q->params.hysteresis, p.hysteresis);
	qsdrr_trim(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int qsdrr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_params p = {
		.limit		= QSDRR_DEFAULT_LIMIT,
		.memory_limit	= QSDRR_DEFAULT_MEMORY_LIMIT,
		.flows		= QSDRR_DEFAULT_FLOWS,
		.quantum	= clamp_t(u32, psched_mtu(qdisc_dev(sch)),
					  QSDRR_MIN_QUANTUM, QSDRR_MAX_QUANTUM),
		.hysteresis	= true,
	};
	int err;
	u32 i;

	flow_ring_init(&q->vars.ring);
	length_index_init(&q->vars.by_length);
	q->vars.salt = get_random_u32();

	if (opt) {
		err = qsdrr_parse(&p, opt, extack);
		if (err < 0)
			return err;
	}
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	q->flows = kvcalloc(p.flows, sizeof(*q->flows), GFP_KERNEL);
	if (!q->flows) {
		NL_SET_ERR_MSG_MOD(extack, "no memory for the flow queues");
		return -ENOMEM;
	}
	for (i = 0; i < p.flows; i++)
		flow_queue_init(&q->flows[i].fq);

	q->params = p;
	sch->limit = p.limit;
	sch->flags |= TCQ_F_CAN_BYPASS;
	return 0;
}

static void qsdrr_destroy(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	kvfree(q->flows);
}

/* Packets peeked at have left their queues but still count in sch->q.qlen. */
static bool qsdrr_has_slot(struct Qdisc *sch, u32 arriving)
{
	const struct qsdrr_sched_data *q = qdisc_priv(sch);

	return sch->q.qlen + arriving <= q->params.limit;
}

static bool qsdrr_has_memory(const struct qsdrr_sched_data *q, u32 arriving)
{
	return (u64)q->vars.ring.memory_used + arriving <=
	       q->params.memory_limit;
}

static struct qsdrr_flow *qsdrr_longest(const struct qsdrr_vars *v)
{
	return hlist_entry_safe(length_index_longest(&v->by_length),
				struct qsdrr_flow, by_length);
}

/* Figure 1: the queue to discard from, or NULL if all are empty. */
static struct qsdrr_flow *qsdrr_choose(struct qsdrr_sched_data *q)
{
	struct qsdrr_vars *v = &q->vars;

	if (v->q && q->params.hysteresis &&
	    !length_index_is_strictly_shortest(&v->by_length, &v->q->by_length,
					       v->q->fq.backlog))
		return v->q;

	v->q = qsdrr_longest(v);
	if (v->q)
		q->stats.q_chosen++;
	return v->q;
}

/* Take the first packet of a queue, and all that goes with its leaving. */
static struct sk_buff *qsdrr_take(struct Qdisc *sch, struct qsdrr_flow *flow)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	u32 before = flow->fq.backlog;
	struct sk_buff *skb;

	skb = flow_queue_take(&q->vars.ring, &flow->fq);
	length_index_move(&q->vars.by_length, &flow->by_length, before,
			  flow->fq.backlog);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* As qsdrr_take(), for a packet that is lost; @cause is the counter. */
static struct sk_buff *qsdrr_discard(struct Qdisc *sch, struct qsdrr_flow *flow,
				     u32 *cause)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qsdrr_take(sch, flow);

	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	flow->fq.dropped++;
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
	return skb;
}

/**
 * qsdrr_make_room() - discard from Q until an arrival fits
 * @sch: the discipline
 * @truesize: of the arrival, bytes; at most memory_limit
 * @arriving: the arrival's queue
 * @to_free: list that takes the discarded packets
 * @hit: set to true if the arrival's queue lost a packet
 *
 * Return: false if the queues are empty and there is still no room, which
 * happens when a packet that a parent has peeked at fills the limit.
 */
static bool qsdrr_make_room(struct Qdisc *sch, u32 truesize,
			    const struct qsdrr_flow *arriving,
			    struct sk_buff **to_free, bool *hit)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow = NULL;
	bool slot;

	while (!(slot = qsdrr_has_slot(sch, 1)) ||
	       !qsdrr_has_memory(q, truesize)) {
		if (!flow || !flow->fq.qlen || !q->params.hysteresis)
			flow = qsdrr_choose(q);
		if (!flow)
			return false;
		*hit |= flow == arriving;
		__qdisc_drop(qsdrr_discard(sch, flow,
					   slot ? &q->stats.drop_memory :
						  &q->stats.drop_limit),
			     to_free);
	}
	return true;
}

static int qsdrr_drop_arrival(struct sk_buff *skb, struct Qdisc *sch,
			      u32 *cause, struct sk_buff **to_free)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
	return qdisc_drop(skb, sch, to_free);
}

static int qsdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 len = qdisc_pkt_len(skb);
	struct qsdrr_flow *flow;
	u32 qlen = sch->q.qlen;
	bool hit = false;
	u32 before, nr;
	int verdict;

	nr = flow_queues_classify(skb, sch, rcu_dereference_bh(q->filter_list),
				  q->vars.salt, q->params.flows, &verdict);
	if (!nr) {
		if (verdict & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return verdict;
	}
	flow = &q->flows[nr - 1];

	if (unlikely(!qsdrr_has_slot(sch, 1) ||
		     !qsdrr_has_memory(q, skb->truesize))) {
		q->stats.overflows++;
		if (skb->truesize > q->params.memory_limit)
			return qsdrr_drop_arrival(skb, sch,
						  &q->stats.drop_oversize,
						  to_free);
		if (!qsdrr_make_room(sch, skb->truesize, flow, to_free, &hit))
			return qsdrr_drop_arrival(skb, sch,
						  &q->stats.drop_limit,
						  to_free);
	}

	before = flow->fq.backlog;
	flow_queue_add(&q->vars.ring, &flow->fq, skb, q->params.quantum);
	length_index_move(&q->vars.by_length, &flow->by_length, before,
			  flow->fq.backlog);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);

	return flow_queues_settle(sch, qlen, backlog, len, hit);
}

static struct sk_buff *qsdrr_dequeue(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_ring *ring = &q->vars.ring;
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_ring_next(ring, q->params.quantum);
	if (!fq)
		return NULL;
	skb = qsdrr_take(sch, container_of(fq, struct qsdrr_flow, fq));
	flow_ring_charge(ring, fq, qdisc_pkt_len(skb), q->params.quantum);
	qdisc_bstats_update(sch, skb);
	return skb;
}

/* A change made the buffer smaller: discard as for an arrival of no size. */
static void qsdrr_trim(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct qsdrr_flow *flow;
	struct sk_buff *skb;

	while (!qsdrr_has_slot(sch, 0) || !qsdrr_has_memory(q, 0)) {
		flow = qsdrr_choose(q);
		if (!flow)
			break;
		skb = qsdrr_discard(sch, flow, &q->stats.drop_change);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static void qsdrr_reset(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	flow_ring_purge(&q->vars.ring);
	length_index_init(&q->vars.by_length);
	q->vars.q = NULL;
}

static int qsdrr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct qsdrr_params *p = &q->params;
	struct nlattr *opts;

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_QSDRR_LIMIT, READ_ONCE(p->limit)) ||
	    nla_put_u32(skb, TCA_QSDRR_MEMORY_LIMIT,
			READ_ONCE(p->memory_limit)) ||
	    nla_put_u32(skb, TCA_QSDRR_FLOWS, p->flows) ||
	    nla_put_u32(skb, TCA_QSDRR_QUANTUM, READ_ONCE(p->quantum)) ||
	    nla_put_u8(skb, TCA_QSDRR_HYSTERESIS, READ_ONCE(p->hysteresis))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static u32 qsdrr_number(const struct qsdrr_sched_data *q,
			const struct qsdrr_flow *flow)
{
	return flow ? flow - q->flows + 1 : 0;
}

static int qsdrr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct tc_qsdrr_xstats st = { .type = TCA_QSDRR_XSTATS_QDISC };

	sch_tree_lock(sch);
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.drop_limit = q->stats.drop_limit;
	st.qdisc.drop_memory = q->stats.drop_memory;
	st.qdisc.drop_oversize = q->stats.drop_oversize;
	st.qdisc.drop_change = q->stats.drop_change;
	st.qdisc.overflows = q->stats.overflows;
	st.qdisc.q_chosen = q->stats.q_chosen;
	st.qdisc.q = qsdrr_number(q, q->vars.q);
	st.qdisc.active = q->vars.ring.active;
	st.qdisc.memory_used = q->vars.ring.memory_used;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct tcf_block *qsdrr_tcf_block(struct Qdisc *sch, unsigned long cl,
					 struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

static int qsdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct tc_qsdrr_xstats st = { .type = TCA_QSDRR_XSTATS_CLASS };
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow = &q->flows[cl - 1];
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	qs.qlen = flow->fq.qlen;
	qs.backlog = flow->fq.backlog;
	qs.drops = flow->fq.dropped;
	st.cls.queue = cl;
	st.cls.deficit = flow->fq.deficit;
	st.cls.is_q = flow == q->vars.q;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void qsdrr_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	u32 i;

	if (arg->stop)
		return;
	for (i = 0; i < q->params.flows; i++) {
		if (!READ_ONCE(q->flows[i].fq.qlen)) {
			arg->count++;
			continue;
		}
		if (!tc_qdisc_stats_dump(sch, i + 1, arg))
			break;
	}
}

static const struct Qdisc_class_ops qsdrr_class_ops = {
	.leaf		= flow_queues_leaf,
	.find		= flow_queues_find,
	.walk		= qsdrr_walk,
	.tcf_block	= qsdrr_tcf_block,
	.bind_tcf	= flow_queues_bind,
	.unbind_tcf	= flow_queues_unbind,
	.dump		= flow_queues_dump_class,
	.dump_stats	= qsdrr_dump_class_stats,
};

static struct Qdisc_ops qsdrr_qdisc_ops __read_mostly = {
	.cl_ops		= &qsdrr_class_ops,
	.id		= "qsdrr",
	.priv_size	= sizeof(struct qsdrr_sched_data),
	.enqueue	= qsdrr_enqueue,
	.dequeue	= qsdrr_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= qsdrr_init,
	.reset		= qsdrr_reset,
	.destroy	= qsdrr_destroy,
	.change		= qsdrr_change,
	.dump		= qsdrr_dump,
	.dump_stats	= qsdrr_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("qsdrr");

static int __init qsdrr_module_init(void)
{
	return register_qdisc(&qsdrr_qdisc_ops);
}

static void __exit qsdrr_module_exit(void)
{
	unregister_qdisc(&qsdrr_qdisc_ops);
}

module_init(qsdrr_module_init)
module_exit(qsdrr_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Queue State Deficit Round Robin (QSDRR) queue discipline");
MODULE_LICENSE("GPL");
