// SPDX-License-Identifier: GPL-2.0
/*
 * RED+Tail: short flows and long ones in two virtual queues
 *
 * Dropping a packet of a short flow hardly lessens the load and costs that flow
 * a multiple of its life; bursts of short flows throw RED's average about, and
 * RED then drops where it should not. So the two are kept apart: new and short
 * flows, and UDP, wait in a drop-tail queue, which is served the faster the
 * longer it is; long-lived TCP waits in a queue under Adaptive RED, served
 * with what is left. Both share one buffer.
 *
 * J.-S. Jou, J. S. Baras, "A Parallel Virtual Queue Structure for Active Queue
 * Management", CSHCN TR 2003-4 (ISR TR 2003-9), sections III and V.
 *
 * The rule. Queue 1 is the short one, q1 its length; C is the link's rate.
 *
 * Classification (III-B): a pair of addresses not seen for tau is new. Its
 * first N TCP packets go to queue 1, the rest, until tau passes without one, to
 * queue 2. What is not TCP goes to queue 1.
 *
 * Service (III-B):
 *	q1 = 0:			C1 = 0
 *	0 < q1 <= min1:		C1 = C1min
 *	min1 < q1:		C1 = min(C q1 / max1, C1max)
 *				C2 = C - C1
 *
 * Queue 2: Adaptive RED, gentle, on its own length: <aqm/gentle_red.h>.
 *
 * Buffer: an arrival for either queue is lost if it does not fit.
 *
 * Dynamic thresholds (V), off unless asked for: with P the average of lost
 * packets to arrivals and d = max2 - min2,
 *	P > high:	min2 = min2 (1 + gamma), max2 = min2 + d
 *	P < low:	min2 = min2 (1 - gamma), max2 = min2 + d
 *
 * What is done otherwise than the paper says, or where it is silent:
 *  - The paper's C1 and C2 are rates on a link of known rate. Here they are
 *    shares of the bytes served, whoever decides when to serve: see
 *    redtail_pick(). Either queue gets all if the other is empty.
 *  - C1min is a floor above min1 too, so that the share never falls as q1 grows.
 *  - Packet N + 1 is the first to go to queue 2. Lost packets count.
 *  - A flow must also be "age" old to be long (0: the paper's rule).
 *  - What makes one flow is compared whole; the table's size is bounded:
 *    <aqm/flow_age.h> says what happens when it is full.
 *  - Filters, and skb->priority, can name the queue: class 1 short, 2 long.
 *  - Bytes count as on the wire, the link header included. A GSO packet is
 *    one arrival of all its bytes, and as many packets of its flow as it has
 *    segments.
 *  - Marks count as losses in P: both tell the sender the same.
 *  - The floating thresholds move at most once in 0.5 s, and only as packets
 *    arrive, since P says nothing new without them. They stay between avpkt
 *    and limit - max1, so that the long queue leaves the short one room.
 *
 * Parameters and units: tc-redtail(8), and the policy below. The paper lost N,
 * tau, C1min, C1max and gamma: the man page says what was chosen and why.
 */

#include <linux/in.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/flow_dissector.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <aqm/filter_class.h>
#include <aqm/flow_age.h>
#include <aqm/gentle_red.h>
#include <aqm/seeded_random.h>
#include <uapi/linux/pkt_sched_redtail.h>

#define REDTAIL_SHORT	0
#define REDTAIL_LONG	1
#define REDTAIL_QUEUES	2

#define REDTAIL_LOSS_SHIFT	10	/* weight 2^-10 of an arrival in P */

/* What is not given is Table II's: a buffer of 160 KB for 3 Mb/s, and the
 * thresholds in proportion to the buffer. The buffer grows with the bandwidth
 * within these bounds.
 */
#define REDTAIL_TABLE_BANDWIDTH	375000U
#define REDTAIL_TABLE_LIMIT	160000U
#define REDTAIL_LEAST_SCALE	125000ULL
#define REDTAIL_MOST_SCALE	2000000000ULL

/**
 * struct redtail_params - configuration as given; written by change under the
 *	tree lock. 0 where the value in force is derived.
 * @bandwidth: of the link, bytes per second; converts units, shapes nothing
 * @limit: of the shared buffer, bytes
 * @min1: thresholds of the short queue, bytes
 * @max1: likewise
 * @min2: thresholds of the long queue, bytes
 * @max2: likewise
 * @share_min: C1min / C, Q0.32
 * @share_max: C1max / C, Q0.32
 * @avpkt: size of an average packet, bytes
 * @weight: of the average, Q0.32
 * @probability: where max_p starts, Q0.32
 * @packets: N
 * @age: of the youngest long flow, us
 * @tau: after which a flow is forgotten, us
 * @flows: slots of the flow table
 * @low: P below which the thresholds fall, Q0.32
 * @high: P above which they rise, Q0.32
 * @gamma: by how much, Q0.32
 * @seed: of the random numbers; 0: random
 * @key: what makes a flow
 * @adaptive: max_p follows the average
 * @ecn: mark in place of dropping
 * @harddrop: but drop above 2 max2
 * @nodrop: neither mark nor drop what cannot be marked
 * @dynamic: thresholds follow P
 */
