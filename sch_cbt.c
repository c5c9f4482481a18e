// SPDX-License-Identifier: GPL-2.0
/*
 * Class-Based Thresholds (CBT)
 *
 * RED drops the same fraction of every flow's packets, so unresponsive traffic
 * takes the link from TCP. Schemes that punish it also hurt multimedia, which
 * cannot respond even if it needs little. CBT divides one FIFO between three
 * classes of traffic by limiting the number of packets of each class in the
 * queue. While all classes have packets waiting, each class gets the same
 * fraction of the link as it has of the queue. There is no scheduler and no
 * state per flow.
 *
 * M. Parris, K. Jeffay, F. D. Smith, "Lightweight Active Router-Queue
 * Management for Multimedia Networking", MMCN 1999. We did not have its section
 * 3, the design. The rule comes from its abstract, from sections 1 and 2, which
 * define RED with random drops, and from descriptions of CBT by others.
 *
 * The rule for an arrival of class i, where n_i is the number of packets of
 * that class in the queue, and avg_i their average over the arrivals of the
 * class:
 *
 *	avg_i += w (n_i - avg_i)
 *	tagged, other: if avg_i > threshold_i: drop the arrival
 *	TCP: RED on avg_TCP			(red tcp)
 *	all: RED on the whole queue's average	(red all)
 *	RED below min: queue; between min and max: drop by chance;
 *	above max, or queue full: drop one of the queue and the arrival, at random
 *
 * The share law. In a FIFO in which every class has packets waiting, the
 * fraction of the link that a class gets is the fraction of the queue's bytes
 * that it has. For rate C, latency L, shares b_i and mean packet sizes P_i the
 * thresholds are
 *
 *	Q_i = b_i C L / P_i packets,	sum Q_i P_i <= C L	<aqm/cbt/share_law.h>
 *
 * RED holds TCP's average between min and max. To make it Q_TCP, min is 0.9
 * Q_TCP and max 1.1 Q_TCP. With red all, both are computed from the sum of the
 * Q_i.
 *
 * A class with few packets in the queue leaves its part of the link to the
 * others. This needs no rule, because the queue is a FIFO.
 *
 * Our decisions where the text that we have is silent:
 *  - The class TCP contains the protocols that respond to losses: TCP, SCTP and
 *    DCCP. UDP, UDP-Lite and all other IP protocols are tagged or other.
 *    Packets that are not IP (ARP) go with TCP. A tunnel counts by its outer
 *    header.
 *  - UDP is tagged by its DSCP or its firewall mark; TCP never is. A filter
 *    that names class 1, 2 or 3 (TCP, tagged, other) takes precedence for any
 *    packet.
 *  - While a class has no packet in the queue, its average decays like RED's
 *    average of an empty queue: by one sample per transmission time of a mean
 *    packet of the class.
 *  - Arrivals above a class's threshold are dropped, not marked, because the
 *    threshold bounds traffic that may not respond. ecn marks where RED would
 *    drop by chance and, unless harddrop, above max. There nodrop queues
 *    packets that cannot be marked.
 *  - The whole queue's average is kept only with red all. With red tcp, dumps
 *    show the sum of the classes' averages. The average starts from this sum
 *    when "red all" is switched on.
 *  - The weight of RED's averages remembers three full queues, but at most 1 s.
 *    See red_queue_weight() for the reason. The paper's 1/512 remembers nine
 *    queues of 60 packets, among hundreds of flows. Our text has no weight for
 *    the other two classes. A class that sends blindly is switched on and off
 *    by its own average. With 1/512, its packets in the queue vary between none
 *    and twice the threshold. With 1/4, they vary by a few packets.
 *  - The victim of a forced drop. In section 2.1 it is any packet of the queue
 *    or the arrival. Section 1 guarantees a rate to tagged traffic "independent
 *    of the level of TCP traffic". These contradict each other. If a TCP
 *    arrival above max evicts a packet of another class, it takes that packet's
 *    place. TCP that ignores losses then fills the queue, and so do so many TCP
 *    flows that each has a window of one or two packets. We measured TCP that
 *    offers 1.5 times the link, with shares of 1/3 each: tagged gets 0.20 of
 *    the link with random victims, and 0.31 if the arrival is dropped. So the
 *    default drops the arrival, and "victim random" is the paper's RED. If TCP
 *    responds to losses, both keep the shares within 8 % (tc-cbt(8)).
 *  - With the default latency a threshold is at least cbt_least[] packets. On
 *    slow links the share law would give less than one packet. A given latency
 *    is used as it is.
 *  - GSO packets: frame/split_gso.c. A whole one is one victim, and further
 *    victims are drawn until it fits as an arrival.
 *  - A packet that a parent has peeked at, or that the driver handed back, has
 *    left the queue: it does not count for its class and cannot be a victim.
 *
 * Options, units and defaults: TC_CBT_OPTIONS.
 */

