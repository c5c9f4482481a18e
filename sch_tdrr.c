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
 *    time, with or without packets. <aqm/tdrr/throughput_index.h> implements it and
 *    states the errors: the throughput of the selected queue is more than 16/17
 *    of the highest one.
 *  - T is 100 ms. The paper has no value; see docs/tdrr-time-constant.md.
 *  - A queue is active if it has a packet. The arrival does not count. So it
 *    can be the first packet of its queue. It is never discarded itself, unless
 *    it alone exceeds a limit.
 *  - A queue keeps its throughput when packets are discarded from it. So it is
 *    chosen again until it is empty, or another queue has sent more.
 *  - Throughput is of a flow, even while it has no queue: <aqm/flow_table.h>.
 *    So the number of flows may be larger than the number of queues.
 *  - Of queues whose throughput <aqm/tdrr/throughput_index.h> cannot tell apart, we
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
 * short. A standing delay above target, see <aqm/tdrr/standing_delay.h>, costs the queue
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
 * drop_cut is our addition, and off by default. By the rule, a flow that lost a packet
 * keeps the highest throughput until its sender has slowed down for a while. So it loses
 * several packets of one window, and the other flows grow meanwhile. With drop_cut a drop
 * counts:
 *
 *	if a queue loses its only packet, its throughput falls by the part drop_cut
 *
 * A queue that still holds packets keeps its throughput. Without this condition, a flow
 * that ignores losses would have a low throughput and push out the others.
 * docs/results/dropcut.md compares both rules.
 *
 * follow_rtt is our addition, and off by default. It shortens the memory where round
 * trips are short, because a flow that lost a packet is the victim for about T, which may
 * be many of its round trips:
 *
 *	T is twice the sum of the round-trip time that handshakes show and the average
 *	delay of the queue, and at most time_constant
 *
 * A handshake shows little of the delay, because its packets pass the queues of other
 * flows. <aqm/tdrr/round_trip.h> says how the round trip is learned. T is set at each
 * handshake. It is also set after a full buffer made room and before a signal, if it
 * differs by more than a sixteenth. Until a handshake was seen, T is time_constant.
 * docs/results/memory.md judges it.
 *
 * Where a packet goes: tdrr_enqueue() asks flow_buffer_hash() for the queue of its flow,
 * and tdrr_add() appends it; tdrr_dequeue() takes the queue whose turn it is from
 * flow_rounds_next(), and throughput_index_count() notes what left. If the buffer is
 * full, tdrr_enqueue_full() evicts, and parents_report() tells the parents. A GSO packet,
 * a filter or a packet without a hash goes through frame/flow_buffer.c first.
 *
 * Parameters, their units and ranges: TC_TDRR_OPTIONS.
 */

#include <linux/ktime.h>
#include <linux/mm.h>
#include <net/pkt_sched.h>
#include <aqm/flow_buffer.h>
#include <aqm/tdrr/round_trip.h>
#include <aqm/tdrr/standing_delay.h>
#include <aqm/tdrr/throughput_index.h>
#include <uapi/linux/pkt_sched_tdrr.h>

static_assert(TDRR_MIN_TIME_CONSTANT == THROUGHPUT_MIN_TIME_CONSTANT);
static_assert(TDRR_MAX_TIME_CONSTANT == THROUGHPUT_MAX_TIME_CONSTANT);

#define TDRR_DROP_TARGET	AQM_DROP_OWN
#define TDRR_LOOKS		8	/* at queues for a signal */
/* An entry of a flow is useful if it sent so many bytes, four half-lives ago, or more. */
#define TDRR_USEFUL_BYTES	1000
#define TDRR_USEFUL_HALF_LIVES	4
/* The time of a queue's last signal is in units of 1024 ns, modulo 2^32, and odd. */
#define TDRR_SIGNAL_SHIFT	10

