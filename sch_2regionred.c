// SPDX-License-Identifier: GPL-2.0
/*
 * 2RegionRED
 *
 * As flows are added, the buffer that keeps a link busy becomes smaller, but
 * the drop rate that holds the flows at that buffer grows with the square of
 * their number. A drop rate that is a function of the queue's length, as RED's
 * is, gets one of the two wrong. 2RegionRED derives its thresholds from the
 * theory of TCP's sawtooth. With few flows (below one drop per round trip), it
 * drops one packet when the queue passes the first threshold. With many, a
 * controller searches for the drop rate that keeps the queue constant.
 *
 * K. Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, December 2001, chapters 4 to 6.
 *
 * DB is the number of packets of one round trip, N the number of flows and q
 * the persistent queue (<aqm/2regionred/persistent_queue.h>). Section 4.3, in
 * <aqm/2regionred/two_region.h>:
 *
 *	W(N) = 2 DB / (3 N - 1)			(4.3)	window after a drop
 *	N_1DPR = sqrt(2/3 DB)			(4.10)	1 drop per round trip
 *	Bmin = W(flows)				(4.12)
 *	Bflat = Bmin + 1.5 N_1DPR		(4.13)
 *
 *	I	q < Bmin	no drops
 *	II	q < Bflat	drop one, then none for 1.5 to 2 round trips
 *	III	q < Bmax	drop one packet in PPD
 *	IV	else		drop 1 in 10; gentle: 0.1 to 1 from Bmax to 2 Bmax
 *
 * PPD is DB when q crosses Bflat. It is updated every 0.96 to 1.44 round trips
 * (figure 4-7), within 10 and DB:
 *
 *	PPDeff = (PPD + PPDold) / 2
 *	W = 0.9 W + 0.1 sqrt(2/3 PPDeff)
 *	extra = (q - target)^2 / ((Bmax - target) W), if q > target
 *	DPR = (DB + q_old) / PPDeff + (q - q_old) / W + extra
 *	PPD = (DB + q_old) / DPR
 *
 * With ecn, packets are marked instead of dropped, except where harddrop
 * applies.
 *
 * Deviations from the thesis, and our decisions where it is silent:
 *  - A draining queue can make DPR negative. As printed, PPD is then negative
 *    and its lower bound makes it 10: one drop in ten, just while the queue
 *    drains. We set PPD to DB if DPR is 0 or less. "literal" is the rule as
 *    printed.
 *  - target and Bmax are SIM 2's (table 6.4): Bflat + 100, which is Bflat +
 *    1.35 N_1DPR, and DB. Section 4.3.2 has Bflat as the target, and table 6.7
 *    has DB / 2 as Bmax. The thesis never ran both together; the queue then
 *    oscillates: docs/2regionred-target.md. The limit is 1.5 DB (table 6.7).
 *    But Bmax is at least 2 target and the limit at least 1.5 Bmax. Otherwise
 *    few flows would leave no room for phases III and IV.
 *  - Without given thresholds, the limit is at most 100 ms of the link (table
 *    6.4: DB) and at most as many packets as memory_limit holds. If this bound
 *    applies, Bmax is 7/8 of the limit, so that phase IV can be reached. If
 *    Bmax is then not above the other thresholds, they are at most 1/4, 3/8 and
 *    1/2 of the limit.
 *  - DB is at least 10 packets, and at most 2^23 on very fast devices.
 *  - flows is 10, or N_1DPR if that is less, as on a slow link. More would
 *    violate condition (a) of 4.3.1. For (b), protection against idle periods,
 *    the thesis has no rule and we add none.
 *  - Phase II: the silence continues if q falls below Bmin. Sections 4.3.1 and
 *    5.2.2 can also be read as one drop each time q crosses it. The silence
 *    ends when q is above Bflat, and starts again when q falls back, because
 *    the last drops above Bflat have not taken effect yet.
 *  - Phase III: the n-th arrival since the last drop is dropped, with n uniform
 *    between 2/3 and 4/3 PPD. This has the shape of "wait" in the thesis's
 *    simulator, whose n is between PPD and 2 PPD, but its mean is PPD, as the
 *    name packets per drop says. n follows changes of PPD.
 *  - W starts as sqrt(2/3 DB). It survives if q is below Bflat for up to 10
 *    round trips, which is W's own memory. The time counts from the last packet
 *    that arrived before. PPD is reset each time (section 6.3.1).
 *  - In phase IV the controller continues, but its PPD is not used. If updates
 *    come due while no packet arrives, one update is made at the next packet.
 *  - A packet that finds the buffer full is dropped, and counts as an arrival.
 *
 * Packets are counted as on the wire, whatever their size, as in the thesis. GSO
 * packets: frame/split_gso.c. Of a whole one that is dropped or marked, the rest of
 * the segments count towards the next drop.
 *
 * Parameters, their units and ranges: TC_2REGIONRED_OPTIONS. The options must
 * satisfy bmin < bflat <= target < bmax.
 */

