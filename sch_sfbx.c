// SPDX-License-Identifier: GPL-2.0
/*
 * Stochastic Fair BLUE, as Ali Ahammed and Banu describe it (sfbx)
 *
 * BLUE drops the same fraction of every flow's packets, so a flow that does not
 * slow down drives the probability to 1 for all. SFB has a small BLUE per bin
 * and hashes each flow into one bin per level. A flow that does not slow down
 * pollutes one bin in each level: their probability is 1. Other flows share a
 * polluted bin in one level, but hardly in all. A flow with polluted bins only
 * goes to the penalty box, which lets one packet pass per Boxtime. There is no
 * state per flow.
 *
 * G. F. Ali Ahammed, R. Banu, "Analyzing the Performance of Active Queue
 * Management Algorithms", 2010, sections 2.4, 3.3.3 and 4.3, after W. Feng,
 * D. D. Kandlur, D. Saha, K. G. Shin, "Stochastic Fair BLUE", INFOCOM 2001. For
 * each arrival, with the bin B_i of its flow in level i:
 *
 *	each level:
 *		B_i has more than bin_size packets:	p_i = p_i + d1
 *		B_i is empty:				p_i = p_i - d2
 *	all B_i have more than bin_size packets:	drop the arrival
 *	p = min p_i
 *	p = 1:	penalty box: if the last packet passed more than Boxtime ago,
 *		queue it, otherwise drop it
 *	else:	drop or mark it with probability p
 *
 *	departure: each level: B_i is empty:		p_i = p_i - d2
 *	each Hinterval: change the hash functions
 *
 * <aqm/sfbx/accounting_bins.h> implements the bins, and how the next hash
 * functions are warmed up ("double buffered moving hash").
 *
 * Mainline's sfb is another algorithm: eight levels of 16 bins that follow from
 * one 32-bit hash, steps with each packet without a freeze time, a token bucket
 * instead of Boxtime that forgets fractions of tokens, a warm-up that needs full
 * bins, progressive dropping above p = 1/2, and a child qdisc.
 *
 * Our decisions where the paper is silent or contradicts itself:
 *  - The listing drops an arrival if any of its bins is overfull. The text wants
 *    a flow to be spared that shares some bins, but not all, with a flow that
 *    does not slow down. So all bins decide, and bin_drop any is the listing. By
 *    bin_drop none, probability and box alone decide.
 *  - The listing changes p with each packet, the parameters include a freeze
 *    time. A bin has one freeze time for both directions. freeze_time 0 is the
 *    listing.
 *  - "A bit randomized", the paper's proposal against one flow that locks to the
 *    box (figure 12), has no number. Each Boxtime is uniform between half and
 *    one and a half times the mean; box_random 0 is the paper's fixed one.
 *  - Warming up: each arrival with p = 1 raises p of its next bins, also if it is
 *    dropped because its bins are overfull.
 *  - bin_size: 1.5 / N of the limit, as in the paper, but at least 4 packets,
 *    because TCP needs so many for a fast retransmit, and at most half of the
 *    limit.
 *  - Boxtime: the paper's 50 ms are for 1 Mb/s. The default is what the link
 *    needs for 6.25 packets of avpkt bytes, the same part of any link, 16 %.
 *  - An arrival counts towards no bin before it is queued. It is compared with
 *    the limit last.
 *  - <aqm/packet_flow.h> defines a flow. A filter's class can replace it. SFB's
 *    hash functions stir this number with a random one per set of bins.
 *  - With ecn, arrivals that chance selects are marked instead of dropped, with
 *    harddrop only while not all of their bins are overfull. The bins and the
 *    box drop, because they stop flows that did not respond to marks.
 *  - A packet that a parent has peeked at is still in the queue.
 *  - GSO packets: frame/split_gso.c. A whole one counts as its segments, also in
 *    the box: the next packet waits as many Boxtimes.
 *
 * Options, units and defaults: TC_SFBX_OPTIONS.
 */

#include <aqm/sfbx/accounting_bins.h>
#include <aqm/packet_flow.h>
#include <aqm/plain_fifo.h>
#include <aqm/seeded_random.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_sfbx.h>

