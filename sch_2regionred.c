// SPDX-License-Identifier: GPL-2.0
/*
 * 2RegionRED
 *
 * The buffer that keeps a link busy shrinks as flows are added, while the drop
 * rate that holds them there grows with their square: a drop rate that is a
 * function of the queue's length, as RED's is, gets one of the two wrong.
 * 2RegionRED has thresholds where the theory of TCP's sawtooth puts them. Few
 * flows (below one drop per round trip) get one drop as the queue passes the
 * first; for many, a controller finds the drop rate at which the queue stands
 * still.
 *
 * K. Wang, "2RegionRED: a Congestion Control Mechanism for the High Speed
 * Internet", MIT-LCS-TR-829, December 2001, chapters 4 to 6.
 *
 * With DB the packets of one round trip, N the flows and q the persistent queue
 * (<aqm/persistent_queue.h>), section 4.3, in <aqm/two_region.h>:
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
 * PPD is DB when q crosses Bflat, and then every 0.96 to 1.44 round trips
 * (figure 4-7), within 10 and DB:
 *
 *	PPDeff = (PPD + PPDold) / 2
 *	W = 0.9 W + 0.1 sqrt(2/3 PPDeff)
 *	extra = (q - target)^2 / ((Bmax - target) W), if q > target
 *	DPR = (DB + q_old) / PPDeff + (q - q_old) / W + extra
 *	PPD = (DB + q_old) / DPR
 *
 * "Drop" is "mark" with ecn, except where harddrop says otherwise.
 *
 * Where this departs from the thesis, or decides what it leaves open:
 *  - A draining queue can make DPR negative. As printed, PPD is then negative
 *    and the bound makes it 10: one drop in ten, at the very time the queue
 *    drains. Here a DPR of 0 or less makes PPD DB. "literal" is as printed.
 *  - target is Bflat (4.3.2); the simulations have Bflat + 100. Bmax is DB / 2
 *    and the limit 1.5 DB (table 6.7), but Bmax is never less than 2 target nor
 *    the limit less than 2 Bmax, or few flows would leave III and IV no room.
 *  - II: the silence goes on while q dips below Bmin. It ends with q above
 *    Bflat, and begins anew as q comes back from there: High-N's last drops
 *    have yet to show.
 *  - III: the n-th arrival since the last drop is dropped, n uniform between
 *    2/3 and 4/3 PPD: the shape of "wait" in the thesis's simulator, whose n is
 *    between PPD and 2 PPD, with PPD as its mean, which is what it is called.
 *    n follows PPD when that changes.
 *  - W starts as sqrt(2/3 DB). It survives an excursion below Bflat of up to
 *    10 round trips, its own memory; PPD is reset each time (section 6.3.1).
 *  - The controller goes on in IV, though its PPD is not applied there. What
 *    came due while no packet came is done once, at the next packet.
 *  - A packet that finds the buffer full is dropped, and counts as an arrival.
 *
 * A GSO packet counts as one packet throughout.
 *
 * Parameters: 0 means "derive" for those marked *.
 *	limit*		packets			1 to 2^24 - 1
 *	bandwidth	bytes/s			bandwidth rtt / avpkt = DB must be
 *	rtt		us			10 to 2^23 - 1 packets
 *	avpkt		bytes			64 to 65535
 *	flows		N_Bmin			1 to 65535
 *	bmin* bflat* target* bmax*	packets	bmin < bflat <= target < bmax
 *	n_1dpr*		flows
 *	estimator	absmin, ewma, ewma-drain
 *	gentle, literal, ecn, nodrop, harddrop
 *	seed		of the random numbers; 0: a random one
 */

#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <compat.h>
#include <aqm/persistent_queue.h>
#include <aqm/two_region.h>
#include <uapi/linux/pkt_sched_2regionred.h>

#define TWORR_DEFAULT_BANDWIDTH	125000000	/* the thesis's 1 Gb/s */
#define TWORR_DEFAULT_RTT	100000		/* its canonical 100 ms */
#define TWORR_DEFAULT_FLOWS	10
#define TWORR_DEFAULT_AVPKT	1500

