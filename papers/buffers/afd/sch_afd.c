// SPDX-License-Identifier: GPL-2.0
/*
 * AFD, approximate fair dropping (afd): a rival of the lab, not a shipped kind
 *
 * A fair queue needs a queue per flow. AFD gives flows equal shares of a plain
 * FIFO: it counts what each flow has sent lately, and drops arrivals of the
 * flows that have sent more than the fair share.
 *
 * R. Pan, L. Breslau, B. Prabhakar, S. Shenker, "Approximate Fairness through
 * Differential Dropping", ACM CCR 33(2), 2003, pages 23-39. We have not read the
 * paper, only its abstract and three public programs that say they follow it:
 * a P4 program, a scheduler in Rust, and afq, a qdisc of 2012 by L. Xue.
 *
 * The rule. A shadow buffer holds the flows of b sampled arrivals. One of s
 * arrivals is a sample, and replaces an entry. Flow i has m_i entries.
 *
 *	for each arrival of flow i:
 *		drop it with probability D_i = max(0, 1 - m_fair / m_i)
 *	160 times a second, with the queue's length q:
 *		m_fair += alpha * (q_old - target) - beta * (q - target)
 *
 * From these programs: the rule, alpha 1.7, beta 1.8, 160 Hz, and that a sample
 * counts before its own packet is judged. The P4 program takes one of 5 packets
 * into 512 entries. Recalled: the paper has about 500 entries.
 *
 * Our decisions:
 *  - A sample replaces the oldest entry, as in two of the programs. In the P4
 *    program it replaces a random one.
 *  - Exactly one of s arrivals is a sample. By default each one is.
 *  - We count packets. A GSO packet counts as one, so use this without offloads.
 *  - A flow is a bucket of 2^20. With 1024 flows a pair shares one in 2 of 5 runs.
 *  - 0 <= m_fair <= the largest m_i. A larger value would drop as little, and
 *    would need time to come back. Nothing is dropped with D_i until an update
 *    first finds the queue above its target. In two of the programs m_fair
 *    starts with 0, and would drop slow starts. Both decisions favour AFD.
 *  - There is no timer: the arrival after a time of update makes it. Updates
 *    without an arrival in between all see the length that the last one sees.
 *  - Options cannot be changed, and a packet is never marked.
 *
 * Options are netlink attributes; times and lengths have the units beside them.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#define AFD_BUCKETS	BIT(20)
#define AFD_UNIT	1000	/* m_fair, alpha and beta are in thousandths */

enum {
	TCA_AFD_UNSPEC,
	TCA_AFD_LIMIT,		/* u32, packets */
	TCA_AFD_TARGET,		/* u32, packets; half of the limit */
	TCA_AFD_SHADOW,		/* u32, entries: b; 500 */
	TCA_AFD_SAMPLE,		/* u32, arrivals: s; 1 */
	TCA_AFD_ALPHA,		/* u32, thousandths; 1700 */
	TCA_AFD_BETA,		/* u32, thousandths; 1800 */
	TCA_AFD_RATE,		/* u32, updates per second; 160 */
	__TCA_AFD_MAX
};

#define TCA_AFD_MAX	(__TCA_AFD_MAX - 1)

struct tc_afd_xstats {
	__u32 m_fair;		/* entries of the shadow buffer, thousandths */
	__u32 largest;		/* the largest m_i */
	__u32 unfair;		/* packets dropped with D_i */
	__u32 full;		/* packets that found no room */
	__u32 updates;		/* of m_fair */
};

/*
 * option:	by attribute, as given or by default
 * count:	m_i of each bucket
 * having:	how many buckets have this m_i, by m_i
 * shadow:	bucket of each entry, or AFD_BUCKETS if it is unused
 * oldest:	the entry that the next sample replaces
 * skipped:	arrivals since the last sample
 * error_old:	how much longer the queue was than its target at the last update
 * next_ns:	time of the next update
 * reached:	whether an update has found the queue above its target
 */
struct afd_sched {
	u32			option[TCA_AFD_MAX + 1];
	u32			*count, *having, *shadow;
	u32			oldest, skipped;
	s64			m_fair, error_old;
	u64			next_ns, period_ns;
	bool			reached;
	siphash_aligned_key_t	key;
	struct tc_afd_xstats	stats;
};

static const struct netlink_range_validation afd_many = { 1, 1000000 };

static const struct nla_policy afd_policy[TCA_AFD_MAX + 1] = {
	[TCA_AFD_LIMIT ... TCA_AFD_MAX] = NLA_POLICY_FULL_RANGE(NLA_U32, &afd_many),
};

static void afd_move(struct afd_sched *q, u32 bucket, int by)
{
	q->having[q->count[bucket]]--;
	q->count[bucket] += by;
	q->having[q->count[bucket]]++;
	if (q->count[bucket] > q->stats.largest)
		q->stats.largest = q->count[bucket];
	else if (!q->having[q->stats.largest])
		q->stats.largest--;
}

static void afd_sample(struct afd_sched *q, u32 bucket)
{
	u32 *entry = &q->shadow[q->oldest];

	if (++q->skipped < q->option[TCA_AFD_SAMPLE])
		return;
	q->skipped = 0;
	if (*entry < AFD_BUCKETS)
		afd_move(q, *entry, -1);
	*entry = bucket;
	afd_move(q, bucket, 1);
	if (++q->oldest == q->option[TCA_AFD_SHADOW])
		q->oldest = 0;
}

