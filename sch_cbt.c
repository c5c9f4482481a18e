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
 *  - The whole queue's average is kept where RED decides by it. Where it does not,
 *    what is shown is the sum of the classes', from which it begins when "red
 *    all" is switched on.
 *  - The weight of RED's averages remembers three full queues, 1 s at most:
 *    red_fifo_weight() says why. The paper's 1/512 remembers nine of 60 packets,
 *    among hundreds of flows. That of the other two is not in the text. A class
 *    that sends blindly is switched on and off by its own average; with 1/512 its
 *    packets in the queue swing between none and twice the threshold, with 1/4 by
 *    a few packets.
 *  - The victim of a forced drop. Section 2.1's is any packet of the queue or
 *    the arrival; section 1 guarantees a rate to tagged traffic "independent of
 *    the level of TCP traffic". Both cannot be had: a TCP arrival above max that
 *    ousts a packet of another class takes that class's place, and TCP that does
 *    not heed losses, or so many flows that each is down to a packet or two,
 *    fills the queue. Measured, TCP offering 1.5 times the link and a share of
 *    1/3 each: tagged gets 0.20 of the link with random victims, 0.31 where the
 *    arrival is dropped. So that is the default, and "victim random" the paper's
 *    RED. Where TCP heeds losses both hold the shares within 8 % (tc-cbt(8)).
 *  - Thresholds from the default latency are at least cbt_least[] packets: the
 *    law would give a class less than one on slow links. A latency that was given
 *    is taken at its word.
 *  - A GSO packet is cut up, each of its packets being an arrival. With
 *    nosplit_gso it is one arrival, and one victim; where a full queue needs more
 *    room than its victim had, another one goes. It counts its segments in
 *    averages, thresholds and limit all the same: lengths are in packets on the
 *    wire.
 *  - A packet that a parent has peeked at, or that the driver handed back, has
 *    left the queue: it is not counted for its class and cannot be a victim.
 *
 * Options, units and defaults: TC_CBT_OPTIONS.
 */

#include <linux/module.h>
#include <net/pkt_sched.h>
#include <aqm/ip_class.h>
#include <aqm/kind.h>
#include <aqm/red_fifo.h>
#include <aqm/share_law.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_cbt.h>

#define CBT_LATENCY	40000U	/* us: twice as many full packets take 95 ms */

static_assert(CBT_UNIT == SHARE_LAW_UNIT);

/*
 * Packets that a class may have at least, with the default latency: together as
 * many full ones as 1 Mb/s sends in 100 ms. With one that is being sent, 3 are
 * the 4 that TCP needs to see a loss by its duplicates; and what a call of 50
 * packets a second has in a queue of 60 ms.
 */
static const u32 cbt_least[CBT_CLASSES] = {
	[CBT_TCP] = 3, [CBT_TAGGED] = 2, [CBT_OTHER] = 3,
};

/*
 * Parameters computed for the datapath, then the options, given or default.
 * Written under the tree lock.
 */
struct cbt_params {
	struct aqm_given		given;
	struct congestion_policy	signal;
	bool				red_all;	/* all face RED */
	/*
	 * For the whole queue and each class: weight and ptime of its average, and
	 * its threshold, 1/256 packet, as max_th. The rest of RED where it acts.
	 */
	struct gentle_red_params	avg[CBT_CLASSES];

