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
 *	Q_i = b_i C L / P_i packets,	sum Q_i P_i <= C L	<aqm/share_law.h>
 *
 * TCP: RED holds the average between min and max; so that it has Q_TCP, min is
 * 0.9 and max 1.1 of it. With red all: of the sum of the Q_i.
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
 *  - The victim of a forced drop. Section 2.1's is any packet of the queue or
 *    the arrival; section 1 guarantees a rate to tagged traffic "independent of
 *    the level of TCP traffic". Both cannot be had: a TCP arrival above max that
 *    ousts a packet of another class takes that class's place, and TCP that does
 *    not heed losses, or so many flows that each is down to a packet or two,
 *    fills the queue. Measured, TCP offering 1.5 times the link and a share of
 *    1/3 each: tagged gets 0.20 of the link with random victims, 0.31 where the
 *    arrival is dropped. So that is the default, and "victim random" the paper's
 *    RED. Where TCP heeds losses both hold the shares within 8 % (tc-cbt(8)).
 *  - Lengths are in packets on the wire: a GSO packet counts its segments in
 *    averages, thresholds and limit. It is one arrival, and one victim; where a
 *    full queue needs more room than its victim had, another one goes.
 *  - A packet that a parent has peeked at, or that the driver handed back, has
 *    left the queue: it is not counted for its class and cannot be a victim.
 *
 * Parameters:
 *	limit		packets, up to 2^20; 0: twice the sum of the thresholds
 *	bandwidth	bytes per second, 1 to 2^40
 *	latency		us
 *	share_*		in units of 2^-32; at most 1 together
 *	packet_*	bytes, 1 to 2^20
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

#include <linux/in6.h>
#include <linux/module.h>
#include <net/dsfield.h>
#include <net/flow_dissector.h>
#include <net/gen_stats.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/congestion_signal.h>
#include <aqm/filter_class.h>
#include <aqm/gentle_red.h>
#include <aqm/red_fifo.h>
#include <aqm/share_law.h>
#include <uapi/linux/pkt_sched_cbt.h>

#define CBT_PERCENT(n)		((u32)((SHARE_LAW_ONE * (n) + 50) / 100))
#define CBT_DEFAULT_BANDWIDTH	1250000		/* 10 Mb/s */
#define CBT_DEFAULT_LATENCY	100000		/* us */
#define CBT_DEFAULT_MAX_P	CBT_PERCENT(10)
#define CBT_DEFAULT_WEIGHT	8388608U	/* 1/512, the paper's, in Q0.32 */
#define CBT_DEFAULT_CLASS_WEIGHT 1073741824U	/* 1/4 in Q0.32 */

static_assert(CBT_UNIT == SHARE_LAW_UNIT);
static_assert(CBT_MAX_BANDWIDTH <= SHARE_LAW_MAX_RATE);

/**
 * struct cbt_params - configuration; written by change under the tree lock
 * @red: for the whole queue and each class: how it is averaged, and its
 *	threshold, 1/256 packet, as max_th. The rest of RED where RED is faced.
 * @signal: what becomes of what RED chooses
 * @bandwidth: bytes per second
 * @dscp: set of codepoints that tag
 * @latency: us
 * @limit: as given, packets on the wire; 0: derived from the thresholds
 * @room: the limit in force
 * @share: of the bytes, Q0.32, by class
 * @packet: mean size, bytes, by class
 * @given: thresholds as given, 1/256 packet, by class; 0: from the shares.
 *	That of TCP is RED's max, with red all too.
 * @min_th: RED's min as given, 1/256 packet; 0: from the shares
 * @class_weight: of the averages of tagged and other, Q0.32
 * @seed: of the random numbers
 * @mark: value of a firewall mark that tags
 * @mark_mask: bits of it that are compared; 0: none tags
 * @red_all: all face RED, on the whole queue's average
 * @victim_arrival: a forced drop takes the arrival
 */
struct cbt_params {
	struct gentle_red_params red[CBT_CLASSES];
	struct congestion_policy signal;
	u64	bandwidth;
	u64	dscp;
	u32	latency;
	u32	limit;
	u32	room;
	u32	share[CBT_CLASSES];
	u32	packet[CBT_CLASSES];
	u32	given[CBT_CLASSES];
	u32	min_th;
	u32	class_weight;
	u32	seed;
	u32	mark;
	u32	mark_mask;
	bool	red_all;
	bool	victim_arrival;
};

