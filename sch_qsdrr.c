// SPDX-License-Identifier: GPL-2.0
/*
 * Queue State Deficit Round Robin (QSDRR)
 *
 * A small buffer that many TCP flows share drops packets all the time. The
 * choice of the queue to drop from decides whether the link stays busy, and
 * whether the flows get equal shares. Plain DRR drops from the longest queue
 * each time, so nearly every drop hits another flow. The paper finds this "not
 * very effective" in either respect. QSDRR keeps dropping from one queue until
 * it is the shortest, so that few flows pay for a short congestion.
 *
 * A. Kantawala, J. Turner, "Efficient Queue Management for TCP Flows",
 * WUCS-01-22, Washington University, August 2001, section 2 and figure 1.
 *
 * The rule (figure 1), when a packet arrives and does not fit:
 *
 *	if Q is undefined, or Q is shorter than every other non-empty queue:
 *		Q = the longest queue
 *	discard from the front of Q until the packet fits
 *
 * The queues are served by deficit round robin (section 2). "nohysteresis"
 * makes Q the longest queue at each discard: the paper's plain DRR.
 *
 * Our decisions where the paper is silent:
 *  - Length is in bytes (in the paper all packets have one size), and lengths
 *    that differ by less than 1/16 can count as equal: <aqm/qsdrr/length_index.h>.
 *    With packets of one size, figure 1 is followed exactly for queues of up to
 *    16 packets. A longer Q is kept until it is 1/16 shorter.
 *  - The arrival does not count when Q is chosen, because figure 1 discards
 *    first and queues then. So an arrival can be the first packet of its queue.
 *    It is never discarded itself, unless it alone exceeds a limit.
 *  - An empty Q counts as shorter than the others. If Q becomes empty before
 *    the arrival fits, Q is chosen again.
 *  - Q stays the same while it is empty, because figure 1 checks it only when
 *    the buffer is full.
 *  - The search for the longest queue is bounded. After many queues became shorter
 *    at once it may select a shorter one: <aqm/qsdrr/length_index.h>.
 *  - Of equally long queues we choose one of the last to reach this length, as
 *    mainline's sfq does. With one or two packets per queue this decides most
 *    choices, but the opposite rule gives the same results. We measured 20
 *    flows with 40 and 200 ms over 100 Mb/s with a buffer of 20 packets, three
 *    seeds. The flows with 200 ms get 90.8 % of their share with our rule and
 *    91.4 % with the opposite one, at 97.9 and 98.0 % of the link (plain DRR:
 *    81.7 and 80.9 %, at 91.9 and 89.9 %).
 *  - <aqm/queue.h> defines when the buffer is full. GSO packets are split. An
 *    unsplit one counts as its number of wire packets, and fits into an empty
 *    buffer.
 *  - The buffer defaults to 80 ms of the link; the paper varies it.
 *  - Deficit round robin charges a packet after it was sent, and keeps the
 *    debts of empty queues: <aqm/flow_queues.h>, with the bound on unfairness.
 *
 * There is no marking. A discard makes room, and a mark would not.
 *
 * Parameters, their units and ranges: TC_QSDRR_OPTIONS.
 */

#include <aqm/flow_buffer.h>
#include <aqm/qsdrr/length_index.h>
#include <uapi/linux/pkt_sched_qsdrr.h>

/**
 * struct qsdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @backlog: bytes queued
 * @by_length: its length and place in the index
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

/* The datapath reads the copy of the shared options in struct flow_buffer. */
struct qsdrr_params {
	struct aqm_given	given;

	TC_QSDRR_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(qsdrr_options, struct qsdrr_params, TC_QSDRR_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_qsdrr_qdisc_stats, TC_QSDRR_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_qsdrr_class_stats, TC_QSDRR_CLASS_STATS);

/**
 * struct qsdrr_vars - state of the datapath; under the qdisc lock
 * @q_chosen: times Q was chosen afresh
 * @q: the paper's Q; NULL while undefined
 * @by_length: the queues by length
 */
struct qsdrr_vars {
	u64			q_chosen;
	struct qsdrr_flow	*q;
	struct length_index	by_length;
};

struct qsdrr_sched_data {
	struct flow_buffer	buffer;
	struct qsdrr_params	params;
	struct qsdrr_vars	vars;
};

static struct qsdrr_flow *qsdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct qsdrr_flow, fq);
}

/* 0 if, and only if, the queue holds no packet: packets can have no length. */
static u32 qsdrr_length(const struct qsdrr_flow *flow)
{
	return flow->fq.head ? clamp_t(u64, flow->backlog, 1, U32_MAX) : 0;
}

/* The length of a queue has changed. */
static __always_inline void qsdrr_update(struct Qdisc *sch,
					 struct qsdrr_flow *flow)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	length_index_set(&q->vars.by_length, &flow->by_length,
			 qsdrr_length(flow));
}

