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
 *    is itself never discarded, unless it is larger than a limit by itself.
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
 *  - The buffer is full: <aqm/held.h>. GSO packets are split; one that is not
 *    is as many packets as the wire will carry, and fits where nothing else is
 *    held.
 *  - The buffer's size, which the paper varies: 80 ms of the link.
 *  - Deficit round robin charges a packet after it was sent, and forgives no
 *    debts: <aqm/flow_queues.h>, with the bound on unfairness.
 *
 * Nothing is marked instead of discarded: a discard happens because there is
 * no room, and a mark makes none.
 *
 * Parameters, their units and ranges: TC_QSDRR_OPTIONS.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <aqm/flow_buffer.h>
#include <aqm/length_index.h>
#include <aqm/options.h>
#include <uapi/linux/pkt_sched_qsdrr.h>

/**
 * struct qsdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @backlog: bytes held
 * @by_length: its place in the index; there while it holds a packet
 * @whole: its size, so that a number finds a queue by a shift
 */
struct qsdrr_flow {
	union {
		struct {
			struct flow_queue	fq;
			u64			backlog;
			struct length_entry	by_length;
		};
		u8 whole[NUMBERED_BYTES];
	};
};

static_assert(sizeof(struct qsdrr_flow) == NUMBERED_BYTES);

/*
 * Configuration as given; written by change under the tree lock. A member for
 * each option.
 */
struct qsdrr_params {
	struct aqm_given	given;

	TC_QSDRR_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(qsdrr_options, struct qsdrr_params, TC_QSDRR_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_qsdrr_qdisc_stats, TC_QSDRR_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_qsdrr_class_stats, TC_QSDRR_CLASS_STATS);

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
	u64	q_chosen;
};

/**
 * struct qsdrr_sched_data - private data of one discipline
 * @buffer: packets, queues, limits and what was lost
 * @params: configuration
 * @stats: counters
 * @vars: state
 */
struct qsdrr_sched_data {
	struct flow_buffer	buffer;
	struct qsdrr_params	params;
	struct qsdrr_stats	stats;
	struct qsdrr_vars	vars;
};

static_assert(!offsetof(struct qsdrr_sched_data, buffer));

static struct qsdrr_flow *qsdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct qsdrr_flow, fq);
}

/* The queue's class, from 1. */
static u32 qsdrr_class(const struct qsdrr_flow *flow)
{
	return flow->fq.turn.number + 1;
}

/* 0 if, and only if, the queue holds no packet: packets can have no length. */
static u32 qsdrr_length(const struct qsdrr_flow *flow)
{
	return flow->fq.head ? clamp_t(u64, flow->backlog, 1, U32_MAX) : 0;
}

/* A queue has another length: put it where it belongs now. */
static __always_inline void qsdrr_file(struct qsdrr_sched_data *q,
				       struct qsdrr_flow *flow)
{
	length_index_set(&q->vars.by_length, &flow->by_length,
			 qsdrr_length(flow));
}

static struct qsdrr_flow *qsdrr_longest(const struct qsdrr_vars *v)
{
	return container_of(length_index_longest(&v->by_length),
			    struct qsdrr_flow, by_length);
}

static bool qsdrr_q_is_shortest(const struct qsdrr_vars *v)
{
	return length_index_is_strictly_shortest(&v->by_length,
						 &v->q->by_length);
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

/* Queue a packet that fits. */
static __always_inline void qsdrr_add(struct Qdisc *sch,
				      struct qsdrr_flow *flow,
				      struct sk_buff *skb, u32 segments)
{
	flow_buffer_add(sch, &flow->fq, skb, segments);
	flow->backlog += qdisc_pkt_len(skb);
	qsdrr_file(qdisc_priv(sch), flow);
}

/*
 * Queue a packet that does not fit: make room for it, and @tell the parents, unless
 * it is a part of what they were given.
 */
static noinline int qsdrr_enqueue_full(struct sk_buff *skb, struct Qdisc *sch,
				       struct qsdrr_flow *flow, u32 segments,
				       struct sk_buff **to_free, bool tell)
{
	struct parents_before before = parents_before(sch);
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct qsdrr_flow *victim = NULL;
	struct sk_buff *lost;
	bool own = false;
	int verdict;
	enum aqm_drop cause;

	flow_buffer_overflow(sch);
	if (flow_buffer_is_oversize(b, skb, segments))
		return flow_buffer_refuse(skb, sch, to_free);
	while ((cause = flow_buffer_full(b, skb, segments))) {
		victim = qsdrr_victim(q, victim);
		lost = flow_buffer_discard(sch, &victim->fq, cause, to_free);
		victim->backlog -= qdisc_pkt_len(lost);
		qsdrr_file(q, victim);
		own |= victim == flow;
	}
	qsdrr_add(sch, flow, skb, segments);
	verdict = own ? NET_XMIT_CN : NET_XMIT_SUCCESS;
	if (!tell)
		return verdict;
	return parents_tell(sch, &b->untold, &before, qdisc_pkt_len(skb),
			    verdict);
}

/* Queue a packet of so many @segments, whose queue has been found. */
static int qsdrr_enqueue_one(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free, u32 segments)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct qsdrr_flow *flow;

	flow = qsdrr_flow(flow_rounds_queue(&b->rounds, b->number));
	if (flow_buffer_full(b, skb, segments))
		return qsdrr_enqueue_full(skb, sch, flow, segments, to_free,
					  false);
	qsdrr_add(sch, flow, skb, segments);
	return NET_XMIT_SUCCESS;
}