#define SFBX_LEAST_BIN	4U	/* packets, of the default of bin_size */
#define SFBX_BOX	625U	/* packets of 1/100 that the link sends in a Boxtime */
#define SFBX_LONGEST	10000000U	/* longest Boxtime, us */

#define SFBX_DROP_BIN	AQM_DROP_OWN	/* the bins are overfull */
#define SFBX_DROP_BOX	AQM_DROP_OWN_2	/* the penalty box is closed */

static_assert(SFBX_MAX_LEVELS == ACCOUNTING_LEVELS);

struct sfbx_params {
	struct aqm_given		given;
	struct accounting_params	accounting;
	struct congestion_policy	signal;
	u32				overfull;	/* levels that drop; above levels: none */
	u64				box;		/* shortest Boxtime, ns */
	u64				box_range;	/* longest minus shortest, ns */

	TC_SFBX_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(sfbx_options, struct sfbx_params, TC_SFBX_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_sfbx_qdisc_stats, TC_SFBX_QDISC_STATS);

/**
 * struct sfbx_vars - state of the datapath; under the qdisc lock
 * @bins: the bins
 * @random: generator for the decisions, Boxtimes and hash functions
 * @flow_key: key of the flow hash
 * @number: flow hash of the arrival, or the class that a filter named
 * @box_until: the box lets no packet pass until this time, ns
 * @box_passed: number of packets that it let pass
 */
struct sfbx_vars {
	struct accounting_bins	bins;
	struct seeded_random	random;
	hsiphash_key_t		flow_key;
	u32			number;
	u64			box_until;
	u64			box_passed;
};

struct sfbx_sched_data {
	struct aqm_queue		queue;
	struct sfbx_params		params;
	struct sfbx_vars		vars;
};

/**
 * struct sfbx_cb - values stored with a queued packet
 * @queued: see struct queued_cb
 * @number: its flow
 * @epoch: number of the hash functions when it was queued
 */
struct sfbx_cb {
	struct queued_cb	queued;
	u32			number;
	u32			epoch;
};

static struct sfbx_cb *sfbx_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct sfbx_cb));
	return container_of(queued_cb(skb), struct sfbx_cb, queued);
}

/* Change the hash functions: one interval or more has passed. */
static void sfbx_rehash(struct sfbx_sched_data *q, u64 now)
{
	u32 n = accounting_changes(&q->params.accounting, &q->vars.bins, now);

	while (n--)
		accounting_next(&q->params.accounting, &q->vars.bins,
				seeded_random_u32(&q->vars.random));
}

/* Return whether the penalty box lets an arrival pass. */
static bool sfbx_box(struct sfbx_sched_data *q, u32 packets, u64 now)
{
	const struct sfbx_params *p = &q->params;
	struct sfbx_vars *v = &q->vars;
	u64 time = p->box;

	if (now <= v->box_until)
		return false;
	if (p->box_range)
		time += mul_u64_u32_shr(p->box_range,
					seeded_random_u32(&v->random), 32);
	v->box_until = now + time * packets;
	v->box_passed++;
	return true;
}

/* The flow of an arrival does not slow down. Return: why it is dropped, or AQM_DROP_NONE. */
static enum aqm_drop sfbx_punish(struct sfbx_sched_data *q, u32 packets,
				 u32 overfull, u64 now)
{
	accounting_warm(&q->params.accounting, &q->vars.bins, q->vars.number, now);
	if (overfull >= q->params.overfull)
		return SFBX_DROP_BIN;
	return sfbx_box(q, packets, now) ? AQM_DROP_NONE : SFBX_DROP_BOX;
}

/* Choose an arrival with probability @chance, Q0.32, below 1. Return: the signal. */
static enum congestion_signal
sfbx_choose(struct Qdisc *sch, struct sk_buff *skb, u32 chance, bool overfull)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);

	if (seeded_random_u32(&q->vars.random) >= chance)
		return CONGESTION_PASS;
	qdisc_qstats_overlimit(sch);
	return congestion_signal(&q->params.signal, skb, overfull);
}

