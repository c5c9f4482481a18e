// SPDX-License-Identifier: GPL-2.0
/*
 * Queue State Deficit Round Robin (QSDRR)
 *
 * A small buffer that many TCP flows share loses packets all the time. Which
 * queue loses them decides whether the link stays busy, and whether the flows
 * get equal shares. If it is the longest queue each time (plain DRR), another
 * flow is hit with nearly every loss; the paper finds that "not very effective"
 * in either respect. QSDRR keeps discarding from one queue until that queue has
 * become the shortest: few flows pay for a short congestion.
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
 *  - Length is in bytes (in the paper all packets have one size), and known to
 *    within 1/16: <aqm/length_index.h>. So the answers are figure 1's up to 16
 *    packets of one size; a longer Q is kept until it is 1/16 shorter.
 *  - The arrival is not counted when Q is chosen: figure 1 discards to make
 *    room, then queues. An arrival may so be the first packet of its queue and
 *    is itself never discarded, except when even an empty buffer could not
 *    hold it.
 *  - An empty Q counts as shorter than the others. When Q runs dry before the
 *    arrival fits, Q is chosen again.
 *  - Q stays Q while it is empty: figure 1 looks at it only when the buffer is
 *    full.
 *  - Equally long: the queue that reached that length last, as mainline's sfq.
 *    With a packet or two in each queue this decides most choices, and yet the
 *    other way round makes no difference: 20 flows of 40 and 200 ms over
 *    100 Mb/s with 20 packets of buffer, three seeds, give the distant ones
 *    90.8 % of their share this way and 91.4 % the other, at 97.9 and 98.0 % of
 *    the link (plain DRR: 81.7 and 80.9 %, at 91.9 and 89.9 %).
 *  - The buffer is full: <aqm/held.h>. A GSO packet is as many packets as the
 *    wire will carry, and fits where nothing else is held.
 *  - Deficit round robin charges a packet after it was sent, and forgives no
 *    debts: <aqm/flow_queues.h>, with the bound on unfairness.
 *
 * Nothing is marked instead of discarded: a discard happens because there is
 * no room, and a mark makes none.
 *
 * Parameters:
 *	limit		packets held			1 to 2^32 - 1
 *	memory_limit	bytes of truesize held		1 to 2^32 - 1
 *	flows		number of queues		1 to 2^16; fixed once set up
 *	quantum		bytes per round			256 to 2^20
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

static_assert(QSDRR_MAX_FLOWS == FLOW_BUFFER_MAX_FLOWS);
static_assert(QSDRR_MIN_QUANTUM == FLOW_BUFFER_MIN_QUANTUM);
static_assert(QSDRR_MAX_QUANTUM == FLOW_BUFFER_MAX_QUANTUM);

/**
 * struct qsdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @by_length: its place in the index; there while it holds a packet
 * @backlog: bytes held
 */
struct qsdrr_flow {
	struct flow_queue	fq;
	struct hlist_node	by_length;
	u64			backlog;
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
 * @q: the paper's Q; NULL while undefined
 * @by_length: the queues that hold packets by length
 */
struct qsdrr_vars {
	struct qsdrr_flow	*q;
	struct length_index	by_length;
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
 * @stats: counters
 * @flows: the queues by number, less one
 * @vars: state
 */
struct qsdrr_sched_data {
	struct flow_buffer	buffer;
	struct qsdrr_params	params;
	struct qsdrr_stats	stats;
	struct qsdrr_flow	*flows;
	struct qsdrr_vars	vars;
};

static_assert(!offsetof(struct qsdrr_sched_data, buffer));

static u32 qsdrr_number(const struct qsdrr_sched_data *q,
			const struct qsdrr_flow *flow)
{
	return flow - q->flows + 1;
}

static struct qsdrr_flow *qsdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct qsdrr_flow, fq);
}

/* 0 if, and only if, the queue holds no packet: packets can have no length. */
static u32 qsdrr_length(const struct qsdrr_flow *flow)
{
	return flow->fq.head ? clamp_t(u64, flow->backlog, 1, U32_MAX) : 0;
}

/* A queue had the length @before: put it where it belongs now. */
static void qsdrr_file(struct qsdrr_sched_data *q, struct qsdrr_flow *flow,
		       u32 before)
{
	length_index_move(&q->vars.by_length, &flow->by_length, before,
			  qsdrr_length(flow));
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
						 qsdrr_length(v->q));
}