/**
 * struct cbt_class - what is in the queue of a class, and what left it
 * @red: its average
 * @held: its packets, as they will be on the wire
 * @qlen: its packets
 * @backlog: their bytes
 * @sent: packets and bytes that left
 */
struct cbt_class {
	struct gentle_red_vars		red;
	struct held			held;
	u32				qlen;
	u32				backlog;
	struct gnet_stats_basic_sync	sent;
};

/**
 * struct cbt_vars - state of the datapath; under the qdisc lock
 * @queue: the packets; a tag is the packet's class
 * @cls: its parts, by class; CBT_ALL is not used
 */
struct cbt_vars {
	struct red_fifo		queue;
	struct cbt_class	cls[CBT_CLASSES];
};

/**
 * struct cbt_class_stats - counters of a class
 * @arrivals: packets that arrived
 * @drops: packets lost
 * @threshold_drop: above the threshold
 * @early_drop: by chance
 * @marked: marked
 * @random_drop: as the victim of a forced drop
 */
struct cbt_class_stats {
	u64	arrivals;
	u32	drops;
	u32	threshold_drop;
	u32	early_drop;
	u32	marked;
	u32	random_drop;
};

/**
 * struct cbt_stats - counters; see struct tc_cbt_qdisc_stats
 * @signal: what became of what RED chose
 * @cls: by class
 * @dropped_bytes: bytes of all packets dropped
 * @drop_limit: no room
 * @drop_change: limit lowered
 * @victims: forced drops that took a packet out of the queue
 */
struct cbt_stats {
	struct congestion_stats	signal;
	struct cbt_class_stats	cls[CBT_CLASSES];
	u64	dropped_bytes;
	u32	drop_limit;
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

/* Protocol of an IP packet behind its extension headers. */
static u8 cbt_dissect(const struct sk_buff *skb)
{
	struct flow_keys_basic keys;

	skb_flow_dissect_flow_keys_basic(NULL, skb, &keys, NULL, 0, 0, 0,
					 FLOW_DISSECTOR_F_STOP_AT_ENCAP);
	return keys.basic.ip_proto;
}

/*
 * Protocol and DSCP of an IP packet; its header need not be in the linear part.
 * Both stand in the first ten bytes unless there are extension headers, or a
 * VLAN tag in the packet's data. Return: false for what is not IP.
 */
static bool cbt_read(const struct sk_buff *skb, u8 *protocol, u32 *dscp)
{
	__be16 proto = skb_protocol(skb, true);
	u8 buf[10];
	const u8 *ip;

	if (proto != htons(ETH_P_IP) && proto != htons(ETH_P_IPV6))
		return false;
	*protocol = 0;
	*dscp = 0;
	ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(buf), buf);
	if (!ip)
		return true;

	if (proto == htons(ETH_P_IP)) {
		*dscp = ip[1] >> 2;
		*protocol = ip[9];
	} else {
		*dscp = (ip[0] & 0xf) << 2 | ip[1] >> 6;
		*protocol = ip[6];
	}
	switch (*protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_DSTOPTS:
		*protocol = cbt_dissect(skb);
		break;
	default:
		if (unlikely(skb->protocol != proto))
			*protocol = cbt_dissect(skb);
	}
	return true;
}

/* The class of a packet that no filter decided. */
static u32 cbt_classify(const struct cbt_params *p, const struct sk_buff *skb)
{
	u8 protocol;
	u32 dscp;

	if (!cbt_read(skb, &protocol, &dscp))
		return CBT_TCP;
	switch (protocol) {
	case IPPROTO_TCP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		return CBT_TCP;
	}
	if (p->mark_mask && (skb->mark & p->mark_mask) == p->mark)
		return CBT_TAGGED;
	if (p->dscp & BIT_ULL(dscp))
		return CBT_TAGGED;
	return CBT_OTHER;
}