	TC_CBT_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(cbt_options, struct cbt_params, TC_CBT_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_cbt_qdisc_stats, TC_CBT_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_cbt_class_stats, TC_CBT_CLASS_STATS);
static_assert(sizeof(struct aqm_common_stats) ==
	      offsetof(struct tc_cbt_qdisc_stats, avg));

/**
 * struct cbt_class - what is in the queue of a class, and what came and left; an
 *	arrival that is queued needs one cache line of it
 * @red: its average
 * @segments: its packets, as they will be on the wire
 * @qlen: its packets
 * @backlog: their bytes
 * @arrivals: packets that arrived
 * @sent: packets and bytes that left
 * @drops: packets lost
 * @threshold_drop: above the threshold
 * @early_drop: by chance
 * @marked: marked
 * @random_drop: as the victim of a forced drop
 */
struct cbt_class {
	struct gentle_red_vars		red;
	u32				segments;
	u32				qlen;
	u32				backlog;
	u64				arrivals;
	struct gnet_stats_basic_sync	sent;
	u32				drops;
	u64				threshold_drop;
	u64				early_drop;
	u64				marked;
	u64				random_drop;
} ____cacheline_aligned;

/**
 * struct cbt_vars - state of the datapath; under the qdisc lock
 * @queue: the packets; a tag is the packet's class
 * @victims: forced drops that took a packet out of the queue
 * @cls: its parts, by class; CBT_ALL is not used
 */
struct cbt_vars {
	struct red_fifo		queue;
	u64			victims;
	struct cbt_class	cls[CBT_CLASSES];
};

#define CBT_DROP_THRESHOLD	AQM_DROP_OWN

struct cbt_sched_data {
	struct filter_block	filters;
	struct cbt_params	params;
	struct cbt_vars		vars;
	struct link_rate	link;
};

/* The class of a packet that no filter decided. */
static inline u32 cbt_classify(const struct cbt_params *p,
			       const struct sk_buff *skb)
{
	struct ip_class ip = ip_class(skb);

	if (!ip.is_ip)
		return CBT_TCP;
	switch (ip.protocol) {
	case IPPROTO_TCP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		return CBT_TCP;
	}
	if (p->mark.selector &&
	    (skb->mark & p->mark.selector) == p->mark.value)
		return CBT_TAGGED;
	return p->dscp & BIT_ULL(ip.dscp) ? CBT_TAGGED : CBT_OTHER;
}

/* Add an arrival of @segments, for which there is room. */
static __always_inline void cbt_add(struct Qdisc *sch, struct sk_buff *skb,
				    u32 class, u32 segments)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl = &q->vars.cls[class];

	red_fifo_add(sch, &q->vars.queue, skb, segments, class);
	cl->segments += segments;
	cl->qlen++;
	cl->backlog += qdisc_pkt_len(skb);
}

/* The class of a packet in the queue. */
static inline u32 cbt_class_in(const struct sk_buff *skb)
{
	return red_fifo_cb(skb)->tag;
}

/* Take out a packet, which is of @class. */
static __always_inline void cbt_take(struct Qdisc *sch, struct sk_buff *skb,
				     u32 class)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl = &q->vars.cls[class];

	red_fifo_take(sch, &q->vars.queue, skb);
	cl->segments -= held_cb(skb)->segments;
	cl->qlen--;
	cl->backlog -= qdisc_pkt_len(skb);
	red_queue_taken(&cl->red, cl->qlen);
}

/* Count a packet of @class that is lost, taken out or never added. */
static void cbt_lose(struct Qdisc *sch, struct sk_buff *skb, u32 class,
		     enum aqm_drop cause)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	q->vars.cls[class].drops++;
	red_fifo_lose(sch, &q->vars.queue, skb, cause);
}

/* Drop an arrival. */
static noinline int cbt_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
			     enum aqm_drop cause, struct sk_buff **to_free)
{
	cbt_lose(sch, skb, class, cause);
	__qdisc_drop(skb, to_free);
	return NET_XMIT_CN;
}

/* RED's state of a class, or of all. */
static inline struct gentle_red_vars *cbt_red_of(struct cbt_vars *v, u32 class)
{
	return class == CBT_ALL ? &v->queue.red : &v->cls[class].red;
}

/* RED on the average that TCP, or with red all everything, faces. */
static inline enum congestion_signal
cbt_red(struct Qdisc *sch, struct sk_buff *skb, bool *forced)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = &q->params;
	struct cbt_vars *v = &q->vars;
	u32 on = p->red_all ? CBT_ALL : CBT_TCP;

	return red_queue_signal(sch, skb, &p->avg[on], cbt_red_of(v, on),
				&v->queue.random, &p->signal, forced);
}

/**
 * cbt_forced_drop() - drop one of the queue and the arrival, at random
 * @skb: the arrival
 * @sch: the discipline
 * @class: the arrival's
 * @cause: of the drop
 * @to_free: list that takes what is dropped
 *
 * Once more while the arrival has no room. One that is larger than a limit by
 * itself costs nobody else a packet.
 *
 * Return: false if it was the arrival.
 */