struct redtail_params {
	u64			bandwidth;
	u32			limit;
	u32			min1;
	u32			max1;
	u32			min2;
	u32			max2;
	u32			share_min;
	u32			share_max;
	u32			avpkt;
	u32			weight;
	u32			probability;
	u32			packets;
	u32			age;
	u32			tau;
	u32			flows;
	u32			low;
	u32			high;
	u32			gamma;
	u32			seed;
	enum redtail_key	key;
	bool			adaptive;
	bool			ecn;
	bool			harddrop;
	bool			nodrop;
	bool			dynamic;
};

/**
 * struct redtail_law - what follows from the configuration
 * @limit: bytes held at most
 * @min1: bytes
 * @max1: bytes
 * @share_min: Q0.32, not 0
 * @share_max: Q0.32
 * @min2_floor: least min2 that the dynamic thresholds reach, bytes
 * @max2_ceiling: greatest max2 that they reach, bytes
 * @red: of the long queue, bytes; min2 and max2 before they move
 */
struct redtail_law {
	u32				limit;
	u32				min1;
	u32				max1;
	u32				share_min;
	u32				share_max;
	u32				min2_floor;
	u32				max2_ceiling;
	struct gentle_red_params	red;
};

/**
 * struct redtail_queue - a virtual queue
 * @packets: in order
 * @backlog: bytes held
 * @loss: average of lost or marked packets to arrivals, Q0.32
 * @sent: bytes served
 * @arrived: packets
 * @dropped: packets
 * @overflow: packets of them that found the buffer full
 */
struct redtail_queue {
	struct qdisc_skb_head	packets;
	u32			backlog;
	u32			loss;
	u64			sent;
	u32			arrived;
	u32			dropped;
	u32			overflow;
};

/**
 * struct redtail_vars - state of the datapath; under the qdisc lock
 * @queues: short and long
 * @red_now: RED's configuration with the thresholds as they stand
 * @red: its average and max_p
 * @move_at: earliest time of the next move of the thresholds, ns
 * @credit: bytes that the short queue is owed, times 2^32
 * @flows: the flow table
 * @random: numbers
 * @salt: of the flow table's hash
 */
struct redtail_vars {
	struct redtail_queue		queues[REDTAIL_QUEUES];
	struct gentle_red_params	red_now;
	struct gentle_red_vars		red;
	u64				move_at;
	s64				credit;
	struct flow_age_table		flows;
	struct seeded_random		random;
	u32				salt;
};

/**
 * struct redtail_stats - counters; see struct tc_redtail_qdisc_stats
 * @red: what RED decided; the adaptation's steps
 * @flows: of the flow table
 * @flows_long: flows that became long
 * @early_drop: packets dropped by chance
 * @early_mark: packets marked by chance
 * @forced_drop: packets dropped above 2 max2
 * @forced_mark: packets marked above 2 max2
 * @drop_change: packets discarded because a change lowered the limit
 * @min2_raised: steps of the dynamic thresholds up
 * @min2_lowered: steps of the dynamic thresholds down
 */
struct redtail_stats {
	struct gentle_red_stats	red;
	struct flow_age_stats	flows;
	u32			flows_long;
	u32			early_drop;
	u32			early_mark;
	u32			forced_drop;
	u32			forced_mark;
	u32			drop_change;
	u32			min2_raised;
	u32			min2_lowered;
};

struct redtail_sched_data {
	struct redtail_params	params;
	struct redtail_law	law;
	struct redtail_vars	vars;
	struct redtail_stats	stats;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
};

static void redtail_trim(struct Qdisc *sch);

static struct netlink_range_validation redtail_bandwidth_range = {
	.min = REDTAIL_MIN_BANDWIDTH, .max = REDTAIL_MAX_BANDWIDTH,
};

static struct netlink_range_validation redtail_size_range = {
	.min = 0, .max = REDTAIL_MAX_LIMIT,
};

static struct netlink_range_validation redtail_avpkt_range = {
	.min = REDTAIL_MIN_AVPKT, .max = REDTAIL_MAX_AVPKT,
};

static struct netlink_range_validation redtail_flows_range = {
	.min = 1, .max = REDTAIL_MAX_FLOWS,
};

