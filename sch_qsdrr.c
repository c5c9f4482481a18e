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
 *    that differ by less than 1/16 can count as equal: <aqm/length_index.h>.
 *    With packets of one size, figure 1 is followed exactly for queues of up to
 *    16 packets. A longer Q is kept until it is 1/16 shorter.
 *  - The arrival does not count when Q is chosen, because figure 1 discards
 *    first and queues then. So an arrival can be the first packet of its queue.
 *    It is never discarded itself, unless it alone exceeds a limit.
 *  - An empty Q counts as shorter than the others. If Q becomes empty before
 *    the arrival fits, Q is chosen again.
 *  - Q stays the same while it is empty, because figure 1 checks it only when
 *    the buffer is full.
 *  - Of equally long queues we choose the one that reached this length last, as
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

#include <aqm/flow_qdisc.h>
#include <aqm/length_index.h>
#include <uapi/linux/pkt_sched_qsdrr.h>

/**
 * struct qsdrr_flow - one queue
 * @fq: its packets and its place in the round robin
 * @backlog: bytes queued
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

/* The datapath reads the copy of the shared options in struct flow_buffer. */
struct qsdrr_params {
	struct aqm_given	given;

	TC_QSDRR_OPTIONS(AQM_PARAM, 0)
};

/**
 * struct qsdrr_vars - state of the datapath; under the qdisc lock
 * @q_chosen: times Q was chosen afresh
 * @q: the paper's Q; NULL while undefined
 * @by_length: the queues that hold packets by length
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

/*
 * Figure 1: select the queue to discard from. While the queue that the same
 * arrival has already discarded from holds a packet, it stays the victim.
 */
static struct flow_queue *qsdrr_victim(struct Qdisc *sch, bool again)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_vars *v = &q->vars;

	if (q->params.hysteresis) {
		if (again && v->q->fq.head)
			return &v->q->fq;
		if (v->q && !qsdrr_q_is_shortest(v))
			return &v->q->fq;
	}
	v->q = qsdrr_longest(v);
	v->q_chosen++;
	return &v->q->fq;
}

static __always_inline void qsdrr_added(struct Qdisc *sch,
					struct flow_queue *fq,
					const struct sk_buff *skb, bool first)
{
	struct qsdrr_flow *flow = qsdrr_flow(fq);

	flow->backlog += qdisc_pkt_len(skb);
	qsdrr_update(sch, flow);
}

static __always_inline void qsdrr_removed(struct Qdisc *sch,
					  struct flow_queue *fq,
					  const struct sk_buff *skb)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct qsdrr_flow *flow = qsdrr_flow(fq);

	flow->backlog -= qdisc_pkt_len(skb);
	qsdrr_update(sch, flow);
	if (!fq->head)
		flow_ways_idle_hottest(&q->buffer.ways, fq->turn.number);
}

static void qsdrr_purged(struct Qdisc *sch, struct flow_queue *fq)
{
	struct qsdrr_flow *flow = qsdrr_flow(fq);

	flow->backlog = 0;
	qsdrr_update(sch, flow);
}

static void qsdrr_forget(struct Qdisc *sch)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);

	q->vars.q = NULL;
}

static const struct victim_rule qsdrr_rule = {
	.victim		= qsdrr_victim,
	.added		= qsdrr_added,
	.discarded	= qsdrr_removed,
	.sent		= qsdrr_removed,
	.purged		= qsdrr_purged,
	.forget		= qsdrr_forget,
};

FLOW_QDISC(qsdrr, qsdrr_rule);

static void qsdrr_setup(struct Qdisc *sch, struct aqm_given *given,
			struct aqm_memory *m)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct qsdrr_params *p = aqm_params_of(qsdrr, given);
	const struct flow_buffer_params b = FLOW_BUFFER_PARAMS(p);

	flow_buffer_init(sch, &b);
	q->params = *p;
	length_index_init(&q->vars.by_length,
			  &qsdrr_flow(q->buffer.rounds.queues)->by_length,
			  p->flows);
	sch->flags |= TCQ_F_CAN_BYPASS;
}

static void qsdrr_commit(struct Qdisc *sch, struct aqm_given *given,
			 struct aqm_memory *m)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	const struct qsdrr_params *p = aqm_params_of(qsdrr, given);
	const struct flow_buffer_params b = FLOW_BUFFER_PARAMS(p);

	flow_buffer_set(sch, &b);
	q->params = *p;
	aqm_queue_trim(sch, qsdrr_evict);
}

static void qsdrr_stats(struct Qdisc *sch, void *stats)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct tc_qsdrr_qdisc_stats *st = stats;

	flow_buffer_stats(sch, st);
	st->q_chosen = q->vars.q_chosen;
	st->q = q->vars.q ? flow_qdisc_classid(&q->vars.q->fq) : 0;
}

static void qsdrr_class_stats(struct Qdisc *sch, struct flow_queue *fq,
			      s64 deficit, void *xstats)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct tc_qsdrr_xstats *st = xstats;

	st->cls.queue = flow_qdisc_classid(fq);
	st->cls.deficit = deficit;
	st->cls.is_q = q->vars.q &&
		       st->cls.queue == flow_qdisc_classid(&q->vars.q->fq);
}

FLOW_AQM_KIND(qsdrr, QSDRR, "Queue State Deficit Round Robin (QSDRR)");