static bool cbt_forced_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
			    enum aqm_drop cause, struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	struct sk_buff *victim;
	u32 hit, slot, count;

	do {
		count = red_fifo_count(queue);
		slot = count;
		if (q->params.victim != CBT_VICTIM_ARRIVAL && !red_fifo_is_oversize(queue, skb))
			slot = seeded_random_below(&queue->random, count + 1);
		victim = skb;
		hit = class;
		if (slot < count) {
			victim = queue->draw.slots[slot];
			hit = cbt_class_in(victim);
			cbt_take(sch, victim, hit);
			q->vars.victims++;
		}
		q->vars.cls[hit].random_drop++;
		cbt_lose(sch, victim, hit, cause);
		__qdisc_drop(victim, to_free);
		if (victim == skb)
			return false;
		cause = red_fifo_full(queue, skb, held_segments(skb));
	} while (cause);
	return true;
}

/* RED's signal to an arrival that is queued. */
static noinline void cbt_signalled(struct cbt_sched_data *q, u32 class,
				   enum congestion_signal signal, bool forced)
{
	congestion_count(&q->vars.queue.counters.signal, signal, forced);
	if (signal == CONGESTION_MARKED)
		q->vars.cls[class].marked++;
}

/*
 * An arrival that RED drops without chance, or that finds no room: it is queued
 * if chance makes enough others go for it. The parents are told, unless it is a part
 * of what they were given.
 */
static noinline int cbt_oust(struct sk_buff *skb, struct Qdisc *sch, u32 class,
			     enum aqm_drop cause, enum congestion_signal signal,
			     bool forced, struct sk_buff **to_free, bool tell)
{
	struct parents_before before = parents_before(sch);
	struct cbt_sched_data *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	int verdict = NET_XMIT_CN;

	if (cbt_forced_drop(skb, sch, class, cause, to_free)) {
		if (signal != CONGESTION_DROP)
			cbt_signalled(q, class, signal, forced);
		cbt_add(sch, skb, class, held_segments(skb));
		verdict = NET_XMIT_SUCCESS;
	}
	if (!tell)
		return verdict;
	return parents_tell(sch, &q->vars.queue.untold, &before, len, verdict);
}

/* An arrival, or a segment of one. */
static __always_inline int cbt_arrival(struct sk_buff *skb, struct Qdisc *sch,
				       struct sk_buff **to_free, u32 segments,
				       u32 class, bool tell)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	enum congestion_signal signal = CONGESTION_PASS;
	const struct cbt_params *p = &q->params;
	struct cbt_vars *v = &q->vars;
	struct cbt_class *cl;
	enum aqm_drop full;
	bool forced = false;

	cl = &v->cls[class];
	cl->arrivals++;

	red_queue_arrival(&p->avg[class], &cl->red,
			  cl->segments * CBT_UNIT);
	if (unlikely(p->red_all))
		red_queue_arrival(&p->avg[CBT_ALL], &v->queue.red,
				  v->queue.held.segments * CBT_UNIT);

	if (unlikely(class != CBT_TCP) &&
	    cl->red.avg > (u64)p->avg[class].max_th << 32) {
		cl->threshold_drop++;
		return cbt_drop(skb, sch, class, CBT_DROP_THRESHOLD, to_free);
	}

	if (class == CBT_TCP || p->red_all)
		signal = cbt_red(sch, skb, &forced);
	if (unlikely(signal == CONGESTION_DROP)) {
		if (forced)
			return cbt_oust(skb, sch, class, AQM_DROP_FORCED,
					signal, forced, to_free, tell);
		cl->early_drop++;
		return cbt_drop(skb, sch, class, AQM_DROP_EARLY, to_free);
	}
	full = red_fifo_full(&v->queue, skb, segments);
	if (unlikely(full))
		return cbt_oust(skb, sch, class, full, signal, forced, to_free,
				tell);

	if (unlikely(signal != CONGESTION_PASS))
		cbt_signalled(q, class, signal, forced);
	cbt_add(sch, skb, class, segments);
	return NET_XMIT_SUCCESS;
}

/* Queue a GSO packet, or a segment of it. */
static int cbt_segment(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free, u32 segments, u32 class)
{
	return cbt_arrival(skb, sch, to_free, segments, class, false);
}