static const struct nla_policy redtail_policy[TCA_REDTAIL_MAX + 1] = {
	[TCA_REDTAIL_BANDWIDTH]	= NLA_POLICY_FULL_RANGE(NLA_U64,
							&redtail_bandwidth_range),
	[TCA_REDTAIL_LIMIT]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_size_range),
	[TCA_REDTAIL_MIN1]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_size_range),
	[TCA_REDTAIL_MAX1]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_size_range),
	[TCA_REDTAIL_MIN2]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_size_range),
	[TCA_REDTAIL_MAX2]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_size_range),
	[TCA_REDTAIL_SHARE_MIN]	= { .type = NLA_U32 },
	[TCA_REDTAIL_SHARE_MAX]	= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_REDTAIL_AVPKT]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_avpkt_range),
	[TCA_REDTAIL_WEIGHT]	= { .type = NLA_U32 },
	[TCA_REDTAIL_PROBABILITY] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_REDTAIL_ADAPTIVE]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_REDTAIL_ECN]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_REDTAIL_HARDDROP]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_REDTAIL_NODROP]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_REDTAIL_PACKETS]	= { .type = NLA_U32 },
	[TCA_REDTAIL_AGE]	= { .type = NLA_U32 },
	[TCA_REDTAIL_TAU]	= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_REDTAIL_FLOWS]	= NLA_POLICY_FULL_RANGE(NLA_U32,
							&redtail_flows_range),
	[TCA_REDTAIL_KEY]	= NLA_POLICY_MAX(NLA_U8, REDTAIL_KEY_MAX),
	[TCA_REDTAIL_DYNAMIC]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_REDTAIL_LOW]	= { .type = NLA_U32 },
	[TCA_REDTAIL_HIGH]	= { .type = NLA_U32 },
	[TCA_REDTAIL_GAMMA]	= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_REDTAIL_SEED]	= { .type = NLA_U32 },
};

static void redtail_get_u32(u32 *value, const struct nlattr *nla)
{
	if (nla)
		*value = nla_get_u32(nla);
}

static void redtail_get_bool(bool *value, const struct nlattr *nla)
{
	if (nla)
		*value = nla_get_u8(nla);
}

/* Read the options given over @p, which holds what was given before. */
static int redtail_parse(struct redtail_params *p, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_REDTAIL_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_REDTAIL_MAX, opt, redtail_policy,
			       extack);
	if (err < 0)
		return err;

	if (tb[TCA_REDTAIL_BANDWIDTH])
		p->bandwidth = nla_get_u64(tb[TCA_REDTAIL_BANDWIDTH]);
	redtail_get_u32(&p->limit, tb[TCA_REDTAIL_LIMIT]);
	redtail_get_u32(&p->min1, tb[TCA_REDTAIL_MIN1]);
	redtail_get_u32(&p->max1, tb[TCA_REDTAIL_MAX1]);
	redtail_get_u32(&p->min2, tb[TCA_REDTAIL_MIN2]);
	redtail_get_u32(&p->max2, tb[TCA_REDTAIL_MAX2]);
	redtail_get_u32(&p->share_min, tb[TCA_REDTAIL_SHARE_MIN]);
	redtail_get_u32(&p->share_max, tb[TCA_REDTAIL_SHARE_MAX]);
	redtail_get_u32(&p->avpkt, tb[TCA_REDTAIL_AVPKT]);
	redtail_get_u32(&p->weight, tb[TCA_REDTAIL_WEIGHT]);
	redtail_get_u32(&p->probability, tb[TCA_REDTAIL_PROBABILITY]);
	redtail_get_bool(&p->adaptive, tb[TCA_REDTAIL_ADAPTIVE]);
	redtail_get_bool(&p->ecn, tb[TCA_REDTAIL_ECN]);
	redtail_get_bool(&p->harddrop, tb[TCA_REDTAIL_HARDDROP]);
	redtail_get_bool(&p->nodrop, tb[TCA_REDTAIL_NODROP]);
	redtail_get_u32(&p->packets, tb[TCA_REDTAIL_PACKETS]);
	redtail_get_u32(&p->age, tb[TCA_REDTAIL_AGE]);
	redtail_get_u32(&p->tau, tb[TCA_REDTAIL_TAU]);
	redtail_get_u32(&p->flows, tb[TCA_REDTAIL_FLOWS]);
	if (tb[TCA_REDTAIL_KEY])
		p->key = nla_get_u8(tb[TCA_REDTAIL_KEY]);
	redtail_get_bool(&p->dynamic, tb[TCA_REDTAIL_DYNAMIC]);
	redtail_get_u32(&p->low, tb[TCA_REDTAIL_LOW]);
	redtail_get_u32(&p->high, tb[TCA_REDTAIL_HIGH]);
	redtail_get_u32(&p->gamma, tb[TCA_REDTAIL_GAMMA]);
	redtail_get_u32(&p->seed, tb[TCA_REDTAIL_SEED]);
	return 0;
}

/* Table II's threshold, @num / @den of the buffer, unless one is given. */
static u32 redtail_threshold(u32 given, u32 limit, u32 num, u32 den, u32 least)
{
	return given ?: max_t(u32, div_u64((u64)limit * num, den), least);
}

