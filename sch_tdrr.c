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
 *	discard from the active queue with the highest throughput, an
 *	exponentially weighted average, until the packet fits
 *
 * and deficit round robin over the queues.
 *
 * What the paper leaves open, and what is done here:
 *  - Discards are from the front, as in figure 1 for QSDRR, and as ns-2's DRR,
 *    with which the paper's were simulated, does.
 *  - Throughput counts bytes that depart, at the moment they do; what is
 *    discarded never counts. A packet departs when it is dequeued, or when the
 *    parent peeks at it, which commits the choice.
 *  - The average is exact in continuous time: a byte that left t ago has the
 *    weight exp(-t / T) / T, and an idle queue's throughput decays all the
 *    while, with or without packets. <aqm/throughput_index.h> says how, and
 *    how exactly: the queue named is within 1/8 octave of the highest.
 *  - T, for which the paper has no value: 100 ms; docs/tdrr-time-constant.md.
 *  - Active is a queue that holds a packet. The arrival is not counted: it may
 *    be the first packet of its queue, and is itself never discarded, unless
 *    it is larger than a limit by itself.
 *  - A queue that is discarded from keeps its throughput: it is hit again until
 *    it is empty, or another one has sent more.
 *  - Equally high: as close as <aqm/throughput_index.h> tells apart; the queue
 *    that came to that throughput first.
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
 * Parameters, their units and ranges: TC_TDRR_OPTIONS.
 */

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <aqm/flow_buffer.h>
#include <aqm/options.h>
#include <aqm/throughput_index.h>
#include <uapi/linux/pkt_sched_tdrr.h>

static_assert(TDRR_MIN_TIME_CONSTANT == THROUGHPUT_MIN_TIME_CONSTANT);
static_assert(TDRR_MAX_TIME_CONSTANT == THROUGHPUT_MAX_TIME_CONSTANT);

/**
 * struct tdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @sent: its throughput; in the index while the queue holds a packet
 * @whole: its size, so that a number finds a queue by a shift
 */
struct tdrr_flow {
	union {
		struct {
			struct flow_queue	fq;
			struct throughput_score	sent;
		};
		u8 whole[NUMBERED_BYTES];
	};
};

static_assert(sizeof(struct tdrr_flow) == NUMBERED_BYTES);

/*
 * Configuration as given; written by change under the tree lock. A member for
 * each option.
 */
struct tdrr_params {
	struct aqm_given	given;

	TC_TDRR_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(tdrr_options, struct tdrr_params, TC_TDRR_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_tdrr_qdisc_stats, TC_TDRR_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_tdrr_class_stats, TC_TDRR_CLASS_STATS);

/**
 * struct tdrr_vars - state of the datapath; under the qdisc lock
 * @victim: the queue that lost the last discard; NULL before the first
 * @by_throughput: the queues that hold packets by throughput
 */
struct tdrr_vars {
	struct tdrr_flow	*victim;
	struct throughput_index	by_throughput;
};

/**
 * struct tdrr_stats - counters; see struct tc_tdrr_qdisc_stats
 * @victims: discards that hit another queue than the one before
 */
struct tdrr_stats {
	u64	victims;
};

/**
 * struct tdrr_sched_data - private data of one discipline
 * @buffer: packets, limits and what was lost
 * @params: configuration
 * @stats: counters
 * @vars: state
 */
struct tdrr_sched_data {
	struct flow_buffer	buffer;
	struct tdrr_params	params;
	struct tdrr_stats	stats;
	struct tdrr_vars	vars;
};

static_assert(!offsetof(struct tdrr_sched_data, buffer));

static struct tdrr_flow *tdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct tdrr_flow, fq);
}

/* The queue's class, from 1. */
static u32 tdrr_class(const struct tdrr_flow *flow)
{
	return flow->fq.turn.number + 1;
}

/* The queue with the highest throughput, or NULL if all are empty. */
static struct tdrr_flow *tdrr_top(struct tdrr_sched_data *q)
{
	struct throughput_score *top;

	top = throughput_index_top(&q->vars.by_throughput);
	return top ? container_of(top, struct tdrr_flow, sent) : NULL;
}

/* A queue that was empty holds a packet. */
static void tdrr_activated(struct tdrr_sched_data *q, struct tdrr_flow *flow)
{
	throughput_index_add(&q->vars.by_throughput, &flow->sent);
}

