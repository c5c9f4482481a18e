// SPDX-License-Identifier: GPL-2.0
/*
 * RED+Tail: short flows and long flows in two virtual queues
 *
 * Dropping a packet of a short flow hardly reduces the load, and delays that
 * flow by several times its lifetime. Bursts of short flows also make RED's
 * average jump, and RED then drops packets needlessly. RED+Tail separates the
 * two. New flows, short flows and UDP wait in a drop-tail queue, whose service
 * rate grows with its length. Long-lived TCP waits in a queue under Adaptive
 * RED, which gets the rest of the link. Both queues share one buffer.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4 (ISR TR 2003-9), sections III and V.
 *
 * The rule. Queue 1 holds the short flows and q1 is its length. C is the link's
 * rate.
 *
 * Classification (III-B): a pair of addresses that was not seen for tau is new.
 * Its first N TCP packets go to queue 1, all others to queue 2, until tau
 * passes without a packet. Packets that are not TCP go to queue 1.
 *
 * Service (III-B), with a rate for queue 1 that grows with q1:
 * <aqm/redtail/short_share.h>.
 *
 * Queue 2: Adaptive RED, gentle, on the length of queue 2: <aqm/gentle_red.h>.
 *
 * Buffer: an arrival for either queue is lost if it does not fit.
 *
 * Dynamic thresholds (V), off by default, follow the average of lost packets to
 * arrivals: <aqm/redtail/floating_red.h>.
 *
 * Deviations from the paper, and our decisions where it is silent:
 *  - The paper's C1 and C2 are rates on a link of known rate. Ours are shares
 *    of the bytes served, so that any parent or device can set the pace. C1min
 *    is a floor above min1 too: <aqm/redtail/short_share.h>. Either queue gets the
 *    whole link if the other is empty.
 *  - Packet N + 1 is the first to go to queue 2. Lost packets count towards N.
 *  - A flow must also have existed for "age" to be long (0: the paper's rule).
 *  - The flow table compares complete keys and has a fixed size. If it is full,
 *    see <aqm/redtail/flow_age.h>.
 *  - Filters and skb->priority can select the queue: class 1 short, class 2
 *    long.
 *  - An arrival larger than the buffer fits into an empty buffer. Otherwise a
 *    GSO packet might never pass. A packet that a parent has peeked at, or that
 *    a driver handed back, does not count in the buffer.
 *  - Bytes are counted as on the wire, with the link header. A GSO packet
 *    counts its segments as packets of its flow. It is classified once and then
 *    split. Unsplit it is one arrival of all its bytes.
 *  - The buffer defaults to 100 ms of the link; the paper has 427 ms. The
 *    thresholds have the paper's proportions to the buffer. memory_limit bounds
 *    the memory of the queued packets.
 *  - Marks count as losses in P, because both signal congestion to the sender.
 *  - The floating thresholds move at most once in 0.5 s, and only when a packet
 *    arrives, because P does not change without arrivals. They stay between
 *    avpkt and limit - max1, so that the long queue leaves room for the short
 *    one.
 *
 * Parameters and units: tc-redtail(8), and the policy below. The paper's text
 * does not give N, tau, C1min, C1max and gamma. The man page gives our values
 * and the reasons.
 */

#include <linux/jhash.h>
#include <net/pkt_sched.h>
#include <aqm/redtail/floating_red.h>
#include <aqm/redtail/flow_age.h>
#include <aqm/packet_flow.h>
#include <aqm/red_queue.h>
#include <aqm/redtail/short_share.h>
#include <aqm/frame.h>
#include <aqm/split_gso.h>
#include <uapi/linux/pkt_sched_redtail.h>

#define REDTAIL_SHORT	((u32)SHORT_SHARE_SHORT)
#define REDTAIL_LONG	((u32)SHORT_SHARE_LONG)
#define REDTAIL_QUEUES	((u32)SHORT_SHARE_QUEUES)

/* The buffer defaults to 100 ms of the link, but at least to 100 ms of 1 Mb/s: 8
 * full packets, which TCP's window needs. It is at most half of memory_limit,
 * because a packet takes up to twice its length in memory.
 */
#define REDTAIL_BUFFERS_PER_S	10U
#define REDTAIL_LEAST_LIMIT	12500U

