// SPDX-License-Identifier: GPL-2.0
/*
 * Throughput Deficit Round Robin (TDRR)
 *
 * With a small buffer and many flows no queue is longer than a packet or two,
 * so queue length does not show which flow uses more of the link. TDRR measures
 * the throughput of each queue over a time much longer than the buffer takes to
 * drain, and drops from the queue that has sent most.
 *
 * A. Kantawala, J. Turner, "Efficient Queue Management for TCP Flows",
 * WUCS-01-22, Washington University, August 2001, section 2, "Throughput DRR".
 *
 * The rule, when a packet arrives and does not fit:
 *
 *	discard from the active queue with the highest throughput, an
 *	exponentially weighted average, until the packet fits
 *
 * The queues are served by deficit round robin.
 *
 * Our decisions where the paper is silent:
 *  - Packets are discarded from the front, as in figure 1 for QSDRR, and as in
 *    ns-2's DRR, with which the paper's were simulated.
 *  - Throughput counts bytes at the time of their departure. Discarded packets
 *    never count. A packet departs when it is dequeued, or when the parent
 *    peeks at it, because a peek commits the choice.
 *  - The average is exact in continuous time: a byte that left t ago has the
 *    weight exp(-t / T) / T. The throughput of an idle queue decays all the
 *    time, with or without packets. <aqm/throughput_index.h> implements it and
 *    states the errors: the throughput of the selected queue is more than 16/17
 *    of the highest one.
 *  - T is 100 ms. The paper has no value; see docs/tdrr-time-constant.md.
 *  - A queue is active if it has a packet. The arrival does not count. So it
 *    can be the first packet of its queue. It is never discarded itself, unless
 *    it alone exceeds a limit.
 *  - A queue keeps its throughput when packets are discarded from it. So it is
 *    chosen again until it is empty, or another queue has sent more.
 *  - Of queues whose throughput <aqm/throughput_index.h> cannot tell apart, we
 *    choose the one that reached it first.
 *  - <aqm/queue.h> defines when the buffer is full. GSO packets are split. An
 *    unsplit one counts as its number of wire packets, and fits into an empty
 *    buffer.
 *  - The buffer defaults to 80 ms of the link; the paper varies it.
 *  - Deficit round robin charges a packet after it was sent, and keeps the
 *    debts of empty queues: <aqm/flow_queues.h>, with the bound on unfairness.
 *
 * A full buffer never marks. A discard makes room, and a mark would not.
 *
 * target is our addition, and off by default. It keeps the delay of a large buffer
 * short. A standing delay above target, see <aqm/standing_delay.h>, costs the queue
 * with the highest throughput its first packet. With ecn the packet is marked
 * instead. So that each flow gets one signal in 100 ms at most, a queue that got one
 * less than 100 ms ago is passed over:
 *
 *	look at the first queue of the highest bucket, and put it behind the others of
 *	the bucket, until a queue got no signal in 100 ms, at most 8 times
 *
 * The last packet of the buffer is never discarded, so parents never see a count of 0
 * that a dequeue does not explain. docs/tdrr-target.md compares it with a short buffer.
 *
 * Parameters, their units and ranges: TC_TDRR_OPTIONS.
 */

#include <linux/ktime.h>
#include <net/pkt_sched.h>
#include <aqm/flow_qdisc.h>
#include <aqm/packet_network.h>
#include <aqm/standing_delay.h>
#include <aqm/throughput_index.h>
#include <uapi/linux/pkt_sched_tdrr.h>

static_assert(TDRR_MIN_TIME_CONSTANT == THROUGHPUT_MIN_TIME_CONSTANT);
static_assert(TDRR_MAX_TIME_CONSTANT == THROUGHPUT_MAX_TIME_CONSTANT);

#define TDRR_DROP_TARGET	AQM_DROP_OWN
#define TDRR_LOOKS		8	/* at queues for a signal */
/* The time of a queue's last signal is in units of 1024 ns, modulo 2^32. */
#define TDRR_SIGNAL_SHIFT	10

/**
 * struct tdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @sent: its throughput; in the index while the queue holds a packet. Its mark is
 *	the time of the queue's last signal; 0: none
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

/* The datapath reads the copy of the shared options in struct flow_buffer. */
struct tdrr_params {
	struct aqm_given	given;

	TC_TDRR_OPTIONS(AQM_PARAM, 0)
};