#include <compat_5.h>
#include <aqm/cbt/ip_class.h>
#include <aqm/fifo_limit.h>
#include <aqm/red_fifo.h>
#include <aqm/cbt/share_law.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_cbt.h>

#define CBT_LATENCY	40000U	/* us; twice as many full packets take 95 ms */

static_assert(CBT_UNIT == SHARE_LAW_UNIT);

/*
 * Minimum thresholds with the default latency, in packets. Their sum is 100 ms of
 * full packets at 1 Mb/s. Three packets and one in transmission are the four that
 * TCP needs to detect a loss by duplicate ACKs. Three packets are also 60 ms of a
 * call with 50 packets per second.
 */
static const u32 cbt_least[CBT_CLASSES] = {
	[CBT_TCP] = 3, [CBT_TAGGED] = 2, [CBT_OTHER] = 3,
};

struct cbt_params {
	struct aqm_given		given;
	struct congestion_policy	signal;
	bool				red_all;	/* RED applies to all classes */
	/*
	 * For the whole queue and each class: weight and ptime of its average, and
	 * its threshold in 1/256 packet as max_th. The other members are used only
	 * where RED applies.
	 */
	struct gentle_red_params	avg[CBT_CLASSES];

	TC_CBT_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(cbt_options, struct cbt_params, TC_CBT_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_cbt_qdisc_stats, TC_CBT_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_cbt_class_stats, TC_CBT_CLASS_STATS);

/**
 * struct cbt_class - a class; queueing an arrival uses one cache line of it
 * @red: its average
 * @segments: packets in the queue, counted as on the wire
 * @qlen: packets in the queue
 * @backlog: bytes in the queue
 * @arrivals: packets that arrived
 * @sent: packets and bytes that were sent
 * @drops: packets that were dropped
 * @threshold_drop: packets dropped above the threshold
 * @early_drop: packets dropped by chance
 * @marked: packets that were marked
 * @random_drop: packets dropped as the victim of a forced drop
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
 * @fifo: the packets; the tag is the packet's class
 * @victims: number of forced drops that evicted a queued packet
 * @cls: the classes; CBT_ALL is not used
 */
struct cbt_vars {
	struct red_fifo		fifo;
	u64			victims;
	struct cbt_class	cls[CBT_CLASSES];
};

#define CBT_DROP_THRESHOLD	AQM_DROP_OWN

struct cbt_sched_data {
	struct aqm_queue	queue;
	struct cbt_params	params;
	struct cbt_vars		vars;
};

/* Return the class of a packet for which no filter names a class. */
static inline u32 cbt_classify(const struct cbt_params *p,
			       const struct sk_buff *skb)
{
	struct ip_class ip = ip_class(skb);

	if (likely(ip.protocol == IPPROTO_TCP) || !ip.is_ip)
		return CBT_TCP;
	if (ip.protocol == IPPROTO_DCCP || ip.protocol == IPPROTO_SCTP)
		return CBT_TCP;
	if (p->mark.selector &&
	    (skb->mark & p->mark.selector) == p->mark.value)
		return CBT_TAGGED;
	return p->dscp & BIT_ULL(ip.dscp) ? CBT_TAGGED : CBT_OTHER;
}

/* Queue an arrival that fits. */
static __always_inline void cbt_add(struct Qdisc *sch, struct sk_buff *skb,
				    u32 class, u32 segments)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl = &q->vars.cls[class];

