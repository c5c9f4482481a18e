// SPDX-License-Identifier: GPL-2.0
/*
 * Class-Based Thresholds (CBT)
 *
 * RED drops from every flow the same fraction, so unresponsive traffic takes
 * the link from TCP; schemes that punish it hurt the multimedia that cannot
 * respond and is modest all the same. CBT shares one FIFO out between three
 * kinds of traffic, by limiting how many packets of each are in it: where all
 * kinds wait, each gets that part of the link that it has of the queue. There
 * is no scheduler and no state per flow.
 *
 * M. Parris, K. Jeffay, F. D. Smith, "Lightweight Active Router-Queue
 * Management for Multimedia Networking", MMCN 1999. Its section 3, the design,
 * was not at hand; the rule is put together from its abstract and sections 1
 * and 2, which define RED with random drops, and from how others describe CBT.
 *
 * The rule, for an arrival of class i, n_i being the packets of that class in
 * the queue and avg_i their average over the arrivals of the class:
 *
 *	avg_i += w (n_i - avg_i)
 *	tagged, other: if avg_i > threshold_i: drop the arrival
 *	TCP: RED on avg_TCP			(red tcp)
 *	all: RED on the whole queue's average	(red all)
 *	RED below min: queue; between min and max: drop by chance;
 *	above max, or queue full: drop one of the queue and the arrival, at random
 *
 * The share law. In a FIFO in which every class waits, a class gets the part of
 * the link that its bytes have of the queue. For rate C, latency L, shares b_i
 * and mean packet sizes P_i the thresholds are
 *
 *	Q_i = b_i C L / P_i packets,	sum Q_i P_i <= C L
 *
 * TCP: max = Q_TCP, min = 4/5 of it. With red all: of the sum of the Q_i.
 *
 * A class that has few packets in the queue leaves the link to the others:
 * lending needs no rule, it follows from the FIFO.
 *
 * Decisions where the text at hand is silent:
 *  - TCP stands for what responds to losses: TCP, SCTP, DCCP. UDP, UDP-Lite and
 *    all other IP protocols are tagged or other. Packets that are not IP (ARP)
 *    go with TCP. A tunnel counts by its outer header.
 *  - UDP is tagged by its DSCP or its firewall mark; TCP is not. A filter that
 *    names class 1, 2 or 3 (TCP, tagged, other) decides for any packet.
 *  - The average of a class that has no packet in the queue decays as RED's
 *    does while the queue is empty, by one sample per transmission time of a
 *    mean packet of the class.
 *  - A class's threshold is not marked at: it is what bounds traffic that may
 *    not respond. ecn marks where RED would drop by chance and, unless
 *    harddrop, above max; nodrop queues there what cannot be marked.
 *  - The weight of RED's average is the paper's. That of the other two is not
 *    in the text. A class that sends blindly is switched on and off by its own
 *    average; with 1/512 its packets in the queue swing between none and twice
 *    the threshold, with 1/4 by a few packets.
 *  - RED's random victim may be of any class, as in the paper's RED. For that
 *    reason the share law needs TCP that heeds losses: TCP that does not, and
 *    offers a times the link, gets a / (a + 1) of the packets with red tcp if
 *    that is more than its share; and so many TCP flows that each is down to a
 *    packet or two are nearly deaf, and cost the tagged losses. With "victim
 *    arrival" a forced drop takes the arrival: both go away, at the price of
 *    the paper's random drop.
 *  - Lengths are in packets; a GSO packet is one packet.
 *  - A packet that a parent has peeked at still counts against the limit; it
 *    is no longer among its class's packets and cannot be a victim.
 *
 * Parameters:
 *	limit		packets held			1 to 2^20
 *	bandwidth	bytes per second
 *	latency		us
 *	share_*		in units of 2^-32; at most 1 together
 *	packet_*	bytes
 *	min, max, threshold_*	1/256 packet; 0: from the shares
 *	red		tcp or all
 *	probability	max_p, in units of 2^-32
 *	weight, class_weight	in units of 2^-32
 *	dscp		set of 0 to 63
 *	mark		value and mask
 *	gentle, ecn, harddrop, nodrop	0 or 1
 *	victim		random or arrival
 *	seed		0: unpredictable
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <net/dsfield.h>
#include <net/flow_dissector.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/filter_class.h>
#include <aqm/gentle_red.h>
#include <aqm/random_fifo.h>
#include <aqm/seeded_random.h>
#include <uapi/linux/pkt_sched_cbt.h>

#define CBT_PERCENT(n)		((u32)((GENTLE_RED_ONE * (n) + 50) / 100))
#define CBT_DEFAULT_LIMIT	200
#define CBT_DEFAULT_BANDWIDTH	1250000		/* 10 Mb/s */
#define CBT_DEFAULT_LATENCY	100000		/* us */
#define CBT_DEFAULT_MAX_P	CBT_PERCENT(10)
#define CBT_DEFAULT_WEIGHT	8388608U	/* 1/512, the paper's, in Q0.32 */
#define CBT_DEFAULT_CLASS_WEIGHT 1073741824U	/* 1/4 in Q0.32 */