/**
 * struct tdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @sent: its throughput; in the index while the queue holds a packet. Its mark is
 *	the time of the queue's last signal, or of a SYN that it sent last; 0: none
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

AQM_OPTIONS(tdrr_options, struct tdrr_params, TC_TDRR_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_tdrr_qdisc_stats, TC_TDRR_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_tdrr_class_stats, TC_TDRR_CLASS_STATS);

/**
 * struct tdrr_vars - state of the datapath; under the qdisc lock
 * @victims: discards by a full buffer that hit another queue than the one before
 * @went_first: sparse queues that were served before the others of a round
 * @victim: the queue from which a full buffer discarded last; NULL before the first
 * @followed: time from which handshakes are timed, ns
 * @rtt: with follow_rtt, the average of handshakes, us; 0: none was seen
 * @memory: T in force, us
 * @standing: standing delay, with target
 * @by_throughput: the queues that hold packets by throughput
 */
struct tdrr_vars {
	u64			victims;
	u64			went_first;
	struct tdrr_flow	*victim;
	u64			followed;
	u32			rtt;
	u32			memory;
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

static u32 tdrr_level(const struct flow_queue *fq)
{
	return throughput_score_level(&container_of(fq, struct tdrr_flow, fq)->sent);
}

/* An entry is worth a larger table if its throughput is above this one. */
static void tdrr_know_useful(struct tdrr_sched_data *q)
{
	q->buffer.table.useful = throughput_level_of(&q->vars.by_throughput.clock,
						     TDRR_USEFUL_BYTES) -
				 (TDRR_USEFUL_HALF_LIVES << FLOW_LEVEL_BITS);
}

/* Return the time constant that should be in force, us. */
static u32 tdrr_memory(const struct tdrr_sched_data *q, const struct tdrr_params *p)
{
	if (!p->follow_rtt || !q->vars.rtt)
		return p->time_constant;
	return round_trip_memory(q->vars.rtt, q->buffer.queue.delay.avg,
				 TDRR_MIN_TIME_CONSTANT, p->time_constant);
}

/* Set the time constant in force. */
static void tdrr_remember(struct tdrr_sched_data *q, u32 memory, u64 now)
{
	if (memory == q->vars.memory)
		return;
	q->vars.memory = memory;
	throughput_index_change(&q->vars.by_throughput, memory, now);
	tdrr_know_useful(q);
}

/* With follow_rtt: set the time constant anew if the queue's delay has changed much. */
static void tdrr_follow(struct tdrr_sched_data *q)
{
	u32 memory = tdrr_memory(q, &q->params);

	if (round_trip_memory_is_off(q->vars.memory, memory))
		tdrr_remember(q, memory, ktime_get_ns());
}

/*
 * With follow_rtt: time the handshake of a flow that is new, or has sent only SYNs. Packets
 * of other flows in its queue, by a filter or without a free queue, do not count.
 */
static void tdrr_time(struct tdrr_sched_data *q, struct tdrr_flow *flow,
		      struct sk_buff *skb)
{
	u64 gone, now = ktime_get_ns();
	u32 start = flow->sent.mark;

	if (!flow_buffer_owns(&q->buffer, skb, &flow->fq))
		return;
	if (packet_is_syn(skb)) {
		flow->sent.mark = round_trip_start(now);
	} else if (round_trip_has_start(start)) {
		flow->sent.mark = 0;
		gone = round_trip_gone(start, now);
		/* A replaced flow's start, or one from before follow_rtt was off. */
		if (q->buffer.table.is_new || gone > now - q->vars.followed)
			return;
		q->vars.rtt = round_trip_count(q->vars.rtt, gone, q->params.time_constant);
		tdrr_remember(q, tdrr_memory(q, &q->params), now);
	}
}

/*
 * A flow got a queue. Remember the throughput of the flow that had it, and recall that of
 * the new one.
 */
static void tdrr_claimed(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_table *ft = &q->buffer.table;
	struct tdrr_flow *flow;

	flow = tdrr_flow(flow_rounds_queue(&q->buffer.rounds, ft->claimed));
	flow_table_keep(ft, tdrr_level(&flow->fq));
	throughput_score_set(&flow->sent, ft->above, q->vars.by_throughput.clock.half_life);
	if (round_trip_has_start(flow->sent.mark))
		flow->sent.mark = 0;
}

/* Queue an arrival that fits; if the buffer was @full, room was made for it. */
static __always_inline void tdrr_add(struct Qdisc *sch, struct flow_queue *fq,
				     struct sk_buff *skb, u32 segments, bool full)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct throughput_index *ti = &q->vars.by_throughput;
	struct tdrr_flow *flow = tdrr_flow(fq);