	red_fifo_add(sch, &q->vars.fifo, skb, segments, class);
	cl->segments += segments;
	cl->qlen++;
	cl->backlog += qdisc_pkt_len(skb);
}

/* Return the class of a queued packet. */
static inline u32 cbt_class_in(const struct sk_buff *skb)
{
	return red_fifo_cb(skb)->tag;
}

/* Take a packet of @class out of the queue. */
static __always_inline void cbt_remove(struct Qdisc *sch, struct sk_buff *skb,
				       u32 class)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_class *cl = &q->vars.cls[class];

	red_fifo_remove(sch, &q->vars.fifo, skb);
	cl->segments -= queued_cb(skb)->segments;
	cl->qlen--;
	cl->backlog -= qdisc_pkt_len(skb);
	red_queue_removed(&cl->red, cl->qlen);
}

/* Drop an arrival. */
static int cbt_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
		    enum aqm_drop cause, struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	q->vars.cls[class].drops++;
	return aqm_drop(skb, sch, cause, to_free);
}

/* Return RED's state for a class, or for the whole queue. */
static inline struct gentle_red_vars *cbt_red_of(struct cbt_vars *v, u32 class)
{
	return class == CBT_ALL ? &v->fifo.red : &v->cls[class].red;
}

/* Apply RED: to TCP's average, or with red all to the whole queue's. */
static inline enum congestion_signal
cbt_red(struct Qdisc *sch, struct sk_buff *skb, bool *forced)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_params *p = &q->params;
	struct cbt_vars *v = &q->vars;
	u32 on = p->red_all ? CBT_ALL : CBT_TCP;

	return red_queue_signal(sch, skb, &p->avg[on], cbt_red_of(v, on),
				&v->fifo.random, &p->signal, forced);
}

/**
 * cbt_forced_drop() - drop one of the queue and the arrival, at random
 * @skb: the arrival
 * @sch: the qdisc
 * @class: class of the arrival
 * @cause: cause of the first drop
 * @to_free: list of packets to free
 *
 * Repeat until the arrival fits or is dropped. An arrival that exceeds a limit
 * alone is dropped without other victims.
 *
 * Return: false if the arrival was dropped.
 */
static bool cbt_forced_drop(struct sk_buff *skb, struct Qdisc *sch, u32 class,
			    enum aqm_drop cause, struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	struct sk_buff *victim;
	u32 hit, slot, count;

	do {
		count = red_fifo_count(fifo);
		slot = count;
		if (q->params.victim != CBT_VICTIM_ARRIVAL &&
		    !aqm_queue_is_oversize(&q->queue, skb, queued_segments(skb)))
			slot = seeded_random_below(&fifo->random, count + 1);
		victim = skb;
		hit = class;
		if (slot < count) {
			victim = fifo->draw.slots[slot];
			hit = cbt_class_in(victim);
			cbt_remove(sch, victim, hit);
			q->vars.victims++;
		}
		q->vars.cls[hit].random_drop++;
		q->vars.cls[hit].drops++;
		aqm_queue_lost(sch, victim, cause);
		__qdisc_drop(victim, to_free);
		if (victim == skb)
			return false;
		cause = aqm_queue_full(&q->queue, skb, queued_segments(skb));
	} while (cause);
	return true;
}

/* Count RED's signal to an arrival that is queued. */
static void cbt_signalled(struct cbt_sched_data *q, u32 class,
			  enum congestion_signal signal, bool forced)
{
	congestion_count(&q->queue.signal, signal, forced);
	if (signal == CONGESTION_MARKED)
		q->vars.cls[class].marked++;
}

/*
 * Make a forced drop. Queue the arrival unless it is the victim. @report is false for
 * a part of a GSO packet: its caller reports the changes to the parents.
 */