/**
 * struct cbt_params - configuration; written by change under the tree lock
 * @red: for the whole queue and each class: how it is averaged, and its
 *	threshold, 1/256 packet, as max_th. The rest of RED where RED is faced.
 * @bandwidth: bytes per second
 * @latency: us
 * @limit: packets held at most
 * @share: of the bytes, Q0.32, by class
 * @packet: mean size, bytes, by class
 * @given: thresholds as given, 1/256 packet, by class; 0: from the shares.
 *	That of TCP is RED's max, with red all too.
 * @min_th: RED's min as given, 1/256 packet; 0: from the shares
 * @class_weight: of the averages of tagged and other, Q0.32
 * @seed: of the random numbers
 * @mark: value of a firewall mark that tags
 * @mark_mask: bits of it that are compared; 0: none tags
 * @dscp: set of codepoints that tag
 * @red_all: all face RED, on the whole queue's average
 * @ecn: mark instead of dropping early
 * @harddrop: above max, drop all the same
 * @nodrop: queue what should be marked and cannot be
 * @victim_arrival: a forced drop takes the arrival
 */
struct cbt_params {
	struct gentle_red_params red[CBT_CLASSES];
	u64	bandwidth;
	u64	dscp;
	u32	latency;
	u32	limit;
	u32	share[CBT_CLASSES];
	u32	packet[CBT_CLASSES];
	u32	given[CBT_CLASSES];
	u32	min_th;
	u32	class_weight;
	u32	seed;
	u32	mark;
	u32	mark_mask;
	bool	red_all;
	bool	ecn;
	bool	harddrop;
	bool	nodrop;
	bool	victim_arrival;
};

/**
 * struct cbt_vars - state of the datapath; under the qdisc lock
 * @red: averages of the whole queue and of the classes
 * @qlen: packets in the FIFO, by class
 * @backlog: their bytes
 * @fifo: the packets; a tag is the packet's class
 * @random: RED's, and the victims'
 */
struct cbt_vars {
	struct gentle_red_vars	red[CBT_CLASSES];
	u32			qlen[CBT_CLASSES];
	u32			backlog[CBT_CLASSES];
	struct random_fifo	fifo;
	struct seeded_random	random;
};

/**
 * struct cbt_class_stats - counters of a class
 * @arrivals: packets that arrived
 * @drops: packets lost
 * @threshold_drop: above the threshold
 * @early_drop: by chance
 * @mark: marked
 * @random_drop: as the victim of a forced drop
 */
struct cbt_class_stats {
	u64	arrivals;
	u32	drops;
	u32	threshold_drop;
	u32	early_drop;
	u32	mark;
	u32	random_drop;
};

/**
 * struct cbt_stats - counters; see struct tc_cbt_qdisc_stats
 * @red: RED's own
 * @cls: by class
 * @dropped_bytes: bytes of all packets dropped
 * @early_drop: by chance
 * @early_mark: by chance
 * @forced_drop: RED's average above max
 * @forced_mark: RED's average above max
 * @spared: queued because of nodrop
 * @full_drop: queue full
 * @drop_change: limit lowered
 * @victims: forced drops that took a packet out of the queue
 */
struct cbt_stats {
	struct gentle_red_stats	red;
	struct cbt_class_stats	cls[CBT_CLASSES];
	u64	dropped_bytes;
	u32	early_drop;
	u32	early_mark;
	u32	forced_drop;
	u32	forced_mark;
	u32	spared;
	u32	full_drop;
	u32	drop_change;
	u32	victims;
};

struct cbt_sched_data {
	struct cbt_params	params;
	struct cbt_vars		vars;
	struct cbt_stats	stats;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
};

static struct netlink_range_validation cbt_limit_range = {
	.min = 1, .max = CBT_MAX_LIMIT,
};