/* Add an arrival, for which there is room. */
static void cbt_add(struct Qdisc *sch, struct sk_buff *skb, u32 class)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl = &q->vars.cls[class];

	red_fifo_add(sch, &q->vars.queue, skb, class);
	held_add(&cl->held, skb);
	cl->qlen++;
	cl->backlog += qdisc_pkt_len(skb);
	red_queue_added(&cl->red);
}

/* Take out the packet in @slot. */
static struct sk_buff *cbt_take(struct Qdisc *sch, u32 slot, u32 *class)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl;
	struct sk_buff *skb;

	*class = q->vars.queue.fifo.slots[slot].tag;
	cl = &q->vars.cls[*class];
	skb = red_fifo_take(sch, &q->vars.queue, slot);
	held_sub(&cl->held, skb);
	cl->qlen--;
	cl->backlog -= qdisc_pkt_len(skb);
	red_queue_taken(&cl->red, cl->qlen);
	return skb;
}

/* Count a packet of @class that is lost, taken out or never added. */
static void cbt_lose(struct Qdisc *sch, struct sk_buff *skb, u32 class,
		     u32 *cause, enum qdisc_drop_reason reason)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	q->stats.cls[class].drops++;
	red_fifo_lose(sch, skb, cause, &q->stats.dropped_bytes, reason);
}

/* Drop an arrival. */
static int cbt_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
		    u32 *cause, struct sk_buff **to_free)
{
	cbt_lose(sch, skb, class, cause, QDISC_DROP_CONGESTED);
	__qdisc_drop(skb, to_free);
	return NET_XMIT_CN;
}

/* RED on the average that TCP, or with red all everything, faces. */
static enum congestion_signal cbt_red(struct Qdisc *sch, struct sk_buff *skb,
				      bool *forced)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = &q->params;
	struct cbt_vars *v = &q->vars;
	u32 on = p->red_all ? CBT_ALL : CBT_TCP;

	return red_queue_signal(sch, skb, &p->red[on],
				p->red_all ? &v->queue.red : &v->cls[on].red,
				&v->queue.random, &p->signal, forced);
}

/**
 * cbt_forced_drop() - drop one of the queue and the arrival, at random
 * @skb: the arrival
 * @sch: the discipline
 * @class: the arrival's
 * @cause: the counter of the drop
 * @to_free: list that takes what is dropped
 *
 * Once more while the arrival has no room.
 *
 * Return: false if it was the arrival.
 */
static bool cbt_forced_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
			    u32 *cause, struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	enum qdisc_drop_reason reason;
	struct sk_buff *victim;
	u32 slot, hit;

	do {
		reason = cause == &q->stats.drop_limit ? QDISC_DROP_OVERLIMIT :
							 QDISC_DROP_CONGESTED;
		slot = queue->fifo.count + 1;
		if (!q->params.victim_arrival)
			slot = 1 + seeded_random_below(&queue->random, slot);
		victim = skb;
		hit = class;
		if (slot <= queue->fifo.count) {
			victim = cbt_take(sch, slot, &hit);
			q->stats.victims++;
		}
		q->stats.cls[hit].random_drop++;
		cbt_lose(sch, victim, hit, cause, reason);
		__qdisc_drop(victim, to_free);
		if (victim == skb)
			return false;
		cause = &q->stats.drop_limit;
	} while (!red_fifo_fits(queue, skb, q->params.room));
	return true;
}

/**
 * cbt_verdict() - what a parent is told of an arrival that has been queued
 * @sch: the discipline
 * @qlen: what it held before
 * @backlog: the same in bytes
 * @len: of the arrival, bytes
 *
 * If others went for it, the parents take those off their counts here, and add
 * the arrival on success. Where it is all that is left, a parent's count would
 * pass through 0 in between, and what stands above that parent would take it for
 * empty, for good (hfsc). Then the arrival takes the place of one that went, and
 * is not added.
 */
static int cbt_verdict(struct Qdisc *sch, u32 qlen, u32 backlog, u32 len)
{
	u32 bytes = backlog + len - sch->qstats.backlog;
	u32 lost = qlen + 1 - sch->q.qlen;

	if (!lost)
		return NET_XMIT_SUCCESS;
	if (sch->q.qlen > 1) {
		qdisc_tree_reduce_backlog(sch, lost, bytes);
		return NET_XMIT_SUCCESS;
	}
	qdisc_tree_reduce_backlog(sch, lost - 1, bytes - len);
	return NET_XMIT_CN;
}