static int
cbt_enqueue_forced(struct sk_buff *skb, struct Qdisc *sch, u32 class,
		   enum aqm_drop cause, enum congestion_signal signal,
		   bool forced, struct sk_buff **to_free, bool report)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	u32 len = qdisc_pkt_len(skb);
	int verdict = NET_XMIT_CN;

	if (cbt_forced_drop(skb, sch, class, cause, to_free)) {
		if (signal != CONGESTION_DROP)
			cbt_signalled(q, class, signal, forced);
		cbt_add(sch, skb, class, queued_segments(skb));
		verdict = NET_XMIT_SUCCESS;
	}
	if (!report)
		return verdict;
	return parents_report(sch, &before, len, verdict);
}

/* Queue, mark or drop an arrival, or one segment of it. */
static __always_inline int cbt_arrival(struct sk_buff *skb, struct Qdisc *sch,
				       struct sk_buff **to_free, u32 segments,
				       u32 class, bool report)
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
		red_queue_arrival(&p->avg[CBT_ALL], &v->fifo.red,
				  q->queue.segments * CBT_UNIT);

	if (unlikely(class != CBT_TCP) &&
	    cl->red.avg > (u64)p->avg[class].max_th << 32) {
		cl->threshold_drop++;
		return cbt_drop(skb, sch, class, CBT_DROP_THRESHOLD, to_free);
	}

	if (class == CBT_TCP || p->red_all)
		signal = cbt_red(sch, skb, &forced);
	if (unlikely(signal == CONGESTION_DROP)) {
		if (forced)
			return cbt_enqueue_forced(skb, sch, class, AQM_DROP_FORCED,
						  signal, forced, to_free, report);
		cl->early_drop++;
		return cbt_drop(skb, sch, class, AQM_DROP_EARLY, to_free);
	}
	full = aqm_queue_full(&q->queue, skb, segments);
	if (unlikely(full))
		return cbt_enqueue_forced(skb, sch, class, full, signal, forced, to_free,
					  report);

	if (unlikely(signal != CONGESTION_PASS))
		cbt_signalled(q, class, signal, forced);
	cbt_add(sch, skb, class, segments);
	return NET_XMIT_SUCCESS;
}

/* As cbt_arrival(), for a GSO packet or a segment of it. */
static int cbt_segment(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free, u32 segments, u32 class)
{
	return cbt_arrival(skb, sch, to_free, segments, class, false);
}

static int cbt_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	u32 class;
	int ret;

	ret = filter_class(skb, sch, CBT_CLASSES - 1, &class, to_free);
	if (ret)
		return ret;
	if (!class || class >= CBT_CLASSES)
		class = cbt_classify(&q->params, skb);
	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso, class,
					 cbt_segment);
	/* A copy for one class takes about 10 instructions less per packet. */
	if (likely(class == CBT_TCP))
		return cbt_arrival(skb, sch, to_free, 1, CBT_TCP, true);
	return cbt_arrival(skb, sch, to_free, 1, class, true);
}

static struct sk_buff *cbt_dequeue(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	struct sk_buff *skb = skb_peek(&fifo->packets);
	u32 class;

	if (!skb)
		return NULL;
	class = cbt_class_in(skb);
	cbt_remove(sch, skb, class);
	_bstats_update(&q->vars.cls[class].sent, qdisc_pkt_len(skb),
		       queued_cb(skb)->segments);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* Start the classes of an empty queue. */
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

	red_fifo_reset(sch, &q->vars.fifo, &q->params.avg[CBT_ALL]);
	cbt_restart(q);
}

/* For aqm_queue_trim(): remove the newest packet, unless the rest fits. */
static struct sk_buff *cbt_evict(struct Qdisc *sch, bool again)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = red_fifo_excess(sch, &q->vars.fifo);
	u32 class;

	if (!skb)
		return NULL;
	class = cbt_class_in(skb);
	cbt_remove(sch, skb, class);
	q->vars.cls[class].drops++;
	return skb;
}

/*
 * RED's max for a threshold @q of the share law: 1.1 q, as min is 0.9 q. At least 2
 * units, so that a min above 0 is below it.
 */
static u32 cbt_max(u64 q)
{
	return clamp_t(u64, q + div_u64(q, 10), 2, CBT_MAX_THRESHOLD);
}

/* Collect the inputs of the share law, by class. */
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