static_assert(TC_2REGIONRED_MAX_PACKETS == TWO_REGION_MAX_QUEUE);
static_assert(TC_2REGIONRED_ABSMIN == (int)PERSISTENT_QUEUE_ABSMIN);
static_assert(TC_2REGIONRED_EWMA == (int)PERSISTENT_QUEUE_EWMA);
static_assert(TC_2REGIONRED_EWMA_DRAIN == (int)PERSISTENT_QUEUE_EWMA_DRAIN);

/**
 * struct tworr_params - configuration as given; written by change under the
 *	tree lock
 * @bandwidth: of the link, bytes/s
 * @rtt: canonical round trip, us
 * @flows: N_Bmin
 * @avpkt: size of a packet, bytes
 * @limit: packets held at most; 0: derived, as are the next five
 * @bmin: packets
 * @bflat: packets
 * @target: packets
 * @bmax: packets
 * @n_1dpr: flows
 * @seed: of the random numbers; 0: none given
 * @estimator: of the persistent queue
 * @gentle: phase IV has a slope
 * @literal: figure 4-7 as printed
 * @ecn: mark what can be marked
 * @nodrop: with @ecn, keep what cannot be marked
 * @harddrop: drop in phase IV also what could be marked
 */
struct tworr_params {
	u64	bandwidth;
	u32	rtt;
	u32	flows;
	u32	avpkt;
	u32	limit;
	u32	bmin;
	u32	bflat;
	u32	target;
	u32	bmax;
	u32	n_1dpr;
	u32	seed;
	u8	estimator;
	bool	gentle;
	bool	literal;
	bool	ecn;
	bool	nodrop;
	bool	harddrop;
};

/**
 * struct tworr_derived - what follows from struct tworr_params, and is in force
 * @law: thresholds and DB
 * @queue: of the estimator
 * @limit: packets
 * @n_1dpr: flows, rounded down
 */
struct tworr_derived {
	struct two_region_params	law;
	struct persistent_queue_params	queue;
	u32				limit;
	u32				n_1dpr;
};

/**
 * struct tworr_vars - state of the datapath; under the qdisc lock
 * @control: phases and controller
 * @queue: estimator
 */
struct tworr_vars {
	struct two_region_vars	control;
	struct persistent_queue	queue;
};

/**
 * struct tworr_stats - counters; see struct tc_2regionred_qdisc_stats
 * @control: of phases and controller
 * @dropped: arrivals dropped for each phase
 * @marked: arrivals marked for each phase
 * @spared: arrivals that nodrop kept although they could not be marked
 * @dropped_limit: arrivals that found the buffer full
 * @dropped_change: packets dropped because a change lowered the limit
 */
struct tworr_stats {
	struct two_region_stats	control;
	u32			dropped[TWO_REGION_PHASES];
	u32			marked[TWO_REGION_PHASES];
	u32			spared;
	u32			dropped_limit;
	u32			dropped_change;
};

struct tworr_sched_data {
	struct tworr_params	params;
	struct tworr_derived	derived;
	struct tworr_vars	vars;
	struct tworr_stats	stats;
};

static struct netlink_range_validation tworr_bandwidth_range = {
	.min = 1, .max = TC_2REGIONRED_MAX_BANDWIDTH,
};

static struct netlink_range_validation tworr_rtt_range = {
	.min = TC_2REGIONRED_MIN_RTT, .max = TC_2REGIONRED_MAX_RTT,
};

static struct netlink_range_validation tworr_flows_range = {
	.min = 1, .max = TC_2REGIONRED_MAX_FLOWS,
};

static struct netlink_range_validation tworr_avpkt_range = {
	.min = TC_2REGIONRED_MIN_AVPKT, .max = TC_2REGIONRED_MAX_AVPKT,
};

static struct netlink_range_validation tworr_packets_range = {
	.min = 0, .max = TC_2REGIONRED_MAX_PACKETS,
};

#define TWORR_PACKETS	NLA_POLICY_FULL_RANGE(NLA_U32, &tworr_packets_range)
#define TWORR_SWITCH	NLA_POLICY_MAX(NLA_U8, 1)

