// SPDX-License-Identifier: GPL-2.0
/*
 * mine - a queue that drops arrivals when it is full, as pfifo does.
 *
 * An example for docs/your-own.md: a module outside the repository.
 */
#include <linux/module.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

enum {
	TCA_MINE_UNSPEC,
	TCA_MINE_LIMIT,		/* u32, packets */
	__TCA_MINE_MAX
};

#define TCA_MINE_MAX (__TCA_MINE_MAX - 1)

static const struct nla_policy mine_policy[TCA_MINE_MAX + 1] = {
	[TCA_MINE_LIMIT] = NLA_POLICY_MIN(NLA_U32, 1),
};

static int mine_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	if (likely(sch->q.qlen < READ_ONCE(sch->limit)))
		return qdisc_enqueue_tail(skb, sch);
	return qdisc_drop(skb, sch, to_free);
}

static int mine_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_MINE_MAX + 1] = {};
	int err;

	sch->limit = 1000;
	if (!opt)
		return 0;
	err = nla_parse_nested(tb, TCA_MINE_MAX, opt, mine_policy, extack);
	if (!err && tb[TCA_MINE_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_MINE_LIMIT]);
	return err;
}

static int mine_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts || nla_put_u32(skb, TCA_MINE_LIMIT, sch->limit))
		return -EMSGSIZE;
	return nla_nest_end(skb, opts);
}

static struct Qdisc_ops mine_ops __read_mostly = {
	.id		= "mine",
	.enqueue	= mine_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= mine_init,
	.reset		= qdisc_reset_queue,
	.dump		= mine_dump,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS("net-sch-mine");	/* MODULE_ALIAS_NET_SCH("mine") since 6.8 */

static int __init mine_module_init(void)
{
	return register_qdisc(&mine_ops);
}

static void __exit mine_module_exit(void)
{
	unregister_qdisc(&mine_ops);
}

module_init(mine_module_init)
module_exit(mine_module_exit)
MODULE_DESCRIPTION("Example of a qdisc outside the repository");
MODULE_LICENSE("GPL");
