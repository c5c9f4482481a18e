// SPDX-License-Identifier: GPL-2.0
/*
 * Adaptive RED
 *
 * RED's average queue settles at a length that depends on max_p and on the
 * number of flows: near min with few flows, near or above max with many.
 * Adaptive RED moves max_p slowly until the average is about halfway between
 * min and max. It also derives RED's other parameters from the rate of the
 * link.
 *
 * S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing
 * the Robustness of RED's Active Queue Management", August 2001. Drops above
 * max as in S. Floyd, "Recommendation on using the gentle variant of RED",
 * 2000.
 *
 * The rule, where C is the number of packets that the link sends in a second:
 *
 *	w = 1 - exp(-1 / C)
 *	min = max(5, target C / 2),  max = 3 min
 *
 *	each 0.5 s, d = max - min:
 *		avg > min + 0.6 d, max_p < top:		max_p += min(0.01, max_p / 4)
 *		avg < min + 0.4 d, max_p > bottom:	max_p *= 0.9
 *
 *	each arrival: drop it with probability p_b, spread over the arrivals,
 *		0 below min, up to max_p at max, up to 1 at 2 max (gentle), then 1
 *
 * <aqm/gentle_red.h> implements it, with the formulas of avg, p_b and the
 * spacing. With ecn, packets are marked instead of dropped. With harddrop, they
 * are dropped where p_b is 1.
 *
 * Our decisions where the paper is silent:
 *  - min is at most a sixth of the limit, because the gentle slope ends at 6
 *    min. A slope beyond the limit would make the queue drop-tail. This matters
 *    below 4.5 Mb/s, where 30 packets take 80 ms, or with a limit below 12
 *    times the target.
 *  - No timer moves max_p. An arrival makes all the steps that have come due
 *    since the last arrival, each with the current average. In the paper's
 *    simulator an arrival makes one step, however much time has passed.
 *  - max_p stops at its bounds instead of stepping over them.
 *  - The average of an empty queue decays by time: <aqm/red_fifo.h>.
 *  - "target" is the paper's target average delay. The average settles at 2
 *    min, which is that delay.
 *  - GSO packets: <aqm/split_gso.h>.
 *  - Without adaptive, gentle and wait this is the RED of the earlier papers.
 *
 * Options, units and defaults: TC_ARED_OPTIONS.
 */

#include <aqm/kind.h>
#include <aqm/plain_fifo.h>
#include <aqm/red_queue.h>
#include <uapi/linux/pkt_sched_ared.h>

#define ARED_LEAST	5U	/* packets: the paper's lower bound of min */

struct ared_params {
	struct aqm_given		given;
	struct gentle_red_params	red;
	struct congestion_policy	signal;

	TC_ARED_OPTIONS(AQM_PARAM, 0)
};

/**
 * struct ared_vars - state of the datapath; under the qdisc lock
 * @red: the average, and max_p
 * @random: generator for the decisions about arrivals
 */
struct ared_vars {
	struct gentle_red_vars	red;
	struct seeded_random	random;
};

struct ared_sched_data {
	struct aqm_queue		queue;
	struct ared_params		params;
	struct ared_vars		vars;
	struct gentle_red_stats		adapted;	/* steps of max_p */
};

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int ared_arrival(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free, u32 packets,
					u32 class)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	const struct ared_params *p = &q->params;
	enum congestion_signal signal;
	struct ared_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	bool forced;
	int lost;

	gentle_red_arrival(&p->red, &v->red, &q->adapted,
			   q->queue.segments, now);
	signal = red_queue_signal(sch, skb, &p->red, &v->red, &v->random,
				  &p->signal, &forced);
	lost = plain_fifo_try_drop(sch, skb, packets, signal, forced,
				   to_free);
	if (unlikely(lost))
		return lost;
	return plain_fifo_add(sch, skb, packets, now);
}

/* A packet has left the queue. If none is left, idle time begins. */
static void ared_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct ared_sched_data *q = qdisc_priv(sch);

	red_queue_removed(&q->vars.red, q->queue.segments);
}

PLAIN_FIFO_QDISC(ared)

static void ared_reset(struct Qdisc *sch)
{
	struct ared_sched_data *q = qdisc_priv(sch);

	plain_fifo_reset(sch);
	gentle_red_init(&q->vars.red, &q->params.red, ktime_get_ns());
}