static int redtail_derive(struct redtail_law *law,
			  const struct redtail_params *p,
			  struct netlink_ext_ack *extack)
{
	u64 scale = clamp(p->bandwidth, REDTAIL_LEAST_SCALE,
			  REDTAIL_MOST_SCALE);
	struct gentle_red_params *red = &law->red;
	const char *wrong = NULL;

	law->limit = p->limit ?: div_u64(scale * REDTAIL_TABLE_LIMIT,
					 REDTAIL_TABLE_BANDWIDTH);
	law->min1 = redtail_threshold(p->min1, law->limit, 1, 80, 1);
	law->max1 = redtail_threshold(p->max1, law->limit, 3, 16, 2);
	red->min_th = redtail_threshold(p->min2, law->limit, 1, 8, 1);
	red->max_th = redtail_threshold(p->max2, law->limit, 1, 2, 2);

	law->share_max = p->share_max;
	law->share_min = p->share_min;
	if (!law->share_min && law->min1 < law->max1)
		law->share_min = clamp_t(u64, div_u64((u64)law->min1 << 32,
						      law->max1),
					 1, law->share_max);

	red->max_p = p->probability;
	red->bottom = GENTLE_RED_BOTTOM;
	red->top = GENTLE_RED_TOP;
	red->weight = p->weight ?:
		      gentle_red_auto_weight(min_t(u64, U32_MAX,
						   div_u64(p->bandwidth,
							   p->avpkt)));
	red->ptime = clamp_t(u64, div64_u64((u64)p->avpkt * NSEC_PER_SEC,
					    p->bandwidth), 1, U32_MAX);
	red->gentle = true;
	red->wait = true;
	red->adaptive = p->adaptive;

	law->min2_floor = min(p->avpkt, red->min_th);
	law->max2_ceiling = max(red->max_th, law->limit -
				min(law->max1, law->limit));

	if (law->min1 >= law->max1)
		wrong = "min1 must be below max1";
	else if (red->min_th >= red->max_th)
		wrong = "min2 must be below max2";
	else if (law->share_min > law->share_max)
		wrong = "share_min must not be above share_max";
	else if (p->low >= p->high)
		wrong = "low must be below high";
	else if (p->nodrop && !p->ecn)
		wrong = "nodrop needs ecn";
	else
		wrong = gentle_red_check(red);
	if (!wrong)
		return 0;
	/* NL_SET_ERR_MSG() takes only a literal. */
	if (extack)
		extack->_msg = wrong;
	return -EINVAL;
}

static int redtail_alloc_flows(struct flow_age_table *t, u32 flows,
			       struct netlink_ext_ack *extack)
{
	t->sets = DIV_ROUND_UP(flows, FLOW_AGE_WAYS);
	t->slots = kvcalloc(t->sets * FLOW_AGE_WAYS, sizeof(*t->slots),
			    GFP_KERNEL);
	if (t->slots)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the flow table");
	return -ENOMEM;
}

static void redtail_seed(struct redtail_vars *v, u32 seed)
{
	seeded_random_init(&v->random, seed);
	v->salt = seeded_random_u32(&v->random);
}

/* RED as configured, but with thresholds that have moved where they are. */
static void redtail_change_red(struct redtail_sched_data *q,
			       const struct redtail_law *law, bool dynamic)
{
	struct redtail_vars *v = &q->vars;
	u32 min_th = v->red_now.min_th;
	bool keep = dynamic && law->red.min_th == q->law.red.min_th &&
		    law->red.max_th == q->law.red.max_th;

	gentle_red_change(&v->red, &q->law.red, &law->red);
	v->red_now = law->red;
	if (!keep)
		return;
	v->red_now.min_th = clamp(min_th, law->min2_floor, law->max2_ceiling -
				  (law->red.max_th - law->red.min_th));
	v->red_now.max_th += v->red_now.min_th - law->red.min_th;
}

static int redtail_change(struct Qdisc *sch, struct nlattr *opt,
			  struct netlink_ext_ack *extack)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_params p = q->params;
	struct flow_age_table flows = {};
	struct redtail_law law;
	int err;

	/* Given again, a seed starts the sequence again. */
	p.seed = 0;
	err = redtail_parse(&p, opt, extack);
	if (err < 0)
		return err;
	err = redtail_derive(&law, &p, extack);
	if (err < 0)
		return err;
	/* These change where a flow is found: begin with an empty table. */
	if (p.flows != q->params.flows || p.key != q->params.key || p.seed) {
		err = redtail_alloc_flows(&flows, p.flows, extack);
		if (err < 0)
			return err;
	}

	sch_tree_lock(sch);
	redtail_change_red(q, &law, p.dynamic);
	if (p.seed)
		redtail_seed(&q->vars, p.seed);
	else
		p.seed = q->params.seed;
	if (flows.slots)
		swap(flows, q->vars.flows);
	q->params = p;
	q->law = law;
	WRITE_ONCE(sch->limit, law.limit);
	redtail_trim(sch);
	sch_tree_unlock(sch);
	kvfree(flows.slots);
	return 0;
}