static int cbt_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_vars *v = &q->vars;
	u32 class;
	int ret;

	ret = filter_class(skb, sch, rcu_dereference_bh(q->filters.list),
			   CBT_CLASSES - 1, &class, &v->queue.counters, to_free);
	if (ret)
		return ret;
	if (!class || class >= CBT_CLASSES)
		class = cbt_classify(&q->params, skb);
	if (likely(!held_is_gso(skb)))
		return cbt_arrival(skb, sch, to_free, 1, class, true);
	return split_gso_enqueue(skb, sch, to_free, &v->queue.untold,
				 &v->queue.counters, q->params.split_gso,
				 class, cbt_segment);
}

static struct sk_buff *cbt_dequeue(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	struct sk_buff *skb = skb_peek(&queue->packets);
	u32 class;

	if (!skb)
		return NULL;
	class = cbt_class_in(skb);
	cbt_take(sch, skb, class);
	_bstats_update(&q->vars.cls[class].sent, qdisc_pkt_len(skb),
		       held_cb(skb)->segments);
	red_fifo_sent(sch, queue, skb);
	return skb;
}

/* Nothing is in the queue. */
static void cbt_restart(struct cbt_sched_data *q)
{
	struct cbt_class *cl;
	int i;

	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		cl = &q->vars.cls[i];
		gentle_red_init(&cl->red, &q->params.avg[i], ktime_get_ns());
		cl->segments = 0;
		cl->qlen = 0;
		cl->backlog = 0;
	}
}

static void cbt_reset(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	red_fifo_reset(sch, &q->vars.queue, &q->params.avg[CBT_ALL]);
	cbt_restart(q);
}

/* A change left no room for a packet. */
static void cbt_evict(struct Qdisc *sch, struct sk_buff *skb)
{
	u32 class = cbt_class_in(skb);

	cbt_take(sch, skb, class);
	cbt_lose(sch, skb, class, AQM_DROP_CHANGE);
}

/* RED's max for @q of the share law: the average keeps to 0.9 q to 1.1 q. */
static u32 cbt_max(u64 q)
{
	return min_t(u64, q + div_u64(q, 10), CBT_MAX_THRESHOLD);
}

/* The options of the share law, by class. With the default latency each class
 * gets a few packets at least: cbt_least.
 */
static void cbt_shares(const struct cbt_params *p, struct share_class *sh)
{
	sh[CBT_TCP] = (struct share_class) {
		p->share_tcp, p->packet_tcp,
		/* With red all, max is not TCP's. */
		p->red == CBT_RED_ALL ? 0 : p->max,
	};
	sh[CBT_TAGGED] = (struct share_class) {
		p->share_tagged, p->packet_tagged, p->threshold_tagged,
	};
	sh[CBT_OTHER] = (struct share_class) {
		p->share_other, p->packet_other, p->threshold_other,
	};
	for (u32 i = CBT_TCP; i < CBT_CLASSES && !p->latency; i++)
		sh[i].least = cbt_least[i] * CBT_UNIT;
}

/* Set the threshold and the average of each class, and the limit. */
static u64 cbt_thresholds(struct cbt_params *p, const struct share_class *sh)
{
	u32 mean = (p->packet_tcp + p->packet_tagged + p->packet_other) / 3;
	struct gentle_red_params *red, *all = &p->avg[CBT_ALL];
	struct share_total total = {};
	u64 rate = p->bandwidth, q;
	u32 i;

	all->ptime = red_fifo_ptime(rate, mean);
	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		red = &p->avg[i];
		*red = *all;
		red->ptime = red_fifo_ptime(rate, sh[i].packet);
		red->weight = p->class_weight;
		q = share_law_threshold(&sh[i], rate, p->latency, &total);
		red->max_th = min_t(u64, q, CBT_MAX_THRESHOLD);
		if (i == CBT_TCP)
			red->max_th = p->max ?: cbt_max(q);
	}
	if (p->red_all && p->max)
		total = (struct share_total) { .sum = p->max };
	all->max_th = p->max ?: cbt_max(total.sum);
	p->limit = p->limit ?: min_t(u64, share_law_room(&total),
				       CBT_MAX_LIMIT);
	for (i = CBT_ALL; i <= CBT_TCP; i++) {
		red = &p->avg[i];
		red->min_th = p->min ?: div_u64(9ULL * red->max_th, 11);
		red->weight = p->weight ?:
			      red_fifo_weight(rate, i == CBT_ALL ? mean :
						    sh[i].packet, p->limit);
	}
	return total.sum;
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int cbt_derive(struct Qdisc *sch, struct aqm_given *given,
		      struct netlink_ext_ack *extack)
{
	const struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_params *p = aqm_params_of(cbt, given);
	u32 longest = max3(p->packet_tcp, p->packet_tagged, p->packet_other);
	struct share_class sh[CBT_CLASSES] = {};
	const struct gentle_red_params *red;
	u64 sum;