struct redtail_params {
	struct aqm_given		given;
	struct congestion_policy	signal;
	u64				tau_ns;
	u64				age_ns;
	struct short_share_params	share;
	struct floating_red_params	floating;
	/* The long queue's RED, in bytes, with the configured min2 and max2. */
	struct gentle_red_params	red;

	TC_REDTAIL_OPTIONS(AQM_PARAM, 0)
};

AQM_OPTIONS(redtail_options, struct redtail_params, TC_REDTAIL_OPTIONS);
AQM_STATS_ARE_WHOLE(struct tc_redtail_qdisc_stats, TC_REDTAIL_QDISC_STATS);
AQM_STATS_ARE_WHOLE(struct tc_redtail_class_stats, TC_REDTAIL_CLASS_STATS);

static_assert(REDTAIL_MAX_LIMIT == SHORT_SHARE_MAX_TH);

/**
 * struct redtail_queue - a virtual queue
 * @packets: the packets, in order
 * @backlog: bytes queued
 * @loss: average of lost or marked packets to arrivals, Q0.32
 * @sent: bytes served
 * @arrived: packets that arrived
 * @dropped: packets that were dropped
 * @overflow: packets that were dropped because the buffer was full
 */
struct redtail_queue {
	struct qdisc_skb_head	packets;
	u32			backlog;
	u32			loss;
	u64			sent;
	u64			arrived;
	u32			dropped;
	u64			overflow;
};

/**
 * struct redtail_vars - state of the datapath; under the qdisc lock. A packet of
 *	a short flow uses the cache lines before @red.
 * @flows: the flow table
 * @arriving: queue of the arriving packet
 * @now: time of its arrival, ns; 0 until the clock is read
 * @credit: bytes that the short queue is owed, times 2^32
 * @salt: salt of the hash of @flows
 * @queues: short and long
 * @red: average and max_p of the long queue
 * @red_now: RED's parameters with the present thresholds
 * @move_at: earliest time of the next move of the thresholds, ns
 * @random: generator for the decisions about arrivals
 */
struct redtail_vars {
	struct flow_age_table		flows;
	struct redtail_queue		*arriving;
	u64				now;
	s64				credit;
	u32				salt;
	struct redtail_queue		queues[REDTAIL_QUEUES];
	struct gentle_red_vars		red;
	struct gentle_red_params	red_now;
	u64				move_at;
	struct seeded_random		random;
} ____cacheline_aligned;

/**
 * struct redtail_stats - counters; see TC_REDTAIL_QDISC_STATS
 * @red: steps of max_p
 * @flows: counters of the flow table
 * @flows_long: flows that became long
 * @min2_raised: steps of the dynamic thresholds up
 * @min2_lowered: steps of the dynamic thresholds down
 */
struct redtail_stats {
	struct gentle_red_stats	red;
	struct flow_age_stats	flows;
	u64			flows_long;
	u64			min2_raised;
	u64			min2_lowered;
};

/* Members used per packet come first. */
struct redtail_sched_data {
	struct aqm_queue	queue;
	struct redtail_params	params;
	struct redtail_vars	vars;
	struct redtail_stats	stats;
};

/* Return the time of the arrival in ns. Read the clock once at most. */
static u64 redtail_now(struct redtail_vars *v)
{
	if (!v->now)
		v->now = ktime_get_ns();
	return v->now;
}

static u32 redtail_hash(const struct redtail_vars *v,
			const struct flow_key *key)
{
	/* IPv4: skip the words that are 0. */
	if (likely(key->kind == FLOW_DISSECTOR_KEY_IPV4_ADDRS))
		return jhash_3words(key->src[0], key->dst[0], key->ports,
				    v->salt);
	return jhash(key, sizeof(*key), v->salt);
}

/* III-B: return the queue of a packet. */
static inline u32 redtail_classify(struct redtail_sched_data *q,
				   const struct sk_buff *skb)
{
	const struct redtail_params *p = &q->params;
	struct redtail_vars *v = &q->vars;
	struct packet_flow f;
	struct flow_age *fa;

	packet_flow_read(skb, &f);
	if (f.protocol != IPPROTO_TCP || !f.key.kind)
		return REDTAIL_SHORT;
	if (p->key != REDTAIL_KEY_FLOW)
		f.key.ports = 0;
	fa = flow_age_see(&v->flows, &q->stats.flows, &f.key,
			  redtail_hash(v, &f.key), queued_segments(skb),
			  redtail_now(v), p->tau_ns);
	if (!fa->tag && fa->packets > p->packets &&
	    redtail_now(v) - fa->first >= p->age_ns) {
		fa->tag = 1;
		q->stats.flows_long++;
	}
	return fa->tag ? REDTAIL_LONG : REDTAIL_SHORT;
}