static struct netlink_range_validation cbt_threshold_range = {
	.min = 0, .max = CBT_MAX_THRESHOLD,
};

#define CBT_POSITIVE	NLA_POLICY_MIN(NLA_U32, 1)
#define CBT_THRESHOLD	NLA_POLICY_FULL_RANGE(NLA_U32, &cbt_threshold_range)
#define CBT_FLAG	NLA_POLICY_MAX(NLA_U8, 1)

static const struct nla_policy cbt_policy[TCA_CBT_MAX + 1] = {
	[TCA_CBT_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32,
							&cbt_limit_range),
	[TCA_CBT_BANDWIDTH]	= NLA_POLICY_MIN(NLA_U64, 1),
	[TCA_CBT_LATENCY]	= CBT_POSITIVE,
	[TCA_CBT_SHARE_TCP]	= CBT_POSITIVE,
	[TCA_CBT_SHARE_TAGGED]	= CBT_POSITIVE,
	[TCA_CBT_SHARE_OTHER]	= CBT_POSITIVE,
	[TCA_CBT_PACKET_TCP]	= CBT_POSITIVE,
	[TCA_CBT_PACKET_TAGGED]	= CBT_POSITIVE,
	[TCA_CBT_PACKET_OTHER]	= CBT_POSITIVE,
	[TCA_CBT_MIN_TH]	= CBT_THRESHOLD,
	[TCA_CBT_MAX_TH]	= CBT_THRESHOLD,
	[TCA_CBT_TAGGED_TH]	= CBT_THRESHOLD,
	[TCA_CBT_OTHER_TH]	= CBT_THRESHOLD,
	[TCA_CBT_RED]		= CBT_FLAG,
	[TCA_CBT_PROBABILITY]	= { .type = NLA_U32 },
	[TCA_CBT_WEIGHT]	= CBT_POSITIVE,
	[TCA_CBT_CLASS_WEIGHT]	= CBT_POSITIVE,
	[TCA_CBT_DSCP]		= { .type = NLA_U64 },
	[TCA_CBT_MARK]		= NLA_POLICY_BITFIELD32(U32_MAX),
	[TCA_CBT_GENTLE]	= CBT_FLAG,
	[TCA_CBT_ECN]		= CBT_FLAG,
	[TCA_CBT_HARDDROP]	= CBT_FLAG,
	[TCA_CBT_NODROP]	= CBT_FLAG,
	[TCA_CBT_SEED]		= { .type = NLA_U32 },
	[TCA_CBT_VICTIM]	= CBT_FLAG,
};

/* Q_i of the share law in 1/256 packet, at most CBT_MAX_THRESHOLD. */
static u32 cbt_share_law(u64 bandwidth, u32 latency, u32 share, u32 packet)
{
	/* C L in bytes; below 2^55 / 10^6 of a second's, so the shift is safe */
	u64 bytes = min_t(u64, mul_u64_u32_div(bandwidth, latency, USEC_PER_SEC),
			  1ULL << 55);
	u64 q = div_u64(mul_u64_u32_shr(bytes * CBT_UNIT, share, 32) +
			packet / 2, packet);

	return clamp_t(u64, q, 1, CBT_MAX_THRESHOLD);
}