/* A queue has lost or sent its last packet, and keeps its throughput. */
static void tdrr_emptied(struct tdrr_sched_data *q, struct tdrr_flow *flow)
{
	throughput_index_del(&q->vars.by_throughput, &flow->sent);
}

/* The rule: the queue to discard from; @q holds a packet. */
static struct tdrr_flow *tdrr_victim(struct tdrr_sched_data *q)
{
	struct tdrr_flow *top = tdrr_top(q);

	if (top != q->vars.victim)
		q->stats.victims++;
	q->vars.victim = top;
	return top;
}

/* Queue a packet that fits. */
static __always_inline void tdrr_add(struct Qdisc *sch,
				     struct tdrr_flow *flow,
				     struct sk_buff *skb, u32 segments)
{
	bool was_empty = !flow->fq.head;

	flow_buffer_add(sch, &flow->fq, skb, segments);
	if (was_empty)
		tdrr_activated(qdisc_priv(sch), flow);
}

/*
 * Queue a packet that does not fit: make room for it, and @tell the parents, unless
 * it is a part of what they were given.
 */
static noinline int tdrr_enqueue_full(struct sk_buff *skb, struct Qdisc *sch,
				      struct tdrr_flow *flow, u32 segments,
				      struct sk_buff **to_free, bool tell)
{
	struct parents_before before = parents_before(sch);
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct tdrr_flow *victim;
	bool own = false;
	int verdict;
	enum aqm_drop cause;

	flow_buffer_overflow(sch);
	if (flow_buffer_is_oversize(b, skb, segments))
		return flow_buffer_refuse(skb, sch, to_free);
	while ((cause = flow_buffer_full(b, skb, segments))) {
		victim = tdrr_victim(q);
		flow_buffer_discard(sch, &victim->fq, cause, to_free);
		if (!victim->fq.head)
			tdrr_emptied(q, victim);
		own |= victim == flow;
	}
	tdrr_add(sch, flow, skb, segments);
	verdict = own ? NET_XMIT_CN : NET_XMIT_SUCCESS;
	if (!tell)
		return verdict;
	return parents_tell(sch, &b->untold, &before, qdisc_pkt_len(skb),
			    verdict);
}

/* Queue a packet of so many @segments, whose queue has been found. */
static int tdrr_enqueue_one(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free, u32 segments)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct tdrr_flow *flow;

	flow = tdrr_flow(flow_rounds_queue(&b->rounds, b->number));
	if (flow_buffer_full(b, skb, segments))
		return tdrr_enqueue_full(skb, sch, flow, segments, to_free,
					false);
	tdrr_add(sch, flow, skb, segments);
	return NET_XMIT_SUCCESS;
}

static int tdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct tdrr_flow *flow;
	u32 number;

	if (unlikely(!flow_buffer_is_plain(b, sch, skb)))
		return flow_buffer_enqueue_other(skb, sch, to_free,
						 tdrr_enqueue_one);
	number = flow_buffer_hash(b, skb);
	flow = tdrr_flow(flow_rounds_queue(&b->rounds, number));
	if (unlikely(flow_buffer_full(b, skb, 1)))
		return tdrr_enqueue_full(skb, sch, flow, 1, to_free, true);
	tdrr_add(sch, flow, skb, 1);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *tdrr_dequeue(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow;
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_rounds_next(&q->buffer.rounds);
	if (!fq)
		return NULL;
	flow = tdrr_flow(fq);
	skb = flow_buffer_send(sch, fq);
	if (!fq->head)
		tdrr_emptied(q, flow);
	throughput_index_count(&q->vars.by_throughput, &flow->sent, fq->head,
			       qdisc_pkt_len(skb), ktime_get_ns());
	return skb;
}

static void tdrr_reset(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	/* Also called after an init that failed. */
	if (!q->buffer.rounds.queues)
		return;
	while (flow_buffer_purge(sch))
		;
	throughput_index_forget(&q->vars.by_throughput);
	q->vars.victim = NULL;
}

/* A change left too little room: discard as for an arrival. */
static void tdrr_trim(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	struct tdrr_flow *victim;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	while (flow_buffer_is_over(&q->buffer)) {
		victim = tdrr_victim(q);
		if (flow_buffer_is_alone(&q->buffer, &victim->fq))
			break;
		flow_buffer_trim(sch, &victim->fq);
		if (!victim->fq.head)
			tdrr_emptied(q, victim);
	}
	parents_tell_trim(sch, &before);
}

static int tdrr_derive(struct Qdisc *sch, struct aqm_config *to,
		       struct netlink_ext_ack *extack)
{
	const struct tdrr_params *p = to->params;
	struct flow_buffer_params *b = to->law;