/* Section V: the dynamic thresholds. */
static void redtail_move_thresholds(struct redtail_sched_data *q, u64 now)
{
	struct redtail_vars *v = &q->vars;
	s32 step;

	if (!q->params.dynamic || now < v->move_at)
		return;
	v->move_at = now + GENTLE_RED_INTERVAL;
	step = floating_red_move(&q->params.floating, &v->red_now,
				 v->queues[REDTAIL_LONG].loss);
	q->stats.min2_raised += step > 0;
	q->stats.min2_lowered += step < 0;
}

/* Queue 2: apply RED to an arrival. The signal is PASS unless it also @fits. */
static enum congestion_signal
redtail_red(struct Qdisc *sch, struct sk_buff *skb, bool fits, bool *forced)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	enum congestion_signal signal;
	enum gentle_red_verdict verdict;
	u64 now = redtail_now(v);

	redtail_move_thresholds(q, now);
	gentle_red_average(&v->red_now, &v->red,
			   v->queues[REDTAIL_LONG].backlog, now);
	gentle_red_adapt(&v->red_now, &v->red, &q->stats.red, now);
	verdict = gentle_red_verdict(&v->red_now, &v->red, &v->random);
	if (likely(verdict == GENTLE_RED_PASS || !fits))
		return CONGESTION_PASS;
	qdisc_qstats_overlimit(sch);
	signal = congestion_signal(&q->params.signal, skb,
				   verdict == GENTLE_RED_FORCED);
	*forced = verdict == GENTLE_RED_FORCED;
	congestion_count(&q->queue.signal, signal, *forced);
	return signal;
}

static int redtail_drop_arrival(struct sk_buff *skb, struct Qdisc *sch,
				struct redtail_queue *rq, enum aqm_drop cause,
				struct sk_buff **to_free)
{
	rq->dropped++;
	rq->overflow += cause == AQM_DROP_LIMIT;
	rq->loss = floating_red_loss(rq->loss, true);
	return aqm_drop(skb, sch, cause, to_free);
}

/* Return the bytes in both queues. */
static u32 redtail_backlog(const struct redtail_sched_data *q)
{
	return q->vars.queues[REDTAIL_SHORT].backlog +
	       q->vars.queues[REDTAIL_LONG].backlog;
}

/* As aqm_queue_full(), with limit in bytes. */
static enum aqm_drop redtail_full(const struct redtail_sched_data *q,
				  const struct sk_buff *skb)
{
	if (q->queue.segments &&
	    (u64)redtail_backlog(q) + qdisc_pkt_len(skb) > q->queue.limit)
		return AQM_DROP_LIMIT;
	if ((u64)q->queue.truesize + skb->truesize > q->queue.memory_limit)
		return AQM_DROP_MEMORY;
	return AQM_DROP_NONE;
}

/* Queue, mark or drop a packet, or one segment of it, for the queue vars.arriving. */
static __always_inline int redtail_enqueue_one(struct sk_buff *skb,
					       struct Qdisc *sch,
					       struct sk_buff **to_free,
					       u32 segments, u32 class)
{
	enum congestion_signal signal = CONGESTION_PASS;
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	struct redtail_queue *rq = v->arriving;
	bool is_long = rq == &v->queues[REDTAIL_LONG];
	enum aqm_drop full = redtail_full(q, skb);
	bool forced = false;

	rq->arrived++;
	if (is_long)
		signal = redtail_red(sch, skb, !full, &forced);
	if (unlikely(full))
		return redtail_drop_arrival(skb, sch, rq, full, to_free);
	if (unlikely(signal == CONGESTION_DROP))
		return redtail_drop_arrival(skb, sch, rq,
					    aqm_drop_signal(forced), to_free);

	rq->loss = floating_red_loss(rq->loss, signal == CONGESTION_MARKED);
	aqm_queue_add(sch, skb, segments, v->now);
	__qdisc_enqueue_tail(skb, &rq->packets);
	rq->backlog += qdisc_pkt_len(skb);
	return NET_XMIT_SUCCESS;
}