/* Derive what follows from the options, and see whether it makes sense. */
static int cbt_derive(struct cbt_params *p, struct netlink_ext_ack *extack)
{
	u64 ptime, shares = 0, sum = 0, bytes = 0;
	struct gentle_red_params *all = &p->red[CBT_ALL];
	u32 th, i;

	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		shares += p->share[i];
		th = cbt_share_law(p->bandwidth, p->latency, p->share[i],
				   p->packet[i]);
		sum += th;
		if (p->given[i])
			th = p->given[i];
		bytes += p->packet[i];
		ptime = div64_u64((u64)p->packet[i] * NSEC_PER_SEC,
				  p->bandwidth);
		if (ptime > U32_MAX) {
			NL_SET_ERR_MSG_MOD(extack, "a packet takes too long at this bandwidth");
			return -EINVAL;
		}
		p->red[i] = *all;
		p->red[i].max_th = th;
		if (i != CBT_TCP)
			p->red[i].weight = p->class_weight;
		p->red[i].ptime = max_t(u32, ptime, 1);
	}
	/* Each share may have been rounded up by half a unit. */
	if (shares > GENTLE_RED_ONE + CBT_CLASSES) {
		NL_SET_ERR_MSG_MOD(extack, "the shares are more than 1 together");
		return -EINVAL;
	}
	all->max_th = p->given[CBT_TCP] ?:
		      min_t(u64, sum, CBT_MAX_THRESHOLD);
	all->ptime = max_t(u32, div64_u64(div_u64(bytes, 3) * NSEC_PER_SEC,
					  p->bandwidth), 1);

	for (i = CBT_ALL; i <= CBT_TCP; i++)
		p->red[i].min_th = p->min_th ?: 4 * p->red[i].max_th / 5;
	i = p->red_all ? CBT_ALL : CBT_TCP;
	if (p->red[i].min_th >= p->red[i].max_th) {
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
static int cbt_parse(struct cbt_params *p, bool *reseed, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct gentle_red_params *all = &p->red[CBT_ALL];
	struct nlattr *tb[TCA_CBT_MAX + 1];
	int err, i;

	err = nla_parse_nested(tb, TCA_CBT_MAX, opt, cbt_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_CBT_LIMIT])
		p->limit = nla_get_u32(tb[TCA_CBT_LIMIT]);
	if (tb[TCA_CBT_BANDWIDTH])
		p->bandwidth = nla_get_u64(tb[TCA_CBT_BANDWIDTH]);
	if (tb[TCA_CBT_LATENCY])
		p->latency = nla_get_u32(tb[TCA_CBT_LATENCY]);
	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		struct nlattr *share = tb[TCA_CBT_SHARE_TCP + i - CBT_TCP];
		struct nlattr *packet = tb[TCA_CBT_PACKET_TCP + i - CBT_TCP];
		struct nlattr *given = tb[TCA_CBT_MAX_TH + i - CBT_TCP];

		if (share)
			p->share[i] = nla_get_u32(share);
		if (packet)
			p->packet[i] = nla_get_u32(packet);
		if (given)
			p->given[i] = nla_get_u32(given);
	}
	if (tb[TCA_CBT_MIN_TH])
		p->min_th = nla_get_u32(tb[TCA_CBT_MIN_TH]);
	if (tb[TCA_CBT_RED])
		p->red_all = nla_get_u8(tb[TCA_CBT_RED]) == CBT_RED_ALL;
	if (tb[TCA_CBT_PROBABILITY])
		all->max_p = nla_get_u32(tb[TCA_CBT_PROBABILITY]);
	if (tb[TCA_CBT_WEIGHT])
		all->weight = nla_get_u32(tb[TCA_CBT_WEIGHT]);
	if (tb[TCA_CBT_CLASS_WEIGHT])
		p->class_weight = nla_get_u32(tb[TCA_CBT_CLASS_WEIGHT]);
	if (tb[TCA_CBT_DSCP])
		p->dscp = nla_get_u64(tb[TCA_CBT_DSCP]);
	if (tb[TCA_CBT_MARK]) {
		p->mark = nla_get_bitfield32(tb[TCA_CBT_MARK]).value;
		p->mark_mask = nla_get_bitfield32(tb[TCA_CBT_MARK]).selector;
	}
	if (tb[TCA_CBT_GENTLE])
		all->gentle = nla_get_u8(tb[TCA_CBT_GENTLE]);
	if (tb[TCA_CBT_ECN])
		p->ecn = nla_get_u8(tb[TCA_CBT_ECN]);
	if (tb[TCA_CBT_HARDDROP])
		p->harddrop = nla_get_u8(tb[TCA_CBT_HARDDROP]);
	if (tb[TCA_CBT_NODROP])
		p->nodrop = nla_get_u8(tb[TCA_CBT_NODROP]);
	if (tb[TCA_CBT_SEED])
		p->seed = nla_get_u32(tb[TCA_CBT_SEED]);
	if (tb[TCA_CBT_VICTIM])
		p->victim_arrival = nla_get_u8(tb[TCA_CBT_VICTIM]) ==
				    CBT_VICTIM_ARRIVAL;
	*reseed = tb[TCA_CBT_SEED];
	return cbt_derive(p, extack);
}