static int cbt_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	enum congestion_signal signal = CONGESTION_PASS;
	const struct cbt_params *p = &q->params;
	struct cbt_stats *st = &q->stats;
	u32 backlog = sch->qstats.backlog;
	struct cbt_vars *v = &q->vars;
	u32 len = qdisc_pkt_len(skb);
	u32 qlen = sch->q.qlen;
	struct cbt_class *cl;
	bool forced = false;
	u32 *cause = NULL;
	u32 class;
	int ret;

	ret = filter_class(skb, sch, rcu_dereference_bh(q->filter_list),
			   CBT_CLASSES - 1, &class);
	if (ret)
		return filter_class_drop(skb, sch, ret, to_free);
	if (!class || class >= CBT_CLASSES)
		class = cbt_classify(p, skb);
	cl = &v->cls[class];
	st->cls[class].arrivals++;

	red_queue_arrival(&p->red[class], &cl->red,
			  cl->held.segments * CBT_UNIT);
	red_queue_arrival(&p->red[CBT_ALL], &v->queue.red,
			  v->queue.held.segments * CBT_UNIT);

	if (class != CBT_TCP && cl->red.avg > (u64)p->red[class].max_th << 32)
		return cbt_drop(skb, sch, class,
				&st->cls[class].threshold_drop, to_free);

	if (class == CBT_TCP || p->red_all)
		signal = cbt_red(sch, skb, &forced);
	if (signal == CONGESTION_DROP && !forced) {
		st->cls[class].early_drop++;
		return cbt_drop(skb, sch, class, &st->signal.early_drop,
				to_free);
	}

	if (signal == CONGESTION_DROP)
		cause = &st->signal.forced_drop;
	else if (unlikely(!red_fifo_fits(&v->queue, skb, p->room)))
		cause = &st->drop_limit;
	if (cause && !cbt_forced_drop(skb, sch, class, cause, to_free)) {
		red_fifo_tell(sch, qlen, backlog);
		return NET_XMIT_CN;
	}

	if (signal != CONGESTION_DROP)
		congestion_count(&st->signal, signal, forced);
	if (signal == CONGESTION_MARKED)
		st->cls[class].marked++;
	cbt_add(sch, skb, class);
	return cbt_verdict(sch, qlen, backlog, len);
}

static struct sk_buff *cbt_dequeue(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct random_fifo *fifo = &q->vars.queue.fifo;
	struct sk_buff *skb;
	u32 class;

	if (!fifo->count)
		return NULL;
	skb = cbt_take(sch, random_fifo_first(fifo), &class);
	bstats_update(&q->vars.cls[class].sent, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

/* Nothing is in the queue. */
static void cbt_restart(struct cbt_sched_data *q)
{
	struct cbt_class *cl;
	int i;

	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		cl = &q->vars.cls[i];
		gentle_red_init(&cl->red, &q->params.red[i], ktime_get_ns());
		cl->held = (struct held) {};
		cl->qlen = 0;
		cl->backlog = 0;
	}
}

static void cbt_reset(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	/* Also called after an init that failed. */
	if (!q->vars.queue.fifo.slots)
		return;
	red_fifo_reset(&q->vars.queue, &q->params.red[CBT_ALL]);
	cbt_restart(q);
}

/* A change left no room for the packet in @slot. */
static struct sk_buff *cbt_evict(struct Qdisc *sch, u32 slot)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 class;

	skb = cbt_take(sch, slot, &class);
	cbt_lose(sch, skb, class, &q->stats.drop_change, QDISC_DROP_OVERLIMIT);
	return skb;
}

static struct netlink_range_validation cbt_limit_range = {
	.min = 0, .max = CBT_MAX_LIMIT,
};

static struct netlink_range_validation cbt_bandwidth_range = {
	.min = 1, .max = CBT_MAX_BANDWIDTH,
};

static struct netlink_range_validation cbt_packet_range = {
	.min = 1, .max = CBT_MAX_PACKET,
};