#include <net/pkt_sched.h>
#include <aqm/2regionred/persistent_queue.h>
#include <aqm/plain_fifo.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <aqm/2regionred/two_region.h>
#include <uapi/linux/pkt_sched_2regionred.h>

static_assert(TC_2REGIONRED_ABSMIN == (int)PERSISTENT_QUEUE_ABSMIN);
static_assert(TC_2REGIONRED_EWMA == (int)PERSISTENT_QUEUE_EWMA);
static_assert(TC_2REGIONRED_EWMA_DRAIN == (int)PERSISTENT_QUEUE_EWMA_DRAIN);

struct tworr_params {
	struct aqm_given		given;
	struct two_region_params	region;
	struct congestion_policy	signal;

	TC_2REGIONRED_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(tworr_options, struct tworr_params, TC_2REGIONRED_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_2regionred_qdisc_stats, TC_2REGIONRED_QDISC_STATS);

/**
 * struct tworr_vars - state of the datapath; under the qdisc lock
 * @estimator: parameters of the estimator
 * @persistent: its state
 * @fill: padding, so that control.last starts a cache line
 * @control: phases and controller
 * @steady_until: until this time arrivals cannot change the estimate or the
 *	phase, ns; 0: unknown
 * @counted: counters of phases and controller
 */
struct tworr_vars {
	struct persistent_queue_params	estimator;
	struct persistent_queue	persistent;
	u64			fill[3];
	struct two_region_vars	control;
	u64			steady_until;
	struct two_region_stats	counted;
};

/*
 * Most packets need no decision. Of vars they write one cache line, from control.last
 * to steady_until, and read another one on departure.
 */
struct tworr_sched_data {
	struct aqm_queue		queue;
	struct tworr_vars	vars;
	struct tworr_params	params;
	struct tc_2regionred_qdisc_stats	stats;	/* counters of marks by phase */
};

#ifdef CONFIG_64BIT
#define TWORR_LINE(member) \
	(offsetof(struct tworr_sched_data, member) / 64)
#define TWORR_TOGETHER(one, other) \
	static_assert(TWORR_LINE(one) == TWORR_LINE(other))

TWORR_TOGETHER(vars.control.last, vars.control.count);
TWORR_TOGETHER(vars.control.last, vars.control.due);
TWORR_TOGETHER(vars.control.last, vars.steady_until);
TWORR_TOGETHER(vars.estimator.estimator, vars.persistent.lowest);
#endif

/* Return the cause of a drop in @phase. */
static enum aqm_drop tworr_drop(enum two_region_phase phase)
{
	return AQM_DROP_OWN + phase - TWO_REGION_LOW;
}

/* Signal congestion to the sender. Return: false if the packet must be dropped. */
static bool tworr_signal(struct Qdisc *sch, struct sk_buff *skb,
			 enum two_region_phase phase)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tc_2regionred_qdisc_stats *st = &q->stats;