static struct random_fifo_slot *cbt_alloc(u32 limit,
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
static struct sk_buff *cbt_take(struct Qdisc *sch, u32 slot)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_vars *v = &q->vars;
	u32 class = v->fifo.slots[slot].tag;
	struct sk_buff *skb;

	skb = random_fifo_remove(&v->fifo, slot);
	v->qlen[class]--;
	v->backlog[class] -= qdisc_pkt_len(skb);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

static void cbt_add(struct Qdisc *sch, struct sk_buff *skb, u32 class, u64 now)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_vars *v = &q->vars;

	random_fifo_add(&v->fifo, skb, class);
	v->qlen[class]++;
	v->backlog[class] += qdisc_pkt_len(skb);
	gentle_red_busy(&v->red[class], now);
	gentle_red_busy(&v->red[CBT_ALL], now);
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
}

/* Packets have left: averages of what is empty now begin to decay. */
static void cbt_note_idle(struct cbt_vars *v, u32 class)
{
	u64 now = ktime_get_ns();

	if (!v->qlen[class])
		gentle_red_idle(&v->red[class], now);
	if (!v->fifo.count)
		gentle_red_idle(&v->red[CBT_ALL], now);
}

/* Count a packet that is lost. */
static void cbt_lose(struct Qdisc *sch, struct sk_buff *skb, u32 class,
		     enum qdisc_drop_reason reason)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	q->stats.dropped_bytes += qdisc_pkt_len(skb);
	q->stats.cls[class].drops++;
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, reason);
}

/* A change made the queue smaller: the last to come are the first to go. */
static void cbt_trim(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.fifo;
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct sk_buff *skb;
	u32 slot, class;

	while (sch->q.qlen > q->params.limit && fifo->count) {
		slot = random_fifo_last(fifo);
		class = fifo->slots[slot].tag;
		skb = cbt_take(sch, slot);
		cbt_note_idle(&q->vars, class);
		q->stats.drop_change++;
		cbt_lose(sch, skb, class, QDISC_DROP_OVERLIMIT);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static int cbt_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct random_fifo_slot *slots = NULL;
	struct cbt_params p = q->params;
	bool reseed;
	int err, i;

	err = cbt_parse(&p, &reseed, opt, extack);
	if (err < 0)
		return err;
	if (p.limit != q->params.limit) {
		slots = cbt_alloc(p.limit, extack);
		if (!slots)
			return -ENOMEM;
	}

	sch_tree_lock(sch);
	for (i = 0; i < CBT_CLASSES; i++)
		gentle_red_change(&q->vars.red[i], &q->params.red[i],
				  &p.red[i]);
	WRITE_ONCE(sch->limit, p.limit);
	q->params = p;
	if (reseed)
		seeded_random_init(&q->vars.random, p.seed);
	cbt_trim(sch);
	if (slots)
		slots = random_fifo_move(&q->vars.fifo, slots, p.limit);
	sch_tree_unlock(sch);
	kvfree(slots);
	return 0;
}

static void cbt_restart(struct cbt_sched_data *q)
{
	u64 now = ktime_get_ns();
	int i;

	for (i = 0; i < CBT_CLASSES; i++) {
		gentle_red_init(&q->vars.red[i], &q->params.red[i], now);
		q->vars.qlen[i] = 0;
		q->vars.backlog[i] = 0;
	}
}

static int cbt_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_params p = {
		.red[CBT_ALL].max_p	= CBT_DEFAULT_MAX_P,
		.red[CBT_ALL].weight	= CBT_DEFAULT_WEIGHT,
		.bandwidth		= CBT_DEFAULT_BANDWIDTH,
		.latency		= CBT_DEFAULT_LATENCY,
		.limit			= CBT_DEFAULT_LIMIT,
		.share[CBT_TCP]		= CBT_PERCENT(75),
		.share[CBT_TAGGED]	= CBT_PERCENT(15),
		.share[CBT_OTHER]	= CBT_PERCENT(10),
		.class_weight		= CBT_DEFAULT_CLASS_WEIGHT,
		.packet[CBT_TCP]	= 1500,
		.packet[CBT_TAGGED]	= 800,
		.packet[CBT_OTHER]	= 1000,
	};
	struct random_fifo_slot *slots;
	bool reseed;
	int err;

	err = opt ? cbt_parse(&p, &reseed, opt, extack) :
		    cbt_derive(&p, extack);
	if (err < 0)
		return err;
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	slots = cbt_alloc(p.limit, extack);
	if (!slots)
		return -ENOMEM;

	q->params = p;
	random_fifo_init(&q->vars.fifo, slots, p.limit);
	seeded_random_init(&q->vars.random, p.seed);
	cbt_restart(q);
	sch->limit = p.limit;
	return 0;
}

static void cbt_destroy(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	kvfree(q->vars.fifo.slots);
}