/**
 * struct tdrr_vars - state of the datapath; under the qdisc lock
 * @victims: discards by a full buffer that hit another queue than the one before
 * @went_first: sparse queues that were served before the others of a round
 * @victim: the queue from which a full buffer discarded last; NULL before the first
 * @standing: standing delay, with target
 * @by_throughput: the queues that hold packets by throughput
 */
struct tdrr_vars {
	u64			victims;
	u64			went_first;
	struct tdrr_flow	*victim;
	struct standing_delay	standing;
	struct throughput_index	by_throughput;
};

struct tdrr_sched_data {
	struct flow_buffer	buffer;
	struct tdrr_params	params;
	struct tdrr_vars	vars;
};

static struct tdrr_flow *tdrr_flow(struct flow_queue *fq)
{
	return container_of(fq, struct tdrr_flow, fq);
}

/* The queue with the highest throughput, or NULL if all are empty. */
static struct tdrr_flow *tdrr_top(struct tdrr_sched_data *q)
{
	struct throughput_score *top;

	top = throughput_index_top(&q->vars.by_throughput);
	return top ? container_of(top, struct tdrr_flow, sent) : NULL;
}

/* The rule: select the queue to discard from. */
static struct flow_queue *tdrr_victim(struct Qdisc *sch, bool again)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *top = tdrr_top(q);

	if (top != q->vars.victim)
		q->vars.victims++;
	q->vars.victim = top;
	return &top->fq;
}

static __always_inline void tdrr_added(struct Qdisc *sch,
				       struct flow_queue *fq,
				       const struct sk_buff *skb, bool first)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct throughput_index *ti = &q->vars.by_throughput;
	struct tdrr_flow *flow = tdrr_flow(fq);

	if (!first)
		return;
	if (q->params.sparse && throughput_index_is_low(ti, &flow->sent))
		q->vars.went_first += flow_queue_hasten(&q->buffer.rounds, fq);
	throughput_index_add(ti, &flow->sent);
}

/*
 * A queue that became empty keeps its throughput. Tell flow_ways.h how hot it is,
 * so that a new flow takes the coldest empty queue.
 */
static __always_inline void tdrr_emptied(struct tdrr_sched_data *q,
					 const struct tdrr_flow *flow)
{
	u16 now = q->vars.by_throughput.clock.half_life * THROUGHPUT_INDEX_STEPS;

	flow_ways_idle(&q->buffer.ways, flow->fq.turn.number,
		       throughput_score_heat(&flow->sent), now);
}

static __always_inline void tdrr_discarded(struct Qdisc *sch,
					   struct flow_queue *fq,
					   const struct sk_buff *skb)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow = tdrr_flow(fq);

	if (fq->head)
		return;
	throughput_index_del(&q->vars.by_throughput, &flow->sent);
	tdrr_emptied(q, flow);
}

/* The queue to signal to, or NULL if none of those we look at may get a signal. */
static struct tdrr_flow *tdrr_signal_victim(struct tdrr_sched_data *q, u32 stamp)
{
	/* A time is rounded by less than two units. */
	const u32 interval = (STANDING_DELAY_INTERVAL >> TDRR_SIGNAL_SHIFT) - 1;
	struct tdrr_flow *flow;
	u32 i;

	for (i = 0; i < TDRR_LOOKS; i++) {
		flow = tdrr_top(q);
		throughput_index_turn(&q->vars.by_throughput, &flow->sent);
		if (!flow->sent.mark || stamp - flow->sent.mark >= interval)
			return flow;
	}
	return NULL;
}