	qdisc_qstats_overlimit(sch);
	switch (congestion_signal(&q->params.signal, skb,
				  phase == TWO_REGION_MAX)) {
	case CONGESTION_MARKED:
		q->queue.signal.early_mark++;
		++*(phase == TWO_REGION_LOW ? &st->marked_low :
		    phase == TWO_REGION_HIGH ? &st->marked_high :
					       &st->marked_max);
		return true;
	case CONGESTION_SPARED:
		q->queue.signal.spared++;
		return true;
	default:
		return false;
	}
}

/* Update the estimate and the phase. */
static void tworr_update(struct Qdisc *sch, u32 packets, u64 now)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	const struct tworr_params *p = &q->params;
	struct tworr_vars *v = &q->vars;

	persistent_queue_arrival(&v->persistent, &v->estimator,
				 q->queue.segments, packets, now);
	two_region_estimated(&p->region, &v->control, &v->counted,
			     v->persistent.estimate, now);
	v->steady_until = min(persistent_queue_steady_until(&v->persistent,
							    &v->estimator),
			      v->control.check_at);
}

/* Queue, mark or drop a packet, or one segment of it. */
static __always_inline int tworr_enqueue_one(struct sk_buff *skb,
					     struct Qdisc *sch,
					     struct sk_buff **to_free,
					     u32 packets, u32 class)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_vars *v = &q->vars;
	enum two_region_phase phase;
	u64 now = ktime_get_ns();
	enum aqm_drop full;

	if (unlikely(now >= v->steady_until))
		tworr_update(sch, packets, now);
	/* After a signal nothing changes earlier: a hold-off is longer than a fifteenth. */
	phase = two_region_count(&q->params.region, &v->control, packets, now);

	full = aqm_queue_full(&q->queue, skb, packets);
	if (unlikely(full))
		return aqm_drop(skb, sch, full, to_free);
	if (unlikely(phase != TWO_REGION_QUIET) && !tworr_signal(sch, skb, phase))
		return aqm_drop(skb, sch, tworr_drop(phase),
				to_free);
	return plain_fifo_add(sch, skb, packets, now);
}

static int tworr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct tworr_sched_data *q = qdisc_priv(sch);

	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, tworr_enqueue_one);
	return tworr_enqueue_one(skb, sch, to_free, 1, 0);
}

/* A packet has left the queue. Update the estimator. */
static void tworr_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_vars *v = &q->vars;

	persistent_queue_departure(&v->persistent, &q->vars.estimator,
				   q->queue.segments,
				   queued_cb(skb)->segments, ktime_get_ns());
}

static struct sk_buff *tworr_dequeue(struct Qdisc *sch)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = plain_fifo_remove(sch);
	if (!skb)
		return NULL;
	if (persistent_queue_changes(&q->vars.persistent, &q->vars.estimator,
				     q->queue.segments))
		tworr_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *tworr_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		tworr_departed(sch, skb);
	return skb;
}

static void tworr_reset(struct Qdisc *sch)
{
	struct tworr_sched_data *q = qdisc_priv(sch);

	plain_fifo_reset(sch);
	persistent_queue_init(&q->vars.persistent);
	two_region_reset(&q->vars.control);
	q->vars.steady_until = 0;
}

/* Compute the thresholds that were not given from DB. */
static void tworr_thresholds(struct tworr_params *p)
{
	u32 most = two_region_most(p->bandwidth, p->avpkt, p->memory_limit);
	bool free = !p->limit && !p->bmin && !p->bflat && !p->target &&
		    !p->bmax && !p->flows && !p->n_1dpr;
	struct two_region_params *r = &p->region;
	u64 n_1dpr = (u64)p->n_1dpr << 32;

	if (!p->n_1dpr)
		n_1dpr = two_region_n_1dpr(r->pipe);
	p->n_1dpr = two_region_floor(n_1dpr);
	p->flows = p->flows ?: two_region_flows(two_region_n_1dpr(r->pipe));
	r->bmin = p->bmin ?: two_region_bmin(r->pipe, p->flows);
	r->bflat = p->bflat ?: two_region_bflat(r->bmin, n_1dpr);
	r->target = p->target ?: two_region_target(r->bflat, n_1dpr);
	r->bmax = p->bmax ?: two_region_bmax(r->pipe, r->target);
	p->limit = p->limit ?: two_region_limit(r->pipe, r->bmax);
	if (p->limit > most && free) {
		p->limit = most;
		two_region_squeeze(r, most);
	}
}

