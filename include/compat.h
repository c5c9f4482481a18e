/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replacements for functions that older kernels do not have. Kbuild greps the
 * target's headers and defines HAVE_...; version numbers do not matter.
 */
#ifndef _AQM_COMPAT_H
#define _AQM_COMPAT_H

#include <net/pkt_cls.h>
#include <net/sch_generic.h>

#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

#ifndef HAVE_QDISC_QLEN_INC
static inline void qdisc_qlen_inc(struct Qdisc *sch)
{
	WRITE_ONCE(sch->q.qlen, sch->q.qlen + 1);
}

static inline void qdisc_qlen_dec(struct Qdisc *sch)
{
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - 1);
}

static inline void qstats_backlog_add(struct Qdisc *sch, u32 bytes)
{
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + bytes);
}

static inline void qstats_backlog_sub(struct Qdisc *sch, u32 bytes)
{
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog - bytes);
}
#endif

/*
 * Drop reasons of qdiscs. The newest kernels have a separate enum for them. Kernels
 * from 6.14 on have them in skb_drop_reason. Older ones know only QDISC_DROP, or none.
 */
#ifndef HAVE_QDISC_DROP_REASON
enum qdisc_drop_reason {
#ifdef HAVE_SKB_DROP_REASON_QDISC
	QDISC_DROP_GENERIC = SKB_DROP_REASON_QDISC_DROP,
	QDISC_DROP_OVERLIMIT = SKB_DROP_REASON_QDISC_OVERLIMIT,
	QDISC_DROP_CONGESTED = SKB_DROP_REASON_QDISC_CONGESTED,
#elif defined(HAVE_SKB_DROP_REASON)
	QDISC_DROP_GENERIC = SKB_DROP_REASON_QDISC_DROP,
	QDISC_DROP_OVERLIMIT = SKB_DROP_REASON_QDISC_DROP,
	QDISC_DROP_CONGESTED = SKB_DROP_REASON_QDISC_DROP,
#else
	QDISC_DROP_GENERIC,
	QDISC_DROP_OVERLIMIT,
	QDISC_DROP_CONGESTED,
#endif
};

static inline void tcf_set_qdisc_drop_reason(const struct sk_buff *skb,
					     enum qdisc_drop_reason reason)
{
#ifdef HAVE_TCF_SET_DROP_REASON
	tcf_set_drop_reason(skb, (enum skb_drop_reason)reason);
#endif
}
#endif

/* Free a packet that is dropped. */
static inline void aqm_kfree_skb(struct sk_buff *skb,
				 enum qdisc_drop_reason reason)
{
#ifdef HAVE_SKB_DROP_REASON
	kfree_skb_reason(skb, (enum skb_drop_reason)reason);
#else
	kfree_skb(skb);
#endif
}

/* Newer kernels free a packet that a dequeue drops after they gave back the lock. */
#ifndef HAVE_QDISC_DEQUEUE_DROP
#define TCQ_F_DEQUEUE_DROPS	0
static inline void qdisc_dequeue_drop(struct Qdisc *sch, struct sk_buff *skb,
				      enum qdisc_drop_reason reason)
{
	aqm_kfree_skb(skb, reason);
}
#endif

#endif /* _AQM_COMPAT_H */