static int redtail_init(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_params p = {
		.bandwidth	= REDTAIL_TABLE_BANDWIDTH,
		.share_max	= U32_MAX / 5 * 4,
		.avpkt		= 1000,
		.probability	= 2 * GENTLE_RED_PERCENT,
		.packets	= 128,
		.tau		= 5 * USEC_PER_SEC,
		.flows		= 4096,
		.low		= 1 * GENTLE_RED_PERCENT,
		.high		= 2 * GENTLE_RED_PERCENT,
		.gamma		= 2 * GENTLE_RED_PERCENT,
		.key		= REDTAIL_KEY_ADDRESSES,
		.adaptive	= true,
	};
	u64 now = ktime_get_ns();
	int err;

	if (opt) {
		err = redtail_parse(&p, opt, extack);
		if (err < 0)
			return err;
	}
	err = redtail_derive(&q->law, &p, extack);
	if (err < 0)
		return err;
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	err = redtail_alloc_flows(&q->vars.flows, p.flows, extack);
	if (err)
		return err;

	redtail_seed(&q->vars, p.seed);
	q->vars.red_now = q->law.red;
	gentle_red_init(&q->vars.red, &q->law.red, now);
	q->vars.move_at = now + GENTLE_RED_INTERVAL;
	q->params = p;
	sch->limit = q->law.limit;
	return 0;
}

static void redtail_destroy(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	kvfree(q->vars.flows.slots);
}

/* C1 / C for a short queue of @q1 bytes, Q0.32 */
static u32 redtail_share(const struct redtail_law *law, u32 q1)
{
	if (!q1)
		return 0;
	if (q1 <= law->min1)
		return law->share_min;
	return clamp_t(u64, div_u64((u64)q1 << 32, law->max1), law->share_min,
		       law->share_max);
}

/* Section V. The distance of the thresholds stays. */
static void redtail_move_thresholds(struct redtail_sched_data *q, u64 now)
{
	const struct redtail_params *p = &q->params;
	struct redtail_vars *v = &q->vars;
	struct gentle_red_params *red = &v->red_now;
	u32 loss = v->queues[REDTAIL_LONG].loss;
	u32 step;

	if (!p->dynamic || now < v->move_at)
		return;
	v->move_at = now + GENTLE_RED_INTERVAL;
	step = max_t(u32, ((u64)red->min_th * p->gamma) >> 32, 1);
	if (loss > p->high) {
		step = min(step, q->law.max2_ceiling - red->max_th);
		q->stats.min2_raised += !!step;
	} else if (loss < p->low) {
		step = -min(step, red->min_th - q->law.min2_floor);
		q->stats.min2_lowered += !!step;
	} else {
		return;
	}
	red->min_th += step;
	red->max_th += step;
}

/* Key and hash of a TCP packet's flow; false if it is none. */
static bool redtail_flow(const struct sk_buff *skb, enum redtail_key kind,
			 struct flow_age_key *key)
{
	struct flow_keys keys;

	if (!skb_flow_dissect_flow_keys(skb, &keys, 0) ||
	    keys.basic.ip_proto != IPPROTO_TCP)
		return false;

	*key = (struct flow_age_key) { .kind = keys.control.addr_type };
	switch (keys.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		key->src[0] = (__force u32)keys.addrs.v4addrs.src;
		key->dst[0] = (__force u32)keys.addrs.v4addrs.dst;
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		memcpy(key->src, &keys.addrs.v6addrs.src, sizeof(key->src));
		memcpy(key->dst, &keys.addrs.v6addrs.dst, sizeof(key->dst));
		break;
	default:
		return false;
	}
	if (kind == REDTAIL_KEY_FLOW)
		key->ports = (__force u32)keys.ports.ports;
	return true;
}

static u32 redtail_segments(const struct sk_buff *skb)
{
	if (!skb_is_gso(skb))
		return 1;
	return skb_shinfo(skb)->gso_segs ?:
	       DIV_ROUND_UP(skb->len, skb_shinfo(skb)->gso_size);
}

/* III-B: which queue does the packet belong to? */
static u32 redtail_classify(struct redtail_sched_data *q,
			    const struct sk_buff *skb, u64 now)
{
	const struct redtail_params *p = &q->params;
	struct flow_age_key key;
	struct flow_age *fa;

	if (!redtail_flow(skb, p->key, &key))
		return REDTAIL_SHORT;
	fa = flow_age_see(&q->vars.flows, &q->stats.flows, &key,
			  jhash2(key.words, FLOW_AGE_KEY_WORDS, q->vars.salt),
			  redtail_segments(skb), now, (u64)p->tau * NSEC_PER_USEC);
	if (!fa->tag && fa->packets > p->packets &&
	    now - fa->first >= (u64)p->age * NSEC_PER_USEC) {
		fa->tag = 1;
		q->stats.flows_long++;
	}
	return fa->tag ? REDTAIL_LONG : REDTAIL_SHORT;
}