/* The DSCP of an IP packet; its header need not be in the linear part. */
static u32 cbt_dscp(const struct sk_buff *skb, __be16 proto)
{
	u8 buf[2];
	const u8 *ip;

	ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(buf), buf);
	if (!ip)
		return 0;
	if (proto == htons(ETH_P_IP))
		return ip[1] >> 2;
	return (ip[0] & 0xf) << 2 | ip[1] >> 6;
}

/* The class of a packet that no filter decided. */
static u32 cbt_classify(const struct cbt_params *p, const struct sk_buff *skb)
{
	__be16 proto = skb_protocol(skb, true);
	struct flow_keys_basic keys;

	if (proto != htons(ETH_P_IP) && proto != htons(ETH_P_IPV6))
		return CBT_TCP;
	skb_flow_dissect_flow_keys_basic(NULL, skb, &keys, NULL, 0, 0, 0,
					 FLOW_DISSECTOR_F_STOP_AT_ENCAP);
	switch (keys.basic.ip_proto) {
	case IPPROTO_TCP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		return CBT_TCP;
	}
	if (p->mark_mask && (skb->mark & p->mark_mask) == p->mark)
		return CBT_TAGGED;
	if (p->dscp && p->dscp & BIT_ULL(cbt_dscp(skb, proto)))
		return CBT_TAGGED;
	return CBT_OTHER;
}

/**
 * cbt_red() - RED's part, for a class that faces it
 * @sch: the discipline
 * @skb: the arrival
 * @class: its class
 * @forced: set to true if a forced drop is due
 *
 * Return: false if the arrival is to be dropped.
 */
static bool cbt_red(struct Qdisc *sch, struct sk_buff *skb, u32 class,
		    bool *forced)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = &q->params;
	u32 on = p->red_all ? CBT_ALL : CBT_TCP;
	enum gentle_red_verdict verdict;
	bool force;

	verdict = gentle_red_decide(&p->red[on], &q->vars.red[on],
				    &q->stats.red,
				    seeded_random_u32(&q->vars.random));
	if (verdict == GENTLE_RED_PASS)
		return true;
	qdisc_qstats_overlimit(sch);
	force = verdict == GENTLE_RED_FORCED;

	if (p->ecn && !(force && p->harddrop)) {
		if (INET_ECN_set_ce(skb)) {
			q->stats.cls[class].mark++;
			if (force)
				q->stats.forced_mark++;
			else
				q->stats.early_mark++;
			return true;
		}
		if (p->nodrop) {
			q->stats.spared++;
			return true;
		}
	}
	*forced = force;
	if (force)
		return true;
	q->stats.early_drop++;
	q->stats.cls[class].early_drop++;
	return false;
}

/**
 * cbt_random_drop() - a forced drop: one of the queue and the arrival
 * @sch: the discipline
 * @class: the arrival's; set to that of the packet lost
 *
 * Return: the packet, taken out of the queue; NULL: the arrival.
 */
static struct sk_buff *cbt_random_drop(struct Qdisc *sch, u32 *class)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_vars *v = &q->vars;
	u32 slot = v->fifo.count + 1;

	if (!q->params.victim_arrival)
		slot = 1 + seeded_random_below(&v->random, slot);
	if (slot <= v->fifo.count)
		*class = v->fifo.slots[slot].tag;
	q->stats.cls[*class].random_drop++;
	if (slot > v->fifo.count)
		return NULL;
	q->stats.victims++;
	return cbt_take(sch, slot);
}