static const struct nla_policy tworr_policy[TCA_2REGIONRED_MAX + 1] = {
	[TCA_2REGIONRED_LIMIT]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_BANDWIDTH] = NLA_POLICY_FULL_RANGE(NLA_U64,
							   &tworr_bandwidth_range),
	[TCA_2REGIONRED_RTT]	   = NLA_POLICY_FULL_RANGE(NLA_U32,
							   &tworr_rtt_range),
	[TCA_2REGIONRED_FLOWS]	   = NLA_POLICY_FULL_RANGE(NLA_U32,
							   &tworr_flows_range),
	[TCA_2REGIONRED_AVPKT]	   = NLA_POLICY_FULL_RANGE(NLA_U32,
							   &tworr_avpkt_range),
	[TCA_2REGIONRED_BMIN]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_BFLAT]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_TARGET]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_BMAX]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_N_1DPR]	   = TWORR_PACKETS,
	[TCA_2REGIONRED_ESTIMATOR] = NLA_POLICY_MAX(NLA_U8,
						    __TC_2REGIONRED_ESTIMATORS - 1),
	[TCA_2REGIONRED_GENTLE]	   = TWORR_SWITCH,
	[TCA_2REGIONRED_LITERAL]   = TWORR_SWITCH,
	[TCA_2REGIONRED_ECN]	   = TWORR_SWITCH,
	[TCA_2REGIONRED_NODROP]	   = TWORR_SWITCH,
	[TCA_2REGIONRED_HARDDROP]  = TWORR_SWITCH,
	[TCA_2REGIONRED_SEED]	   = { .type = NLA_U32 },
};

static void tworr_read_u32(u32 *value, const struct nlattr *attr)
{
	if (attr)
		*value = nla_get_u32(attr);
}

static void tworr_read_switch(bool *value, const struct nlattr *attr)
{
	if (attr)
		*value = nla_get_u8(attr);
}

/* Read the options given over @p; @reseed: was a seed among them? */
static int tworr_parse(struct tworr_params *p, bool *reseed, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_2REGIONRED_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_2REGIONRED_MAX, opt, tworr_policy,
			       extack);
	if (err < 0)
		return err;

	if (tb[TCA_2REGIONRED_BANDWIDTH])
		p->bandwidth = nla_get_u64(tb[TCA_2REGIONRED_BANDWIDTH]);
	tworr_read_u32(&p->rtt, tb[TCA_2REGIONRED_RTT]);
	tworr_read_u32(&p->flows, tb[TCA_2REGIONRED_FLOWS]);
	tworr_read_u32(&p->avpkt, tb[TCA_2REGIONRED_AVPKT]);
	tworr_read_u32(&p->limit, tb[TCA_2REGIONRED_LIMIT]);
	tworr_read_u32(&p->bmin, tb[TCA_2REGIONRED_BMIN]);
	tworr_read_u32(&p->bflat, tb[TCA_2REGIONRED_BFLAT]);
	tworr_read_u32(&p->target, tb[TCA_2REGIONRED_TARGET]);
	tworr_read_u32(&p->bmax, tb[TCA_2REGIONRED_BMAX]);
	tworr_read_u32(&p->n_1dpr, tb[TCA_2REGIONRED_N_1DPR]);
	tworr_read_u32(&p->seed, tb[TCA_2REGIONRED_SEED]);
	if (tb[TCA_2REGIONRED_ESTIMATOR])
		p->estimator = nla_get_u8(tb[TCA_2REGIONRED_ESTIMATOR]);
	tworr_read_switch(&p->gentle, tb[TCA_2REGIONRED_GENTLE]);
	tworr_read_switch(&p->literal, tb[TCA_2REGIONRED_LITERAL]);
	tworr_read_switch(&p->ecn, tb[TCA_2REGIONRED_ECN]);
	tworr_read_switch(&p->nodrop, tb[TCA_2REGIONRED_NODROP]);
	tworr_read_switch(&p->harddrop, tb[TCA_2REGIONRED_HARDDROP]);
	*reseed = tb[TCA_2REGIONRED_SEED];
	return 0;
}