/* All queues are empty, or there are none. */
static void qsdrr_index(struct qsdrr_sched_data *q)
{
	struct flow_queue *queues = q->buffer.rounds.queues;

	length_index_init(&q->vars.by_length,
			  queues ? &qsdrr_flow(queues)->by_length : NULL,
			  q->buffer.flows);
}

/* Select the longest queue. At least one has a packet. */
static struct qsdrr_flow *qsdrr_longest(struct qsdrr_sched_data *q)
{
	struct qsdrr_flow *next = qsdrr_flow(flow_rounds_peek(&q->buffer.rounds));

	return container_of(length_index_longest(&q->vars.by_length, &next->by_length),
			    struct qsdrr_flow, by_length);
}

static bool qsdrr_q_is_shortest(const struct qsdrr_vars *v)
{
	return length_index_is_strictly_shortest(&v->by_length,
						 &v->q->by_length);
}

/* Queue an arrival that fits. */
static __always_inline void qsdrr_add(struct Qdisc *sch, struct flow_queue *fq,
				      struct sk_buff *skb, u32 segments)
{
	struct qsdrr_flow *flow = qsdrr_flow(fq);

	flow_buffer_add(sch, fq, skb, segments);
	flow->backlog += qdisc_pkt_len(skb);
	qsdrr_update(sch, flow);
}

/* Account for a packet that was removed from its queue. */
static void qsdrr_removed(struct Qdisc *sch, struct flow_queue *fq,
			  const struct sk_buff *skb)
{
	struct qsdrr_flow *flow = qsdrr_flow(fq);

	flow->backlog -= qdisc_pkt_len(skb);
	qsdrr_update(sch, flow);
}

/* Remove the first packet of a queue, to drop it. */
static struct sk_buff *qsdrr_remove(struct Qdisc *sch, struct qsdrr_flow *flow)
{
	struct sk_buff *skb = flow_buffer_evict(sch, &flow->fq);

	qsdrr_removed(sch, &flow->fq, skb);
	return skb;
}

/*
 * Figure 1: select the queue to discard from. At least one has a packet. If the same
 * arrival has already discarded from a queue (@again), and it still holds a packet, it
 * stays the victim.
 */
static struct qsdrr_flow *qsdrr_victim(struct qsdrr_sched_data *q, bool again)
{
	struct qsdrr_vars *v = &q->vars;

	if (q->params.hysteresis) {
		if (again && v->q->fq.head)
			return v->q;
		if (v->q && !qsdrr_q_is_shortest(v))
			return v->q;
	}
	v->q = qsdrr_longest(q);
	v->q_chosen++;
	return v->q;
}

/* Make room for an arrival, and queue it. Report to the parents only if @report. */
static int qsdrr_enqueue_full(struct sk_buff *skb, struct Qdisc *sch,
			      struct flow_queue *fq, u32 segments,
			      struct sk_buff **to_free, bool report)
{
	struct parents_before before = parents_before(sch);
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	int verdict = NET_XMIT_SUCCESS;
	struct qsdrr_flow *victim;
	struct sk_buff *lost;
	enum aqm_drop cause;
	bool again = false;

	flow_buffer_overflow(sch);
	if (aqm_queue_is_oversize(&q->buffer.queue, skb, segments))
		return aqm_drop(skb, sch, AQM_DROP_OVERSIZE, to_free);
	for (; (cause = aqm_queue_full(&q->buffer.queue, skb, segments)); again = true) {
		victim = qsdrr_victim(q, again);
		lost = qsdrr_remove(sch, victim);
		aqm_queue_lost(sch, lost, cause);
		__qdisc_drop(lost, to_free);
		if (&victim->fq == fq)
			verdict = NET_XMIT_CN;
	}
	qsdrr_add(sch, fq, skb, segments);
	if (!report)
		return verdict;
	return parents_report(sch, &before, qdisc_pkt_len(skb), verdict);
}

/* Queue a packet, or a segment of it, for which the caller reports to the parents. */
static int qsdrr_enqueue_one(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free, u32 segments, u32 number)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq = flow_rounds_queue(&q->buffer.rounds, number);

	if (aqm_queue_full(&q->buffer.queue, skb, segments))
		return qsdrr_enqueue_full(skb, sch, fq, segments, to_free, false);
	qsdrr_add(sch, fq, skb, segments);
	return NET_XMIT_SUCCESS;
}

static int qsdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct flow_queue *fq;

	if (unlikely(!flow_buffer_is_plain(b, sch, skb)))
		return flow_buffer_enqueue_other(skb, sch, to_free, qsdrr_enqueue_one);
	fq = flow_rounds_queue(&b->rounds, flow_buffer_hash(b, skb));
	if (unlikely(aqm_queue_full(&b->queue, skb, 1)))
		return qsdrr_enqueue_full(skb, sch, fq, 1, to_free, true);
	qsdrr_add(sch, fq, skb, 1);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *qsdrr_dequeue(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_rounds_next(&q->buffer.rounds);
	if (!fq)
		return NULL;
	skb = flow_buffer_send(sch, fq);
	flow_rounds_prefetch(&q->buffer.rounds);
	qsdrr_removed(sch, fq, skb);
	return skb;
}