static int cbt_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = &q->params;
	enum qdisc_drop_reason reason = QDISC_DROP_CONGESTED;
	struct sk_buff *victim = NULL;
	struct cbt_vars *v = &q->vars;
	u32 class, lost, len;
	bool forced = false;
	int verdict;
	u64 now;

	verdict = filter_class(skb, sch, rcu_dereference_bh(q->filter_list),
			       CBT_CLASSES - 1, &class);
	if (verdict)
		return filter_class_drop(skb, sch, verdict, to_free);
	if (!class || class >= CBT_CLASSES)
		class = cbt_classify(p, skb);
	q->stats.cls[class].arrivals++;
	lost = class;

	now = ktime_get_ns();
	gentle_red_arrival(&p->red[class], &v->red[class], &q->stats.red,
			   v->qlen[class] * CBT_UNIT, now);
	gentle_red_arrival(&p->red[CBT_ALL], &v->red[CBT_ALL], &q->stats.red,
			   v->fifo.count * CBT_UNIT, now);

	if (class != CBT_TCP &&
	    v->red[class].avg > (u64)p->red[class].max_th << 32) {
		q->stats.cls[class].threshold_drop++;
		goto drop;
	}
	if ((class == CBT_TCP || p->red_all) &&
	    !cbt_red(sch, skb, class, &forced))
		goto drop;
	if (forced) {
		q->stats.forced_drop++;
	} else if (unlikely(sch->q.qlen >= p->limit)) {
		q->stats.full_drop++;
		reason = QDISC_DROP_OVERLIMIT;
		forced = true;
	}
	if (forced) {
		victim = cbt_random_drop(sch, &lost);
		if (!victim)
			goto drop;
	}

	cbt_add(sch, skb, class, now);
	if (victim) {
		/* The arrival is in the queue: no parent sees it run empty. */
		cbt_note_idle(v, lost);
		len = qdisc_pkt_len(victim);
		cbt_lose(sch, victim, lost, reason);
		__qdisc_drop(victim, to_free);
		qdisc_tree_reduce_backlog(sch, 1, len);
	}
	return NET_XMIT_SUCCESS;

drop:
	cbt_lose(sch, skb, class, reason);
	__qdisc_drop(skb, to_free);
	return NET_XMIT_CN;
}

static struct sk_buff *cbt_dequeue(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb;
	u32 slot, class;

	if (!fifo->count)
		return NULL;
	slot = random_fifo_first(fifo);
	class = fifo->slots[slot].tag;
	skb = cbt_take(sch, slot);
	cbt_note_idle(&q->vars, class);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void cbt_reset(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb;

	/* Also called after an init that failed. */
	if (!fifo->slots)
		return;
	while (fifo->count) {
		skb = random_fifo_remove(fifo, random_fifo_first(fifo));
		rtnl_kfree_skbs(skb, skb);
	}
	cbt_restart(q);
}

static int cbt_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct gentle_red_params *red;
	struct nlattr *opts;
	struct cbt_params p;
	u32 i;

	/* The options hang together: show those of one configuration. */
	sch_tree_lock(sch);
	p = q->params;
	sch_tree_unlock(sch);
	red = &p.red[p.red_all ? CBT_ALL : CBT_TCP];

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		if (nla_put_u32(skb, TCA_CBT_SHARE_TCP + i - CBT_TCP,
				p.share[i]) ||
		    nla_put_u32(skb, TCA_CBT_PACKET_TCP + i - CBT_TCP,
				p.packet[i]))
			goto full;
	if (nla_put_u32(skb, TCA_CBT_LIMIT, p.limit) ||
	    nla_put_u64_64bit(skb, TCA_CBT_BANDWIDTH, p.bandwidth,
			      TCA_CBT_PAD) ||
	    nla_put_u32(skb, TCA_CBT_LATENCY, p.latency) ||
	    nla_put_u32(skb, TCA_CBT_MIN_TH, red->min_th) ||
	    nla_put_u32(skb, TCA_CBT_MAX_TH, red->max_th) ||
	    nla_put_u32(skb, TCA_CBT_TAGGED_TH, p.red[CBT_TAGGED].max_th) ||
	    nla_put_u32(skb, TCA_CBT_OTHER_TH, p.red[CBT_OTHER].max_th) ||
	    nla_put_u8(skb, TCA_CBT_RED,
		       p.red_all ? CBT_RED_ALL : CBT_RED_TCP) ||
	    nla_put_u32(skb, TCA_CBT_PROBABILITY, red->max_p) ||
	    nla_put_u32(skb, TCA_CBT_WEIGHT, red->weight) ||
	    nla_put_u32(skb, TCA_CBT_CLASS_WEIGHT, p.class_weight) ||
	    nla_put_u64_64bit(skb, TCA_CBT_DSCP, p.dscp, TCA_CBT_PAD) ||
	    nla_put_bitfield32(skb, TCA_CBT_MARK, p.mark, p.mark_mask) ||
	    nla_put_u8(skb, TCA_CBT_GENTLE, red->gentle) ||
	    nla_put_u8(skb, TCA_CBT_ECN, p.ecn) ||
	    nla_put_u8(skb, TCA_CBT_HARDDROP, p.harddrop) ||
	    nla_put_u8(skb, TCA_CBT_NODROP, p.nodrop) ||
	    nla_put_u32(skb, TCA_CBT_SEED, p.seed) ||
	    nla_put_u8(skb, TCA_CBT_VICTIM,
		       p.victim_arrival ? CBT_VICTIM_ARRIVAL :
					  CBT_VICTIM_RANDOM))
		goto full;
	return nla_nest_end(skb, opts);
full:
	nla_nest_cancel(skb, opts);
	return -EMSGSIZE;
}