/* Warn about options that are allowed, but disable part of the thesis's rule. */
static void tworr_warn(struct Qdisc *sch, const struct tworr_params *p,
		       struct netlink_ext_ack *extack)
{
	const struct two_region_params *r = &p->region;
	u64 window = two_region_window(r->pipe, p->flows);

	if (aqm_warn_of_memory(sch, p->memory_limit, extack))
		return;
	/* q is below the limit when an arrival fits. */
	if (p->limit <= r->bmin)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above bmin: only phase I is reached");
	else if (p->limit <= r->bflat)
		NL_SET_ERR_MSG_MOD(extack,
				   "limit is not above bflat: phases III and IV are not reached");
	else if (p->limit <= r->target)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above target: phase IV is not reached");
	else if (p->limit <= r->bmax)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above bmax: phase IV is not reached");
	/* Section 4.3.1's condition (a). */
	else if (!aqm_given(p, TCA_2REGIONRED_BMIN) &&
		 two_region_rtts_per_drop(r->pipe, window) < TWO_REGION_ONE)
		NL_SET_ERR_MSG_MOD(extack,
				   "flows need more than 1 drop per rtt: the queue exceeds bmin");
}

static int tworr_derive(struct Qdisc *sch, struct tworr_params *p,
			struct netlink_ext_ack *extack)
{
	struct two_region_params *r = &p->region;

	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	*r = (struct two_region_params) {
		.pipe		= max(two_region_pipe(p->bandwidth, p->rtt,
						      p->avpkt),
				      (u64)TWO_REGION_MIN_PIPE << 32),
		.rtt		= p->rtt,
		.gentle		= p->gentle,
		.literal	= p->literal,
	};
	if (r->pipe == U64_MAX && aqm_given(p, TCA_2REGIONRED_BANDWIDTH)) {
		NL_SET_ERR_MSG_MOD(extack,
				   "bandwidth * rtt is 2^23 packets of avpkt or more: lower rtt");
		return -EINVAL;
	}
	r->pipe = min(r->pipe, (u64)TWO_REGION_MAX_PIPE << 32);
	tworr_thresholds(p);
	if (r->bmin >= r->bflat) {
		NL_SET_ERR_MSG_MOD(extack, "bflat must be above bmin");
		return -EINVAL;
	}
	if (r->bflat > r->target) {
		NL_SET_ERR_MSG_MOD(extack, "target must not be below bflat");
		return -EINVAL;
	}
	if (r->target >= r->bmax) {
		NL_SET_ERR_MSG_MOD(extack, "bmax must be above target");
		return -EINVAL;
	}
	if (r->bmax > TWO_REGION_MAX_QUEUE) {
		NL_SET_ERR_MSG_MOD(extack, "bmax must be below 2^24 packets");
		return -EINVAL;
	}
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	p->bmin = r->bmin;
	p->bflat = r->bflat;
	p->target = r->target;
	p->bmax = r->bmax;
	tworr_warn(sch, p, extack);
	return 0;
}

static void tworr_set_estimator(struct persistent_queue_params *e,
				const struct tworr_params *p)
{
	persistent_queue_set(e, p->estimator, 1000ULL * p->rtt,
			     (p->region.pipe + TWO_REGION_ONE / 2) >> 32);
}

static int tworr_apply(struct Qdisc *sch, struct aqm_given *given,
		       struct netlink_ext_ack *extack)
{
	struct tworr_params *p = aqm_params_of(tworr, given);
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct persistent_queue_params estimator;
	struct tworr_vars *v = &q->vars;
	u64 now;
	int err;