/*
 * min: half of the target, but at least 5 packets. At most limit / 6, so that the
 * slope to 2 max = 6 min ends within the limit, and at most a third of a given max.
 */
static u32 ared_min_th(const struct ared_params *p)
{
	u64 target = div_u64(mul_u64_u32_div(p->bandwidth, p->target,
					     USEC_PER_SEC), p->avpkt);
	u64 min_th = min_t(u64, max_t(u64, target / 2, ARED_LEAST),
			   p->limit / 6);

	if (p->max)
		min_th = min_t(u64, min_th, p->max / 3);
	return clamp_t(u64, min_th, 1, GENTLE_RED_MAX_TH);
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int ared_derive(struct Qdisc *sch, struct aqm_given *given,
		       struct netlink_ext_ack *extack)
{
	struct ared_params *p = aqm_params_of(ared, given);
	int err;

	FIFO_LIMITS(p, U32_MAX);
	p->min = p->min ?: ared_min_th(p);
	p->max = p->max ?: min_t(u64, 3ULL * p->min, GENTLE_RED_MAX_TH);
	/* 1 s of packets, whatever the limit. */
	p->weight = p->weight ?: red_queue_weight(p->bandwidth, p->avpkt,
						  U32_MAX);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->red = (struct gentle_red_params) {
		.min_th		= p->min,
		.max_th		= p->max,
		.max_p		= p->probability,
		.bottom		= p->bottom,
		.top		= p->top,
		.weight		= p->weight,
		.ptime		= red_queue_ptime(p->bandwidth, p->avpkt),
		.gentle		= p->gentle,
		.wait		= p->wait,
		.adaptive	= p->adaptive,
	};
	err = red_queue_check(sch, &p->red, &p->signal, p->limit,
			      p->memory_limit, extack);
	if (err)
		return err;
	if (p->bottom < GENTLE_RED_MIN_BOTTOM) {
		NL_SET_ERR_MSG_MOD(extack, "bottom must be at least 0.000001");
		return -EINVAL;
	}
	if (p->bottom > p->top) {
		NL_SET_ERR_MSG_MOD(extack, "bottom must not be above top");
		return -EINVAL;
	}
	return 0;
}

static void ared_setup(struct Qdisc *sch, struct aqm_given *given,
		       struct aqm_memory *m)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	const struct ared_params *p = aqm_params_of(ared, given);

	q->params = *p;
	aqm_queue_resize(sch, p->limit, p->memory_limit);
	gentle_red_init(&q->vars.red, &p->red, ktime_get_ns());
	seeded_random_init(&q->vars.random, p->seed);
}

static void ared_commit(struct Qdisc *sch, struct aqm_given *given,
			struct aqm_memory *m)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	const struct ared_params *p = aqm_params_of(ared, given);
	struct ared_vars *v = &q->vars;
	u64 now = ktime_get_ns();

	/* The old parameters apply to the steps that are already due. */
	gentle_red_settle(&v->red, &q->params.red, &p->red,
			  q->queue.segments, now);
	gentle_red_adapt(&q->params.red, &v->red, &q->adapted, now);
	gentle_red_follow(&v->red, q->params.bandwidth, p->bandwidth,
			  q->queue.segments);
	gentle_red_change(&v->red, &q->params.red, &p->red);
	q->params = *p;
	if (aqm_changed(p, TCA_ARED_SEED))
		seeded_random_init(&v->random, p->seed);
	aqm_queue_resize(sch, p->limit, p->memory_limit);
	aqm_queue_trim(sch, ared_evict);
}

/* Report the options in force, and the state as of now. */
static void ared_stats(struct Qdisc *sch, void *stats)
{
	const struct ared_sched_data *q = qdisc_priv(sch);
	const struct gentle_red_params *p = &q->params.red;
	struct gentle_red_stats adapted = q->adapted;
	struct tc_ared_qdisc_stats *st = stats;
	const struct ared_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	struct gentle_red_vars red;

	red = gentle_red_snapshot(p, &v->red, q->queue.segments,
				  now);
	gentle_red_adapt(p, &red, &adapted, now);
	aqm_common_stats(sch, st, q->params.bandwidth);
	RED_QUEUE_STATS(st, &q->queue, p, &red);
	st->raised = adapted.raised;
	st->lowered = adapted.lowered;
}

AQM_KIND(ared, ared, ARED, "Adaptive RED",
	 .ops.peek	= qdisc_peek_head);
