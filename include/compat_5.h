/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same as compat.h, for functions that only frame/ needs, or that kernels before 6.0 may
 * not have.
 */
#ifndef _AQM_COMPAT_5_H
#define _AQM_COMPAT_5_H

#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#ifndef HAVE_TC_QDISC_STATS_DUMP
static inline bool tc_qdisc_stats_dump(struct Qdisc *sch, unsigned long cl,
				       struct qdisc_walker *arg)
{
	if (arg->count >= arg->skip && arg->fn(sch, cl, arg) < 0) {
		arg->stop = 1;
		return false;
	}
	arg->count++;
	return true;
}
#endif

/* These statistics have no seqcount. We update and read them under the qdisc lock. */
#ifndef HAVE_GNET_STATS_BASIC_SYNC
#define gnet_stats_basic_sync	gnet_stats_basic_packed
#define gnet_stats_basic_sync_init(b) \
	(*(b) = (struct gnet_stats_basic_packed) {})
#define gnet_stats_copy_basic(d, cpu, b, running) \
	((void)(running), gnet_stats_copy_basic(NULL, d, cpu, b))
#define aqm_bstats_bytes(b)	((b)->bytes)
#else
#define aqm_bstats_bytes(b)	u64_stats_read(&(b)->bytes)
#endif

/* A qdisc's filter cannot redirect: drop the packet. */
#ifndef HAVE_TCF_CLASSIFY_QDISC
static inline int tcf_classify_qdisc(struct sk_buff *skb,
				     const struct tcf_proto *filters,
				     struct tcf_result *res, bool compat_mode)
{
#ifdef HAVE_TCF_CLASSIFY_BLOCK
	int verdict = tcf_classify(skb, NULL, filters, res, compat_mode);
#else
	int verdict = tcf_classify(skb, filters, res, compat_mode);
#endif

	return verdict == TC_ACT_REDIRECT ? TC_ACT_SHOT : verdict;
}
#endif

/* Clear what conntrack has left with a packet. */
static inline void aqm_clear_conntrack(struct sk_buff *skb)
{
#ifdef HAVE_TC_SKB_CB
	tc_skb_cb(skb)->zone = 0;
	tc_skb_cb(skb)->mru = 0;
#else
	qdisc_skb_cb(skb)->mru = 0;
#endif
}

#endif /* _AQM_COMPAT_5_H */