static void afd_update(struct afd_sched *q, s64 error, u64 now_ns)
{
	s64 alpha = q->option[TCA_AFD_ALPHA], beta = q->option[TCA_AFD_BETA];
	u64 missed;

	if (now_ns < q->next_ns)
		return;
	missed = div64_u64(now_ns - q->next_ns, q->period_ns);
	q->next_ns += (missed + 1) * q->period_ns;
	q->stats.updates += missed + 1;
	q->reached |= error > 0;
	if (!q->reached)
		return;
	q->m_fair += alpha * q->error_old - beta * error;
	/* 2^16 updates: m_fair has long reached a bound, and nothing overflows. */
	q->m_fair += (s64)min(missed, 1ULL << 16) * (alpha - beta) * error;
	q->m_fair = clamp(q->m_fair, 0LL, (s64)q->stats.largest * AFD_UNIT);
	q->error_old = error;
}

static int afd_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct afd_sched *q = qdisc_priv(sch);
	u32 bucket = skb_get_hash_perturb(skb, &q->key) & (AFD_BUCKETS - 1);
	u32 sent;

	afd_update(q, (s64)sch->q.qlen - q->option[TCA_AFD_TARGET], ktime_get_ns());
	afd_sample(q, bucket);
	/* It passes with the probability m_fair / m_i. */
	sent = q->count[bucket] * AFD_UNIT;
	if (sent > q->m_fair && get_random_u32_below(sent) >= q->m_fair) {
		q->stats.unfair++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (sch->q.qlen < sch->limit)
		return qdisc_enqueue_tail(skb, sch);
	q->stats.full++;
	return qdisc_drop(skb, sch, to_free);
}

static int afd_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct afd_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_AFD_MAX + 1] = {};
	u32 *option = q->option;
	int err, i;

	err = opt ? nla_parse_nested(tb, TCA_AFD_MAX, opt, afd_policy, extack) : 0;
	if (err)
		return err;
	option[TCA_AFD_LIMIT] = nla_get_u32_default(tb[TCA_AFD_LIMIT], 1000);
	option[TCA_AFD_TARGET] = max(option[TCA_AFD_LIMIT] / 2, 1);
	option[TCA_AFD_SHADOW] = 500;
	option[TCA_AFD_SAMPLE] = 1;
	option[TCA_AFD_ALPHA] = 1700;
	option[TCA_AFD_BETA] = 1800;
	option[TCA_AFD_RATE] = 160;
	for (i = TCA_AFD_TARGET; i <= TCA_AFD_MAX; i++)
		option[i] = nla_get_u32_default(tb[i], option[i]);
	if (option[TCA_AFD_TARGET] > option[TCA_AFD_LIMIT]) {
		NL_SET_ERR_MSG(extack, "afd: target must be at most limit");
		return -EINVAL;
	}
	if (option[TCA_AFD_ALPHA] >= option[TCA_AFD_BETA]) {
		NL_SET_ERR_MSG(extack, "afd: alpha must be less than beta");
		return -EINVAL;
	}
	sch->limit = option[TCA_AFD_LIMIT];
	get_random_bytes(&q->key, sizeof(q->key));
	q->period_ns = NSEC_PER_SEC / option[TCA_AFD_RATE];
	q->next_ns = ktime_get_ns() + q->period_ns;
	q->count = kvcalloc(AFD_BUCKETS, sizeof(u32), GFP_KERNEL);
	q->having = kvcalloc(option[TCA_AFD_SHADOW] + 1, sizeof(u32), GFP_KERNEL);
	q->shadow = kvcalloc(option[TCA_AFD_SHADOW], sizeof(u32), GFP_KERNEL);
	if (!q->count || !q->having || !q->shadow)
		return -ENOMEM;
	q->having[0] = AFD_BUCKETS;
	memset32(q->shadow, AFD_BUCKETS, option[TCA_AFD_SHADOW]);
	q->m_fair = (s64)option[TCA_AFD_SHADOW] * AFD_UNIT;	/* at least any m_i */
	return 0;
}

static void afd_destroy(struct Qdisc *sch)
{
	struct afd_sched *q = qdisc_priv(sch);

	kvfree(q->count);
	kvfree(q->having);
	kvfree(q->shadow);
}

static int afd_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct afd_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);
	int i;

	if (!opts)
		return -EMSGSIZE;
	for (i = TCA_AFD_LIMIT; i <= TCA_AFD_MAX; i++)
		if (nla_put_u32(skb, i, q->option[i]))
			return -EMSGSIZE;
	return nla_nest_end(skb, opts);
}

static int afd_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct afd_sched *q = qdisc_priv(sch);
	struct tc_afd_xstats st = q->stats;

	st.m_fair = q->m_fair;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops afd_ops __read_mostly = {
	.id		= "afd",
	.priv_size	= sizeof(struct afd_sched),
	.enqueue	= afd_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= afd_init,
	.reset		= qdisc_reset_queue,
	.destroy	= afd_destroy,
	.dump		= afd_dump,
	.dump_stats	= afd_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("afd");

static int __init afd_module_init(void)
{
	return register_qdisc(&afd_ops);
}

static void __exit afd_module_exit(void)
{
	unregister_qdisc(&afd_ops);
}

module_init(afd_module_init)
module_exit(afd_module_exit)
MODULE_DESCRIPTION("Approximate fair dropping, a rival of the lab");
/* Makes the build put a hash of the source into the module, which runs record. */
MODULE_VERSION("1");
MODULE_LICENSE("GPL");
