/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes that filters name and that are shown, and that nobody adds, removes
 * or grafts onto: flows (chokex), the few classes that a paper has (cbt,
 * redtail), queues (qsdrr, tdrr).
 */
#ifndef _AQM_FILTER_CLASS_H
#define _AQM_FILTER_CLASS_H

#include <net/pkt_cls.h>
#include <net/sch_generic.h>
#include "../compat.h"
#include "queue.h"

/* A filter has freed the packet or sent it elsewhere: do not free it. */
#define FILTER_CLASS_CONSUMED	(NET_XMIT_SUCCESS | __NET_XMIT_STOLEN | BIT(30))

/**
 * struct filter_verdict - answer of the filters; in one register
 * @lost: 0, or a verdict of enqueue or FILTER_CLASS_CONSUMED
 * @minor: minor number of the class; 0 if none is named
 */
struct filter_verdict {
	int	lost;
	u32	minor;
};

static noinline struct filter_verdict
filter_class_ask(struct sk_buff *skb, const struct tcf_proto *filters)
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

/* Drop a packet that a filter took away; @verdict: 0 if none did. */
static noinline int filter_class_drop(struct sk_buff *skb, struct Qdisc *sch,
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

/**
 * filter_class() - find the class of an arrival
 * @skb: the arrival
 * @sch: the qdisc
 * @classes: number of its classes
 * @minor: set to the minor number of the class; 0 if none is named
 * @to_free: list of packets to free
 *
 * skb->priority names the class if it is one of the @classes of this qdisc.
 * Otherwise the filters name it; their class may be beyond @classes. A qdisc
 * without a handle (net.core.default_qdisc, children of mq) has no class that a
 * priority could name: 1 to 15 are priorities that sockets and TOS give.
 *
 * Return: 0, or the verdict on an arrival that a filter took away.
 */
static inline int filter_class(struct sk_buff *skb, struct Qdisc *sch, u32 classes,
			       u32 *minor, struct sk_buff **to_free)
{
	const struct tcf_proto *filters = rcu_dereference_bh(aqm_queue(sch)->filters);
	struct filter_verdict answer;

	*minor = sch->handle && TC_H_MAJ(skb->priority) == sch->handle ?
		 TC_H_MIN(skb->priority) : 0;
	if (*minor && *minor <= classes)
		return 0;
	*minor = 0;
	if (likely(!filters))
		return 0;
	answer = filter_class_ask(skb, filters);
	*minor = answer.minor;
	if (likely(!answer.lost))
		return 0;
	return filter_class_drop(skb, sch, answer.lost, to_free);
}

/* Class operations that do nothing, or the same for all. */
static inline struct Qdisc *filter_class_leaf(struct Qdisc *sch,
					      unsigned long cl)
{
	return NULL;
}

static inline unsigned long filter_class_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}

static inline unsigned long filter_class_bind(struct Qdisc *sch,
					      unsigned long parent, u32 classid)
{
	return 0;
}

static inline void filter_class_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static inline int filter_class_dump(struct Qdisc *sch, unsigned long cl,
				    struct sk_buff *skb, struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(cl);
	return 0;
}

#endif /* _AQM_FILTER_CLASS_H */
