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
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <aqm/flow_buffer.h>
#include <aqm/length_index.h>
#include <uapi/linux/pkt_sched_qsdrr.h>

static_assert(QSDRR_MIN_QUANTUM == FLOW_BUFFER_MIN_QUANTUM);
static_assert(QSDRR_MAX_QUANTUM == FLOW_BUFFER_MAX_QUANTUM);

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
 * @hysteresis: keep Q until it is the shortest
 */
struct qsdrr_params {
	bool	hysteresis;
};

/**
 * struct qsdrr_vars - state of the datapath; under the qdisc lock
 * @by_length: the active queues by backlog, bytes
 * @q: the paper's Q; NULL while undefined
 */
struct qsdrr_vars {
	struct length_index	by_length;
	struct qsdrr_flow	*q;
};

/**
 * struct qsdrr_stats - counters; see struct tc_qsdrr_qdisc_stats
 * @q_chosen: times Q was chosen afresh
 */
struct qsdrr_stats {
	u32	q_chosen;
};

/**
 * struct qsdrr_sched_data - private data of one discipline
 * @buffer: packets, queues, limits and what was lost
 * @params: what is qsdrr's own
 * @vars: state
 * @stats: counters
 * @flows: the queues by number, less one
 */
struct qsdrr_sched_data {
	struct flow_buffer	buffer;
	struct qsdrr_params	params;
	struct qsdrr_vars	vars;
	struct qsdrr_stats	stats;
	struct qsdrr_flow	*flows;
};

static_assert(!offsetof(struct qsdrr_sched_data, buffer));

static const struct flow_buffer_ops qsdrr_buffer_ops;

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

/* Read the options given over @b and @p, which hold what is in force. */
static int qsdrr_parse(struct flow_buffer_params *b, struct qsdrr_params *p,
		       struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_QSDRR_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_QSDRR_MAX, opt, qsdrr_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_QSDRR_LIMIT])
		b->limit = nla_get_u32(tb[TCA_QSDRR_LIMIT]);
	if (tb[TCA_QSDRR_MEMORY_LIMIT])
		b->memory_limit = nla_get_u32(tb[TCA_QSDRR_MEMORY_LIMIT]);
	if (tb[TCA_QSDRR_FLOWS])
		b->flows = nla_get_u32(tb[TCA_QSDRR_FLOWS]);
	if (tb[TCA_QSDRR_QUANTUM])
		b->quantum = nla_get_u32(tb[TCA_QSDRR_QUANTUM]);
	if (tb[TCA_QSDRR_HYSTERESIS])
		p->hysteresis = nla_get_u8(tb[TCA_QSDRR_HYSTERESIS]);
	return 0;
}

static int qsdrr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer_params b = q->buffer.params;
	struct qsdrr_params p = q->params;
	int err;

	err = qsdrr_parse(&b, &p, opt, extack);
	if (err < 0)
		return err;
	err = flow_buffer_can_change(sch, &b, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	flow_buffer_set(sch, &b);
	WRITE_ONCE(q->params.hysteresis, p.hysteresis);
	flow_buffer_trim(sch, &qsdrr_buffer_ops);
	sch_tree_unlock(sch);
	return 0;
}

static int qsdrr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_params p = { .hysteresis = true };
	struct flow_buffer_params b;
	int err;
	u32 i;

	length_index_init(&q->vars.by_length);
	err = flow_buffer_init(sch, extack);
	if (err)
		return err;

	b = q->buffer.params;
	if (opt) {
		err = qsdrr_parse(&b, &p, opt, extack);
		if (err < 0)
			return err;
	}
	q->flows = kvcalloc(b.flows, sizeof(*q->flows), GFP_KERNEL);
	if (!q->flows) {
		NL_SET_ERR_MSG_MOD(extack, "no memory for the flow queues");
		return -ENOMEM;
	}
	for (i = 0; i < b.flows; i++)
		flow_queue_init(&q->flows[i].fq);

	flow_buffer_set(sch, &b);
	q->params = p;
	sch->flags |= TCQ_F_CAN_BYPASS;
	return 0;
}