/* Mark or discard a packet, because the delay is too long. */
static noinline void tdrr_signal(struct Qdisc *sch, u64 now)
{
	u32 stamp = now >> TDRR_SIGNAL_SHIFT | 1;
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow = tdrr_signal_victim(q, stamp);
	struct sk_buff *skb;

	if (!flow)
		return;
	flow->sent.mark = stamp;
	if (q->params.ecn && packet_set_ce(flow->fq.head)) {
		q->buffer.queue.signal.early_mark++;
		return;
	}
	skb = flow_buffer_evict(sch, &flow->fq);
	aqm_queue_lost(sch, skb, TDRR_DROP_TARGET);
	tdrr_discarded(sch, &flow->fq, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	qdisc_dequeue_drop(sch, skb, (int)QDISC_DROP_CONGESTED);
}

/* Out of line, because target is off by default. */
static noinline void tdrr_control(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct standing_delay *sd = &q->vars.standing;
	u32 active = q->buffer.rounds.active;
	u64 now;

	standing_delay_set(sd, q->buffer.queue.link.meter.rate, q->params.target,
			   2 * psched_mtu(qdisc_dev(sch)));
	/* 0 if sch_red, before 2026, asks for a packet after it peeked at the last. */
	if (!active || !standing_delay_is_long(sd, flow_buffer_backlog(sch)))
		return;
	now = ktime_get_ns();
	if (standing_delay_due(sd, active, now) &&
	    sch->q.qlen > 1)
		tdrr_signal(sch, now);
}

static __always_inline void tdrr_before_send(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	if (unlikely(q->params.target))
		tdrr_control(sch);
}

static __always_inline void tdrr_sent(struct Qdisc *sch, struct flow_queue *fq,
				      const struct sk_buff *skb)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow = tdrr_flow(fq);
	u64 now = ktime_get_ns();

	if (!fq->head)
		throughput_index_del(&q->vars.by_throughput, &flow->sent);
	throughput_index_count(&q->vars.by_throughput, &flow->sent, fq->head,
			       qdisc_pkt_len(skb), now);
	if (!fq->head)
		tdrr_emptied(q, flow);
}

static void tdrr_forget(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	throughput_index_forget(&q->vars.by_throughput);
	standing_delay_init(&q->vars.standing);
	q->vars.victim = NULL;
}

static const struct victim_rule tdrr_rule = {
	.victim		= tdrr_victim,
	.added		= tdrr_added,
	.discarded	= tdrr_discarded,
	.before_send	= tdrr_before_send,
	.sent		= tdrr_sent,
	.forget		= tdrr_forget,
};

FLOW_QDISC(tdrr, tdrr_rule);

static void tdrr_setup(struct Qdisc *sch, struct aqm_given *given,
		       struct aqm_memory *m)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_params *p = aqm_params_of(tdrr, given);
	const struct flow_buffer_params b = FLOW_BUFFER_PARAMS(p);

	flow_buffer_init(sch, &b);
	q->params = *p;
	throughput_index_init(&q->vars.by_throughput,
			      &tdrr_flow(q->buffer.rounds.queues)->sent,
			      p->flows, p->time_constant, ktime_get_ns());
	standing_delay_init(&q->vars.standing);
	/* No TCQ_F_CAN_BYPASS: every departure must be seen. */
	sch->flags |= TCQ_F_DEQUEUE_DROPS;
}

static void tdrr_commit(struct Qdisc *sch, struct aqm_given *given,
			struct aqm_memory *m)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_params *p = aqm_params_of(tdrr, given);
	const struct flow_buffer_params b = FLOW_BUFFER_PARAMS(p);

	flow_buffer_set(sch, &b);
	if (p->time_constant != q->params.time_constant)
		throughput_index_change(&q->vars.by_throughput,
					p->time_constant, ktime_get_ns());
	if (p->target != q->params.target)
		standing_delay_init(&q->vars.standing);
	q->params = *p;
	aqm_queue_trim(sch, tdrr_evict);
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

	flow_buffer_stats(sch, st);
	top = tdrr_top(q);
	if (top) {
		st->top = flow_qdisc_classid(&top->fq);
		st->top_throughput = tdrr_throughput(q, top);
	}
	st->victims = q->vars.victims;
	st->went_first = q->vars.went_first;
	st->target_drop = q->buffer.queue.drops[TDRR_DROP_TARGET];
	st->rate = q->params.target ? q->buffer.queue.link.meter.rate : 0;
	st->expected_delay = standing_delay_of(st->rate, flow_buffer_backlog(sch));
}

static void tdrr_class_stats(struct Qdisc *sch, struct flow_queue *fq,
			     s64 deficit, void *xstats)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_flow *top = tdrr_top(q);
	struct tc_tdrr_xstats *st = xstats;

	st->cls.queue = flow_qdisc_classid(fq);
	st->cls.deficit = deficit;
	st->cls.is_top = top && st->cls.queue == flow_qdisc_classid(&top->fq);
	st->cls.throughput = tdrr_throughput(q, tdrr_flow(fq));
}

FLOW_AQM_KIND(tdrr, TDRR, "Throughput Deficit Round Robin (TDRR)");