/**
 * qsdrr_victim() - figure 1: the queue to discard from
 * @q: the discipline, which holds a packet
 * @last: queue that the same arrival has already discarded from, or NULL; while
 *	it holds a packet the choice stands
 */
static struct qsdrr_flow *qsdrr_victim(struct qsdrr_sched_data *q,
				       struct qsdrr_flow *last)
{
	struct qsdrr_vars *v = &q->vars;

	if (q->params.hysteresis) {
		if (last && last->fq.head)
			return last;
		if (v->q && !qsdrr_q_is_shortest(v))
			return v->q;
	}
	v->q = qsdrr_longest(v);
	q->stats.q_chosen++;
	return v->q;
}

static int qsdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow, *victim = NULL;
	struct flow_buffer *b = &q->buffer;
	struct flow_losses losses = {};
	u32 len = qdisc_pkt_len(skb);
	struct sk_buff *lost;
	u32 before, number;
	int verdict;

	verdict = flow_buffer_classify(skb, sch, to_free, &number);
	if (unlikely(verdict))
		return verdict;
	flow = &q->flows[number - 1];

	if (flow_buffer_is_full(b, skb)) {
		flow_buffer_overflow(sch);
		if (flow_buffer_is_oversize(b, skb))
			return flow_buffer_refuse(skb, sch, to_free);
		do {
			victim = qsdrr_victim(q, victim);
			before = qsdrr_length(victim);
			lost = flow_buffer_discard(sch, &victim->fq,
						   qsdrr_number(q, victim),
						   skb, &losses, to_free);
			victim->backlog -= qdisc_pkt_len(lost);
			qsdrr_file(q, victim, before);
			losses.own |= victim == flow;
		} while (flow_buffer_is_full(b, skb));
	}

	before = qsdrr_length(flow);
	flow_buffer_add(sch, &flow->fq, skb);
	flow->backlog += len;
	qsdrr_file(q, flow, before);
	return flow_buffer_settle(sch, &losses, len);
}

static struct sk_buff *qsdrr_dequeue(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow;
	struct flow_queue *fq;
	struct sk_buff *skb;
	u32 before;

	fq = flow_rounds_next(&q->buffer.rounds);
	if (!fq)
		return NULL;
	flow = qsdrr_flow(fq);
	before = qsdrr_length(flow);
	skb = flow_buffer_send(sch, fq);
	flow->backlog -= qdisc_pkt_len(skb);
	qsdrr_file(q, flow, before);
	return skb;
}

static void qsdrr_reset(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq;

	while ((fq = flow_buffer_purge(sch)))
		qsdrr_flow(fq)->backlog = 0;
	length_index_init(&q->vars.by_length);
	q->vars.q = NULL;
}

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

/* A change left too little room: discard as for an arrival. */
static void qsdrr_trim(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *victim = NULL;
	struct flow_losses losses = {};
	u32 before;

	while (flow_buffer_is_over(&q->buffer)) {
		victim = qsdrr_victim(q, victim);
		before = qsdrr_length(victim);
		victim->backlog -= flow_buffer_trim(sch, &victim->fq,
						    qsdrr_number(q, victim),
						    &losses);
		qsdrr_file(q, victim, before);
	}
	qdisc_tree_reduce_backlog(sch, losses.packets, losses.bytes);
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
	qsdrr_trim(sch);
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
	q->flows = flow_buffer_alloc(sch, b.flows, sizeof(*q->flows), extack);
	if (!q->flows)
		return -ENOMEM;

	flow_buffer_set(sch, &b);
	q->params = p;
	sch->flags |= TCQ_F_CAN_BYPASS;
	return 0;
}

static void qsdrr_destroy(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	flow_buffer_destroy(sch);
	kvfree(q->flows);
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
	st.qdisc.drop_filter = b->stats.drop_filter;
	st.qdisc.overflows = b->stats.overflows;
	st.qdisc.q_chosen = q->stats.q_chosen;
	st.qdisc.q = q->vars.q ? qsdrr_number(q, q->vars.q) : 0;
	st.qdisc.active = b->rounds.active;
	st.qdisc.memory_used = b->held.truesize;
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
	flow_queue_count(&flow->fq, &qs);
	qs.drops = q->buffer.dropped[cl - 1];
	st.cls.queue = cl;
	st.cls.deficit = flow_queue_account(&q->buffer.rounds, &flow->fq,
					    q->buffer.params.quantum);
	st.cls.is_q = flow == q->vars.q;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void qsdrr_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	flow_buffer_walk(sch, arg, q->flows, sizeof(*q->flows));
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
