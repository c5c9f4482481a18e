// SPDX-License-Identifier: GPL-2.0
/*
 * CHOKe, M-CHOKe and A-CHOKe (chokex)
 *
 * RED drops from every flow the same fraction, so a flow that does not slow
 * down keeps whatever share of the link it takes. CHOKe uses the queue itself
 * as a sample of who takes how much: an arrival is compared with packets drawn
 * at random from the queue, and when they are of one flow all of them go. A
 * flow with a fraction f of the queue loses about that fraction of its packets
 * twice, and no state is kept for any flow.
 *
 * R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a Stateless Active Queue
 * Management Scheme for Approximating Fair Bandwidth Allocation", INFOCOM
 * 2000; the three variants and their settings as in G. F. Ali Ahammed, R. Banu,
 * "Analyzing the Performance of Active Queue Management Algorithms", sections
 * 2.5, 3.3.4 and 4.4.
 *
 * The rule, for each arrival, avg being RED's average of the queue length:
 *
 *	avg < min:	queue it
 *	else:		draw m candidates from the queue
 *			drop each that is of the arrival's flow
 *			if there was one: drop the arrival
 *			else avg < max: drop the arrival with RED's probability
 *			else: drop the arrival
 *
 *	CHOKe		m = 1			candidates 1
 *	M-CHOKe		m given			candidates M
 *	A-CHOKe		m = 2i in region i of k	adaptive K
 *
 * The regions divide [min, max) into k equal parts; at and above max, i = k.
 *
 * What the papers leave open, and what is done here:
 *  - The pseudo code of 2.5 queues with RED's probability where the text drops
 *    with it. The text is right.
 *  - Draws are with replacement: each is uniform over the packets that are in
 *    the queue at that moment, so a match is gone before the next draw, and a
 *    packet that did not match may be drawn again. That costs O(m), and with
 *    m much smaller than the queue nearly nothing is drawn twice.
 *  - All m are drawn, also after a match.
 *  - One flow means: the same protocol, addresses of either family in full,
 *    ports, GRE key and VLAN number. A filter that names a class defines the flow
 *    instead. What is compared is a 64-bit SipHash of these under a key of this
 *    discipline: two flows are mistaken for one with probability 2^-64 per
 *    comparison, and nobody outside can bring it about. Fragments have no ports.
 *    Packets that the flow dissector cannot read are one flow per protocol.
 *  - Queue lengths are in packets on the wire: a GSO packet counts its segments
 *    in the average and against the limit. It is one candidate, and one arrival.
 *  - With ecn, what RED would drop is marked where the packet allows it, also
 *    above max unless harddrop; with nodrop, what cannot be marked is queued.
 *    See <aqm/congestion_signal.h>. A match is always dropped: a flow found by
 *    it did not heed marks.
 *  - With gentle, RED's probability rises from max_p to 1 between max and
 *    twice max. The paper's rule is without.
 *  - A packet that a parent has peeked at, or that the driver handed back, has
 *    left the queue: it is not averaged, not limited and not drawn.
 *  - The average of an empty queue decays by time: <aqm/red_fifo.h>.
 *
 * Parameters:
 *	limit		packets				1 to 2^20
 *	min, max	packets				min < max < 2^31
 *	probability	max_p, in units of 2^-32
 *	weight		of the average, in units of 2^-32
 *	bandwidth	bytes per second		1 to 2^40
 *	avpkt		bytes; with bandwidth: how fast avg decays when idle
 *	candidates	m				1 to 64
 *	adaptive	k				1 to 32
 *	gentle, ecn, harddrop, nodrop		0 or 1
 *	seed		of the draws; 0: unpredictable
 */

#include <linux/module.h>
#include <linux/siphash.h>
#include <net/flow_dissector.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/congestion_signal.h>
#include <aqm/filter_class.h>
#include <aqm/gentle_red.h>
#include <aqm/red_fifo.h>
#include <uapi/linux/pkt_sched_chokex.h>