static void qsdrr_destroy(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->buffer.block);
	kvfree(q->flows);
}

static struct qsdrr_flow *qsdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct qsdrr_flow, fq);
}

static struct flow_queue *qsdrr_queue(struct Qdisc *sch, u32 number)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	return &q->flows[number - 1].fq;
}

static struct qsdrr_flow *qsdrr_longest(const struct qsdrr_vars *v)
{
	return hlist_entry_safe(length_index_longest(&v->by_length),
				struct qsdrr_flow, by_length);
}

static bool qsdrr_q_is_shortest(const struct qsdrr_vars *v)
{
	return length_index_is_strictly_shortest(&v->by_length,
						 &v->q->by_length,
						 v->q->fq.backlog);
}

/* Figure 1: the queue to discard from; one arrival stays with its choice. */
static struct flow_queue *qsdrr_victim(struct Qdisc *sch,
				       struct flow_queue *last)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_vars *v = &q->vars;

	if (q->params.hysteresis) {
		if (last && last->qlen)
			return last;
		if (v->q && !qsdrr_q_is_shortest(v))
			return &v->q->fq;
	}
	v->q = qsdrr_longest(v);
	if (!v->q)
		return NULL;
	q->stats.q_chosen++;
	return &v->q->fq;
}

static void qsdrr_resized(struct Qdisc *sch, struct flow_queue *fq, u32 before)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	length_index_move(&q->vars.by_length, &qsdrr_flow(fq)->by_length,
			  before, fq->backlog);
}

static const struct flow_buffer_ops qsdrr_buffer_ops = {
	.queue		= qsdrr_queue,
	.victim		= qsdrr_victim,
	.resized	= qsdrr_resized,
};

static int qsdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	return flow_buffer_enqueue(skb, sch, to_free, &qsdrr_buffer_ops);
}

static struct sk_buff *qsdrr_dequeue(struct Qdisc *sch)
{
	struct flow_queue *from;

	return flow_buffer_dequeue(sch, &from, &qsdrr_buffer_ops);
}

static void qsdrr_reset(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	flow_ring_purge(&q->buffer.ring);
	length_index_init(&q->vars.by_length);
	q->vars.q = NULL;
}

static int qsdrr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct flow_buffer_params *b = &q->buffer.params;
	struct nlattr *opts;

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_QSDRR_LIMIT, READ_ONCE(b->limit)) ||
	    nla_put_u32(skb, TCA_QSDRR_MEMORY_LIMIT,
			READ_ONCE(b->memory_limit)) ||
	    nla_put_u32(skb, TCA_QSDRR_FLOWS, b->flows) ||
	    nla_put_u32(skb, TCA_QSDRR_QUANTUM, READ_ONCE(b->quantum)) ||
	    nla_put_u8(skb, TCA_QSDRR_HYSTERESIS,
		       READ_ONCE(q->params.hysteresis))) {
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
	const struct flow_buffer *b = &q->buffer;

	sch_tree_lock(sch);
	st.qdisc.dropped_bytes = b->stats.dropped_bytes;
	st.qdisc.drop_limit = b->stats.drop_limit;
	st.qdisc.drop_memory = b->stats.drop_memory;
	st.qdisc.drop_oversize = b->stats.drop_oversize;
	st.qdisc.drop_change = b->stats.drop_change;
	st.qdisc.overflows = b->stats.overflows;
	st.qdisc.q_chosen = q->stats.q_chosen;
	st.qdisc.q = qsdrr_number(q, q->vars.q);
	st.qdisc.active = b->ring.active;
	st.qdisc.memory_used = b->ring.memory_used;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
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
	flow_buffer_walk(sch, arg, &qsdrr_buffer_ops);
}

static const struct Qdisc_class_ops qsdrr_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= qsdrr_walk,
	.tcf_block	= flow_buffer_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
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
MODULE_VERSION(AQM_VERSION);