/* Also called after a failed init. */
static void qsdrr_reset(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq;

	while ((fq = flow_buffer_purge(sch)))
		qsdrr_flow(fq)->backlog = 0;
	qsdrr_index(q);
	q->vars.q = NULL;
}

/* For aqm_queue_trim(): remove a packet by the rule, unless the rest fits. */
static struct sk_buff *qsdrr_evict(struct Qdisc *sch, bool again)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	return aqm_queue_is_over(sch) ? qsdrr_remove(sch, qsdrr_victim(q, again)) : NULL;
}

static void qsdrr_moved(struct Qdisc *sch, const void *old)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *queues = q->buffer.rounds.queues;

	if (old && queues)
		q->vars.by_length.entries = &qsdrr_flow(queues)->by_length;
	else
		qsdrr_index(q);
	q->vars.q = flow_buffer_moved(&q->buffer, old, q->vars.q);
}

static const struct flow_buffer_ops qsdrr_buffer_ops = {
	.link	= offsetof(struct qsdrr_flow, by_length.link),
	.moved	= qsdrr_moved,
};

/* Compute the options that were not given. */
static int qsdrr_derive(struct Qdisc *sch, struct qsdrr_params *p,
			struct netlink_ext_ack *extack)
{
	u64 rate = aqm_rate(sch, p->bandwidth);
	int err = flow_buffer_check(sch, p->flows, extack);

	if (err)
		return err;
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, rate);
	aqm_warn_of_memory(sch, p->memory_limit, extack);
	p->quantum = p->quantum ?: flow_buffer_quantum(sch);
	/* Nothing else depends on the bandwidth. */
	if (!p->limit) {
		p->bandwidth = rate;
		p->limit = flow_buffer_limit(sch, rate);
	}
	return 0;
}

static int qsdrr_apply(struct Qdisc *sch, struct aqm_given *given,
		       struct netlink_ext_ack *extack)
{
	struct qsdrr_params *p = aqm_params_of(qsdrr, given);
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	int err = qsdrr_derive(sch, p, extack);

	if (err)
		return err;

	sch_tree_lock(sch);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	flow_buffer_set(sch, p->quantum, p->avoid_collisions, p->split_gso);
	q->params = *p;
	aqm_queue_trim(sch, qsdrr_evict);
	sch_tree_unlock(sch);
	return 0;
}

static const struct aqm_kind qsdrr_kind = {
	.options	= &qsdrr_options,
	.bandwidth	= TCA_QSDRR_BANDWIDTH,
	.apply		= qsdrr_apply,
};

static int qsdrr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int qsdrr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_params *p = &q->params;
	int err;

	err = aqm_init(sch, &qsdrr_kind, &p->given, opt, extack);
	if (!err)
		err = qsdrr_derive(sch, p, extack);
	if (!err)
		err = flow_buffer_init(sch, p->flows, &qsdrr_buffer_ops, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	flow_buffer_set(sch, p->quantum, p->avoid_collisions, p->split_gso);
	qsdrr_index(q);
	sch->flags |= TCQ_F_CAN_BYPASS;
	return aqm_start(sch, extack);
}

static void qsdrr_destroy(struct Qdisc *sch)
{
	aqm_destroy(sch);
	flow_buffer_destroy(sch);
}

static int qsdrr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

static int qsdrr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_qsdrr_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	flow_buffer_stats(sch, &st.qdisc);
	st.qdisc.q_chosen = q->vars.q_chosen;
	if (q->vars.q)
		st.qdisc.q = flow_buffer_classid(&q->vars.q->fq);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int qsdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct tc_qsdrr_xstats st = { .type = TC_AQM_XSTATS_CLASS };
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};
	struct flow_queue *fq;

	sch_tree_lock(sch);
	flow_buffer_count(sch, cl, &qs);
	fq = flow_buffer_class(&q->buffer, cl);
	st.cls.queue = fq ? flow_buffer_classid(fq) : cl;
	if (fq)
		st.cls.deficit = flow_buffer_account(&q->buffer, fq);
	st.cls.is_q = q->vars.q &&
		      st.cls.queue == flow_buffer_classid(&q->vars.q->fq);
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

static int __init qsdrr_module_init(void)
{
	return aqm_register(&qsdrr_qdisc_ops);
}

static void __exit qsdrr_module_exit(void)
{
	aqm_unregister(&qsdrr_qdisc_ops);
}

module_init(qsdrr_module_init);
module_exit(qsdrr_module_exit);
MODULE_ALIAS_NET_SCH("qsdrr");
MODULE_DESCRIPTION("Queue State Deficit Round Robin (QSDRR) queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