#define CHOKEX_DEFAULT_LIMIT		300	/* Pan et al.; min 100, max 200 */
#define CHOKEX_DEFAULT_MAX_P		(2 * GENTLE_RED_PERCENT)
#define CHOKEX_DEFAULT_WEIGHT		8589935U	/* 0.002 in Q0.32 */
#define CHOKEX_DEFAULT_BANDWIDTH	1250000		/* 10 Mb/s */
#define CHOKEX_DEFAULT_AVPKT		1000

/**
 * struct chokex_params - configuration; written by change under the tree lock
 * @red: the thresholds in force, and the rest of RED
 * @signal: what becomes of what RED chooses
 * @bandwidth: bytes per second
 * @limit: packets on the wire, at most
 * @min_th: threshold as given, packets; 0: derived from the limit
 * @max_th: threshold as given, packets; 0: derived from the limit
 * @avpkt: bytes
 * @candidates: m, while @regions is 0
 * @regions: k
 * @seed: of the random numbers
 */
struct chokex_params {
	struct gentle_red_params red;
	struct congestion_policy signal;
	u64	bandwidth;
	u32	limit;
	u32	min_th;
	u32	max_th;
	u32	avpkt;
	u32	candidates;
	u32	regions;
	u32	seed;
};

/**
 * struct chokex_vars - state of the datapath; under the qdisc lock
 * @queue: the packets; a tag is the packet's flow, 0 while nobody has asked
 * @flow_key: of the flows' hashes
 */
struct chokex_vars {
	struct red_fifo		queue;
	siphash_key_t		flow_key;
};

/**
 * struct chokex_stats - counters; see struct tc_chokex_qdisc_stats
 * @signal: what became of what RED chose
 * @drawn: candidates
 * @dropped_bytes: bytes of all packets dropped
 * @matched: arrivals dropped by a match
 * @victims: queued packets dropped by a match
 * @drop_limit: no room
 * @drop_change: limit lowered
 */
struct chokex_stats {
	struct congestion_stats	signal;
	u64	drawn;
	u64	dropped_bytes;
	u32	matched;
	u32	victims;
	u32	drop_limit;
	u32	drop_change;
};

struct chokex_sched_data {
	struct chokex_params	params;
	struct chokex_vars	vars;
	struct chokex_stats	stats;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
};

/* Average at which avg reaches @th packets. */
static u64 chokex_avg_at(u32 th)
{
	return (u64)th << 32;
}

/* Draws for an arrival; avg >= min. */
static u32 chokex_candidates(const struct chokex_params *p, u64 avg)
{
	u64 above = avg - chokex_avg_at(p->red.min_th);

	if (!p->regions)
		return p->candidates;
	if (avg >= chokex_avg_at(p->red.max_th))
		return 2 * p->regions;
	/* avg is at most 2^20 packets, so this stays below 2^57. */
	return 2 + 2 * (u32)(div_u64(above * p->regions,
				     p->red.max_th - p->red.min_th) >> 32);
}

/* The flow of a packet as a number that is never 0. */
static u64 chokex_flow_of(const struct chokex_vars *v, const struct sk_buff *skb)
{
	const size_t from = offsetof(struct flow_keys, basic);
	struct flow_keys keys;

	skb_flow_dissect_flow_keys(skb, &keys, 0);
	/* A sender may change these within a connection, and Linux does. */
	keys.tags.flow_label = 0;
	keys.vlan.vlan_priority = 0;
	keys.vlan.vlan_dei = 0;
	return siphash((u8 *)&keys + from, sizeof(keys) - from,
		       &v->flow_key) ?: 1;
}

/* The flow that a filter named, in the same number space. */
static u64 chokex_flow_of_class(const struct chokex_vars *v, u32 minor)
{
	return siphash_1u32(minor, &v->flow_key) ?: 1;
}