static struct netlink_range_validation cbt_threshold_range = {
	.min = 0, .max = CBT_MAX_THRESHOLD,
};

#define CBT_POSITIVE	NLA_POLICY_MIN(NLA_U32, 1)
#define CBT_PACKET	NLA_POLICY_FULL_RANGE(NLA_U32, &cbt_packet_range)
#define CBT_THRESHOLD	NLA_POLICY_FULL_RANGE(NLA_U32, &cbt_threshold_range)
#define CBT_FLAG	NLA_POLICY_MAX(NLA_U8, 1)

static const struct nla_policy cbt_policy[TCA_CBT_MAX + 1] = {
	[TCA_CBT_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32,
							&cbt_limit_range),
	[TCA_CBT_BANDWIDTH]	= NLA_POLICY_FULL_RANGE(NLA_U64,
							&cbt_bandwidth_range),
	[TCA_CBT_LATENCY]	= CBT_POSITIVE,
	[TCA_CBT_SHARE_TCP]	= { .type = NLA_U32 },
	[TCA_CBT_SHARE_TAGGED]	= { .type = NLA_U32 },
	[TCA_CBT_SHARE_OTHER]	= { .type = NLA_U32 },
	[TCA_CBT_PACKET_TCP]	= CBT_PACKET,
	[TCA_CBT_PACKET_TAGGED]	= CBT_PACKET,
	[TCA_CBT_PACKET_OTHER]	= CBT_PACKET,
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
	[TCA_CBT_NODROP]		= CBT_FLAG,
	[TCA_CBT_SEED]		= { .type = NLA_U32 },
	[TCA_CBT_VICTIM]	= CBT_FLAG,
};

/* RED's max for @q of the share law: the average keeps to 0.9 q to 1.1 q. */
static u32 cbt_max(u64 q)
{
	return min_t(u64, q + q / 10, CBT_MAX_THRESHOLD);
}

/* Derive what follows from the options, and see whether it makes sense. */
static int cbt_derive(struct cbt_params *p, struct netlink_ext_ack *extack)
{
	struct gentle_red_params *all = &p->red[CBT_ALL];
	u64 ptime, shares = 0, sum = 0, bytes = 0;
	u64 law, q;
	u32 i;

	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		shares += p->share[i];
		bytes += p->packet[i];
		law = share_law(p->bandwidth, p->latency, p->share[i],
				p->packet[i]);
		ptime = div64_u64((u64)p->packet[i] * NSEC_PER_SEC,
				  p->bandwidth);
		if (ptime > U32_MAX) {
			NL_SET_ERR_MSG_MOD(extack, "a packet takes too long at this bandwidth");
			return -EINVAL;
		}
		p->red[i] = *all;
		q = p->given[i] ?: min_t(u64, law, CBT_MAX_THRESHOLD);
		p->red[i].max_th = q;
		if (i != CBT_TCP)
			p->red[i].weight = p->class_weight;
		else if (!p->given[i])
			p->red[i].max_th = cbt_max(law);
		p->red[i].ptime = max_t(u32, ptime, 1);
		sum += p->red_all ? law : q;
	}
	/* Each share may have been rounded up by half a unit. */
	if (shares > SHARE_LAW_ONE + CBT_CLASSES) {
		NL_SET_ERR_MSG_MOD(extack, "the shares are more than 1 together");
		return -EINVAL;
	}
	if (p->red_all && p->given[CBT_TCP])
		sum = p->given[CBT_TCP];
	all->max_th = p->given[CBT_TCP] ?: cbt_max(sum);
	all->ptime = max_t(u32, div64_u64(div_u64(bytes, 3) * NSEC_PER_SEC,
					  p->bandwidth), 1);

	for (i = CBT_ALL; i <= CBT_TCP; i++)
		p->red[i].min_th = p->min_th ?: 9ULL * p->red[i].max_th / 11;
	i = p->red_all ? CBT_ALL : CBT_TCP;
	if (p->red[i].min_th >= p->red[i].max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (p->signal.nodrop && !p->signal.ecn) {
		NL_SET_ERR_MSG_MOD(extack, "nodrop needs ecn");
		return -EINVAL;
	}
	p->room = p->limit ?: min_t(u64, share_law_limit(sum), CBT_MAX_LIMIT);
	if ((u64)p->room * CBT_UNIT < sum)
		NL_SET_ERR_MSG_MOD(extack, "limit is below the sum of the thresholds");
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
		p->signal.ecn = nla_get_u8(tb[TCA_CBT_ECN]);
	if (tb[TCA_CBT_HARDDROP])
		p->signal.harddrop = nla_get_u8(tb[TCA_CBT_HARDDROP]);
	if (tb[TCA_CBT_NODROP])
		p->signal.nodrop = nla_get_u8(tb[TCA_CBT_NODROP]);
	if (tb[TCA_CBT_SEED])
		p->seed = nla_get_u32(tb[TCA_CBT_SEED]);
	if (tb[TCA_CBT_VICTIM])
		p->victim_arrival = nla_get_u8(tb[TCA_CBT_VICTIM]) ==
				    CBT_VICTIM_ARRIVAL;
	*reseed = tb[TCA_CBT_SEED];
	return cbt_derive(p, extack);
}

