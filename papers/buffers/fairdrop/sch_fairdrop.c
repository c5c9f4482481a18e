// SPDX-License-Identifier: GPL-2.0
/*
 * FairDrop (fairdrop): a rival of the lab, not a shipped kind
 *
 * A fair queue needs a queue per flow, and its buffer holds their packets.
 * FairDrop computes which fair queue a flow would see, and drops what that
 * queue would not take. The packets themselves wait in a plain FIFO.
 *
 * V. Addanki, L. Linguaglossa, J. Roberts, D. Rossi, "Controlling software
 * router resource sharing by fair packet dropping", IFIP Networking 2018. We
 * have not read the paper, only its abstract and its authors' program
 * (repository vamsiDT/vpp, files flow_table.h of bandwidth_fairdrop).
 *
 * The rule. Each flow has a virtual backlog v_i. A shadow link with the given
 * rate serves all backlogged flows at the same speed: what one does not need,
 * the others get.
 *
 *	for each arrival of flow i, with a length of L:
 *		serve all v for the time since the last arrival
 *		if v_i > threshold: drop it
 *		else: v_i += L, and queue it
 *
 * From the program: this rule, the test before the length is added, and that
 * a dropped packet does not count. Versions of it have thresholds of 19200 to
 * 3840000 bytes, one of them with the comment that this is a random number, and
 * a shadow link with 0.1 to 1.0 of the link's rate.
 *
 * Our decisions:
 *  - The program serves once per batch of packets, from a list. We serve at
 *    each arrival, exactly: with V, what each backlogged flow has got since one
 *    of them had a backlog, flow i has v_i = finish_i - V, and a tree has the
 *    finish_i in order. Rounding loses at most 2^-16 bytes per arrival.
 *  - A packet that finds the FIFO full is dropped, and does not count.
 *  - Rate and threshold are options. A qdisc does not know the rate of its link,
 *    and the shadow must be slower, or the FIFO decides, and not the rule.
 *  - Each flow has a bucket of its own. Two flows share one only if all 32 bits
 *    of their hashes are equal. A bucket is never free again: after 2^20 flows
 *    all others share the buckets of earlier ones.
 *  - A reset, as when the link goes down, empties the virtual backlogs.
 *  - Options cannot be changed, and a packet is never marked.
 *
 * The table takes 40 MB. Options are netlink attributes; lengths and rates have
 * the units beside them.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/siphash.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#define FAIRDROP_BUCKETS	BIT(20)
#define FAIRDROP_SCALE		16	/* V and finish are bytes, Q48.16 */

enum {
	TCA_FAIRDROP_UNSPEC,
	TCA_FAIRDROP_LIMIT,	/* u32, packets of the FIFO; 1000 */
	TCA_FAIRDROP_RATE,	/* u32, bytes per second of the shadow link, from 1000 */
	TCA_FAIRDROP_THRESHOLD,	/* u32, bytes of virtual backlog, to 2^27; 30280 */
	__TCA_FAIRDROP_MAX
};

#define TCA_FAIRDROP_MAX	(__TCA_FAIRDROP_MAX - 1)

struct tc_fairdrop_xstats {
	__u32 backlogged;	/* flows with a virtual backlog */
	__u32 unfair;		/* packets dropped because of it */
	__u32 full;		/* packets that found no room */
};

/*
 * order:	in fairdrop_sched::order, if the flow has a virtual backlog
 * finish:	V at which this backlog is empty
 * hash:	of the flow, or 0 if no flow has this bucket
 */
struct fairdrop_flow {
	struct rb_node	order;
	u64		finish;
	u32		hash;
};

/*
 * option:	by attribute, as given or by default
 * order:	flows with a virtual backlog, by finish
 * served:	V: bytes that each flow with a backlog got
 * left:	served bytes that did not divide evenly among the flows
 * last_ns:	time of the last arrival
 */
struct fairdrop_sched {
	u32			option[TCA_FAIRDROP_MAX + 1];
	struct fairdrop_flow	*flows;
	struct rb_root_cached	order;
	u64			served, left, last_ns;
	siphash_aligned_key_t	key;
	struct tc_fairdrop_xstats stats;
};

static const struct netlink_range_validation fairdrop_limits = { 1, U32_MAX };
static const struct netlink_range_validation fairdrop_rates = { 1000, U32_MAX };
/* Virtual backlogs of 2^20 flows, in bytes with FAIRDROP_SCALE, fit into 64 bits. */
static const struct netlink_range_validation fairdrop_thresholds = { 1, BIT(27) };

static const struct nla_policy fairdrop_policy[TCA_FAIRDROP_MAX + 1] = {
	[TCA_FAIRDROP_LIMIT] = NLA_POLICY_FULL_RANGE(NLA_U32, &fairdrop_limits),
	[TCA_FAIRDROP_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &fairdrop_rates),
	[TCA_FAIRDROP_THRESHOLD] = NLA_POLICY_FULL_RANGE(NLA_U32, &fairdrop_thresholds),
};

static struct fairdrop_flow *fairdrop_flow(struct rb_node *node)
{
	return rb_entry(node, struct fairdrop_flow, order);
}

static bool fairdrop_sooner(struct rb_node *node, const struct rb_node *other)
{
	return (s64)(fairdrop_flow(node)->finish - rb_entry(other, struct fairdrop_flow,
							    order)->finish) < 0;
}

static void fairdrop_empty(struct fairdrop_sched *q, struct fairdrop_flow *flow)
{
	rb_erase_cached(&flow->order, &q->order);
	RB_CLEAR_NODE(&flow->order);
	q->stats.backlogged--;
}