/* Count a packet that is lost. */
static void chokex_lose(struct Qdisc *sch, struct sk_buff *skb, u32 *cause,
			enum qdisc_drop_reason reason)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	red_fifo_lose(sch, skb, cause, &q->stats.dropped_bytes, reason);
}

/**
 * chokex_match() - draw candidates and drop those of the arrival's flow
 * @sch: the discipline
 * @flow: the arrival's
 * @to_free: list that takes the dropped packets
 *
 * Return: true if there was one.
 */
static bool chokex_match(struct Qdisc *sch, u64 flow, struct sk_buff **to_free)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	u32 m = chokex_candidates(&q->params, queue->red.avg);
	struct random_fifo *fifo = &queue->fifo;
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct random_fifo_slot *s;
	struct sk_buff *skb;
	u32 slot;

	for (; m && fifo->count; m--) {
		slot = 1 + seeded_random_below(&queue->random, fifo->count);
		s = &fifo->slots[slot];
		q->stats.drawn++;
		if (!s->tag)
			s->tag = chokex_flow_of(&q->vars, s->item);
		if (s->tag != flow)
			continue;
		skb = red_fifo_take(sch, queue, slot);
		chokex_lose(sch, skb, &q->stats.victims, QDISC_DROP_CONGESTED);
		__qdisc_drop(skb, to_free);
	}
	red_fifo_tell(sch, qlen, backlog);
	return qlen != sch->q.qlen;
}

static int chokex_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	const struct chokex_params *p = &q->params;
	struct red_fifo *queue = &q->vars.queue;
	struct chokex_stats *st = &q->stats;
	enum congestion_signal signal;
	u64 flow = 0;
	bool forced;
	u32 minor;
	int ret;

	ret = filter_class(skb, sch, rcu_dereference_bh(q->filter_list),
			   TC_H_MIN_MASK, &minor);
	if (ret)
		return filter_class_drop(skb, sch, ret, to_free);
	if (minor)
		flow = chokex_flow_of_class(&q->vars, minor);

	red_queue_arrival(&p->red, &queue->red, queue->held.segments);

	if (queue->red.avg >= chokex_avg_at(p->red.min_th)) {
		if (!flow)
			flow = chokex_flow_of(&q->vars, skb);
		if (chokex_match(sch, flow, to_free)) {
			chokex_lose(sch, skb, &st->matched,
				    QDISC_DROP_CONGESTED);
			__qdisc_drop(skb, to_free);
			return NET_XMIT_CN;
		}
	}

	signal = red_queue_signal(sch, skb, &p->red, &queue->red,
				  &queue->random, &p->signal, &forced);
	if (signal == CONGESTION_DROP) {
		chokex_lose(sch, skb, forced ? &st->signal.forced_drop :
					       &st->signal.early_drop,
			    QDISC_DROP_CONGESTED);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_CN;
	}
	if (unlikely(!red_fifo_fits(queue, skb, p->limit))) {
		chokex_lose(sch, skb, &st->drop_limit, QDISC_DROP_OVERLIMIT);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	congestion_count(&st->signal, signal, forced);
	red_fifo_add(sch, queue, skb, flow);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *chokex_dequeue(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	struct sk_buff *skb;

	if (!queue->fifo.count)
		return NULL;
	skb = red_fifo_take(sch, queue, random_fifo_first(&queue->fifo));
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void chokex_reset(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	/* Also called after an init that failed. */
	if (q->vars.queue.fifo.slots)
		red_fifo_reset(&q->vars.queue, &q->params.red);
}

/* A change left no room for the packet in @slot. */
static struct sk_buff *chokex_evict(struct Qdisc *sch, u32 slot)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = red_fifo_take(sch, &q->vars.queue, slot);

	chokex_lose(sch, skb, &q->stats.drop_change, QDISC_DROP_OVERLIMIT);
	return skb;
}

static struct netlink_range_validation chokex_limit_range = {
	.min = 1, .max = CHOKEX_MAX_LIMIT,
};

static struct netlink_range_validation chokex_max_th_range = {
	.min = 0, .max = GENTLE_RED_MAX_TH,
};

static struct netlink_range_validation chokex_bandwidth_range = {
	.min = 1, .max = CHOKEX_MAX_BANDWIDTH,
};

static const struct nla_policy chokex_policy[TCA_CHOKEX_MAX + 1] = {
	[TCA_CHOKEX_LIMIT]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &chokex_limit_range),
	[TCA_CHOKEX_MIN_TH]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &chokex_max_th_range),
	[TCA_CHOKEX_MAX_TH]	 = NLA_POLICY_FULL_RANGE(NLA_U32,
							 &chokex_max_th_range),
	[TCA_CHOKEX_PROBABILITY] = { .type = NLA_U32 },
	[TCA_CHOKEX_WEIGHT]	 = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_CHOKEX_BANDWIDTH]	 = NLA_POLICY_FULL_RANGE(NLA_U64,
							 &chokex_bandwidth_range),
	[TCA_CHOKEX_AVPKT]	 = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_CHOKEX_CANDIDATES]	 = NLA_POLICY_RANGE(NLA_U32, 1,
						    CHOKEX_MAX_CANDIDATES),
	[TCA_CHOKEX_ADAPTIVE]	 = NLA_POLICY_RANGE(NLA_U32, 1,
						    CHOKEX_MAX_REGIONS),
	[TCA_CHOKEX_GENTLE]	 = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_CHOKEX_ECN]	 = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_CHOKEX_HARDDROP]	 = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_CHOKEX_NODROP]	 = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_CHOKEX_SEED]	 = { .type = NLA_U32 },
};

