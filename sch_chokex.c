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
 *  - Queue lengths are in packets; a GSO packet is one packet, one candidate.
 *  - With ecn, what RED would drop is marked where the packet allows it, also
 *    above max unless harddrop; with nodrop, what cannot be marked is queued.
 *    A match is always dropped: a flow found by it did not heed marks.
 *  - With gentle, RED's probability rises from max_p to 1 between max and
 *    twice max. The paper's rule is without.
 *  - A packet that a parent has peeked at is in the queue for the average and
 *    the limit, and cannot be drawn.
 *
 * Parameters:
 *	limit		packets held			1 to 2^20
 *	min, max	packets				min < max < 2^31
 *	probability	max_p, in units of 2^-32
 *	weight		of the average, in units of 2^-32
 *	bandwidth	bytes per second
 *	avpkt		bytes; with bandwidth: how fast avg decays when idle
 *	candidates	m				1 to 64
 *	adaptive	k				1 to 32
 *	gentle, ecn, harddrop, nodrop		0 or 1
 *	seed		of the draws; 0: unpredictable
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/siphash.h>
#include <net/flow_dissector.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/filter_class.h>
#include <aqm/gentle_red.h>
#include <aqm/random_fifo.h>
#include <aqm/seeded_random.h>
#include <uapi/linux/pkt_sched_chokex.h>

#define CHOKEX_DEFAULT_LIMIT		300	/* Pan et al.; min 100, max 200 */
#define CHOKEX_DEFAULT_MAX_P		(2 * GENTLE_RED_PERCENT)
#define CHOKEX_DEFAULT_WEIGHT		8589935U	/* 0.002 in Q0.32 */
#define CHOKEX_DEFAULT_BANDWIDTH	1250000		/* 10 Mb/s */
#define CHOKEX_DEFAULT_AVPKT		1000

/**
 * struct chokex_params - configuration; written by change under the tree lock
 * @red: the thresholds in force, and the rest of RED
 * @bandwidth: bytes per second
 * @limit: packets held at most
 * @min_th: threshold as given, packets; 0: derived from the limit
 * @max_th: threshold as given, packets; 0: derived from the limit
 * @avpkt: bytes
 * @candidates: m, while @regions is 0
 * @regions: k
 * @seed: of the draws
 * @ecn: mark instead of dropping early
 * @harddrop: above max, drop all the same
 * @nodrop: queue what should be marked and cannot be
 */
struct chokex_params {
	struct gentle_red_params red;
	u64	bandwidth;
	u32	limit;
	u32	min_th;
	u32	max_th;
	u32	avpkt;
	u32	candidates;
	u32	regions;
	u32	seed;
	bool	ecn;
	bool	harddrop;
	bool	nodrop;
};

/**
 * struct chokex_vars - state of the datapath; under the qdisc lock
 * @red: the average
 * @fifo: the packets; a tag is the packet's flow, 0 while nobody has asked
 * @random: of the draws and of RED
 * @flow_key: of the flows' hashes
 */
struct chokex_vars {
	struct gentle_red_vars	red;
	struct random_fifo	fifo;
	struct seeded_random	random;
	siphash_key_t		flow_key;
};

/**
 * struct chokex_stats - counters; see struct tc_chokex_qdisc_stats
 * @red: RED's own
 * @drawn: candidates
 * @dropped_bytes: bytes of all packets dropped
 * @matched: arrivals dropped by a match
 * @victims: queued packets dropped by a match
 * @early_drop: by chance
 * @early_mark: by chance
 * @forced_drop: avg too high
 * @forced_mark: avg too high
 * @spared: queued because of nodrop
 * @drop_limit: queue full
 * @drop_change: limit lowered
 */
