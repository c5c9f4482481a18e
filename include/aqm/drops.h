/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a packet is dropped.
 *
 * Each drop has one cause. The cause selects the counter, the reason that the
 * core reports (dropwatch, perf), and the verdict on an arrival.
 */
#ifndef _AQM_DROPS_H
#define _AQM_DROPS_H

#include <net/sch_generic.h>
#include "../compat.h"
#include "congestion_signal.h"

/**
 * enum aqm_drop - the cause of a drop
 * @AQM_DROP_NONE: 0, the packet is not dropped
 * @AQM_DROP_LIMIT: the queue is full
 * @AQM_DROP_MEMORY: memory_limit is reached, or no memory is left to split a packet
 * @AQM_DROP_CHANGE: a change lowered a limit
 * @AQM_DROP_OVERSIZE: the packet alone exceeds a limit
 * @AQM_DROP_FILTER: a filter drops it
 * @AQM_DROP_EARLY: the AQM drops it at random
 * @AQM_DROP_FORCED: the AQM drops it because its average is too high
 * @AQM_DROP_OWN: the first cause that only one qdisc has
 * @AQM_DROP_OWN_2: the second
 * @AQM_DROP_OWN_3: the third
 * @AQM_DROPS: number of causes
 */
enum aqm_drop {
	AQM_DROP_NONE,
	AQM_DROP_LIMIT,
	AQM_DROP_MEMORY,
	AQM_DROP_CHANGE,
	AQM_DROP_OVERSIZE,
	AQM_DROP_FILTER,
	AQM_DROP_EARLY,
	AQM_DROP_FORCED,
	AQM_DROP_OWN,
	AQM_DROP_OWN_2,
	AQM_DROP_OWN_3,
	AQM_DROPS
};

/**
 * struct aqm_counters - counters of a qdisc; under the qdisc lock
 * @drops: dropped packets by cause
 * @dropped_bytes: their length
 * @signal: marked and spared packets
 */
struct aqm_counters {
	u64			drops[AQM_DROPS];
	u64			dropped_bytes;
	struct congestion_stats	signal;
};

/* Whether the packet is dropped because the queue has no room for it. */
static inline bool aqm_drop_is_overlimit(enum aqm_drop cause)
{
	return cause <= AQM_DROP_OVERSIZE;
}

/* The cause of a drop by the AQM. */
static inline enum aqm_drop aqm_drop_signal(bool forced)
{
	return forced ? AQM_DROP_FORCED : AQM_DROP_EARLY;
}

/* The verdict on an arrival that is dropped. */
static inline int aqm_drop_verdict(enum aqm_drop cause)
{
	return aqm_drop_is_overlimit(cause) ? NET_XMIT_DROP : NET_XMIT_CN;
}

/* Count a packet that is dropped, and note the reason with it for the core. */
static inline void aqm_drop_count(struct Qdisc *sch, struct aqm_counters *c,
				  struct sk_buff *skb, enum aqm_drop cause)
{
	c->drops[cause]++;
	c->dropped_bytes += qdisc_pkt_len(skb);
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, aqm_drop_is_overlimit(cause) ?
				       QDISC_DROP_OVERLIMIT :
				       QDISC_DROP_CONGESTED);
}

/**
 * aqm_drop() - drop an arrival
 * @skb: the arrival
 * @sch: the qdisc
 * @c: its counters
 * @cause: the cause
 * @to_free: list of packets to free
 *
 * Return: the verdict.
 */
static inline int aqm_drop(struct sk_buff *skb, struct Qdisc *sch,
			   struct aqm_counters *c, enum aqm_drop cause,
			   struct sk_buff **to_free)
{
	aqm_drop_count(sch, c, skb, cause);
	__qdisc_drop(skb, to_free);
	return aqm_drop_verdict(cause);
}

#endif /* _AQM_DROPS_H */