/* Derive what follows from the options, and see whether it makes sense. */
static int chokex_derive(struct chokex_params *p,
			 struct netlink_ext_ack *extack)
{
	u64 ptime = div64_u64((u64)p->avpkt * NSEC_PER_SEC, p->bandwidth);

	if (ptime > U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "avpkt takes more than 4 s at this bandwidth");
		return -EINVAL;
	}
	p->red.ptime = max_t(u32, ptime, 1);
	p->red.min_th = p->min_th ?: p->limit / 3;
	p->red.max_th = p->max_th ?: max(2 * p->limit / 3, 1U);
	if (p->red.min_th >= p->red.max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (p->signal.nodrop && !p->signal.ecn) {
		NL_SET_ERR_MSG_MOD(extack, "nodrop needs ecn");
		return -EINVAL;
	}
	return 0;
}

/* Read the options given over @p, which holds what is in force. */
static int chokex_parse(struct chokex_params *p, bool *reseed,
			struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_CHOKEX_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_CHOKEX_MAX, opt, chokex_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_CHOKEX_CANDIDATES] && tb[TCA_CHOKEX_ADAPTIVE]) {
		NL_SET_ERR_MSG_MOD(extack, "candidates and adaptive exclude each other");
		return -EINVAL;
	}

	if (tb[TCA_CHOKEX_LIMIT])
		p->limit = nla_get_u32(tb[TCA_CHOKEX_LIMIT]);
	if (tb[TCA_CHOKEX_MIN_TH])
		p->min_th = nla_get_u32(tb[TCA_CHOKEX_MIN_TH]);
	if (tb[TCA_CHOKEX_MAX_TH])
		p->max_th = nla_get_u32(tb[TCA_CHOKEX_MAX_TH]);
	if (tb[TCA_CHOKEX_PROBABILITY])
		p->red.max_p = nla_get_u32(tb[TCA_CHOKEX_PROBABILITY]);
	if (tb[TCA_CHOKEX_WEIGHT])
		p->red.weight = nla_get_u32(tb[TCA_CHOKEX_WEIGHT]);
	if (tb[TCA_CHOKEX_BANDWIDTH])
		p->bandwidth = nla_get_u64(tb[TCA_CHOKEX_BANDWIDTH]);
	if (tb[TCA_CHOKEX_AVPKT])
		p->avpkt = nla_get_u32(tb[TCA_CHOKEX_AVPKT]);
	if (tb[TCA_CHOKEX_CANDIDATES]) {
		p->candidates = nla_get_u32(tb[TCA_CHOKEX_CANDIDATES]);
		p->regions = 0;
	}
	if (tb[TCA_CHOKEX_ADAPTIVE])
		p->regions = nla_get_u32(tb[TCA_CHOKEX_ADAPTIVE]);
	if (tb[TCA_CHOKEX_GENTLE])
		p->red.gentle = nla_get_u8(tb[TCA_CHOKEX_GENTLE]);
	if (tb[TCA_CHOKEX_ECN])
		p->signal.ecn = nla_get_u8(tb[TCA_CHOKEX_ECN]);
	if (tb[TCA_CHOKEX_HARDDROP])
		p->signal.harddrop = nla_get_u8(tb[TCA_CHOKEX_HARDDROP]);
	if (tb[TCA_CHOKEX_NODROP])
		p->signal.nodrop = nla_get_u8(tb[TCA_CHOKEX_NODROP]);
	if (tb[TCA_CHOKEX_SEED])
		p->seed = nla_get_u32(tb[TCA_CHOKEX_SEED]);
	*reseed = tb[TCA_CHOKEX_SEED];
	return chokex_derive(p, extack);
}