struct chokex_stats {
	struct gentle_red_stats	red;
	u64	drawn;
	u64	dropped_bytes;
	u32	matched;
	u32	victims;
	u32	early_drop;
	u32	early_mark;
	u32	forced_drop;
	u32	forced_mark;
	u32	spared;
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

static struct netlink_range_validation chokex_limit_range = {
	.min = 1, .max = CHOKEX_MAX_LIMIT,
};

static struct netlink_range_validation chokex_max_th_range = {
	.min = 0, .max = GENTLE_RED_MAX_TH,
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
	[TCA_CHOKEX_BANDWIDTH]	 = NLA_POLICY_MIN(NLA_U64, 1),
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
	if (p->nodrop && !p->ecn) {
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
		p->ecn = nla_get_u8(tb[TCA_CHOKEX_ECN]);
	if (tb[TCA_CHOKEX_HARDDROP])
		p->harddrop = nla_get_u8(tb[TCA_CHOKEX_HARDDROP]);
	if (tb[TCA_CHOKEX_NODROP])
		p->nodrop = nla_get_u8(tb[TCA_CHOKEX_NODROP]);
	if (tb[TCA_CHOKEX_SEED])
		p->seed = nla_get_u32(tb[TCA_CHOKEX_SEED]);
	*reseed = tb[TCA_CHOKEX_SEED];
	return chokex_derive(p, extack);
}

static struct random_fifo_slot *chokex_alloc(u32 limit,
					     struct netlink_ext_ack *extack)
{
	struct random_fifo_slot *slots;

	slots = kvmalloc_array(random_fifo_slots(limit), sizeof(*slots),
			       GFP_KERNEL);
	if (!slots)
		NL_SET_ERR_MSG_MOD(extack, "no memory for the queue");
	return slots;
}

/* Take a packet out of the queue, and all that goes with its leaving. */
static struct sk_buff *chokex_take(struct Qdisc *sch, u32 slot)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = random_fifo_remove(&q->vars.fifo, slot);

	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* Count a packet that is lost. */
static void chokex_lose(struct Qdisc *sch, struct sk_buff *skb, u32 *cause,
			enum qdisc_drop_reason reason)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, reason);
}

/* A change made the queue smaller: the last to come are the first to go. */
static void chokex_trim(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct sk_buff *skb;

	while (sch->q.qlen > q->params.limit && q->vars.fifo.count) {
		skb = chokex_take(sch, random_fifo_last(&q->vars.fifo));
		chokex_lose(sch, skb, &q->stats.drop_change,
			    QDISC_DROP_OVERLIMIT);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static int chokex_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct random_fifo_slot *slots = NULL;
	struct chokex_params p = q->params;
	bool reseed;
	int err;

	err = chokex_parse(&p, &reseed, opt, extack);
	if (err < 0)
		return err;
	if (p.limit != q->params.limit) {
		slots = chokex_alloc(p.limit, extack);
		if (!slots)
			return -ENOMEM;
	}

	sch_tree_lock(sch);
	gentle_red_change(&q->vars.red, &q->params.red, &p.red);
	WRITE_ONCE(sch->limit, p.limit);
	WRITE_ONCE(q->params.red.min_th, p.red.min_th);
	WRITE_ONCE(q->params.red.max_th, p.red.max_th);
	WRITE_ONCE(q->params.red.max_p, p.red.max_p);
	WRITE_ONCE(q->params.red.weight, p.red.weight);
	WRITE_ONCE(q->params.red.ptime, p.red.ptime);
	WRITE_ONCE(q->params.red.gentle, p.red.gentle);
	WRITE_ONCE(q->params.bandwidth, p.bandwidth);
	WRITE_ONCE(q->params.limit, p.limit);
	WRITE_ONCE(q->params.min_th, p.min_th);
	WRITE_ONCE(q->params.max_th, p.max_th);
	WRITE_ONCE(q->params.avpkt, p.avpkt);
	WRITE_ONCE(q->params.candidates, p.candidates);
	WRITE_ONCE(q->params.regions, p.regions);
	WRITE_ONCE(q->params.seed, p.seed);
	WRITE_ONCE(q->params.ecn, p.ecn);
	WRITE_ONCE(q->params.harddrop, p.harddrop);
	WRITE_ONCE(q->params.nodrop, p.nodrop);
	if (reseed)
		seeded_random_init(&q->vars.random, p.seed);
	chokex_trim(sch);
	if (slots)
		slots = random_fifo_move(&q->vars.fifo, slots, p.limit);
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
	slots = chokex_alloc(p.limit, extack);
	if (!slots)
		return -ENOMEM;

	random_fifo_init(&q->vars.fifo, slots, p.limit);
	gentle_red_init(&q->vars.red, &p.red, ktime_get_ns());
	seeded_random_init(&q->vars.random, p.seed);
	get_random_bytes(&q->vars.flow_key, sizeof(q->vars.flow_key));
	q->params = p;
	sch->limit = p.limit;
	return 0;
}

static void chokex_destroy(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	kvfree(q->vars.fifo.slots);
}

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
	keys.cvlan.vlan_priority = 0;
	return siphash((u8 *)&keys + from, sizeof(keys) - from,
		       &v->flow_key) ?: 1;
}