/* Queue an arrival that fits. @flow is its bins in the first set. */
static __always_inline int
sfbx_add(struct sk_buff *skb, struct Qdisc *sch, u32 packets,
	 const struct accounting_flow *flow, u64 now)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	struct sfbx_vars *v = &q->vars;
	int ret;

	ret = plain_fifo_add(sch, skb, packets, now);
	sfbx_cb(skb)->number = v->number;
	sfbx_cb(skb)->epoch = v->bins.epoch;
	accounting_add(&q->params.accounting, &v->bins, flow, v->number, packets);
	return ret;
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int
sfbx_arrival(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
	     u32 packets, u32 class)
{
	enum congestion_signal signal = CONGESTION_PASS;
	struct sfbx_sched_data *q = qdisc_priv(sch);
	const struct sfbx_params *p = &q->params;
	struct accounting_verdict verdict;
	struct sfbx_vars *v = &q->vars;
	struct accounting_flow flow;
	u64 now = ktime_get_ns();
	enum aqm_drop cause = AQM_DROP_NONE;
	int ret;

	if (unlikely(accounting_due(&p->accounting, &v->bins, now)))
		sfbx_rehash(q, now);
	flow = accounting_find(&p->accounting, &v->bins, v->number, v->bins.epoch);
	verdict = accounting_arrival(&p->accounting, &v->bins, &flow, now);
	if (unlikely(verdict.p == U32_MAX))
		cause = sfbx_punish(q, packets, verdict.overfull, now);
	else if (unlikely(verdict.overfull >= p->overfull))
		cause = SFBX_DROP_BIN;
	else if (verdict.p)
		signal = sfbx_choose(sch, skb, verdict.p,
				     verdict.overfull == p->levels);
	if (unlikely(cause))
		return aqm_drop(skb, sch, cause, to_free);
	ret = plain_fifo_try_drop(sch, skb, packets, signal, false, to_free);
	if (unlikely(ret))
		return ret;
	return sfbx_add(skb, sch, packets, &flow, now);
}

static int sfbx_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	struct sfbx_vars *v = &q->vars;
	u32 minor;
	int ret;

	ret = filter_class(skb, sch, TC_H_MIN_MASK, &minor, to_free);
	if (unlikely(ret))
		return ret;
	v->number = minor ?: flow_hash(skb, &v->flow_key);
	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, sfbx_arrival);
	return sfbx_arrival(skb, sch, to_free, 1, 0);
}

/* A packet has left the queue: update its bins. */
static void sfbx_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	const struct accounting_params *p = &q->params.accounting;
	struct accounting_bins *bins = &q->vars.bins;
	const struct sfbx_cb *cb = sfbx_cb(skb);
	struct accounting_flow flow;

	flow = accounting_find(p, bins, cb->number, bins->epoch);
	if (unlikely(accounting_remove(p, bins, &flow, cb->number, cb->epoch,
				       cb->queued.segments)))
		accounting_emptied(p, bins, &flow, ktime_get_ns());
}

static struct sk_buff *sfbx_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = plain_fifo_remove(sch);

	if (!skb)
		return NULL;
	sfbx_departed(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* For aqm_queue_trim(): remove the oldest packet, unless the rest fits. */
static struct sk_buff *sfbx_evict(struct Qdisc *sch, bool again)
{
	struct sk_buff *skb = aqm_queue_is_over(sch) ? plain_fifo_remove(sch) : NULL;

	if (skb)
		sfbx_departed(sch, skb);
	return skb;
}

static void sfbx_reset(struct Qdisc *sch)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);

	/* Also called after a failed init. */
	if (!q->vars.bins.bins)
		return;
	plain_fifo_reset(sch);
	accounting_reset(&q->params.accounting, &q->vars.bins, ktime_get_ns());
	q->vars.box_until = 0;
}

/* 1.5 / bins of the limit; see the header of this file for the bounds. */
static u32 sfbx_bin_size(u32 limit, u32 bins)
{
	u64 size = max_t(u64, div_u64(3ULL * limit, 2 * bins), SFBX_LEAST_BIN);

	return clamp_t(u64, size, 1, max(limit / 2, 1U));
}