static int chokex_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	struct random_fifo_slot *slots = NULL;
	struct chokex_params p = q->params;
	bool reseed;
	int err;

	err = chokex_parse(&p, &reseed, opt, extack);
	if (err < 0)
		return err;
	if (p.limit != q->params.limit) {
		slots = red_fifo_alloc(p.limit, extack);
		if (!slots)
			return -ENOMEM;
	}

	sch_tree_lock(sch);
	gentle_red_change(&queue->red, &q->params.red, &p.red);
	q->params = p;
	if (reseed)
		seeded_random_init(&queue->random, p.seed);
	slots = red_fifo_resize(sch, queue, slots, p.limit, chokex_evict);
	sch_tree_unlock(sch);
	kvfree(slots);
	return 0;
}

static int chokex_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct chokex_params p = {
		.red.max_p	= CHOKEX_DEFAULT_MAX_P,
		.red.weight	= CHOKEX_DEFAULT_WEIGHT,
		.bandwidth	= CHOKEX_DEFAULT_BANDWIDTH,
		.limit		= CHOKEX_DEFAULT_LIMIT,
		.avpkt		= CHOKEX_DEFAULT_AVPKT,
		.candidates	= 1,
	};
	struct random_fifo_slot *slots;
	bool reseed;
	int err;

	err = opt ? chokex_parse(&p, &reseed, opt, extack) :
		    chokex_derive(&p, extack);
	if (err < 0)
		return err;
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	slots = red_fifo_alloc(p.limit, extack);
	if (!slots)
		return -ENOMEM;

	red_fifo_init(&q->vars.queue, slots, p.limit, &p.red, p.seed);
	get_random_bytes(&q->vars.flow_key, sizeof(q->vars.flow_key));
	q->params = p;
	sch->limit = p.limit;
	return 0;
}

static void chokex_destroy(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	red_fifo_destroy(&q->vars.queue);
}