	if (unlikely(q->params.follow_rtt)) {
		if (q->buffer.table.is_new || round_trip_has_start(flow->sent.mark)) {
			tdrr_time(q, flow, skb);
			q->buffer.table.is_new = false;
		}
		if (full)
			tdrr_follow(q);
	}
	if (!flow_buffer_add(sch, fq, skb, segments))
		return;
	if (q->params.sparse && throughput_index_is_low(ti, &flow->sent))
		q->vars.went_first += flow_queue_hasten(&q->buffer.rounds, fq);
	throughput_index_add(ti, &flow->sent);
}

/* Remove the first packet of a queue, to drop it. */
static struct sk_buff *tdrr_remove(struct Qdisc *sch, struct tdrr_flow *flow)
{
	struct sk_buff *skb = flow_buffer_evict(sch, &flow->fq);
	struct tdrr_sched_data *q = qdisc_priv(sch);

	if (!flow->fq.head) {
		throughput_index_del(&q->vars.by_throughput, &flow->sent);
		if (unlikely(q->params.drop_cut))
			throughput_score_cut(&flow->sent, q->params.drop_cut);
	}
	return skb;
}

/* The rule: select the queue to discard from. At least one has a packet. */
static struct tdrr_flow *tdrr_victim(struct tdrr_sched_data *q)
{
	struct tdrr_flow *top = tdrr_top(q);

	if (top != q->vars.victim)
		q->vars.victims++;
	q->vars.victim = top;
	return top;
}

/* Make room for an arrival, and queue it. Report to the parents only if @report. */
static int tdrr_enqueue_full(struct sk_buff *skb, struct Qdisc *sch,
			     struct flow_queue *fq, u32 segments,
			     struct sk_buff **to_free, bool report)
{
	struct parents_before before = parents_before(sch);
	struct tdrr_sched_data *q = qdisc_priv(sch);
	int verdict = NET_XMIT_SUCCESS;
	struct tdrr_flow *victim;
	struct sk_buff *lost;
	enum aqm_drop cause;

	flow_buffer_overflow(sch);
	if (aqm_queue_is_oversize(&q->buffer.queue, skb, segments))
		return aqm_drop(skb, sch, AQM_DROP_OVERSIZE, to_free);
	while ((cause = aqm_queue_full(&q->buffer.queue, skb, segments))) {
		victim = tdrr_victim(q);
		lost = tdrr_remove(sch, victim);
		aqm_queue_lost(sch, lost, cause);
		__qdisc_drop(lost, to_free);
		if (&victim->fq == fq)
			verdict = NET_XMIT_CN;
	}
	tdrr_add(sch, fq, skb, segments, true);
	if (!report)
		return verdict;
	return parents_report(sch, &before, qdisc_pkt_len(skb), verdict);
}

/* Queue a packet, or a segment of it, for which the caller reports to the parents. */
static int tdrr_enqueue_one(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free, u32 segments, u32 number)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *fq = flow_rounds_queue(&q->buffer.rounds, number);

	if (aqm_queue_full(&q->buffer.queue, skb, segments))
		return tdrr_enqueue_full(skb, sch, fq, segments, to_free, false);
	tdrr_add(sch, fq, skb, segments, false);
	return NET_XMIT_SUCCESS;
}

static int tdrr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_buffer *b = &q->buffer;
	struct flow_queue *fq;

	if (unlikely(!flow_buffer_is_plain(b, sch, skb)))
		return flow_buffer_enqueue_other(skb, sch, to_free, tdrr_enqueue_one);
	fq = flow_rounds_queue(&b->rounds, flow_buffer_hash(b, skb));
	if (b->table.claimed != FLOW_NONE)
		tdrr_claimed(sch);
	if (unlikely(aqm_queue_full(&b->queue, skb, 1)))
		return tdrr_enqueue_full(skb, sch, fq, 1, to_free, true);
	tdrr_add(sch, fq, skb, 1, false);
	return NET_XMIT_SUCCESS;
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
		throughput_index_pass_over(&q->vars.by_throughput, &flow->sent);
		if (!(flow->sent.mark & 1) || stamp - flow->sent.mark >= interval)
			return flow;
	}
	return NULL;
}