	*b = (struct flow_buffer_params)FLOW_BUFFER_PARAMS(p);
	return flow_buffer_derive(sch, b, extack);
}

static void tdrr_in_force(void *params, const void *derived)
{
	struct tdrr_params *p = params;
	const struct flow_buffer_params *law = derived;

	p->bandwidth = law->bandwidth;
	p->memory_limit = law->memory_limit;
	p->limit = law->limit;
	p->quantum = law->quantum;
}

static int tdrr_alloc(struct Qdisc *sch, struct aqm_config *to,
		      struct netlink_ext_ack *extack)
{
	const struct tdrr_params *p = to->params;

	return flow_buffer_alloc(sch, p->flows, extack);
}

static void tdrr_setup(struct Qdisc *sch, const struct aqm_config *to)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_params *p = to->params;

	flow_buffer_init(sch, to->law);
	q->params = *p;
	throughput_index_init(&q->vars.by_throughput,
			      &tdrr_flow(q->buffer.rounds.queues)->sent,
			      p->flows, p->time_constant, ktime_get_ns());
	/* No TCQ_F_CAN_BYPASS: every departure must be seen. */
}

static void tdrr_commit(struct Qdisc *sch, struct aqm_config *to)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_params *p = to->params;

	flow_buffer_set(sch, to->law);
	if (p->time_constant != q->params.time_constant)
		throughput_index_change(&q->vars.by_throughput,
					p->time_constant, ktime_get_ns());
	q->params = *p;
	tdrr_trim(sch);
}

/* Throughput of a queue, bits per second. */
static u64 tdrr_throughput(const struct tdrr_sched_data *q,
			   const struct tdrr_flow *flow)
{
	return throughput_score_rate(&flow->sent, &q->vars.by_throughput.clock,
				     ktime_get_ns());
}

static void tdrr_stats(struct Qdisc *sch, void *stats)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tc_tdrr_qdisc_stats *st = stats;
	const struct tdrr_flow *top;

	flow_buffer_stats(&q->buffer, st);
	top = tdrr_top(q);
	if (top) {
		st->top = tdrr_class(top);
		st->top_throughput = tdrr_throughput(q, top);
	}
	st->victims = q->stats.victims;
}

static int tdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				 struct gnet_dump *d)
{
	struct tc_tdrr_xstats st = { .type = TC_AQM_XSTATS_CLASS };
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};
	struct tdrr_flow *flow;

	flow = tdrr_flow(flow_rounds_queue(&q->buffer.rounds, cl - 1));
	sch_tree_lock(sch);
	flow_queue_count(&flow->fq, &qs);
	qs.drops = flow->fq.dropped;
	st.cls.queue = cl;
	st.cls.deficit = flow_queue_account(&q->buffer.rounds, &flow->fq,
					    q->buffer.params.quantum);
	st.cls.is_top = flow == tdrr_top(q);
	st.cls.throughput = tdrr_throughput(q, flow);
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops tdrr_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= flow_buffer_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
	.dump_stats	= tdrr_dump_class_stats,
};

static struct aqm_kind tdrr_kind __read_mostly = {
	.options	= &tdrr_options,
	.params		= offsetof(struct tdrr_sched_data, params),
	.bandwidth	= TCA_TDRR_BANDWIDTH,
	.link		= offsetof(struct tdrr_sched_data, buffer.link),
	.filters	= offsetof(struct tdrr_sched_data, buffer.filters),
	.xstats		= sizeof(struct tc_tdrr_xstats),
	.follows_mtu	= true,
	.derive		= tdrr_derive,
	.in_force	= tdrr_in_force,
	.alloc		= tdrr_alloc,
	.setup		= tdrr_setup,
	.commit		= tdrr_commit,
	.destroy	= flow_buffer_destroy,
	.stats		= tdrr_stats,
	.ops		= {
		.cl_ops		= &tdrr_class_ops,
		.id		= "tdrr",
		.priv_size	= sizeof(struct tdrr_sched_data),
		.enqueue	= tdrr_enqueue,
		.dequeue	= tdrr_dequeue,
		.peek		= qdisc_peek_dequeued,
		.reset		= tdrr_reset,
	},
};
MODULE_ALIAS_NET_SCH("tdrr");
MODULE_DESCRIPTION("Throughput Deficit Round Robin (TDRR) queue discipline");
module_aqm_kind(tdrr_kind);