static int chokex_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct chokex_params p;
	struct nlattr *opts;

	/* The options hang together: show those of one configuration. */
	sch_tree_lock(sch);
	p = q->params;
	sch_tree_unlock(sch);

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_CHOKEX_LIMIT, p.limit) ||
	    (p.min_th && nla_put_u32(skb, TCA_CHOKEX_MIN_TH, p.min_th)) ||
	    (p.max_th && nla_put_u32(skb, TCA_CHOKEX_MAX_TH, p.max_th)) ||
	    nla_put_u32(skb, TCA_CHOKEX_PROBABILITY, p.red.max_p) ||
	    nla_put_u32(skb, TCA_CHOKEX_WEIGHT, p.red.weight) ||
	    nla_put_u64_64bit(skb, TCA_CHOKEX_BANDWIDTH, p.bandwidth,
			      TCA_CHOKEX_PAD) ||
	    nla_put_u32(skb, TCA_CHOKEX_AVPKT, p.avpkt) ||
	    nla_put_u32(skb, p.regions ? TCA_CHOKEX_ADAPTIVE :
					 TCA_CHOKEX_CANDIDATES,
			p.regions ?: p.candidates) ||
	    nla_put_u8(skb, TCA_CHOKEX_GENTLE, p.red.gentle) ||
	    nla_put_u8(skb, TCA_CHOKEX_ECN, p.signal.ecn) ||
	    nla_put_u8(skb, TCA_CHOKEX_HARDDROP, p.signal.harddrop) ||
	    nla_put_u8(skb, TCA_CHOKEX_NODROP, p.signal.nodrop) ||
	    nla_put_u32(skb, TCA_CHOKEX_SEED, p.seed)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int chokex_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct tc_chokex_xstats st = { .type = TCA_CHOKEX_XSTATS_QDISC };
	const struct gentle_red_params *p = &q->params.red;
	struct gentle_red_vars red;

	sch_tree_lock(sch);
	red = gentle_red_seen(p, &q->vars.queue.red, ktime_get_ns());
	st.qdisc.avg = red.avg;
	st.qdisc.drawn = q->stats.drawn;
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.matched = q->stats.matched;
	st.qdisc.victims = q->stats.victims;
	st.qdisc.early_drop = q->stats.signal.early_drop;
	st.qdisc.early_mark = q->stats.signal.early_mark;
	st.qdisc.forced_drop = q->stats.signal.forced_drop;
	st.qdisc.forced_mark = q->stats.signal.forced_mark;
	st.qdisc.marked = congestion_marked(&q->stats.signal);
	st.qdisc.spared = q->stats.signal.spared;
	st.qdisc.drop_limit = q->stats.drop_limit;
	st.qdisc.drop_change = q->stats.drop_change;
	st.qdisc.segments = q->vars.queue.held.segments;
	if (red.avg >= chokex_avg_at(p->min_th))
		st.qdisc.candidates = chokex_candidates(&q->params, red.avg);
	st.qdisc.probability = min_t(u64, gentle_red_probability(p, &red),
				     U32_MAX);
	st.qdisc.max_p = red.max_p;
	st.qdisc.min_th = p->min_th;
	st.qdisc.max_th = p->max_th;
	st.qdisc.ptime = p->ptime;
	st.qdisc.count = red.count;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct tcf_block *chokex_tcf_block(struct Qdisc *sch, unsigned long cl,
					  struct netlink_ext_ack *extack)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

/* Flows have no state: there is no class to show. */
static void chokex_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
}

static const struct Qdisc_class_ops chokex_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= chokex_walk,
	.tcf_block	= chokex_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
};

static struct Qdisc_ops chokex_qdisc_ops __read_mostly = {
	.cl_ops		= &chokex_class_ops,
	.id		= "chokex",
	.priv_size	= sizeof(struct chokex_sched_data),
	.enqueue	= chokex_enqueue,
	.dequeue	= chokex_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= chokex_init,
	.reset		= chokex_reset,
	.destroy	= chokex_destroy,
	.change		= chokex_change,
	.dump		= chokex_dump,
	.dump_stats	= chokex_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("chokex");

static int __init chokex_module_init(void)
{
	return register_qdisc(&chokex_qdisc_ops);
}

static void __exit chokex_module_exit(void)
{
	unregister_qdisc(&chokex_qdisc_ops);
}

module_init(chokex_module_init)
module_exit(chokex_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("CHOKe, M-CHOKe and A-CHOKe queue discipline");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