/* The thresholds, from what was given and where nothing was, from DB. */
static void tworr_thresholds(const struct tworr_params *p,
			     struct tworr_derived *d)
{
	struct two_region_params *law = &d->law;
	u64 n_1dpr = (u64)p->n_1dpr << 32;

	if (!p->n_1dpr)
		n_1dpr = two_region_n_1dpr(law->pipe);
	d->n_1dpr = two_region_floor(n_1dpr);
	law->bmin = p->bmin;
	if (!law->bmin)
		law->bmin = two_region_bmin(law->pipe, p->flows);
	law->bflat = p->bflat;
	if (!law->bflat)
		law->bflat = two_region_bflat(law->bmin, n_1dpr);
	law->target = p->target;
	if (!law->target)
		law->target = law->bflat;
	law->bmax = p->bmax;
	if (!law->bmax)
		law->bmax = max(two_region_floor(law->pipe / 2),
				2 * law->target);
	d->limit = p->limit;
	if (!d->limit)
		d->limit = min_t(u32, TWO_REGION_MAX_QUEUE,
				 max(two_region_floor(3 * law->pipe / 2),
				     2 * law->bmax));
}

static int tworr_derive(const struct tworr_params *p, struct tworr_derived *d,
			struct netlink_ext_ack *extack)
{
	struct two_region_params *law = &d->law;
	u64 window;

	law->pipe = two_region_pipe(p->bandwidth, p->rtt, p->avpkt);
	if (law->pipe < (u64)TWO_REGION_MIN_PIPE << 32) {
		NL_SET_ERR_MSG_MOD(extack, "bandwidth * rtt is below 10 packets of avpkt");
		return -EINVAL;
	}
	if (law->pipe == U64_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "bandwidth * rtt is 2^23 packets of avpkt or more");
		return -EINVAL;
	}
	law->rtt = p->rtt;
	law->gentle = p->gentle;
	law->literal = p->literal;
	tworr_thresholds(p, d);
	if (law->bmin >= law->bflat) {
		NL_SET_ERR_MSG_MOD(extack, "bflat must be above bmin");
		return -EINVAL;
	}
	if (law->bflat > law->target) {
		NL_SET_ERR_MSG_MOD(extack, "target must not be below bflat");
		return -EINVAL;
	}
	if (law->target >= law->bmax) {
		NL_SET_ERR_MSG_MOD(extack, "bmax must be above target");
		return -EINVAL;
	}
	if (law->bmax > TWO_REGION_MAX_QUEUE) {
		NL_SET_ERR_MSG_MOD(extack, "bmax must be below 2^24 packets");
		return -EINVAL;
	}
	if (p->nodrop && !p->ecn) {
		NL_SET_ERR_MSG_MOD(extack, "nodrop needs ecn");
		return -EINVAL;
	}
	persistent_queue_set(&d->queue, p->estimator, 1000ULL * p->rtt,
			     (law->pipe + TWO_REGION_ONE / 2) >> 32);

	/* Section 4.3.1's condition (a): a warning, for a slow link can only
	 * meet it with few flows.
	 */
	window = two_region_window(law->pipe, p->flows);
	if (!p->bmin && p->flows != TWORR_DEFAULT_FLOWS &&
	    two_region_rtts_per_drop(law->pipe, window) < TWO_REGION_ONE)
		NL_SET_ERR_MSG_MOD(extack, "flows need over 1 drop per rtt: not held at bmin");
	return 0;
}