/* Set the thresholds, RED's parameters and the limit. Return: sum of thresholds. */
static u64 cbt_thresholds(struct cbt_params *p, const struct share_class *sh)
{
	u32 mean = (p->packet_tcp + p->packet_tagged + p->packet_other) / 3;
	struct gentle_red_params *red, *all = &p->avg[CBT_ALL];
	struct share_total total = {};
	u64 rate = p->bandwidth, q;
	u32 i;

	all->ptime = red_queue_ptime(rate, mean);
	for (i = CBT_TCP; i < CBT_CLASSES; i++) {
		red = &p->avg[i];
		*red = *all;
		red->ptime = red_queue_ptime(rate, sh[i].packet);
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
		red->min_th = p->min ?: max_t(u64, div_u64(9ULL * red->max_th, 11), 1);
		red->weight = p->weight ?:
			      red_queue_weight(rate, i == CBT_ALL ? mean :
					       sh[i].packet, p->limit);
	}
	return total.sum;
}

/* Fill in the defaults, compute the parameters, and reject contradictions. */
static int cbt_derive(struct Qdisc *sch, struct cbt_params *p,
		      struct netlink_ext_ack *extack)
{
	u32 longest = max3(p->packet_tcp, p->packet_tagged, p->packet_other);
	struct share_class sh[CBT_CLASSES] = {};
	const struct gentle_red_params *red;
	u64 sum;

	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	cbt_shares(p, sh);
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

	if (red_queue_ptime(p->bandwidth, longest) == U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "the longest packet takes too long: raise bandwidth");
		return -EINVAL;
	}
	/* Each share may have been rounded up by half a unit. */
	if ((u64)p->share_tcp + p->share_tagged + p->share_other >
	    SHARE_LAW_ONE + CBT_CLASSES) {
		NL_SET_ERR_MSG_MOD(extack, "the three shares add up to more than 1");
		return -EINVAL;
	}
	red = &p->avg[p->red_all ? CBT_ALL : CBT_TCP];
	if (red->min_th >= red->max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (!aqm_policy_is_right(&p->signal, extack))
		return -EINVAL;
	if (!aqm_warn_of_memory(sch, p->memory_limit, extack) &&
	    (u64)p->limit * CBT_UNIT < sum)
		NL_SET_ERR_MSG_MOD(extack, "limit is below the sum of the thresholds");
	p->min = red->min_th;
	p->max = red->max_th;
	p->weight = red->weight;
	p->threshold_tagged = p->avg[CBT_TAGGED].max_th;
	p->threshold_other = p->avg[CBT_OTHER].max_th;
	return 0;
}

/* Return the packets of a class in the queue, or of all classes. */
static u32 cbt_segments(const struct cbt_sched_data *q, u32 class)
{
	return class == CBT_ALL ? q->queue.segments : q->vars.cls[class].segments;
}

/* Return RED's state as the next arrival would find it. */
static struct gentle_red_vars cbt_snapshot(struct cbt_sched_data *q, u32 class)
{
	return gentle_red_snapshot(&q->params.avg[class], cbt_red_of(&q->vars, class),
				   cbt_segments(q, class), ktime_get_ns());
}

/* red was changed, so RED uses another average: start it, and RED's count. */
static void cbt_switch(struct cbt_sched_data *q, const struct cbt_params *p)
{
	struct gentle_red_vars *red = &q->vars.fifo.red;
	int i;

	q->vars.cls[CBT_TCP].red.count = 0;
	gentle_red_init(red, &p->avg[CBT_ALL], ktime_get_ns());
	for (i = CBT_TCP; i < CBT_CLASSES && p->red_all; i++)
		red->avg += cbt_snapshot(q, i).avg;
}

/* Let the averages go on with other parameters. */
static void cbt_change_red(struct cbt_sched_data *q, const struct cbt_params *p)
{
	struct gentle_red_vars *red;
	u64 now = ktime_get_ns();
	int i;

	for (i = CBT_ALL; i < CBT_CLASSES; i++) {
		red = cbt_red_of(&q->vars, i);
		gentle_red_settle(red, &q->params.avg[i], &p->avg[i],
				  cbt_segments(q, i), now);
		if (p->bandwidth != q->params.bandwidth)
			gentle_red_follow(red, q->params.avg[i].max_th,
					  p->avg[i].max_th, cbt_segments(q, i));
		gentle_red_change(red, &q->params.avg[i], &p->avg[i]);
	}
	if (p->red_all != q->params.red_all)
		cbt_switch(q, p);
}