/* The flow that a filter named, in the same number space. */
static u64 chokex_flow_of_class(const struct chokex_vars *v, u32 minor)
{
	return siphash_1u32(minor, &v->flow_key) ?: 1;
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
	u32 m = chokex_candidates(&q->params, q->vars.red.avg);
	struct random_fifo *fifo = &q->vars.fifo;
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct random_fifo_slot *s;
	struct sk_buff *skb;
	u32 slot;

	for (; m && fifo->count; m--) {
		slot = 1 + seeded_random_below(&q->vars.random, fifo->count);
		s = &fifo->slots[slot];
		q->stats.drawn++;
		if (!s->tag)
			s->tag = chokex_flow_of(&q->vars, s->item);
		if (s->tag != flow)
			continue;
		skb = chokex_take(sch, slot);
		chokex_lose(sch, skb, &q->stats.victims, QDISC_DROP_CONGESTED);
		__qdisc_drop(skb, to_free);
	}
	if (qlen == sch->q.qlen)
		return false;
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
	return true;
}

/**
 * chokex_red() - RED's part: drop, mark or pass the arrival
 * @sch: the discipline
 * @skb: the arrival
 *
 * Return: the counter of the drop, or NULL if the arrival may be queued.
 */
static u32 *chokex_red(struct Qdisc *sch, struct sk_buff *skb)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	const struct chokex_params *p = &q->params;
	enum gentle_red_verdict verdict;
	bool forced;

	verdict = gentle_red_decide(&p->red, &q->vars.red, &q->stats.red,
				    seeded_random_u32(&q->vars.random));
	if (verdict == GENTLE_RED_PASS)
		return NULL;
	qdisc_qstats_overlimit(sch);
	forced = verdict == GENTLE_RED_FORCED;

	if (p->ecn && !(forced && p->harddrop)) {
		if (INET_ECN_set_ce(skb)) {
			if (forced)
				q->stats.forced_mark++;
			else
				q->stats.early_mark++;
			return NULL;
		}
		if (p->nodrop) {
			q->stats.spared++;
			return NULL;
		}
	}
	return forced ? &q->stats.forced_drop : &q->stats.early_drop;
}

static int chokex_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	const struct chokex_params *p = &q->params;
	struct chokex_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	u32 *cause, minor;
	u64 flow = 0;
	int verdict;

	verdict = filter_class(skb, sch, rcu_dereference_bh(q->filter_list),
			       TC_H_MIN_MASK, &minor);
	if (verdict)
		return filter_class_drop(skb, sch, verdict, to_free);
	if (minor)
		flow = chokex_flow_of_class(v, minor);

	/* The FIFO ran empty when a parent peeked at its last packet. */
	if (sch->q.qlen)
		gentle_red_busy(&v->red, now);
	gentle_red_arrival(&p->red, &v->red, &q->stats.red, sch->q.qlen, now);

	if (v->red.avg >= chokex_avg_at(p->red.min_th)) {
		if (!flow)
			flow = chokex_flow_of(v, skb);
		if (chokex_match(sch, flow, to_free)) {
			if (!v->fifo.count)
				gentle_red_idle(&v->red, now);
			cause = &q->stats.matched;
			goto drop;
		}
	}
	cause = chokex_red(sch, skb);
	if (cause)
		goto drop;

	if (unlikely(sch->q.qlen >= p->limit)) {
		chokex_lose(sch, skb, &q->stats.drop_limit,
			    QDISC_DROP_OVERLIMIT);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	random_fifo_add(&v->fifo, skb, flow);
	gentle_red_busy(&v->red, now);
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;

drop:
	chokex_lose(sch, skb, cause, QDISC_DROP_CONGESTED);
	__qdisc_drop(skb, to_free);
	return NET_XMIT_CN;
}