/* An interval counts as at most 2^40 ns, 18 minutes, so that nothing overflows. */
static void fairdrop_serve(struct fairdrop_sched *q, u64 now_ns)
{
	u64 passed_ns = min(now_ns - q->last_ns, BIT_ULL(40));
	u64 bytes = q->left + mul_u64_u64_div_u64(passed_ns,
						  (u64)q->option[TCA_FAIRDROP_RATE] << FAIRDROP_SCALE,
						  NSEC_PER_SEC);

	q->last_ns = now_ns;
	q->left = 0;
	while (q->stats.backlogged) {
		struct fairdrop_flow *first = fairdrop_flow(rb_first_cached(&q->order));
		u64 needed = (first->finish - q->served) * q->stats.backlogged;

		if (bytes < needed) {
			q->served += div64_u64_rem(bytes, q->stats.backlogged, &q->left);
			return;
		}
		bytes -= needed;
		q->served = first->finish;
		fairdrop_empty(q, first);
	}
}

static struct fairdrop_flow *fairdrop_find(struct fairdrop_sched *q, u32 hash)
{
	struct fairdrop_flow *flow = &q->flows[hash & (FAIRDROP_BUCKETS - 1)];
	u32 tried;

	for (tried = 0; tried < FAIRDROP_BUCKETS; tried++) {
		if (!flow->hash)
			flow->hash = hash;
		if (flow->hash == hash)
			break;
		if (++flow == q->flows + FAIRDROP_BUCKETS)
			flow = q->flows;
	}
	return flow;
}

static int fairdrop_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	struct fairdrop_sched *q = qdisc_priv(sch);
	struct fairdrop_flow *flow = fairdrop_find(q, skb_get_hash_perturb(skb, &q->key) ?: 1);
	u64 backlog = 0;

	fairdrop_serve(q, ktime_get_ns());
	if (!RB_EMPTY_NODE(&flow->order))
		backlog = flow->finish - q->served;
	if (backlog >> FAIRDROP_SCALE > q->option[TCA_FAIRDROP_THRESHOLD]) {
		q->stats.unfair++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (sch->q.qlen >= sch->limit) {
		q->stats.full++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (backlog)
		fairdrop_empty(q, flow);
	backlog += (u64)qdisc_pkt_len(skb) << FAIRDROP_SCALE;
	flow->finish = q->served + backlog;
	rb_add_cached(&flow->order, &q->order, fairdrop_sooner);
	q->stats.backlogged++;
	return qdisc_enqueue_tail(skb, sch);
}

static void fairdrop_reset(struct Qdisc *sch)
{
	struct fairdrop_sched *q = qdisc_priv(sch);

	while (q->stats.backlogged)
		fairdrop_empty(q, fairdrop_flow(rb_first_cached(&q->order)));
	qdisc_reset_queue(sch);
}

static int fairdrop_init(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct fairdrop_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_FAIRDROP_MAX + 1] = {};
	u32 i;
	int err;

	err = opt ? nla_parse_nested(tb, TCA_FAIRDROP_MAX, opt, fairdrop_policy, extack) : 0;
	if (err)
		return err;
	if (!tb[TCA_FAIRDROP_RATE]) {
		NL_SET_ERR_MSG(extack, "fairdrop: give the rate of the shadow link");
		return -EINVAL;
	}
	q->option[TCA_FAIRDROP_LIMIT] = nla_get_u32_default(tb[TCA_FAIRDROP_LIMIT], 1000);
	q->option[TCA_FAIRDROP_RATE] = nla_get_u32(tb[TCA_FAIRDROP_RATE]);
	q->option[TCA_FAIRDROP_THRESHOLD] =
		nla_get_u32_default(tb[TCA_FAIRDROP_THRESHOLD], 20 * 1514);
	sch->limit = q->option[TCA_FAIRDROP_LIMIT];
	get_random_bytes(&q->key, sizeof(q->key));
	q->order = RB_ROOT_CACHED;
	q->last_ns = ktime_get_ns();
	q->flows = kvcalloc(FAIRDROP_BUCKETS, sizeof(*q->flows), GFP_KERNEL);
	if (!q->flows)
		return -ENOMEM;
	for (i = 0; i < FAIRDROP_BUCKETS; i++)
		RB_CLEAR_NODE(&q->flows[i].order);
	return 0;
}

static void fairdrop_destroy(struct Qdisc *sch)
{
	struct fairdrop_sched *q = qdisc_priv(sch);

	kvfree(q->flows);
}

static int fairdrop_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct fairdrop_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);
	int i;

	if (!opts)
		return -EMSGSIZE;
	for (i = TCA_FAIRDROP_LIMIT; i <= TCA_FAIRDROP_MAX; i++)
		if (nla_put_u32(skb, i, q->option[i]))
			return -EMSGSIZE;
	return nla_nest_end(skb, opts);
}

static int fairdrop_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct fairdrop_sched *q = qdisc_priv(sch);

	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static struct Qdisc_ops fairdrop_ops __read_mostly = {
	.id		= "fairdrop",
	.priv_size	= sizeof(struct fairdrop_sched),
	.enqueue	= fairdrop_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= fairdrop_init,
	.reset		= fairdrop_reset,
	.destroy	= fairdrop_destroy,
	.dump		= fairdrop_dump,
	.dump_stats	= fairdrop_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("fairdrop");

static int __init fairdrop_module_init(void)
{
	return register_qdisc(&fairdrop_ops);
}

static void __exit fairdrop_module_exit(void)
{
	unregister_qdisc(&fairdrop_ops);
}

module_init(fairdrop_module_init)
module_exit(fairdrop_module_exit)
MODULE_DESCRIPTION("FairDrop, a rival of the lab");
/* Makes the build put a hash of the source into the module, which runs record. */
MODULE_VERSION("1");
MODULE_LICENSE("GPL");