	cbt_shares(p, sh);
	p->bandwidth = link_rate_in_force(&q->link, p->bandwidth, extack);
	p->memory_limit = p->memory_limit ?: FIFO_MEMORY;
	p->latency = p->latency ?:
		     share_law_latency(sh + CBT_TCP, CBT_CLASSES - CBT_TCP,
				       p->bandwidth, CBT_LATENCY,
				       fifo_room(p->memory_limit));
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	p->red_all = p->red == CBT_RED_ALL;
	p->avg[CBT_ALL] = (struct gentle_red_params) {
		.max_p	= p->probability,
		.gentle	= p->gentle,
	};
	sum = cbt_thresholds(p, sh);

	if (red_fifo_ptime(p->bandwidth, longest) == U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "a packet takes too long at this bandwidth");
		return -EINVAL;
	}
	/* Each share may have been rounded up by half a unit. */
	if ((u64)p->share_tcp + p->share_tagged + p->share_other >
	    SHARE_LAW_ONE + CBT_CLASSES) {
		NL_SET_ERR_MSG_MOD(extack, "the shares are more than 1 together");
		return -EINVAL;
	}
	red = &p->avg[p->red_all ? CBT_ALL : CBT_TCP];
	if (red->min_th >= red->max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	red_fifo_warn(sch, p->memory_limit, extack);
	if ((u64)p->limit * CBT_UNIT < sum)
		NL_SET_ERR_MSG_MOD(extack, "limit is below the sum of the thresholds");
	p->min = red->min_th;
	p->max = red->max_th;
	p->weight = red->weight;
	p->threshold_tagged = p->avg[CBT_TAGGED].max_th;
	p->threshold_other = p->avg[CBT_OTHER].max_th;
	return 0;
}

static int cbt_alloc(struct Qdisc *sch, struct aqm_given *given,
		     struct aqm_memory *m, struct netlink_ext_ack *extack)
{
	const struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = aqm_params_of(cbt, given);

	return red_fifo_alloc(&q->vars.queue, p->limit, p->victim != CBT_VICTIM_ARRIVAL,
			      &m->block, extack);
}

static void cbt_setup(struct Qdisc *sch, struct aqm_given *given,
		      struct aqm_memory *m)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = aqm_params_of(cbt, given);
	int i;

	q->params = *p;
	red_fifo_init(sch, &q->vars.queue, m->block, p->limit,
		      p->memory_limit, &p->avg[CBT_ALL], p->seed);
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		gnet_stats_basic_sync_init(&q->vars.cls[i].sent);
	cbt_restart(q);
}

/* Packets of a class in the queue, or of all. */
static u32 cbt_segments(const struct cbt_vars *v, u32 class)
{
	return class == CBT_ALL ? v->queue.held.segments :
				  v->cls[class].segments;
}

/* The state as the next arrival would find it. */
static struct gentle_red_vars cbt_seen(struct cbt_sched_data *q, u32 class)
{
	return gentle_red_seen(&q->params.avg[class], cbt_red_of(&q->vars, class),
			       cbt_segments(&q->vars, class), ktime_get_ns());
}

/*
 * From now on RED decides by another average: begin that of the whole queue, and
 * the count of arrivals.
 */
static void cbt_switch(struct cbt_sched_data *q, const struct cbt_params *p)
{
	struct gentle_red_vars *red = &q->vars.queue.red;
	int i;

	q->vars.cls[CBT_TCP].red.count = 0;
	gentle_red_init(red, &p->avg[CBT_ALL], ktime_get_ns());
	for (i = CBT_TCP; i < CBT_CLASSES && p->red_all; i++)
		red->avg += cbt_seen(q, i).avg;
}