/* Mark or discard a packet, because the delay is too long. */
static void tdrr_signal(struct Qdisc *sch, u64 now)
{
	u32 stamp = now >> TDRR_SIGNAL_SHIFT | 1;
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_flow *flow;
	struct sk_buff *skb;

	if (q->params.follow_rtt)
		tdrr_follow(q);
	flow = tdrr_signal_victim(q, stamp);
	if (!flow)
		return;
	flow->sent.mark = stamp;
	if (q->params.ecn && flow_buffer_mark(sch, &flow->fq))
		return;
	skb = tdrr_remove(sch, flow);
	aqm_queue_lost(sch, skb, TDRR_DROP_TARGET);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	qdisc_dequeue_drop(sch, skb, (int)QDISC_DROP_CONGESTED);
}

/* Look for a standing delay before a packet leaves. */
static void tdrr_control(struct Qdisc *sch)
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

static struct sk_buff *tdrr_dequeue(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct throughput_index *ti = &q->vars.by_throughput;
	struct tdrr_flow *flow;
	struct flow_queue *fq;
	struct sk_buff *skb;
	u64 now;

	if (unlikely(q->params.target))
		tdrr_control(sch);
	fq = flow_rounds_next(&q->buffer.rounds);
	if (!fq)
		return NULL;
	skb = flow_buffer_send(sch, fq);
	flow_rounds_prefetch(&q->buffer.rounds);
	flow = tdrr_flow(fq);
	now = ktime_get_ns();
	if (!fq->head)
		throughput_index_del(ti, &flow->sent);
	throughput_index_count(ti, &flow->sent, fq->head, qdisc_pkt_len(skb), now);
	return skb;
}

/* Also called after a failed init. */
static void tdrr_reset(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	while (flow_buffer_purge(sch))
		;
	throughput_index_forget(&q->vars.by_throughput);
	standing_delay_init(&q->vars.standing);
	q->vars.victim = NULL;
	if (q->vars.rtt) {
		q->vars.rtt = 0;
		tdrr_remember(q, tdrr_memory(q, &q->params), ktime_get_ns());
	}
}

/* For aqm_queue_trim(): remove a packet by the rule, unless the rest fits. */
static struct sk_buff *tdrr_evict(struct Qdisc *sch, bool again)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	return aqm_queue_is_over(sch) ? tdrr_remove(sch, tdrr_victim(q)) : NULL;
}

static void tdrr_moved(struct Qdisc *sch, const void *old)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct flow_queue *queues = q->buffer.rounds.queues;

	q->vars.by_throughput.scores = queues ? &tdrr_flow(queues)->sent : NULL;
	q->vars.victim = flow_buffer_moved(&q->buffer, old, q->vars.victim);
}

/* All throughputs have decayed to nothing. */
static bool tdrr_is_spent(struct Qdisc *sch)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);

	return throughput_clock_is_over(&q->vars.by_throughput.clock, ktime_get_ns());
}

static const struct flow_buffer_ops tdrr_buffer_ops = {
	.link		= offsetof(struct tdrr_flow, sent.link),
	.moved		= tdrr_moved,
	.claimed	= tdrr_claimed,
	.is_spent	= tdrr_is_spent,
};