static int qsdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct qsdrr_flow *flow;
	u32 number;

	if (unlikely(!flow_buffer_is_plain(b, sch, skb)))
		return flow_buffer_enqueue_other(skb, sch, to_free,
						 qsdrr_enqueue_one);
	number = flow_buffer_hash(b, skb);
	flow = qsdrr_flow(flow_rounds_queue(&b->rounds, number));
	if (unlikely(flow_buffer_full(b, skb, 1)))
		return qsdrr_enqueue_full(skb, sch, flow, 1, to_free, true);
	qsdrr_add(sch, flow, skb, 1);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *qsdrr_dequeue(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow;
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_rounds_next(&q->buffer.rounds);
	if (!fq)
		return NULL;
	flow = qsdrr_flow(fq);
	skb = flow_buffer_send(sch, fq);
	flow->backlog -= qdisc_pkt_len(skb);
	qsdrr_file(q, flow);
	return skb;
}

static void qsdrr_reset(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq;

	/* Also called after an init that failed. */
	if (!q->buffer.rounds.queues)
		return;
	while ((fq = flow_buffer_purge(sch))) {
		qsdrr_flow(fq)->backlog = 0;
		qsdrr_file(q, qsdrr_flow(fq));
	}
	q->vars.q = NULL;
}

/* A change left too little room: discard as for an arrival. */
static void qsdrr_trim(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	struct qsdrr_flow *victim = NULL;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	while (flow_buffer_is_over(&q->buffer)) {
		victim = qsdrr_victim(q, victim);
		if (flow_buffer_is_alone(&q->buffer, &victim->fq))
			break;
		victim->backlog -= flow_buffer_trim(sch, &victim->fq);
		qsdrr_file(q, victim);
	}
	parents_tell_trim(sch, &before);
}

static int qsdrr_derive(struct Qdisc *sch, struct aqm_config *to,
			struct netlink_ext_ack *extack)
{
	const struct qsdrr_params *p = to->params;
	struct flow_buffer_params *b = to->law;

	*b = (struct flow_buffer_params)FLOW_BUFFER_PARAMS(p);
	return flow_buffer_derive(sch, b, extack);
}

static void qsdrr_in_force(void *params, const void *derived)
{
	struct qsdrr_params *p = params;
	const struct flow_buffer_params *law = derived;

	p->bandwidth = law->bandwidth;
	p->memory_limit = law->memory_limit;
	p->limit = law->limit;
	p->quantum = law->quantum;
}

static int qsdrr_alloc(struct Qdisc *sch, struct aqm_config *to,
		       struct netlink_ext_ack *extack)
{
	const struct qsdrr_params *p = to->params;

	return flow_buffer_alloc(sch, p->flows, extack);
}

static void qsdrr_setup(struct Qdisc *sch, const struct aqm_config *to)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct qsdrr_params *p = to->params;

	flow_buffer_init(sch, to->law);
	q->params = *p;
	length_index_init(&q->vars.by_length,
			  &qsdrr_flow(q->buffer.rounds.queues)->by_length,
			  p->flows);
	sch->flags |= TCQ_F_CAN_BYPASS;
}

static void qsdrr_commit(struct Qdisc *sch, struct aqm_config *to)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct qsdrr_params *p = to->params;

	flow_buffer_set(sch, to->law);
	q->params = *p;
	qsdrr_trim(sch);
}

static void qsdrr_stats(struct Qdisc *sch, void *stats)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct tc_qsdrr_qdisc_stats *st = stats;

	flow_buffer_stats(&q->buffer, st);
	st->q_chosen = q->stats.q_chosen;
	st->q = q->vars.q ? qsdrr_class(q->vars.q) : 0;
}

static int qsdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct tc_qsdrr_xstats st = { .type = TC_AQM_XSTATS_CLASS };
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};
	struct qsdrr_flow *flow;

	flow = qsdrr_flow(flow_rounds_queue(&q->buffer.rounds, cl - 1));
	sch_tree_lock(sch);
	flow_queue_count(&flow->fq, &qs);
	qs.drops = flow->fq.dropped;
	st.cls.queue = cl;
	st.cls.deficit = flow_queue_account(&q->buffer.rounds, &flow->fq,
					    q->buffer.params.quantum);
	st.cls.is_q = flow == q->vars.q;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops qsdrr_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= flow_buffer_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
	.dump_stats	= qsdrr_dump_class_stats,
};

static struct aqm_kind qsdrr_kind __read_mostly = {
	.options	= &qsdrr_options,
	.params		= offsetof(struct qsdrr_sched_data, params),
	.bandwidth	= TCA_QSDRR_BANDWIDTH,
	.link		= offsetof(struct qsdrr_sched_data, buffer.link),
	.filters	= offsetof(struct qsdrr_sched_data, buffer.filters),
	.xstats		= sizeof(struct tc_qsdrr_xstats),
	.follows_mtu	= true,
	.derive		= qsdrr_derive,
	.in_force	= qsdrr_in_force,
	.alloc		= qsdrr_alloc,
	.setup		= qsdrr_setup,
	.commit		= qsdrr_commit,
	.destroy	= flow_buffer_destroy,
	.stats		= qsdrr_stats,
	.ops		= {
		.cl_ops		= &qsdrr_class_ops,
		.id		= "qsdrr",
		.priv_size	= sizeof(struct qsdrr_sched_data),
		.enqueue	= qsdrr_enqueue,
		.dequeue	= qsdrr_dequeue,
		.peek		= qdisc_peek_dequeued,
		.reset		= qsdrr_reset,
	},
};
MODULE_ALIAS_NET_SCH("qsdrr");
MODULE_DESCRIPTION("Queue State Deficit Round Robin (QSDRR) queue discipline");
module_aqm_kind(qsdrr_kind);