	err = tworr_derive(sch, p, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	if (aqm_changed(p, TCA_2REGIONRED_SEED))
		seeded_random_init(&v->control.random, p->seed);
	tworr_set_estimator(&estimator, p);
	persistent_queue_change(&v->persistent, &v->estimator, &estimator,
				q->queue.segments, now);
	v->estimator = estimator;
	two_region_change(&p->region, &v->control, now);
	v->steady_until = 0;
	q->params = *p;
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, tworr_evict);
	sch_tree_unlock(sch);
	return 0;
}

static const struct aqm_kind tworr_kind = {
	.options	= &tworr_options,
	.bandwidth	= TCA_2REGIONRED_BANDWIDTH,
	.apply		= tworr_apply,
};

static int tworr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int tworr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_params *p = &q->params;
	int err;

	err = aqm_init(sch, &tworr_kind, &p->given, opt, extack);
	if (!err)
		err = tworr_derive(sch, p, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	tworr_set_estimator(&q->vars.estimator, p);
	persistent_queue_init(&q->vars.persistent);
	two_region_init(&q->vars.control, p->seed);
	return aqm_start(sch, extack);
}

static void tworr_destroy(struct Qdisc *sch)
{
	aqm_destroy(sch);
}

static int tworr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Fill in the state as of @now. */
static void tworr_stats(const struct tworr_sched_data *q,
			struct tc_2regionred_qdisc_stats *st, u64 now)
{
	const struct two_region_params *r = &q->params.region;
	const struct tworr_vars *v = &q->vars;
	struct persistent_queue persistent = v->persistent;
	u64 left = v->control.quiet_until;

	st->dropped_low = q->queue.drops[tworr_drop(TWO_REGION_LOW)];
	st->dropped_high = q->queue.drops[tworr_drop(TWO_REGION_HIGH)];
	st->dropped_max = q->queue.drops[tworr_drop(TWO_REGION_MAX)];
	persistent_queue_advance(&persistent, &v->estimator, q->queue.segments,
				 now);
	st->q_est = persistent.estimate;
	st->ppd = v->control.ppd;
	st->window = v->control.window;
	st->pipe = r->pipe;
	st->phase = v->control.phase + 1;
	st->flows = q->params.flows;
	st->bmin = r->bmin;
	st->bflat = r->bflat;
	st->target = r->target;
	st->bmax = r->bmax;
	st->n_1dpr = q->params.n_1dpr;
	if (left > now && v->control.phase < TWO_REGION_HIGH)
		st->hold_off = div_u64(left - now, 1000);
	st->entered_quiet = v->counted.entered[TWO_REGION_QUIET];
	st->entered_low = v->counted.entered[TWO_REGION_LOW];
	st->entered_high = v->counted.entered[TWO_REGION_HIGH];
	st->entered_max = v->counted.entered[TWO_REGION_MAX];
	st->updates = v->counted.updates;
	st->negative = v->counted.negative;
}

/* Report the options in force, and the state as of now. */
static int tworr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_2regionred_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct tworr_sched_data *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	st.qdisc = q->stats;
	aqm_common_stats(sch, &st.qdisc);
	tworr_stats(q, &st.qdisc, ktime_get_ns());
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops tworr_qdisc_ops __read_mostly = {
	.id		= "2regionred",
	.priv_size	= sizeof(struct tworr_sched_data),
	.enqueue	= tworr_enqueue,
	.dequeue	= tworr_dequeue,
	.peek		= qdisc_peek_head,
	.init		= tworr_init,
	.reset		= tworr_reset,
	.destroy	= tworr_destroy,
	.change		= tworr_change,
	.dump		= tworr_dump,
	.dump_stats	= tworr_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init tworr_module_init(void)
{
	return aqm_register(&tworr_qdisc_ops);
}

static void __exit tworr_module_exit(void)
{
	aqm_unregister(&tworr_qdisc_ops);
}

module_init(tworr_module_init);
module_exit(tworr_module_exit);
MODULE_ALIAS_NET_SCH("2regionred");
MODULE_DESCRIPTION("2RegionRED queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