/* An average as the next arrival would find it, without its own sample. */
static u64 cbt_avg_now(const struct cbt_sched_data *q, u32 class)
{
	struct gentle_red_vars v = q->vars.red[class];
	struct gentle_red_stats ignored = {};

	if (v.idle)
		gentle_red_arrival(&q->params.red[class], &v, &ignored, 0,
				   ktime_get_ns());
	return v.avg;
}

static int cbt_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct tc_cbt_xstats st = { .type = TCA_CBT_XSTATS_QDISC };
	u32 on;

	sch_tree_lock(sch);
	on = q->params.red_all ? CBT_ALL : CBT_TCP;
	st.qdisc.avg = cbt_avg_now(q, CBT_ALL);
	st.qdisc.avg_tcp = cbt_avg_now(q, CBT_TCP);
	st.qdisc.avg_tagged = cbt_avg_now(q, CBT_TAGGED);
	st.qdisc.avg_other = cbt_avg_now(q, CBT_OTHER);
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.tcp = q->vars.qlen[CBT_TCP];
	st.qdisc.tagged = q->vars.qlen[CBT_TAGGED];
	st.qdisc.other = q->vars.qlen[CBT_OTHER];
	st.qdisc.tagged_drop = q->stats.cls[CBT_TAGGED].threshold_drop;
	st.qdisc.other_drop = q->stats.cls[CBT_OTHER].threshold_drop;
	st.qdisc.early_drop = q->stats.early_drop;
	st.qdisc.early_mark = q->stats.early_mark;
	st.qdisc.forced_drop = q->stats.forced_drop;
	st.qdisc.forced_mark = q->stats.forced_mark;
	st.qdisc.spared = q->stats.spared;
	st.qdisc.full_drop = q->stats.full_drop;
	st.qdisc.drop_change = q->stats.drop_change;
	st.qdisc.victims = q->stats.victims;
	st.qdisc.probability = min_t(u64, U32_MAX,
				     gentle_red_probability(&q->params.red[on],
							    &q->vars.red[on]));
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct tcf_block *cbt_tcf_block(struct Qdisc *sch, unsigned long cl,
				       struct netlink_ext_ack *extack)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

static int cbt_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct tc_cbt_xstats st = { .type = TCA_CBT_XSTATS_CLASS };
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	qs.qlen = q->vars.qlen[cl];
	qs.backlog = q->vars.backlog[cl];
	qs.drops = q->stats.cls[cl].drops;
	st.cls.avg = cbt_avg_now(q, cl);
	st.cls.arrivals = q->stats.cls[cl].arrivals;
	st.cls.class_id = cl;
	st.cls.threshold = q->params.red[cl].max_th;
	st.cls.threshold_drop = q->stats.cls[cl].threshold_drop;
	st.cls.early_drop = q->stats.cls[cl].early_drop;
	st.cls.mark = q->stats.cls[cl].mark;
	st.cls.random_drop = q->stats.cls[cl].random_drop;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void cbt_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	u32 i;

	if (arg->stop)
		return;
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		if (!tc_qdisc_stats_dump(sch, i, arg))
			break;
}

static const struct Qdisc_class_ops cbt_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= cbt_walk,
	.tcf_block	= cbt_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
	.dump_stats	= cbt_dump_class_stats,
};

static struct Qdisc_ops cbt_qdisc_ops __read_mostly = {
	.cl_ops		= &cbt_class_ops,
	.id		= "cbt",
	.priv_size	= sizeof(struct cbt_sched_data),
	.enqueue	= cbt_enqueue,
	.dequeue	= cbt_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= cbt_init,
	.reset		= cbt_reset,
	.destroy	= cbt_destroy,
	.change		= cbt_change,
	.dump		= cbt_dump,
	.dump_stats	= cbt_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("cbt");

static int __init cbt_module_init(void)
{
	return register_qdisc(&cbt_qdisc_ops);
}

static void __exit cbt_module_exit(void)
{
	unregister_qdisc(&cbt_qdisc_ops);
}

module_init(cbt_module_init)
module_exit(cbt_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Class-Based Thresholds (CBT) queue discipline");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