static enum gentle_red_verdict redtail_red(struct redtail_sched_data *q,
					   u64 now)
{
	struct redtail_vars *v = &q->vars;

	redtail_move_thresholds(q, now);
	gentle_red_arrival(&v->red_now, &v->red, &q->stats.red,
			   v->queues[REDTAIL_LONG].backlog, now);
	return gentle_red_decide(&v->red_now, &v->red, &q->stats.red,
				 seeded_random_u32(&v->random));
}

/* Act on RED's verdict: mark, let pass (nodrop), or else drop: false. */
static bool redtail_signal(struct sk_buff *skb, struct Qdisc *sch,
			   enum gentle_red_verdict verdict, bool *marked)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	const struct redtail_params *p = &q->params;
	bool forced = verdict == GENTLE_RED_FORCED;

	qdisc_qstats_overlimit(sch);
	if (p->ecn && !(forced && p->harddrop)) {
		*marked = INET_ECN_set_ce(skb);
		if (*marked)
			++*(forced ? &q->stats.forced_mark :
				     &q->stats.early_mark);
		if (*marked || p->nodrop)
			return true;
	}
	++*(forced ? &q->stats.forced_drop : &q->stats.early_drop);
	return false;
}

/* Fold an arrival into its queue's average loss. */
static void redtail_count_loss(struct redtail_queue *rq, bool lost)
{
	if (lost)
		rq->loss += (U32_MAX - rq->loss) >> REDTAIL_LOSS_SHIFT;
	else
		rq->loss -= rq->loss >> REDTAIL_LOSS_SHIFT;
}

static int redtail_drop_arrival(struct sk_buff *skb, struct Qdisc *sch,
				struct redtail_queue *rq,
				enum qdisc_drop_reason reason,
				struct sk_buff **to_free)
{
	rq->dropped++;
	redtail_count_loss(rq, true);
	tcf_set_qdisc_drop_reason(skb, reason);
	return qdisc_drop(skb, sch, to_free);
}

static int redtail_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			   struct sk_buff **to_free)
{
	enum gentle_red_verdict verdict = GENTLE_RED_PASS;
	struct redtail_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct redtail_queue *rq;
	bool marked = false;
	u32 minor;
	int ret;

	ret = filter_class(skb, sch, rcu_dereference_bh(q->filter_list),
			   REDTAIL_QUEUES, &minor);
	if (ret)
		return filter_class_drop(skb, sch, ret, to_free);
	if (!minor || minor > REDTAIL_QUEUES)
		minor = redtail_classify(q, skb, now) + 1;
	rq = &q->vars.queues[minor - 1];
	rq->arrived++;
	if (minor - 1 == REDTAIL_LONG)
		verdict = redtail_red(q, now);

	/* Packets peeked at have left their queue but still take room. */
	if ((u64)sch->qstats.backlog + qdisc_pkt_len(skb) > q->law.limit) {
		rq->overflow++;
		return redtail_drop_arrival(skb, sch, rq, QDISC_DROP_OVERLIMIT,
					    to_free);
	}
	if (verdict != GENTLE_RED_PASS &&
	    !redtail_signal(skb, sch, verdict, &marked)) {
		redtail_drop_arrival(skb, sch, rq, QDISC_DROP_CONGESTED,
				     to_free);
		return NET_XMIT_CN;
	}

	redtail_count_loss(rq, marked);
	if (minor - 1 == REDTAIL_LONG)
		gentle_red_busy(&q->vars.red, now);
	__qdisc_enqueue_tail(skb, &rq->packets);
	rq->backlog += qdisc_pkt_len(skb);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);
	return NET_XMIT_SUCCESS;
}

/* Take the first packet of a queue that has one. */
static struct sk_buff *redtail_take(struct Qdisc *sch, u32 nr)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_queue *rq = &q->vars.queues[nr];
	struct sk_buff *skb;

	skb = __qdisc_dequeue_head(&rq->packets);
	rq->backlog -= qdisc_pkt_len(skb);
	if (nr == REDTAIL_LONG && !rq->packets.qlen)
		gentle_red_idle(&q->vars.red, ktime_get_ns());
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/**
 * redtail_pick() - the queue to serve next, and the account of the shares
 * @law: of the shares
 * @credit: bytes owed to the short queue, times 2^32
 * @short_len: length of the short queue's first packet, bytes; 0: it is empty
 * @long_len: of the long queue's, not both 0
 * @q1: length of the short queue, bytes
 *
 * While both hold packets, every byte served entitles the short queue to its
 * share of a byte, and what it is served is taken off: what it got never
 * differs from the sum of its shares by more than one packet, however fast or
 * unevenly the bytes are asked for.
 *
 * An empty queue has no claim, and one that is served alone pays nothing. But
 * the last packet of the short queue went ahead of its share: had it been sent
 * at its rate, bit by bit, the queue would still be in service. Until what it
 * got in advance is made up for at C1min, the next packet waits.
 *
 * Return: REDTAIL_SHORT or REDTAIL_LONG.
 */
