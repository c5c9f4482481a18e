// SPDX-License-Identifier: GPL-2.0
/*
 * BLUE
 *
 * RED reads congestion off the queue's length, which says little of how many
 * flows there are: so it drops too little for many and too much for few, as long
 * as nobody tunes it. BLUE has no average and no thresholds. It learns one
 * probability from the two things that are to be avoided: packets that are lost
 * because the queue is full, and a link that is idle.
 *
 * W. Feng, D. D. Kandlur, D. Saha, K. G. Shin, "BLUE: A New Class of Active Queue
 * Management Algorithms", U. Michigan CSE-TR-387-99, April 1999, and "The BLUE
 * Active Queue Management Algorithms", IEEE/ACM Transactions on Networking 10(4),
 * August 2002:
 *
 *	on packet loss (or queue longer than L):
 *		if now - last_update > freeze_time:
 *			p_m = p_m + d1,  last_update = now
 *	on link idle:
 *		if now - last_update > freeze_time:
 *			p_m = p_m - d2,  last_update = now
 *	each arrival: mark it, or drop it, with probability p_m
 *
 * The rule of p_m is in <aqm/marking_probability.h>, with what is decided there.
 *
 * "Drop" is "mark" with ecn, but for harddrop: above L an arrival that is chosen
 * is dropped.
 *
 * What the papers leave open, and what is done here:
 *  - A packet is lost when the queue has no room for it. What is dropped by chance
 *    is no loss.
 *  - The queue is longer than L if it would be with the arrival. L is the limit
 *    unless given: then only losses count.
 *  - The link is idle from the moment when the last packet leaves until the next
 *    is queued. That is when dequeue would find nothing; but neither drr, htb nor
 *    others ask a child that they know is empty, and with a p_m of 1 no arrival
 *    would ever be queued that makes them ask.
 *  - An arrival that finds no room is lost before chance is asked. One that raises
 *    p_m by itself is subject to the new one.
 *  - A GSO packet is split, and each segment is an arrival. With nosplit_gso it is
 *    one arrival. It counts its segments in the queue's length all the same, which
 *    is in packets on the wire.
 *  - The defaults are those of A. Kantawala, J. Turner, "Efficient Queue Management
 *    for TCP Flows", WUCS-01-22, August 2001, who found them best of the authors'
 *    sets: d1 = 0.0025, d2 = 0.00025, 100 ms. Those of G. F. Ali Ahammed, R. Banu,
 *    "Analyzing the Performance of Active Queue Management Algorithms", are 0.02,
 *    0.002 and 10 ms: 80 times as fast up and down. At 50 Mb/s and 50 ms both
 *    fill the link with 40 flows, and lose 1.5 and 2.0 %; with 6 flows 92 and 96 %
 *    of it are used, for one step up is much where p_m should be near 0.
 *
 * Options, units and defaults: TC_BLUE_OPTIONS.
 */

#include <linux/module.h>
#include <net/pkt_sched.h>
#include <aqm/fifo_limit.h>
#include <aqm/kind.h>
#include <aqm/marking_probability.h>
#include <aqm/plain_fifo.h>
#include <aqm/seeded_random.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_blue.h>

/*
 * Options as given or derived; what follows from them for the datapath comes
 * first. Written under the tree lock.
 */
struct blue_params {
	struct aqm_given		given;
	struct marking_law		marking;
	struct congestion_policy	signal;

	TC_BLUE_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(blue_options, struct blue_params, TC_BLUE_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_blue_qdisc_stats, TC_BLUE_QDISC_STATS);

/**
 * struct blue_vars - state of the datapath; under the qdisc lock
 * @queue: the packets
 * @marking: p_m
 * @random: numbers for arrivals
 */
struct blue_vars {
	struct marking_probability	marking;
	struct seeded_random		random;
	struct plain_fifo		queue;
};

/**
 * struct blue_sched_data - a discipline
 * @vars: state of the datapath
 * @params: parameters in force
 * @stats: counters; what is no counter is filled in for a dump only
 * @link: the device's speed
 */
struct blue_sched_data {
	struct blue_vars		vars;
	struct blue_params		params;
	struct tc_blue_qdisc_stats	stats;
	struct link_rate		link;
};

/* A packet that is queued and sent touches two lines, and that of the threshold. */
static_assert(offsetof(struct blue_sched_data, vars.queue.counters) <= 2 * 64);

/*
 * Out of line is what few packets meet: one that is queued while p_m is 0 calls
 * nothing.
 */

/* A packet is lost, or the queue is longer than L. */
static noinline void blue_congested(struct blue_sched_data *q)
{
	q->stats.rises += marking_lost(&q->params.marking, &q->vars.marking,
				       ktime_get_ns());
}

/* The link has been idle. */
static noinline void blue_idled(struct blue_sched_data *q)
{
	q->stats.falls += marking_idled(&q->params.marking, &q->vars.marking,
					ktime_get_ns());
}

/* Whether the arrival is to be marked or dropped. */
static bool blue_choose(struct blue_vars *v)
{
	return marking_chosen(&v->marking, marking_open(&v->marking) ?
					   seeded_random_u32(&v->random) : 0);
}

/* Tell the sender: false if the arrival must be dropped for that. */
static noinline bool blue_signal(struct Qdisc *sch, struct sk_buff *skb, bool above)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	qdisc_qstats_overlimit(sch);
	switch (congestion_signal(&q->params.signal, skb, above)) {
	case CONGESTION_MARKED:
		q->vars.queue.counters.signal.early_mark++;
		return true;
	case CONGESTION_SPARED:
		q->vars.queue.counters.signal.spared++;
		return true;
	default:
		return false;
	}
}