static int cbt_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	struct random_fifo_slot *slots = NULL;
	struct cbt_params p = q->params;
	bool reseed;
	int err, i;

	err = cbt_parse(&p, &reseed, opt, extack);
	if (err < 0)
		return err;
	if (p.room != q->params.room) {
		slots = red_fifo_alloc(p.room, extack);
		if (!slots)
			return -ENOMEM;
	}

	sch_tree_lock(sch);
	gentle_red_change(&queue->red, &q->params.red[CBT_ALL],
			  &p.red[CBT_ALL]);
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		gentle_red_change(&q->vars.cls[i].red, &q->params.red[i],
				  &p.red[i]);
	q->params = p;
	if (reseed)
		seeded_random_init(&queue->random, p.seed);
	slots = red_fifo_resize(sch, queue, slots, p.room, cbt_evict);
	sch_tree_unlock(sch);
	kvfree(slots);
	return 0;
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
		.share[CBT_TCP]		= CBT_PERCENT(75),
		.share[CBT_TAGGED]	= CBT_PERCENT(15),
		.share[CBT_OTHER]	= CBT_PERCENT(10),
		.class_weight		= CBT_DEFAULT_CLASS_WEIGHT,
		.victim_arrival		= true,
		.packet[CBT_TCP]	= 1500,
		.packet[CBT_TAGGED]	= 800,
		.packet[CBT_OTHER]	= 1000,
	};
	struct random_fifo_slot *slots;
	bool reseed;
	int err, i;

	err = opt ? cbt_parse(&p, &reseed, opt, extack) :
		    cbt_derive(&p, extack);
	if (err < 0)
		return err;
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	slots = red_fifo_alloc(p.room, extack);
	if (!slots)
		return -ENOMEM;

	q->params = p;
	red_fifo_init(&q->vars.queue, slots, p.room, &p.red[CBT_ALL], p.seed);
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		gnet_stats_basic_sync_init(&q->vars.cls[i].sent);
	cbt_restart(q);
	sch->limit = p.room;
	return 0;
}