static int redtail_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			   struct sk_buff **to_free)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	u32 minor;
	int ret;

	ret = filter_class(skb, sch, REDTAIL_QUEUES, &minor, to_free);
	if (unlikely(ret))
		return ret;
	v->now = 0;
	if (likely(!minor || minor > REDTAIL_QUEUES))
		minor = redtail_classify(q, skb) + 1;
	v->arriving = &v->queues[minor - 1];
	/* The segments of a packet stay together. */
	if (unlikely(queued_is_gso(skb)))
		return split_gso_enqueue(skb, sch, to_free, q->params.split_gso,
					 0, redtail_enqueue_one);
	return redtail_enqueue_one(skb, sch, to_free, 1, 0);
}

/* Take the first packet of a queue that is not empty. */
static inline struct sk_buff *redtail_remove(struct Qdisc *sch,
					     struct redtail_queue *rq)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	struct sk_buff *skb;

	skb = rq->packets.head;
	aqm_queue_remove(sch, skb);
	__qdisc_dequeue_head(&rq->packets);
	rq->backlog -= qdisc_pkt_len(skb);
	if (rq == &v->queues[REDTAIL_LONG])
		red_queue_removed(&v->red, rq->packets.qlen);
	/* The link becomes idle, which clears all credit. */
	if (!q->queue.segments)
		v->credit = 0;
	return skb;
}

static u32 redtail_first_len(const struct redtail_queue *rq)
{
	return rq->packets.head ? qdisc_pkt_len(rq->packets.head) : 0;
}