static struct sk_buff *chokex_dequeue(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb;

	if (!fifo->count)
		return NULL;
	skb = chokex_take(sch, random_fifo_first(fifo));
	if (!fifo->count)
		gentle_red_idle(&q->vars.red, ktime_get_ns());
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void chokex_reset(struct Qdisc *sch)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb;

	/* Also called after an init that failed. */
	if (!fifo->slots)
		return;
	while (fifo->count) {
		skb = random_fifo_remove(fifo, random_fifo_first(fifo));
		rtnl_kfree_skbs(skb, skb);
	}
	gentle_red_init(&q->vars.red, &q->params.red, ktime_get_ns());
}

static int chokex_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	const struct chokex_params *p = &q->params;
	u32 regions = READ_ONCE(p->regions);
	struct nlattr *opts;

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_CHOKEX_LIMIT, READ_ONCE(p->limit)) ||
	    nla_put_u32(skb, TCA_CHOKEX_MIN_TH, READ_ONCE(p->red.min_th)) ||
	    nla_put_u32(skb, TCA_CHOKEX_MAX_TH, READ_ONCE(p->red.max_th)) ||
	    nla_put_u32(skb, TCA_CHOKEX_PROBABILITY, READ_ONCE(p->red.max_p)) ||
	    nla_put_u32(skb, TCA_CHOKEX_WEIGHT, READ_ONCE(p->red.weight)) ||
	    nla_put_u64_64bit(skb, TCA_CHOKEX_BANDWIDTH,
			      READ_ONCE(p->bandwidth), TCA_CHOKEX_PAD) ||
	    nla_put_u32(skb, TCA_CHOKEX_AVPKT, READ_ONCE(p->avpkt)) ||
	    nla_put_u32(skb, regions ? TCA_CHOKEX_ADAPTIVE :
				       TCA_CHOKEX_CANDIDATES,
			regions ?: READ_ONCE(p->candidates)) ||
	    nla_put_u8(skb, TCA_CHOKEX_GENTLE, READ_ONCE(p->red.gentle)) ||
	    nla_put_u8(skb, TCA_CHOKEX_ECN, READ_ONCE(p->ecn)) ||
	    nla_put_u8(skb, TCA_CHOKEX_HARDDROP, READ_ONCE(p->harddrop)) ||
	    nla_put_u8(skb, TCA_CHOKEX_NODROP, READ_ONCE(p->nodrop)) ||
	    nla_put_u32(skb, TCA_CHOKEX_SEED, READ_ONCE(p->seed))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int chokex_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct chokex_sched_data *q = qdisc_priv(sch);
	struct tc_chokex_xstats st = { .type = TCA_CHOKEX_XSTATS_QDISC };
	const struct chokex_params *p = &q->params;
	const struct gentle_red_vars *red = &q->vars.red;

	sch_tree_lock(sch);
	st.qdisc.avg = red->avg;
	st.qdisc.drawn = q->stats.drawn;
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.matched = q->stats.matched;
	st.qdisc.victims = q->stats.victims;
	st.qdisc.early_drop = q->stats.early_drop;
	st.qdisc.early_mark = q->stats.early_mark;
	st.qdisc.forced_drop = q->stats.forced_drop;
	st.qdisc.forced_mark = q->stats.forced_mark;
	st.qdisc.spared = q->stats.spared;
	st.qdisc.drop_limit = q->stats.drop_limit;
	st.qdisc.drop_change = q->stats.drop_change;
	if (red->avg >= chokex_avg_at(p->red.min_th))
		st.qdisc.candidates = chokex_candidates(p, red->avg);
	st.qdisc.probability = min_t(u64, gentle_red_probability(&p->red, red),
				     U32_MAX);
	st.qdisc.ptime = p->red.ptime;
	st.qdisc.count = red->count;
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