static void cbt_destroy(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	red_fifo_destroy(&q->vars.queue);
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
				p.packet[i]) ||
		    (p.given[i] && nla_put_u32(skb,
					       TCA_CBT_MAX_TH + i - CBT_TCP,
					       p.given[i])))
			goto full;
	if ((p.limit && nla_put_u32(skb, TCA_CBT_LIMIT, p.limit)) ||
	    nla_put_u64_64bit(skb, TCA_CBT_BANDWIDTH, p.bandwidth,
			      TCA_CBT_PAD) ||
	    nla_put_u32(skb, TCA_CBT_LATENCY, p.latency) ||
	    (p.min_th && nla_put_u32(skb, TCA_CBT_MIN_TH, p.min_th)) ||
	    nla_put_u8(skb, TCA_CBT_RED,
		       p.red_all ? CBT_RED_ALL : CBT_RED_TCP) ||
	    nla_put_u32(skb, TCA_CBT_PROBABILITY, red->max_p) ||
	    nla_put_u32(skb, TCA_CBT_WEIGHT, red->weight) ||
	    nla_put_u32(skb, TCA_CBT_CLASS_WEIGHT, p.class_weight) ||
	    nla_put_u64_64bit(skb, TCA_CBT_DSCP, p.dscp, TCA_CBT_PAD) ||
	    nla_put_bitfield32(skb, TCA_CBT_MARK, p.mark, p.mark_mask) ||
	    nla_put_u8(skb, TCA_CBT_GENTLE, red->gentle) ||
	    nla_put_u8(skb, TCA_CBT_ECN, p.signal.ecn) ||
	    nla_put_u8(skb, TCA_CBT_HARDDROP, p.signal.harddrop) ||
	    nla_put_u8(skb, TCA_CBT_NODROP, p.signal.nodrop) ||
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

/* RED's state of a class, or of all, as the next arrival would find it. */
static struct gentle_red_vars cbt_seen(const struct cbt_sched_data *q, u32 class)
{
	return gentle_red_seen(&q->params.red[class], class == CBT_ALL ?
			       &q->vars.queue.red : &q->vars.cls[class].red,
			       ktime_get_ns());
}

static int cbt_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct tc_cbt_xstats st = { .type = TCA_CBT_XSTATS_QDISC };
	const struct cbt_class *cls = q->vars.cls;
	const struct gentle_red_params *p;
	struct gentle_red_vars red;
	u32 on;

	sch_tree_lock(sch);
	on = q->params.red_all ? CBT_ALL : CBT_TCP;
	p = &q->params.red[on];
	red = cbt_seen(q, on);
	st.qdisc.avg = cbt_seen(q, CBT_ALL).avg;
	st.qdisc.avg_tcp = cbt_seen(q, CBT_TCP).avg;
	st.qdisc.avg_tagged = cbt_seen(q, CBT_TAGGED).avg;
	st.qdisc.avg_other = cbt_seen(q, CBT_OTHER).avg;
	st.qdisc.dropped_bytes = q->stats.dropped_bytes;
	st.qdisc.segments = q->vars.queue.held.segments;
	st.qdisc.tcp = cls[CBT_TCP].held.segments;
	st.qdisc.tagged = cls[CBT_TAGGED].held.segments;
	st.qdisc.other = cls[CBT_OTHER].held.segments;
	st.qdisc.limit = q->params.room;
	st.qdisc.min_th = p->min_th;
	st.qdisc.max_th = p->max_th;
	st.qdisc.tagged_drop = q->stats.cls[CBT_TAGGED].threshold_drop;
	st.qdisc.other_drop = q->stats.cls[CBT_OTHER].threshold_drop;
	st.qdisc.early_drop = q->stats.signal.early_drop;
	st.qdisc.early_mark = q->stats.signal.early_mark;
	st.qdisc.forced_drop = q->stats.signal.forced_drop;
	st.qdisc.forced_mark = q->stats.signal.forced_mark;
	st.qdisc.marked = congestion_marked(&q->stats.signal);
	st.qdisc.spared = q->stats.signal.spared;
	st.qdisc.drop_limit = q->stats.drop_limit;
	st.qdisc.drop_change = q->stats.drop_change;
	st.qdisc.victims = q->stats.victims;
	st.qdisc.probability = min_t(u64, gentle_red_probability(p, &red),
				     U32_MAX);
	st.qdisc.max_p = red.max_p;
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
	const struct cbt_class_stats *counts = &q->stats.cls[cl];
	struct cbt_class *class = &q->vars.cls[cl];
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	qs.qlen = class->qlen;
	qs.backlog = class->backlog;
	qs.drops = counts->drops;
	st.cls.avg = cbt_seen(q, cl).avg;
	st.cls.arrivals = counts->arrivals;
	st.cls.class_id = cl;
	st.cls.threshold = q->params.red[cl].max_th;
	st.cls.segments = class->held.segments;
	st.cls.threshold_drop = counts->threshold_drop;
	st.cls.early_drop = counts->early_drop;
	st.cls.marked = counts->marked;
	st.cls.random_drop = counts->random_drop;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_basic(d, NULL, &class->sent, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
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