static struct sk_buff *redtail_dequeue(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	struct redtail_queue *s = &v->queues[REDTAIL_SHORT];
	struct redtail_queue *l = &v->queues[REDTAIL_LONG];
	struct redtail_queue *rq;
	struct sk_buff *skb;

	if (!q->queue.segments)
		return NULL;
	rq = &v->queues[short_share_pick(&q->params.share, &v->credit,
					 s->packets.qlen, redtail_first_len(s),
					 l->packets.qlen, redtail_first_len(l),
					 s->backlog)];
	skb = redtail_remove(sch, rq);
	rq->sent += qdisc_pkt_len(skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/*
 * For aqm_queue_trim(): remove the first packet, of the long queue if it has one. The
 * last packet stays even if it is too large: see redtail_full().
 */
static struct sk_buff *redtail_evict(struct Qdisc *sch, bool again)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_queue *s = &q->vars.queues[REDTAIL_SHORT];
	struct redtail_queue *l = &q->vars.queues[REDTAIL_LONG];
	struct redtail_queue *rq = l->packets.qlen ? l : s;

	if ((redtail_backlog(q) <= q->queue.limit || aqm_queue_len(sch) <= 1) &&
	    q->queue.truesize <= q->queue.memory_limit)
		return NULL;
	rq->dropped++;
	return redtail_remove(sch, rq);
}

static void redtail_reset(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	u32 i;

	aqm_queue_reset(sch);
	for (i = 0; i < REDTAIL_QUEUES; i++) {
		__qdisc_reset_queue(&v->queues[i].packets);
		v->queues[i].backlog = 0;
		v->queues[i].loss = 0;
	}
	v->red_now = q->params.red;
	gentle_red_init(&v->red, &v->red_now, now);
	v->move_at = now + GENTLE_RED_INTERVAL;
	v->credit = 0;
	if (v->flows.slots)
		flow_age_forget(&v->flows);
}

/* A threshold defaults to @num / @den of the buffer, as in table II. */
static u32 redtail_threshold(u32 given, u32 limit, u32 num, u32 den, u32 least)
{
	return given ?: max_t(u32, div_u64((u64)limit * num, den), least);
}

/* Warn about options that are allowed, but disable part of the paper's rule. */
static void redtail_warn(struct Qdisc *sch, const struct redtail_params *p,
			 struct netlink_ext_ack *extack)
{
	u32 packet = psched_mtu(qdisc_dev(sch));

	if (aqm_warn_of_memory(sch, p->memory_limit, extack))
		return;
	if (p->limit < packet)
		NL_SET_ERR_MSG_MOD(extack, "limit, in bytes, is below one full packet");
	else if (p->limit <= p->red.min_th)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above min2: RED never acts");
	else if (p->limit <= p->red.max_th)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above max2: full before RED is at max_p");
}

/* The default buffer for a bandwidth and memory_limit, bytes. */
static u32 redtail_limit(u64 bandwidth, u32 memory_limit)
{
	u64 limit = max_t(u64, div_u64(bandwidth, REDTAIL_BUFFERS_PER_S),
			  REDTAIL_LEAST_LIMIT);

	return min_t(u64, limit, min_t(u32, memory_limit / 2 ?: 1,
				       REDTAIL_MAX_LIMIT));
}

static int redtail_derive(struct Qdisc *sch, struct redtail_params *p,
			  struct netlink_ext_ack *extack)
{
	struct gentle_red_params *red = &p->red;
	const char *wrong;

	p->bandwidth = aqm_rate(sch, p->bandwidth);
	p->memory_limit = p->memory_limit ?: aqm_memory(p->limit, p->bandwidth);
	p->limit = p->limit ?: redtail_limit(p->bandwidth, p->memory_limit);
	p->min1 = redtail_threshold(p->min1, p->limit, 1, 80, 1);
	p->max1 = redtail_threshold(p->max1, p->limit, 3, 16, 2);
	p->min2 = redtail_threshold(p->min2, p->limit, 1, 8, 1);
	p->max2 = redtail_threshold(p->max2, p->limit, 1, 2, 2);
	p->weight = p->weight ?:
		    red_queue_weight(p->bandwidth, p->avpkt, U32_MAX);
	p->tau_ns = (u64)p->tau * NSEC_PER_USEC;
	p->age_ns = (u64)p->age * NSEC_PER_USEC;
	p->signal = (struct congestion_policy)AQM_CONGESTION_POLICY(p);
	short_share_set(&p->share, p->min1, p->max1, p->share_min,
			p->share_max);
	p->share_min = p->share.least;
	*red = (struct gentle_red_params) {
		.min_th		= p->min2,
		.max_th		= p->max2,
		.max_p		= p->probability,
		.bottom		= GENTLE_RED_BOTTOM,
		.top		= GENTLE_RED_TOP,
		.weight		= p->weight,
		.ptime		= red_queue_ptime(p->bandwidth, p->avpkt),
		.gentle		= true,
		.wait		= true,
		.adaptive	= p->adaptive,
	};
	p->floating = (struct floating_red_params) {
		.low		= p->low,
		.high		= p->high,
		.gamma		= p->gamma,
		.floor		= min(p->avpkt, red->min_th),
		.ceiling	= max(red->max_th, p->limit -
						   min(p->max1, p->limit)),
	};

	if (p->min1 >= p->max1)
		wrong = "min1 must be below max1";
	else if (red->min_th >= red->max_th)
		wrong = "min2 must be below max2";
	else if (p->share.least > p->share.most)
		wrong = "share_min must not be above share_max";
	else if (p->low >= p->high)
		wrong = "low must be below high";
	else if (p->nodrop && !p->ecn)
		wrong = "nodrop needs ecn";
	else
		wrong = gentle_red_check(red);
	if (wrong) {
		aqm_set_message(extack, wrong);
		return -EINVAL;
	}
	redtail_warn(sch, p, extack);
	return 0;
}

/* Allocate a flow table. Return: 0 or an error */
static int redtail_alloc(struct flow_age_table *t, u32 flows,
			 struct netlink_ext_ack *extack)
{
	u32 sets = flow_age_sets(flows);

	t->slots = kvcalloc(sets, FLOW_AGE_SET, GFP_KERNEL_ACCOUNT);
	/* One block for both would be rounded up to a power of two. */
	t->orders = kvcalloc(sets, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (t->slots && t->orders)
		return 0;
	kvfree(t->slots);
	kvfree(t->orders);
	NL_SET_ERR_MSG_MOD(extack, "no memory for the flow table");
	return -ENOMEM;
}

static void redtail_seed(struct redtail_vars *v, u32 seed)
{
	u32 salt;

	seeded_random_init(&v->random, seed);
	/* Drops reveal the random sequence, which must not reveal the salt. */
	salt = seeded_random_u32(&v->random);
	v->salt = seed ? salt : get_random_u32();
}

/* Change RED's parameters. Moved thresholds stay unless min2 or max2 changes. */
static void redtail_change_red(struct redtail_sched_data *q,
			       const struct redtail_params *p)
{
	struct redtail_vars *v = &q->vars;
	u32 min_th = v->red_now.min_th;
	bool keep = p->dynamic && p->red.min_th == q->params.red.min_th &&
		    p->red.max_th == q->params.red.max_th;
	u64 now = ktime_get_ns();

	/* The old parameters apply to the steps that are already due. */
	gentle_red_settle(&v->red, &q->params.red, &p->red,
			  v->queues[REDTAIL_LONG].backlog, now);
	gentle_red_adapt(&v->red_now, &v->red, &q->stats.red, now);
	if (p->bandwidth != q->params.bandwidth)
		gentle_red_follow(&v->red, q->params.red.max_th,
				  p->red.max_th, v->queues[REDTAIL_LONG].backlog);
	gentle_red_change(&v->red, &q->params.red, &p->red);
	v->red_now = p->red;
	if (keep)
		floating_red_keep(&p->floating, &v->red_now, min_th);
}

static int redtail_apply(struct Qdisc *sch, struct aqm_given *given,
			 struct netlink_ext_ack *extack)
{
	struct redtail_params *p = aqm_params_of(redtail, given);
	struct redtail_sched_data *q = qdisc_priv(sch);
	bool seed = aqm_changed(p, TCA_REDTAIL_SEED);
	struct redtail_vars *v = &q->vars;
	struct flow_age_table flows = {}, old;
	int err;

	err = redtail_derive(sch, p, extack);
	if (!err && p->flows != q->params.flows)
		err = redtail_alloc(&flows, p->flows, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	if (seed)
		redtail_seed(v, p->seed);
	/* These change the position of a flow, so the table starts empty. */
	if (flows.slots) {
		old = v->flows;
		flow_age_init(&v->flows, flows.slots, flows.orders,
			      flow_age_sets(p->flows));
		flows = old;
	} else if (seed || p->key != q->params.key) {
		flow_age_forget(&v->flows);
	}
	redtail_change_red(q, p);
	q->params = *p;
	aqm_set(sch, given, p->bandwidth, p->limit, p->memory_limit);
	aqm_queue_trim(sch, redtail_evict);
	sch_tree_unlock(sch);
	kvfree(flows.slots);
	kvfree(flows.orders);
	return 0;
}

static const struct aqm_kind redtail_kind = {
	.options	= &redtail_options,
	.bandwidth	= TCA_REDTAIL_BANDWIDTH,
	.apply		= redtail_apply,
};

static int redtail_change(struct Qdisc *sch, struct nlattr *opt,
			  struct netlink_ext_ack *extack)
{
	return aqm_change(sch, opt, extack);
}

static int redtail_init(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_params *p = &q->params;
	struct redtail_vars *v = &q->vars;
	struct flow_age_table flows;
	u64 now;
	int err;

	err = aqm_init(sch, &redtail_kind, &p->given, opt, extack);
	if (!err)
		err = redtail_derive(sch, p, extack);
	if (!err)
		err = redtail_alloc(&flows, p->flows, extack);
	if (err)
		return err;

	aqm_set(sch, &p->given, p->bandwidth, p->limit, p->memory_limit);
	now = ktime_get_ns();
	flow_age_init(&v->flows, flows.slots, flows.orders,
		      flow_age_sets(p->flows));
	redtail_seed(v, p->seed);
	v->red_now = p->red;
	gentle_red_init(&v->red, &p->red, now);
	v->move_at = now + GENTLE_RED_INTERVAL;
	return aqm_start(sch, extack);
}

static void redtail_destroy(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);

	aqm_destroy(sch);
	kvfree(q->vars.flows.slots);
	kvfree(q->vars.flows.orders);
}

static int redtail_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return aqm_dump(sch, skb);
}

/* Fill in the state as of now. */
static void redtail_stats(struct Qdisc *sch, struct tc_redtail_qdisc_stats *st)
{
	const struct redtail_sched_data *q = qdisc_priv(sch);
	const struct redtail_queue *s = &q->vars.queues[REDTAIL_SHORT];
	const struct redtail_queue *l = &q->vars.queues[REDTAIL_LONG];
	const struct redtail_stats *c = &q->stats;
	const struct redtail_params *p = &q->params;
	struct gentle_red_vars red;

	red = gentle_red_snapshot(&q->vars.red_now, &q->vars.red, l->backlog,
				  ktime_get_ns());
	*st = (struct tc_redtail_qdisc_stats) {
		.sent_short	= s->sent,
		.sent_long	= l->sent,
		.credit		= q->vars.credit >> 32,
		.min1		= p->share.min1,
		.max1		= p->share.max1,
		.min2		= q->vars.red_now.min_th,
		.max2		= q->vars.red_now.max_th,
		.share_min	= p->share.least,
		.share_max	= p->share.most,
		.weight		= p->red.weight,
		.backlog_short	= s->backlog,
		.backlog_long	= l->backlog,
		.qlen_short	= s->packets.qlen,
		.qlen_long	= l->packets.qlen,
		.share		= short_share(&p->share, s->backlog),
		.avg		= red.avg >> 32,
		.max_p		= red.max_p,
		.loss_short	= s->loss,
		.loss_long	= l->loss,
		.overflow_short	= s->overflow,
		.overflow_long	= l->overflow,
		.max_p_raised	= c->red.raised,
		.max_p_lowered	= c->red.lowered,
		.min2_raised	= c->min2_raised,
		.min2_lowered	= c->min2_lowered,
		.drop_filter	= q->queue.drops[AQM_DROP_FILTER],
		.flows_new	= c->flows.new,
		.flows_long	= c->flows_long,
		.flows_evicted	= c->flows.evicted,
	};
	AQM_SIGNAL_STATS(st, &q->queue);
	aqm_common_stats(sch, st);
}

static int redtail_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_redtail_xstats st = { .type = TC_AQM_XSTATS_QDISC };

	sch_tree_lock(sch);
	redtail_stats(sch, &st.qdisc);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int redtail_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				    struct gnet_dump *d)
{
	struct tc_redtail_xstats st = { .type = TC_AQM_XSTATS_CLASS };
	struct redtail_sched_data *q = qdisc_priv(sch);
	const struct redtail_queue *rq = &q->vars.queues[cl - 1];
	struct gnet_stats_queue qs = {};
	struct gentle_red_vars red;
	u32 share;

	sch_tree_lock(sch);
	qs.qlen = rq->packets.qlen;
	qs.backlog = rq->backlog;
	qs.drops = rq->dropped;
	share = short_share(&q->params.share,
			    q->vars.queues[REDTAIL_SHORT].backlog);
	st.cls.sent = rq->sent;
	st.cls.arrived = rq->arrived;
	st.cls.loss = rq->loss;
	if (cl - 1 == REDTAIL_SHORT) {
		st.cls.share = share;
		st.cls.min = q->params.share.min1;
		st.cls.max = q->params.share.max1;
	} else {
		st.cls.share = U32_MAX - share;
		st.cls.min = q->vars.red_now.min_th;
		st.cls.max = q->vars.red_now.max_th;
		red = gentle_red_snapshot(&q->vars.red_now, &q->vars.red,
					  rq->backlog, ktime_get_ns());
		st.cls.avg = red.avg >> 32;
		st.cls.max_p = red.max_p;
		st.cls.marked = congestion_marked(&q->queue.signal);
	}
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void redtail_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	aqm_walk(sch, arg, REDTAIL_QUEUES);
}

static const struct Qdisc_class_ops redtail_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= redtail_walk,
	.tcf_block	= aqm_tcf_block,
	.bind_tcf	= filter_class_bind,
	.unbind_tcf	= filter_class_unbind,
	.dump		= filter_class_dump,
	.dump_stats	= redtail_dump_class_stats,
};

static struct Qdisc_ops redtail_qdisc_ops __read_mostly = {
	.cl_ops		= &redtail_class_ops,
	.id		= "redtail",
	.priv_size	= sizeof(struct redtail_sched_data),
	.enqueue	= redtail_enqueue,
	.dequeue	= redtail_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= redtail_init,
	.reset		= redtail_reset,
	.destroy	= redtail_destroy,
	.change		= redtail_change,
	.dump		= redtail_dump,
	.dump_stats	= redtail_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init redtail_module_init(void)
{
	return aqm_register(&redtail_qdisc_ops);
}

static void __exit redtail_module_exit(void)
{
	aqm_unregister(&redtail_qdisc_ops);
}

module_init(redtail_module_init);
module_exit(redtail_module_exit);
MODULE_ALIAS_NET_SCH("redtail");
MODULE_DESCRIPTION("RED+Tail queue discipline");
MODULE_INFO(protections, OLD_PARENTS_NAME);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