/* Compute the options that were not given. */
static int tdrr_derive(struct Qdisc *sch, struct tdrr_params *p,
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

static int tdrr_apply(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	struct tdrr_params *p = aqm_params_of(tdrr, given);
	struct tdrr_sched_data *q = qdisc_priv(sch);
	int err = tdrr_derive(sch, p, extack);

	if (err)
		return err;

	sch_tree_lock(sch);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	flow_buffer_set(sch, p->quantum, p->avoid_collisions, p->split_gso);
	if (p->follow_rtt && !q->params.follow_rtt)
		q->vars.followed = ktime_get_ns();
	tdrr_remember(q, tdrr_memory(q, p), ktime_get_ns());
	if (p->target != q->params.target)
		standing_delay_init(&q->vars.standing);
	q->params = *p;
	aqm_queue_trim(sch, tdrr_evict);
	sch_tree_unlock(sch);
	return 0;
}

static const struct aqm_kind tdrr_kind = {
	.options	= &tdrr_options,
	.bandwidth	= TCA_TDRR_BANDWIDTH,
	.apply		= tdrr_apply,
};

static int tdrr_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int tdrr_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct tdrr_params *p = &q->params;
	int err;

	err = aqm_init(sch, &tdrr_kind, &p->given, opt, extack);
	if (!err)
		err = tdrr_derive(sch, p, extack);
	if (!err)
		err = flow_buffer_init(sch, p->flows, &tdrr_buffer_ops, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	flow_buffer_set(sch, p->quantum, p->avoid_collisions, p->split_gso);
	q->vars.memory = p->time_constant;
	throughput_index_init(&q->vars.by_throughput, NULL, p->time_constant,
			      ktime_get_ns());
	tdrr_moved(sch, NULL);
	q->buffer.table.half_life = &q->vars.by_throughput.clock.half_life;
	q->buffer.table.level = tdrr_level;
	tdrr_know_useful(q);
	standing_delay_init(&q->vars.standing);
	/* No TCQ_F_CAN_BYPASS: every departure must be seen. */
	sch->flags |= TCQ_F_DEQUEUE_DROPS;
	return aqm_start(sch, extack);
}

static void tdrr_destroy(struct Qdisc *sch)
{
	aqm_destroy(sch);
	flow_buffer_destroy(sch);
}

static int tdrr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Throughput of a queue, bits per second. */
static u64 tdrr_throughput(const struct tdrr_sched_data *q,
			   const struct tdrr_flow *flow)
{
	return throughput_score_rate(&flow->sent, &q->vars.by_throughput.clock,
				     ktime_get_ns());
}

static int tdrr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_tdrr_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	struct tdrr_sched_data *q = qdisc_priv(sch);
	const struct tdrr_flow *top;
	/* Statistics of an option that is off are left out, like those of an older module. */
	size_t size = offsetof(struct tc_tdrr_xstats, qdisc.rtt);

	sch_tree_lock(sch);
	flow_buffer_stats(sch, &st.qdisc);
	top = tdrr_top(q);
	if (top) {
		st.qdisc.top = flow_buffer_classid(&top->fq);
		st.qdisc.top_throughput = tdrr_throughput(q, top);
	}
	st.qdisc.victims = q->vars.victims;
	st.qdisc.went_first = q->vars.went_first;
	st.qdisc.target_drop = q->buffer.queue.drops[TDRR_DROP_TARGET];
	if (q->params.target)
		st.qdisc.rate = q->buffer.queue.link.meter.rate;
	st.qdisc.expected_delay = standing_delay_of(st.qdisc.rate,
						    flow_buffer_backlog(sch));
	st.qdisc.recalled = q->buffer.table.recalled;
	st.qdisc.records = q->buffer.table.kept;
	if (q->params.follow_rtt) {
		st.qdisc.rtt = (u64)q->vars.rtt * NSEC_PER_USEC;
		st.qdisc.memory = (u64)q->vars.memory * NSEC_PER_USEC;
		size = sizeof(st);
	}
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, size);
}

static int tdrr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				 struct gnet_dump *d)
{
	struct tc_tdrr_xstats st = { .type = TC_AQM_XSTATS_CLASS };
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};
	const struct tdrr_flow *top;
	struct flow_queue *fq;

	sch_tree_lock(sch);
	flow_buffer_count(sch, cl, &qs);
	fq = flow_buffer_class(&q->buffer, cl);
	st.cls.queue = fq ? flow_buffer_classid(fq) : cl;
	if (fq) {
		top = tdrr_top(q);
		st.cls.deficit = flow_buffer_account(&q->buffer, fq);
		st.cls.is_top = top && st.cls.queue == flow_buffer_classid(&top->fq);
		st.cls.throughput = tdrr_throughput(q, tdrr_flow(fq));
	}
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

static int __init tdrr_module_init(void)
{
	return aqm_register(&tdrr_qdisc_ops);
}

static void __exit tdrr_module_exit(void)
{
	aqm_unregister(&tdrr_qdisc_ops);
}

module_init(tdrr_module_init);
module_exit(tdrr_module_exit);
MODULE_ALIAS_NET_SCH("tdrr");
MODULE_DESCRIPTION("Throughput Deficit Round Robin (TDRR) queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