/* The arrival finds no room. */
static noinline int blue_lost(struct sk_buff *skb, struct Qdisc *sch,
			      enum aqm_drop cause, struct sk_buff **to_free)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	blue_congested(q);
	return plain_fifo_drop(skb, sch, &q->vars.queue, cause, to_free);
}

/* An arrival, or a segment of one. */
static __always_inline int blue_arrival(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free, u32 packets,
					u32 class)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_vars *v = &q->vars;
	struct plain_fifo *queue = &v->queue;
	enum aqm_drop full;
	bool above;

	if (unlikely(!queue->held.segments && v->marking.p))
		blue_idled(q);

	full = plain_fifo_full(queue, skb, packets);
	if (unlikely(full))
		return blue_lost(skb, sch, full, to_free);
	above = (u64)queue->held.segments + packets > q->params.threshold;
	if (unlikely(above))
		blue_congested(q);
	if (v->marking.p && blue_choose(v) && !blue_signal(sch, skb, above))
		return plain_fifo_drop(skb, sch, queue, AQM_DROP_EARLY, to_free);
	return plain_fifo_add(sch, queue, skb, packets, 0);
}

static int blue_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	return split_gso_arrival(skb, sch, to_free, &q->vars.queue.untold,
				 &q->vars.queue.counters, q->params.split_gso,
				 blue_arrival);
}

/* The first packet has left the queue. */
static void blue_departed(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_vars *v = &q->vars;

	if (!v->queue.held.segments && v->marking.p)
		marking_idle(&v->marking, ktime_get_ns());
}

static struct sk_buff *blue_dequeue(struct Qdisc *sch)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	return plain_fifo_dequeue(sch, &q->vars.queue, blue_departed);
}

static void blue_reset(struct Qdisc *sch)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	plain_fifo_reset(sch, &q->vars.queue);
	q->vars.marking = (struct marking_probability) {};
}

/* Derive what follows from the options, and see whether it makes sense. */
static int blue_derive(struct Qdisc *sch, struct aqm_given *given,
		       struct netlink_ext_ack *extack)
{
	const struct blue_sched_data *q = qdisc_priv(sch);
	struct blue_params *p = aqm_params_of(blue, given);

	p->bandwidth = link_rate_in_force(&q->link, p->bandwidth, extack);
	p->memory_limit = p->memory_limit ?: FIFO_MEMORY;
	p->limit = p->limit ?: fifo_limit(p->bandwidth, p->memory_limit);
	p->threshold = p->threshold ?: p->limit;
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->marking = (struct marking_law) {
		.freeze	= (u64)p->freeze_time * NSEC_PER_USEC,
		.up	= p->increment,
		.down	= p->decrement,
	};
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	if (p->threshold > p->limit)
		NL_SET_ERR_MSG_MOD(extack, "threshold is above limit: only losses count");
	return 0;
}

static void blue_setup(struct Qdisc *sch, struct aqm_given *given,
		       struct aqm_memory *m)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	const struct blue_params *p = aqm_params_of(blue, given);

	q->params = *p;
	plain_fifo_init(sch, &q->vars.queue, p->limit, p->memory_limit);
	seeded_random_init(&q->vars.random, p->seed);
}

static void blue_commit(struct Qdisc *sch, struct aqm_given *given,
			struct aqm_memory *m)
{
	struct blue_sched_data *q = qdisc_priv(sch);
	const struct blue_params *p = aqm_params_of(blue, given);
	struct blue_vars *v = &q->vars;
	u64 now = ktime_get_ns();

	if (aqm_changed(p, TCA_BLUE_SEED))
		seeded_random_init(&v->random, p->seed);
	/* Idle time that is over fell under the old parameters. */
	if (!v->queue.held.segments)
		q->stats.falls += marking_idled(&q->params.marking, &v->marking,
						now);
	marking_change(&p->marking, &v->marking, now);
	q->params = *p;
	plain_fifo_resize(sch, &v->queue, p->limit, p->memory_limit,
			  blue_departed);
}

/* What is in force, and the state as it would be now. */
static void blue_stats(struct Qdisc *sch, void *stats)
{
	const struct blue_sched_data *q = qdisc_priv(sch);
	struct marking_probability marking = q->vars.marking;
	struct tc_blue_qdisc_stats *st = stats;
	const struct blue_vars *v = &q->vars;
	const struct blue_params *p = &q->params;

	*st = q->stats;
	plain_fifo_stats(st, &v->queue, p->bandwidth);
	if (!v->queue.held.segments)
		st->falls += marking_idled(&p->marking, &marking,
					   ktime_get_ns());
	st->early_drop = v->queue.counters.drops[AQM_DROP_EARLY];
	st->probability = marking.p;
	st->threshold = p->threshold;
	st->segments = v->queue.held.segments;
}

AQM_KIND(blue, blue, BLUE, "BLUE",
	 .ops.peek	= qdisc_peek_head);
