// SPDX-License-Identifier: GPL-2.0
/*
 * Classes that filters name and that are shown, and that nobody adds, removes or
 * grafts onto: flows (chokex, fred), the few classes that a paper has (cbt, redtail),
 * queues (qsdrr, tdrr).
 */
#include <net/pkt_cls.h>
#include <net/sch_generic.h>
#include <compat_5.h>
#include <aqm/frame.h>

/* A filter has freed the packet or sent it elsewhere: do not free it. */
#define FILTER_CLASS_CONSUMED	(NET_XMIT_SUCCESS | __NET_XMIT_STOLEN | BIT(30))

/* Free a packet that a filter took away, or whose class does not exist. */
int filter_class_drop(struct sk_buff *skb, struct Qdisc *sch,
		      int verdict, struct sk_buff **to_free)
{
	struct aqm_queue *q = aqm_queue(sch);

	if (verdict == FILTER_CLASS_CONSUMED)
		return NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
	if (verdict & __NET_XMIT_BYPASS) {
		q->drops[AQM_DROP_FILTER]++;
		q->dropped_bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
	}
	__qdisc_drop(skb, to_free);
	return verdict;
}
EXPORT_SYMBOL_GPL(filter_class_drop);

/* See filter_class(). */
struct filter_verdict filter_class_ask(struct sk_buff *skb,
				       const struct tcf_proto *filters)
{
	struct filter_verdict answer = {};
	struct tcf_result res;

	switch (tcf_classify_qdisc(skb, filters, &res, false)) {
	case TC_ACT_UNSPEC:
		break;
	case TC_ACT_SHOT:
		answer.lost = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
		break;
	case TC_ACT_STOLEN:
	case TC_ACT_QUEUED:
	case TC_ACT_TRAP:
		answer.lost = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		break;
	case TC_ACT_CONSUMED:
		answer.lost = FILTER_CLASS_CONSUMED;
		break;
	default:
		answer.minor = TC_H_MIN(res.classid);
	}
	return answer;
}
EXPORT_SYMBOL_GPL(filter_class_ask);

/* Class operations that do nothing, or the same for all. */
struct Qdisc *filter_class_leaf(struct Qdisc *sch,
				unsigned long cl)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(filter_class_leaf);

unsigned long filter_class_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}
EXPORT_SYMBOL_GPL(filter_class_find);

/* Qdisc_class_ops.tcf_block: filters are on the qdisc, not on its classes. */
struct tcf_block *aqm_tcf_block(struct Qdisc *sch,
				unsigned long cl,
				struct netlink_ext_ack *extack)
{
	return cl ? NULL : aqm_queue(sch)->block;
}
EXPORT_SYMBOL_GPL(aqm_tcf_block);

unsigned long filter_class_bind(struct Qdisc *sch,
				unsigned long parent, u32 classid)
{
	return 0;
}
EXPORT_SYMBOL_GPL(filter_class_bind);

void filter_class_unbind(struct Qdisc *sch, unsigned long cl)
{
}
EXPORT_SYMBOL_GPL(filter_class_unbind);

int filter_class_dump(struct Qdisc *sch, unsigned long cl,
		      struct sk_buff *skb, struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(cl);
	return 0;
}
EXPORT_SYMBOL_GPL(filter_class_dump);

/* Classes */

void filter_class_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
}
EXPORT_SYMBOL_GPL(filter_class_walk);

/* Walk over classes 1 to @count. */
void aqm_walk(struct Qdisc *sch, struct qdisc_walker *arg,
	      u32 count)
{
	u32 i;

	for (i = 1; i <= count && !arg->stop; i++)
		tc_qdisc_stats_dump(sch, i, arg);
}
EXPORT_SYMBOL_GPL(aqm_walk);