static u32 redtail_pick(const struct redtail_law *law, s64 *credit,
			u32 short_len, u32 long_len, u32 q1)
{
	if (!long_len) {
		*credit = max_t(s64, *credit - ((s64)short_len << 32), 0);
		return REDTAIL_SHORT;
	}
	if (!short_len) {
		*credit = min_t(s64, *credit + (s64)law->share_min * long_len,
				0);
		return REDTAIL_LONG;
	}
	if (*credit >= 0) {
		*credit += ((s64)redtail_share(law, q1) - (1LL << 32)) *
			   short_len;
		return REDTAIL_SHORT;
	}
	*credit += (s64)redtail_share(law, q1) * long_len;
	return REDTAIL_LONG;
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
	struct sk_buff *skb;
	u32 nr;

	if (!s->packets.qlen && !l->packets.qlen)
		return NULL;
	nr = redtail_pick(&q->law, &v->credit, redtail_first_len(s),
			  redtail_first_len(l), s->backlog);
	skb = redtail_take(sch, nr);
	/* The link goes idle: nobody is owed anything. */
	if (!s->packets.qlen && !l->packets.qlen)
		v->credit = 0;
	v->queues[nr].sent += qdisc_pkt_len(skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

/* A change made the buffer smaller: discard from the front, long ones first. */
static void redtail_trim(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct sk_buff *skb;
	u32 nr;

	while (sch->qstats.backlog > q->law.limit) {
		nr = REDTAIL_LONG;
		if (!q->vars.queues[nr].packets.qlen)
			nr = REDTAIL_SHORT;
		if (!q->vars.queues[nr].packets.qlen)
			break;
		skb = redtail_take(sch, nr);
		q->vars.queues[nr].dropped++;
		q->stats.drop_change++;
		qdisc_qstats_drop(sch);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

static void redtail_reset(struct Qdisc *sch)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_vars *v = &q->vars;
	u64 now = ktime_get_ns();
	u32 i;

	for (i = 0; i < REDTAIL_QUEUES; i++) {
		__qdisc_reset_queue(&v->queues[i].packets);
		v->queues[i].backlog = 0;
		v->queues[i].loss = 0;
	}
	v->red_now = q->law.red;
	gentle_red_init(&v->red, &v->red_now, now);
	v->move_at = now + GENTLE_RED_INTERVAL;
	v->credit = 0;
	if (v->flows.slots)
		memset(v->flows.slots, 0, sizeof(*v->flows.slots) *
		       FLOW_AGE_WAYS * v->flows.sets);
}

static int redtail_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct redtail_params p;
	struct nlattr *opts;

	sch_tree_lock(sch);
	p = q->params;
	sch_tree_unlock(sch);

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_REDTAIL_BANDWIDTH, p.bandwidth,
			      TCA_REDTAIL_UNSPEC) ||
	    nla_put_u32(skb, TCA_REDTAIL_LIMIT, p.limit) ||
	    nla_put_u32(skb, TCA_REDTAIL_MIN1, p.min1) ||
	    nla_put_u32(skb, TCA_REDTAIL_MAX1, p.max1) ||
	    nla_put_u32(skb, TCA_REDTAIL_MIN2, p.min2) ||
	    nla_put_u32(skb, TCA_REDTAIL_MAX2, p.max2) ||
	    nla_put_u32(skb, TCA_REDTAIL_SHARE_MIN, p.share_min) ||
	    nla_put_u32(skb, TCA_REDTAIL_SHARE_MAX, p.share_max) ||
	    nla_put_u32(skb, TCA_REDTAIL_AVPKT, p.avpkt) ||
	    nla_put_u32(skb, TCA_REDTAIL_WEIGHT, p.weight) ||
	    nla_put_u32(skb, TCA_REDTAIL_PROBABILITY, p.probability) ||
	    nla_put_u8(skb, TCA_REDTAIL_ADAPTIVE, p.adaptive) ||
	    nla_put_u8(skb, TCA_REDTAIL_ECN, p.ecn) ||
	    nla_put_u8(skb, TCA_REDTAIL_HARDDROP, p.harddrop) ||
	    nla_put_u8(skb, TCA_REDTAIL_NODROP, p.nodrop) ||
	    nla_put_u32(skb, TCA_REDTAIL_PACKETS, p.packets) ||
	    nla_put_u32(skb, TCA_REDTAIL_AGE, p.age) ||
	    nla_put_u32(skb, TCA_REDTAIL_TAU, p.tau) ||
	    nla_put_u32(skb, TCA_REDTAIL_FLOWS, p.flows) ||
	    nla_put_u8(skb, TCA_REDTAIL_KEY, p.key) ||
	    nla_put_u8(skb, TCA_REDTAIL_DYNAMIC, p.dynamic) ||
	    nla_put_u32(skb, TCA_REDTAIL_LOW, p.low) ||
	    nla_put_u32(skb, TCA_REDTAIL_HIGH, p.high) ||
	    nla_put_u32(skb, TCA_REDTAIL_GAMMA, p.gamma) ||
	    nla_put_u32(skb, TCA_REDTAIL_SEED, p.seed)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int redtail_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_redtail_xstats st = { .type = TCA_REDTAIL_XSTATS_QDISC };
	struct redtail_sched_data *q = qdisc_priv(sch);
	struct tc_redtail_qdisc_stats *o = &st.qdisc;
	const struct redtail_queue *s, *l;
	const struct redtail_stats *c;

	sch_tree_lock(sch);
	s = &q->vars.queues[REDTAIL_SHORT];
	l = &q->vars.queues[REDTAIL_LONG];
	c = &q->stats;
	o->sent_short = s->sent;
	o->sent_long = l->sent;
	o->credit = q->vars.credit >> 32;
	o->limit = q->law.limit;
	o->min1 = q->law.min1;
	o->max1 = q->law.max1;
	o->min2 = q->vars.red_now.min_th;
	o->max2 = q->vars.red_now.max_th;
	o->share_min = q->law.share_min;
	o->share_max = q->law.share_max;
	o->weight = q->law.red.weight;
	o->backlog_short = s->backlog;
	o->backlog_long = l->backlog;
	o->qlen_short = s->packets.qlen;
	o->qlen_long = l->packets.qlen;
	o->share = redtail_share(&q->law, s->backlog);
	o->avg = q->vars.red.avg >> 32;
	o->max_p = q->vars.red.max_p;
	o->loss_short = s->loss;
	o->loss_long = l->loss;
	o->early_drop = c->early_drop;
	o->early_mark = c->early_mark;
	o->forced_drop = c->forced_drop;
	o->forced_mark = c->forced_mark;
	o->overflow_short = s->overflow;
	o->overflow_long = l->overflow;
	o->drop_change = c->drop_change;
	o->max_p_raised = c->red.raised;
	o->max_p_lowered = c->red.lowered;
	o->min2_raised = c->min2_raised;
	o->min2_lowered = c->min2_lowered;
	o->flows_new = c->flows.new;
	o->flows_long = c->flows_long;
	o->flows_evicted = c->flows.evicted;
	o->marked = c->early_mark + c->forced_mark;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct tcf_block *redtail_tcf_block(struct Qdisc *sch, unsigned long cl,
					   struct netlink_ext_ack *extack)
{
	struct redtail_sched_data *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

static int redtail_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				    struct gnet_dump *d)
{
	struct tc_redtail_xstats st = { .type = TCA_REDTAIL_XSTATS_CLASS };
	struct redtail_sched_data *q = qdisc_priv(sch);
	const struct redtail_queue *rq = &q->vars.queues[cl - 1];
	struct gnet_stats_queue qs = {};
	u32 share;

	sch_tree_lock(sch);
	qs.qlen = rq->packets.qlen;
	qs.backlog = rq->backlog;
	qs.drops = rq->dropped;
	share = redtail_share(&q->law, q->vars.queues[REDTAIL_SHORT].backlog);
	st.cls.sent = rq->sent;
	st.cls.arrived = rq->arrived;
	st.cls.loss = rq->loss;
	if (cl - 1 == REDTAIL_SHORT) {
		st.cls.share = share;
		st.cls.min = q->law.min1;
		st.cls.max = q->law.max1;
	} else {
		st.cls.share = U32_MAX - share;
		st.cls.min = q->vars.red_now.min_th;
		st.cls.max = q->vars.red_now.max_th;
		st.cls.avg = q->vars.red.avg >> 32;
		st.cls.max_p = q->vars.red.max_p;
		st.cls.marked = q->stats.early_mark + q->stats.forced_mark;
	}
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void redtail_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	u32 i;

	if (arg->stop)
		return;
	for (i = 0; i < REDTAIL_QUEUES; i++)
		if (!tc_qdisc_stats_dump(sch, i + 1, arg))
			break;
}

static const struct Qdisc_class_ops redtail_class_ops = {
	.leaf		= filter_class_leaf,
	.find		= filter_class_find,
	.walk		= redtail_walk,
	.tcf_block	= redtail_tcf_block,
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
MODULE_ALIAS_NET_SCH("redtail");

static int __init redtail_module_init(void)
{
	return register_qdisc(&redtail_qdisc_ops);
}

static void __exit redtail_module_exit(void)
{
	unregister_qdisc(&redtail_qdisc_ops);
}

module_init(redtail_module_init)
module_exit(redtail_module_exit)
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("RED+Tail queue discipline");
MODULE_LICENSE("GPL");
MODULE_VERSION(AQM_VERSION);