/* The time of 6.25 packets of @avpkt bytes at @rate bytes/s, us. */
static u32 sfbx_box_time(u64 rate, u32 avpkt)
{
	u64 time = div64_u64(mul_u64_u32_div(avpkt, SFBX_BOX * USEC_PER_SEC, 100),
			     rate);

	return clamp_t(u64, time, 1, SFBX_LONGEST);
}

/* The shortest Boxtime, and how much longer the longest is. */
static void sfbx_derive_box(struct sfbx_params *p)
{
	u64 mean = (u64)p->box_time * NSEC_PER_USEC;
	u64 part = mul_u64_u32_div(mean, p->box_random, U32_MAX);

	p->box = mean - part;
	p->box_range = 2 * part;
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int sfbx_derive(struct Qdisc *sch, struct sfbx_params *p,
		       struct netlink_ext_ack *extack)
{
	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: aqm_fifo_limit(sch, p->bandwidth, p->memory_limit);
	p->bin_size = p->bin_size ?: sfbx_bin_size(p->limit, p->bins);
	p->box_time = p->box_time ?: sfbx_box_time(p->bandwidth, p->avpkt);
	sfbx_derive_box(p);
	p->overfull = p->bin_drop == SFBX_BIN_DROP_ANY ? 1 :
		      p->levels + (p->bin_drop == SFBX_BIN_DROP_NONE);
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->accounting = (struct accounting_params) {
		.freeze		= (u64)p->freeze_time * NSEC_PER_USEC,
		.interval	= (u64)p->rehash * NSEC_PER_USEC,
		.up		= p->increment,
		.down		= p->decrement,
		.size		= p->bin_size,
		.bins		= p->bins,
		.levels		= p->levels,
	};
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	if (!aqm_warn_of_memory(sch, p->memory_limit, extack) &&
	    p->bin_size > p->limit)
		NL_SET_ERR_MSG_MOD(extack,
				   "bin_size is above limit: no bin becomes overfull");
	return 0;
}

/* Allocate both sets of bins. Return: 0 or an error */
static int sfbx_alloc(struct accounting_bin **bins, const struct sfbx_params *p,
		      struct netlink_ext_ack *extack)
{
	*bins = kvcalloc(1, accounting_size(p->bins, p->levels),
			 GFP_KERNEL_ACCOUNT);
	if (*bins)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the bins");
	return -ENOMEM;
}

/* Count all queued packets in new, empty bins. Return: the old ones. */
static struct accounting_bin *sfbx_move(struct Qdisc *sch,
					struct accounting_bin *bins)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	const struct accounting_params *p = &q->params.accounting;
	struct accounting_bins *v = &q->vars.bins;
	struct accounting_bin *old = v->bins;
	struct accounting_flow flow;
	struct sk_buff *skb;

	v->bins = bins;
	for (skb = sch->q.head; skb; skb = skb->next) {
		struct sfbx_cb *cb = sfbx_cb(skb);

		cb->epoch = v->epoch;
		flow = accounting_find(p, v, cb->number, v->epoch);
		accounting_add(p, v, &flow, cb->number, cb->queued.segments);
	}
	return old;
}

/* Draw the first hash functions. */
static void sfbx_start(struct sfbx_sched_data *q, struct accounting_bin *bins)
{
	struct sfbx_vars *v = &q->vars;

	v->bins.bins = bins;
	v->bins.salts[0] = seeded_random_u32(&v->random) | 1;
	v->bins.salts[1] = seeded_random_u32(&v->random) | 1;
	accounting_reset(&q->params.accounting, &v->bins, ktime_get_ns());
}