/* The queue keeps what it has room for. */
static void cbt_commit(struct Qdisc *sch, struct aqm_given *given,
		       struct aqm_memory *m)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *queue = &q->vars.queue;
	const struct cbt_params *p = aqm_params_of(cbt, given);
	struct gentle_red_vars *red;
	u64 now = ktime_get_ns();
	int i;

	for (i = CBT_ALL; i < CBT_CLASSES; i++) {
		red = cbt_red_of(&q->vars, i);
		gentle_red_settle(red, &q->params.avg[i], &p->avg[i],
				  cbt_segments(&q->vars, i), now);
		gentle_red_change(red, &q->params.avg[i], &p->avg[i]);
	}
	if (p->red_all != q->params.red_all)
		cbt_switch(q, p);
	q->params = *p;
	if (aqm_changed(p, TCA_CBT_SEED))
		seeded_random_init(&queue->random, p->seed);
	m->block = red_fifo_resize(sch, queue, m->block, p->limit,
				   p->memory_limit,
				   p->victim != CBT_VICTIM_ARRIVAL, cbt_evict);
}

static void cbt_destroy(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	red_fifo_destroy(&q->vars.queue);
}

static void cbt_stats(struct Qdisc *sch, void *stats)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	u32 on = q->params.red_all ? CBT_ALL : CBT_TCP;
	const struct gentle_red_params *p = &q->params.avg[on];
	const struct red_fifo *queue = &q->vars.queue;
	const struct cbt_class *cls = q->vars.cls;
	struct tc_cbt_qdisc_stats *st = stats;
	struct gentle_red_vars red;

	red = cbt_seen(q, on);
	*st = (struct tc_cbt_qdisc_stats) {
		.avg		= cbt_seen(q, CBT_ALL).avg,
		.avg_tcp	= cbt_seen(q, CBT_TCP).avg,
		.avg_tagged	= cbt_seen(q, CBT_TAGGED).avg,
		.avg_other	= cbt_seen(q, CBT_OTHER).avg,
		.segments	= queue->held.segments,
		.tcp		= cls[CBT_TCP].segments,
		.tagged		= cls[CBT_TAGGED].segments,
		.other		= cls[CBT_OTHER].segments,
		.min_th		= p->min_th,
		.max_th		= p->max_th,
		.tagged_drop	= cls[CBT_TAGGED].threshold_drop,
		.other_drop	= cls[CBT_OTHER].threshold_drop,
		.victims	= q->vars.victims,
		.probability	= min_t(u64, gentle_red_probability(p, &red),
					U32_MAX),
		.max_p		= red.max_p,
		.latency	= q->params.latency,
		.weight		= p->weight,
		.drop_filter	= queue->counters.drops[AQM_DROP_FILTER],
	};
	if (!q->params.red_all)
		st->avg = st->avg_tcp + st->avg_tagged + st->avg_other;
	AQM_SIGNAL_STATS(st, &queue->counters);
	red_fifo_stats(st, queue, q->params.bandwidth);
}

static int cbt_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct tc_cbt_xstats st = { .type = TCA_CBT_XSTATS_CLASS };
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *class = &q->vars.cls[cl];
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	qs.qlen = class->qlen;
	qs.backlog = class->backlog;
	qs.drops = class->drops;
	st.cls.avg = cbt_seen(q, cl).avg;
	st.cls.arrivals = class->arrivals;
	st.cls.class_id = cl;
	st.cls.threshold = q->params.avg[cl].max_th;
	st.cls.segments = class->segments;
	st.cls.threshold_drop = class->threshold_drop;
	st.cls.early_drop = class->early_drop;
	st.cls.marked = class->marked;
	st.cls.random_drop = class->random_drop;
	sch_tree_unlock(sch);

	if (gnet_stats_copy_basic(d, NULL, &class->sent, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void cbt_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	aqm_walk(sch, arg, CBT_CLASSES - 1);
}

static const struct Qdisc_class_ops cbt_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= cbt_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
	.dump_stats	= cbt_dump_class_stats,
};

AQM_KIND(cbt, cbt, CBT, "Class-Based Thresholds (CBT)",
	 .filters	= offsetof(struct cbt_sched_data, filters),
	 .ops.cl_ops	= &cbt_class_ops,
	 .ops.peek	= qdisc_peek_dequeued,
	 .alloc		= cbt_alloc,
	 .destroy	= cbt_destroy);