/* A change made the buffer smaller: the oldest packets go. */
static void tworr_trim(struct Qdisc *sch, u64 now)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct sk_buff *skb;

	while (sch->q.qlen > q->derived.limit) {
		skb = __qdisc_dequeue_head(&sch->q);
		if (!skb)
			break;
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_qstats_drop(sch);
		q->stats.dropped_change++;
		rtnl_kfree_skbs(skb, skb);
		persistent_queue_departure(&q->vars.queue, &q->derived.queue,
					   sch->q.qlen, now);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static int tworr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_params p = q->params;
	struct tworr_derived d = {};
	bool reseed;
	u64 now;
	int err;

	err = tworr_parse(&p, &reseed, opt, extack);
	if (err < 0)
		return err;
	err = tworr_derive(&p, &d, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	persistent_queue_change(&q->vars.queue, &q->derived.queue, &d.queue,
				sch->q.qlen, now);
	two_region_change(&d.law, &q->vars.control);
	if (reseed)
		seeded_random_init(&q->vars.control.random, p.seed);
	q->params = p;
	q->derived = d;
	WRITE_ONCE(sch->limit, d.limit);
	tworr_trim(sch, now);
	sch_tree_unlock(sch);
	return 0;
}

static int tworr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_params p = {
		.bandwidth	= TWORR_DEFAULT_BANDWIDTH,
		.rtt		= TWORR_DEFAULT_RTT,
		.flows		= TWORR_DEFAULT_FLOWS,
		.avpkt		= TWORR_DEFAULT_AVPKT,
		.estimator	= TC_2REGIONRED_ABSMIN,
		.gentle		= true,
	};
	struct tworr_derived d = {};
	bool reseed;
	int err;

	if (opt) {
		err = tworr_parse(&p, &reseed, opt, extack);
		if (err < 0)
			return err;
	}
	err = tworr_derive(&p, &d, extack);
	if (err < 0)
		return err;

	q->params = p;
	q->derived = d;
	sch->limit = d.limit;
	persistent_queue_init(&q->vars.queue);
	two_region_init(&q->vars.control, p.seed);
	return 0;
}

/* Tell the sender: false if the packet must be dropped for that. */
static bool tworr_mark(struct tworr_sched_data *q, struct sk_buff *skb,
		       enum two_region_phase phase)
{
	const struct tworr_params *p = &q->params;

	if (!p->ecn || (p->harddrop && phase == TWO_REGION_MAX))
		return false;
	if (INET_ECN_set_ce(skb)) {
		q->stats.marked[phase]++;
		return true;
	}
	if (!p->nodrop)
		return false;
	q->stats.spared++;
	return true;
}

static int tworr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	enum two_region_phase phase;
	u64 now = ktime_get_ns();

	persistent_queue_arrival(&q->vars.queue, &q->derived.queue,
				 sch->q.qlen, now);
	phase = two_region_arrival(&q->derived.law, &q->vars.control,
				   &q->stats.control, q->vars.queue.estimate,
				   now);

	if (unlikely(sch->q.qlen >= q->derived.limit)) {
		q->stats.dropped_limit++;
		tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
		return qdisc_drop(skb, sch, to_free);
	}
	if (unlikely(phase != TWO_REGION_QUIET)) {
		qdisc_qstats_overlimit(sch);
		if (!tworr_mark(q, skb, phase)) {
			q->stats.dropped[phase]++;
			tcf_set_qdisc_drop_reason(skb, QDISC_DROP_CONGESTED);
			qdisc_drop(skb, sch, to_free);
			return NET_XMIT_CN;
		}
	}
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *tworr_dequeue(struct Qdisc *sch)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb)
		persistent_queue_departure(&q->vars.queue, &q->derived.queue,
					   sch->q.qlen, ktime_get_ns());
	return skb;
}

static void tworr_reset(struct Qdisc *sch)
{
	struct tworr_sched_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	persistent_queue_init(&q->vars.queue);
	two_region_reset(&q->vars.control);
}

/* What was derived is not sent: sent back, it would count as given. */
static int tworr_put_given(struct sk_buff *skb, int attr, u32 value)
{
	return value ? nla_put_u32(skb, attr, value) : 0;
}