/* Keep the packets that fit. */
static int cbt_apply(struct Qdisc *sch, struct aqm_given *given,
		     struct netlink_ext_ack *extack)
{
	struct cbt_params *p = aqm_params_of(cbt, given);
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct red_fifo *fifo = &q->vars.fifo;
	bool draws = p->victim != CBT_VICTIM_ARRIVAL;
	void **slots = NULL;
	int err;

	err = cbt_derive(sch, p, extack);
	if (!err && draws && (!fifo->draw.slots || p->limit != q->queue.limit))
		err = red_fifo_alloc(&slots, p->limit, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	cbt_change_red(q, p);
	q->params = *p;
	if (aqm_changed(p, TCA_CBT_SEED))
		seeded_random_init(&fifo->random, p->seed);
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, cbt_evict);
	slots = red_fifo_draw(fifo, slots, draws);
	sch_tree_unlock(sch);
	kvfree(slots);
	return 0;
}

static const struct aqm_kind cbt_kind = {
	.options	= &cbt_options,
	.bandwidth	= TCA_CBT_BANDWIDTH,
	.apply		= cbt_apply,
};

static int cbt_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int cbt_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	struct cbt_params *p = &q->params;
	void **slots = NULL;
	int i;
	int err;

	err = aqm_init(sch, &cbt_kind, &p->given, opt, extack);
	if (!err)
		err = cbt_derive(sch, p, extack);
	if (!err && p->victim != CBT_VICTIM_ARRIVAL)
		err = red_fifo_alloc(&slots, p->limit, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	red_fifo_init(&q->vars.fifo, slots, &p->avg[CBT_ALL], p->seed);
	for (i = CBT_TCP; i < CBT_CLASSES; i++)
		gnet_stats_basic_sync_init(&q->vars.cls[i].sent);
	cbt_restart(q);
	return aqm_start(sch, extack);
}

static void cbt_destroy(struct Qdisc *sch)
{
	struct cbt_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	red_fifo_destroy(&q->vars.fifo);
}

static int cbt_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Fill in the state as of now. */
static void cbt_stats(struct Qdisc *sch, struct tc_cbt_qdisc_stats *st)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	u32 on = q->params.red_all ? CBT_ALL : CBT_TCP;
	const struct gentle_red_params *p = &q->params.avg[on];
	const struct cbt_class *cls = q->vars.cls;
	struct gentle_red_vars red;

	red = cbt_snapshot(q, on);
	*st = (struct tc_cbt_qdisc_stats) {
		.avg		= cbt_snapshot(q, CBT_ALL).avg,
		.avg_tcp	= cbt_snapshot(q, CBT_TCP).avg,
		.avg_tagged	= cbt_snapshot(q, CBT_TAGGED).avg,
		.avg_other	= cbt_snapshot(q, CBT_OTHER).avg,
		.segments	= q->queue.segments,
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
		.drop_filter	= q->queue.drops[AQM_DROP_FILTER],
	};
	if (!q->params.red_all)
		st->avg = st->avg_tcp + st->avg_tagged + st->avg_other;
	AQM_SIGNAL_STATS(st, &q->queue);
	aqm_common_stats(sch, st);
}

static int cbt_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_cbt_xstats st = { .type = TC_AQM_XSTATS_QDISC };

	sch_tree_lock(sch);
	cbt_stats(sch, &st.qdisc);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
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
	st.cls.avg = cbt_snapshot(q, cl).avg;
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

static int __init cbt_module_init(void)
{
	return aqm_register(&cbt_qdisc_ops);
}

static void __exit cbt_module_exit(void)
{
	aqm_unregister(&cbt_qdisc_ops);
}

module_init(cbt_module_init);
module_exit(cbt_module_exit);
MODULE_ALIAS_NET_SCH("cbt");
MODULE_DESCRIPTION("Class-Based Thresholds (CBT) queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
