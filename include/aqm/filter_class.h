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

/* What filter_class() returns of a packet that is no longer there to be freed. */
#define FILTER_CLASS_CONSUMED	(NET_XMIT_SUCCESS | __NET_XMIT_STOLEN | BIT(30))

/**
 * struct filter_block - the filters of a discipline
 * @list: what a packet goes through
 * @block: to which they are attached
 */
struct filter_block {
	struct tcf_proto __rcu	*list;
	struct tcf_block	*block;
};

/**
 * struct filter_verdict - what the filters say of a packet; in one register
 * @lost: 0, or what filter_class() returns
 * @minor: minor number of the class; 0 if none is named
 */
struct filter_verdict {
	int	lost;
	u32	minor;
};

static noinline struct filter_verdict
filter_class_ask(struct sk_buff *skb, const struct tcf_proto *filters)
{
	struct filter_verdict said = {};
	struct tcf_result res;

	switch (tcf_classify_qdisc(skb, filters, &res, false)) {
	case TC_ACT_UNSPEC:
		break;
	case TC_ACT_SHOT:
		said.lost = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
		break;
	case TC_ACT_STOLEN:
	case TC_ACT_QUEUED:
	case TC_ACT_TRAP:
		said.lost = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		break;
	case TC_ACT_CONSUMED:
		said.lost = FILTER_CLASS_CONSUMED;
		break;
	default:
		said.minor = TC_H_MIN(res.classid);
	}
	return said;
}

/**
 * filter_class() - the class named for a packet
 * @skb: the packet
 * @sch: the discipline
 * @filters: its filters, or NULL
 * @classes: number of its classes
 * @minor: set to the minor number of the class; 0 if none is named
 *
 * In order: skb->priority naming one of the @classes of this discipline; the
 * filters, whose class may be beyond @classes. A discipline without a handle
 * (net.core.default_qdisc, children of mq) has no class that a priority could
 * name: 1 to 15 would be the priorities that sockets and TOS give.
 *
 * Return: 0, or what to give to filter_class_drop() because a filter took the
 * packet away; with __NET_XMIT_BYPASS the loss is to be counted.
 */
static inline int filter_class(struct sk_buff *skb, const struct Qdisc *sch,
			       const struct tcf_proto *filters, u32 classes,
			       u32 *minor)
{
	struct filter_verdict said;

	*minor = sch->handle && TC_H_MAJ(skb->priority) == sch->handle ?
		 TC_H_MIN(skb->priority) : 0;
	if (*minor && *minor <= classes)
		return 0;
	*minor = 0;
	if (likely(!filters))
		return 0;
	said = filter_class_ask(skb, filters);
	*minor = said.minor;
	return said.lost;
}

/**
 * filter_class_drop() - lose a packet to a filter
 * @skb: the packet
 * @sch: the discipline
 * @verdict: what filter_class() returned
 * @drop_filter: counter of packets dropped by filters
 * @dropped_bytes: of all that is dropped
 * @to_free: list that takes the packet
 *
 * Return: what enqueue returns.
 */
static inline int filter_class_drop(struct sk_buff *skb, struct Qdisc *sch,
				    int verdict, u64 *drop_filter,
				    u64 *dropped_bytes,
				    struct sk_buff **to_free)
{
	if (verdict == FILTER_CLASS_CONSUMED)
		return NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
	if (verdict & __NET_XMIT_BYPASS) {
		++*drop_filter;
		*dropped_bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
	}
	__qdisc_drop(skb, to_free);
	return verdict;
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