static int tworr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	struct tworr_params p;
	struct nlattr *opts;

	sch_tree_lock(sch);
	p = q->params;
	sch_tree_unlock(sch);

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_2REGIONRED_BANDWIDTH, p.bandwidth,
			      TCA_2REGIONRED_PAD) ||
	    nla_put_u32(skb, TCA_2REGIONRED_RTT, p.rtt) ||
	    nla_put_u32(skb, TCA_2REGIONRED_FLOWS, p.flows) ||
	    nla_put_u32(skb, TCA_2REGIONRED_AVPKT, p.avpkt) ||
	    tworr_put_given(skb, TCA_2REGIONRED_LIMIT, p.limit) ||
	    tworr_put_given(skb, TCA_2REGIONRED_BMIN, p.bmin) ||
	    tworr_put_given(skb, TCA_2REGIONRED_BFLAT, p.bflat) ||
	    tworr_put_given(skb, TCA_2REGIONRED_TARGET, p.target) ||
	    tworr_put_given(skb, TCA_2REGIONRED_BMAX, p.bmax) ||
	    tworr_put_given(skb, TCA_2REGIONRED_N_1DPR, p.n_1dpr) ||
	    nla_put_u8(skb, TCA_2REGIONRED_ESTIMATOR, p.estimator) ||
	    nla_put_u8(skb, TCA_2REGIONRED_GENTLE, p.gentle) ||
	    nla_put_u8(skb, TCA_2REGIONRED_LITERAL, p.literal) ||
	    nla_put_u8(skb, TCA_2REGIONRED_ECN, p.ecn) ||
	    nla_put_u8(skb, TCA_2REGIONRED_NODROP, p.nodrop) ||
	    nla_put_u8(skb, TCA_2REGIONRED_HARDDROP, p.harddrop) ||
	    nla_put_u32(skb, TCA_2REGIONRED_SEED, p.seed)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static void tworr_copy_state(struct tc_2regionred_qdisc_stats *st,
			     const struct tworr_derived *d,
			     const struct tworr_vars *v, u32 qlen, u64 now)
{
	struct persistent_queue queue = v->queue;
	u64 left = v->control.quiet_until;

	/* As it would be now, without disturbing it. */
	persistent_queue_advance(&queue, &d->queue, qlen, now);
	st->q_est = queue.estimate;
	st->ppd = v->control.ppd;
	st->window = v->control.window;
	st->pipe = d->law.pipe;
	st->phase = v->control.phase + 1;
	st->limit = d->limit;
	st->bmin = d->law.bmin;
	st->bflat = d->law.bflat;
	st->target = d->law.target;
	st->bmax = d->law.bmax;
	st->n_1dpr = d->n_1dpr;
	if (left > now)
		st->hold_off = div_u64(left - now, 1000);
}

static void tworr_copy_stats(struct tc_2regionred_qdisc_stats *st,
			     const struct tworr_stats *s)
{
	st->entered_quiet = s->control.entered[TWO_REGION_QUIET];
	st->entered_low = s->control.entered[TWO_REGION_LOW];
	st->entered_high = s->control.entered[TWO_REGION_HIGH];
	st->entered_max = s->control.entered[TWO_REGION_MAX];
	st->updates = s->control.updates;
	st->negative = s->control.negative;
	st->dropped_low = s->dropped[TWO_REGION_LOW];
	st->dropped_high = s->dropped[TWO_REGION_HIGH];
	st->dropped_max = s->dropped[TWO_REGION_MAX];
	st->dropped_limit = s->dropped_limit;
	st->dropped_change = s->dropped_change;
	st->marked_low = s->marked[TWO_REGION_LOW];
	st->marked_high = s->marked[TWO_REGION_HIGH];
	st->marked_max = s->marked[TWO_REGION_MAX];
	st->spared = s->spared;
}

static int tworr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_2regionred_xstats st = { .type = TCA_2REGIONRED_XSTATS_QDISC };
	struct tworr_sched_data *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	tworr_copy_state(&st.qdisc, &q->derived, &q->vars, sch->q.qlen,
			 ktime_get_ns());
	tworr_copy_stats(&st.qdisc, &q->stats);
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
	.change		= tworr_change,
	.dump		= tworr_dump,
	.dump_stats	= tworr_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("2regionred");

static int __init tworr_module_init(void)
{
	return register_qdisc(&tworr_qdisc_ops);
}

static void __exit tworr_module_exit(void)
{
	unregister_qdisc(&tworr_qdisc_ops);
}

module_init(tworr_module_init)
module_exit(tworr_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("2RegionRED queue discipline");
MODULE_LICENSE("GPL");