static int sfbx_apply(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	struct sfbx_params *p = aqm_params_of(sfbx, given);
	struct sfbx_sched_data *q = qdisc_priv(sch);
	struct accounting_bin *bins = NULL;
	struct sfbx_vars *v = &q->vars;
	u64 now;
	int err;

	err = sfbx_derive(sch, p, extack);
	if (!err && (p->bins != q->params.bins || p->levels != q->params.levels))
		err = sfbx_alloc(&bins, p, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	if (p->rehash != q->params.rehash)
		v->bins.change_at = now + p->accounting.interval;
	v->box_until = min(v->box_until, now + p->box + p->box_range);
	q->params = *p;
	if (aqm_changed(p, TCA_SFBX_SEED))
		seeded_random_init(&v->random, p->seed);
	if (bins)
		bins = sfbx_move(sch, bins);
	accounting_change(&p->accounting, &v->bins, now);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, sfbx_evict);
	sch_tree_unlock(sch);
	kvfree(bins);
	return 0;
}

static const struct aqm_kind sfbx_kind = {
	.options	= &sfbx_options,
	.bandwidth	= TCA_SFBX_BANDWIDTH,
	.apply		= sfbx_apply,
};

static int sfbx_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int sfbx_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	struct sfbx_params *p = &q->params;
	struct accounting_bin *bins;
	int err;

	err = aqm_init(sch, &sfbx_kind, &p->given, opt, extack);
	if (!err)
		err = sfbx_derive(sch, p, extack);
	if (!err)
		err = sfbx_alloc(&bins, p, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	seeded_random_init(&q->vars.random, p->seed);
	get_random_bytes(&q->vars.flow_key, sizeof(q->vars.flow_key));
	sfbx_start(q, bins);
	return aqm_start(sch, extack);
}

static void sfbx_destroy(struct Qdisc *sch)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	kvfree(q->vars.bins.bins);
}

static int sfbx_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

static int sfbx_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_sfbx_xstats st = { .type = TC_AQM_XSTATS_QDISC };
	const struct sfbx_sched_data *q = qdisc_priv(sch);
	const struct sfbx_params *p = &q->params;
	const struct sfbx_vars *v = &q->vars;
	const u64 *drops = q->queue.drops;
	struct accounting_summary sum;

	/* Only a change replaces the bins, and it has RTNL, as we have. */
	ASSERT_RTNL();
	sum = accounting_summarize(&p->accounting, &v->bins);
	st.qdisc.used = sum.used;
	st.qdisc.polluted = sum.polluted;
	st.qdisc.warmed = sum.warmed;
	st.qdisc.highest = sum.highest;
	st.qdisc.false_alarm = sum.false_alarm;
	st.qdisc.bin_size = p->bin_size;
	st.qdisc.box_time = p->box_time;

	sch_tree_lock(sch);
	aqm_common_stats(sch, &st.qdisc);
	st.qdisc.early_drop = drops[AQM_DROP_EARLY];
	st.qdisc.bin_drop = drops[SFBX_DROP_BIN];
	st.qdisc.box_drop = drops[SFBX_DROP_BOX];
	st.qdisc.box_passed = v->box_passed;
	st.qdisc.rises = v->bins.rises;
	st.qdisc.falls = v->bins.falls;
	st.qdisc.rehashes = v->bins.epoch;
	st.qdisc.segments = q->queue.segments;
	st.qdisc.drop_filter = drops[AQM_DROP_FILTER];
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops sfbx_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= filter_class_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
};

static struct Qdisc_ops sfbx_qdisc_ops __read_mostly = {
	.cl_ops		= &sfbx_class_ops,
	.id		= "sfbx",
	.priv_size	= sizeof(struct sfbx_sched_data),
	.enqueue	= sfbx_enqueue,
	.dequeue	= sfbx_dequeue,
	.peek		= qdisc_peek_head,
	.init		= sfbx_init,
	.reset		= sfbx_reset,
	.destroy	= sfbx_destroy,
	.change		= sfbx_change,
	.dump		= sfbx_dump,
	.dump_stats	= sfbx_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init sfbx_module_init(void)
{
	return aqm_register(&sfbx_qdisc_ops);
}

static void __exit sfbx_module_exit(void)
{
	aqm_unregister(&sfbx_qdisc_ops);
}

module_init(sfbx_module_init);
module_exit(sfbx_module_exit);
MODULE_ALIAS_NET_SCH("sfbx");
MODULE_DESCRIPTION("Stochastic Fair BLUE queue discipline, as Ali Ahammed and Banu describe it");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
