// SPDX-License-Identifier: GPL-2.0
/*
 * myred - a solution of exercise 2: RED (Floyd and Jacobson 1993).
 */
#include <linux/module.h>
#include <linux/random.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

enum {
	TCA_MYRED_UNSPEC,
	TCA_MYRED_LIMIT,		/* u32, packets */
	__TCA_MYRED_MAX
};

#define TCA_MYRED_MAX (__TCA_MYRED_MAX - 1)

static const struct nla_policy myred_policy[TCA_MYRED_MAX + 1] = {
	[TCA_MYRED_LIMIT] = NLA_POLICY_MIN(NLA_U32, 1),
};

#define SHIFT	10	/* the average is in 1/1024 packets */
#define WEIGHT	9	/* of a new length in the average: 1/512 */

/* Its names are those in the report, in Python and in --plot state:NAME. */
struct tc_myred_xstats {
	__u32 average;		/* 1/1024 packets */
	__u32 early;		/* packets dropped before the queue was full */
};

struct myred_sched_data {
	struct tc_myred_xstats stats;
	u32 since;		/* packets since the last early drop */
};

/* Return whether RED drops an arrival. */
static bool myred_drops(struct Qdisc *sch)
{
	struct myred_sched_data *q = qdisc_priv(sch);
	u32 length = sch->q.qlen << SHIFT;
	u32 low = sch->limit << SHIFT, high;
	u64 p, used;

	q->stats.average += ((s64)length - q->stats.average) >> WEIGHT;
	low /= 5;
	high = 3 * low;
	if (q->stats.average < low) {
		q->since = 0;
		return false;
	}
	/* p, with 32 bits after the point, grows to 1 over 1 / p arrivals. */
	p = div_u64((u64)(min(q->stats.average, high) - low) << 32, 10 * (high - low));
	used = p * q->since++;
	if (q->stats.average < high && used + p < 1ULL << 32 &&
	    get_random_u32() >= div64_u64(p << 32, (1ULL << 32) - used))
		return false;
	q->since = 0;
	return true;
}

static int myred_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct myred_sched_data *q = qdisc_priv(sch);

	if (myred_drops(sch)) {
		q->stats.early++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (likely(sch->q.qlen < READ_ONCE(sch->limit)))
		return qdisc_enqueue_tail(skb, sch);
	return qdisc_drop(skb, sch, to_free);
}

static int myred_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_MYRED_MAX + 1] = {};
	int err;

	sch->limit = 1000;
	if (!opt)
		return 0;
	err = nla_parse_nested(tb, TCA_MYRED_MAX, opt, myred_policy, extack);
	if (!err && tb[TCA_MYRED_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_MYRED_LIMIT]);
	return err;
}

static int myred_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts || nla_put_u32(skb, TCA_MYRED_LIMIT, sch->limit))
		return -EMSGSIZE;
	return nla_nest_end(skb, opts);
}

static int myred_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct myred_sched_data *q = qdisc_priv(sch);

	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static struct Qdisc_ops myred_ops __read_mostly = {
	.id		= "myred",
	.priv_size	= sizeof(struct myred_sched_data),
	.enqueue	= myred_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= myred_init,
	.reset		= qdisc_reset_queue,
	.dump		= myred_dump,
	.dump_stats	= myred_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS("net-sch-myred");	/* MODULE_ALIAS_NET_SCH("myred") since 6.8 */

static int __init myred_module_init(void)
{
	return register_qdisc(&myred_ops);
}

static void __exit myred_module_exit(void)
{
	unregister_qdisc(&myred_ops);
}

module_init(myred_module_init)
module_exit(myred_module_exit)
MODULE_DESCRIPTION("Exercise: RED");
MODULE_LICENSE("GPL");
