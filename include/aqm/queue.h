/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each of our qdiscs keeps of its queue: the two quantities that its limits
 * bound, the limits, waiting times, and the counters. It is the first member of a
 * qdisc's private data. The packets themselves are in a structure of the qdisc.
 *
 *	an arrival		aqm_queue_full(), then aqm_queue_add() or aqm_drop()
 *	a departure		aqm_queue_remove(), aqm_queue_sent()
 *	a queued packet is lost	aqm_queue_remove(), aqm_queue_lost()
 *	a limit became lower	aqm_queue_trim()
 *	all packets are purged	aqm_queue_reset()
 *
 * A limit in packets counts wire packets: a GSO packet counts as its number of
 * segments. Both this number and the truesize can change while a packet waits
 * (a clone is freed, a filter pulls data). So we store the values with the
 * packet when we add it, and subtract the same values later.
 *
 * Packets that a parent has peeked at or that a driver handed back belong to
 * somebody else and do not count.
 *
 * Each drop has one cause. The cause selects the counter, the reason that the
 * core reports (dropwatch, perf), and the verdict on an arrival.
 */
#ifndef _AQM_QUEUE_H
#define _AQM_QUEUE_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/pkt_cls.h>
#include <net/sch_generic.h>
#include "../compat.h"
#include "measure.h"

struct aqm_given;
struct aqm_kind;

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
 * @AQM_DROP_OWN: the first cause that only one qdisc has. From @AQM_DROP_FILTER on the
 *	sender is told of congestion (NET_XMIT_CN), and before it of a full queue
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
 * struct link_rate - the link's rate, see frame/link_rate.c; under RTNL, the meter
 *	under the qdisc lock
 * @rate: rate in force unless one was given, bytes/s; 0: the default
 * @refused: a rate that the options do not fit, bytes/s; otherwise 0
 * @speed: the device's speed when we last asked, bytes/s; 0: none
 * @measured: @rate was measured
 * @follow: use the measured rate
 * @meter: measures the rate
 * @next: when the measured rate may change @rate again, ns
 * @work: changes it
 * @sch: the qdisc
 */
struct link_rate {
	u64			rate;
	u64			refused;
	u64			speed;
	bool			measured;
	bool			follow;
	struct rate_meter	meter;
	u64			next;
	struct delayed_work	work;
	struct Qdisc		*sch;
};

/**
 * struct aqm_queue - the queue; first member of the private data
 * @segments: queued wire packets
 * @truesize: their memory, bytes
 * @limit: limit in force, in the unit of the option; usually wire packets
 * @memory_limit: limit in force, bytes
 * @unreported: bytes that parents count too many; see parents_report()
 * @filters: tc filters, which can name the class of a packet
 * @delay: sampled waiting times
 * @drops: dropped packets by cause
 * @dropped_bytes: their length
 * @signal: marked and spared packets
 * @block: the block of @filters
 * @kind: what the frame must know of the qdisc
 * @given: its parameters in force, which begin with the mask of given options
 * @bandwidth: rate of the link that they depend on, bytes/s; 0: they depend on none
 * @link: the link's rate
 *
 * All under the qdisc lock, except the limits, which are written under the tree
 * lock. A packet uses the first cache line only, unless it is timed or dropped.
 */
struct aqm_queue {
	u32			segments;
	u32			truesize;
	u32			limit;
	u32			memory_limit;
	u32			unreported;
	struct tcf_proto __rcu	*filters;
	struct delay_sample	delay;
	u64			drops[AQM_DROPS];
	u64			dropped_bytes;
	struct congestion_stats	signal;
	struct tcf_block	*block;
	const struct aqm_kind	*kind;
	const struct aqm_given	*given;
	u64			bandwidth;
	struct link_rate	link;
} ____cacheline_aligned;

static_assert(offsetof(struct aqm_queue, delay.since) < 64);

static inline struct aqm_queue *aqm_queue(struct Qdisc *sch)
{
	return qdisc_priv(sch);
}

/**
 * struct queued_cb - values stored with a queued packet
 * @segments: number of packets that it counts as
 * @truesize: number of bytes that it counts as
 *
 * A qdisc that stores more embeds this as the first member of its structure.
 */
struct queued_cb {
	u32	segments;
	u32	truesize;
};

static inline struct queued_cb *queued_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct queued_cb));
	return (struct queued_cb *)qdisc_skb_cb(skb)->data;
}

/*
 * Return whether an arrival is more than one wire packet. Newer kernels say this
 * in the control block. The shared info is in a cache line that another CPU may
 * have written, so we avoid it.
 */
static inline bool queued_is_gso(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return qdisc_skb_cb(skb)->pkt_segs > 1;
#else
	return skb_is_gso(skb);
#endif
}

/* Return the number of wire packets in @skb. */
static inline u32 queued_segments(const struct sk_buff *skb)
{
#ifdef HAVE_QDISC_PKT_SEGS
	return max_t(u32, qdisc_skb_cb(skb)->pkt_segs, 1);
#else
	const struct skb_shared_info *shinfo = skb_shinfo(skb);

	if (likely(!shinfo->gso_size))
		return 1;
	/* A packet from a guest may have a segment size but no count. */
	return shinfo->gso_segs ?:
	       max(DIV_ROUND_UP(skb->len, shinfo->gso_size), 1U);
#endif
}

/* Drops */

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
static inline void aqm_drop_count(struct Qdisc *sch, struct sk_buff *skb,
				  enum aqm_drop cause)
{
	struct aqm_queue *q = aqm_queue(sch);

	q->drops[cause]++;
	q->dropped_bytes += qdisc_pkt_len(skb);
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, aqm_drop_is_overlimit(cause) ?
				       QDISC_DROP_OVERLIMIT :
				       QDISC_DROP_CONGESTED);
}

int aqm_drop(struct sk_buff *skb, struct Qdisc *sch, enum aqm_drop cause,
	     struct sk_buff **to_free);

/* What the parents are told: frame/parents.c */

/**
 * struct parents_before - counts of the qdisc when a packet arrives
 * @qlen: queued packets
 * @backlog: queued bytes
 * @drops: dropped packets
 */
struct parents_before {
	u32	qlen;
	u32	backlog;
	u32	drops;
};

void parents_settle(struct Qdisc *sch);
void parents_settle_last(struct Qdisc *sch);
int parents_report_any(struct Qdisc *sch, const struct parents_before *before, u32 len,
		       int verdict);

/* Return the counts, after the bytes that an earlier enqueue left unreported. */
static inline struct parents_before
parents_before(struct Qdisc *sch)
{
	if (unlikely(aqm_queue(sch)->unreported))
		parents_settle(sch);
	return (struct parents_before) {
		.qlen		= sch->q.qlen,
		.backlog	= sch->qstats.backlog,
		.drops		= sch->qstats.drops,
	};
}

/*
 * Return whether a parent counts the packets of @sch. The root has none. The parent
 * of a qdisc for one transmit queue (mq, mqprio, offloaded htb and taprio) keeps no
 * counts: qdisc_tree_reduce_backlog() stops there, and the sender gets the verdict.
 * taprio in software mode sets the flag, too. It counts an arrival before we answer,
 * and hears nothing (docs/upstream/taprio-count). frame/split_gso.c does not split there.
 */
static inline bool parents_count(const struct Qdisc *sch)
{
	return sch->parent != TC_H_ROOT && !(sch->flags & TCQ_F_NOPARENT);
}

/* Report changes by an arrival: see parents_report_any(). */
static inline int parents_report(struct Qdisc *sch,
				 const struct parents_before *before, u32 len,
				 int verdict)
{
	if (!parents_count(sch))
		return verdict;
	return parents_report_any(sch, before, len, verdict);
}

/* Packets */

/*
 * Check whether an arrival of @segments fits. An arrival that alone exceeds the limit
 * fits into an empty queue. Otherwise its flow could never send.
 *
 * Return: AQM_DROP_NONE, AQM_DROP_LIMIT or AQM_DROP_MEMORY
 */
static inline enum aqm_drop aqm_queue_full(const struct aqm_queue *q,
					   const struct sk_buff *skb, u32 segments)
{
	if (unlikely((u64)q->segments + segments > q->limit) && q->segments)
		return AQM_DROP_LIMIT;
	if (unlikely((u64)q->truesize + skb->truesize > q->memory_limit))
		return AQM_DROP_MEMORY;
	return AQM_DROP_NONE;
}

/*
 * Return whether an arrival alone exceeds a limit. To queue it, all other packets
 * would have to be dropped, and it might still not fit.
 */
static inline bool aqm_queue_is_oversize(const struct aqm_queue *q,
					 const struct sk_buff *skb, u32 segments)
{
	return segments > q->limit || skb->truesize > q->memory_limit;
}

/* Return the number of packets in the queue, a GSO packet as one. */
static inline u32 aqm_queue_len(const struct Qdisc *sch)
{
	return sch->q.qlen - sch->gso_skb.qlen - sch->skb_bad_txq.qlen;
}

bool aqm_queue_is_over(struct Qdisc *sch);
void aqm_queue_reset(struct Qdisc *sch);
void aqm_queue_time(struct aqm_queue *q, const struct sk_buff *skb, u64 now);
void aqm_queue_look(struct Qdisc *sch);
void aqm_queue_trim(struct Qdisc *sch,
		    struct sk_buff *(*evict)(struct Qdisc *sch, bool again));

/* Count an arrival of @segments, except in the length and backlog of the core. */
static inline void __aqm_queue_add(struct aqm_queue *q, const struct sk_buff *skb,
				   u32 segments, u64 now)
{
	struct queued_cb *cb = queued_cb(skb);
	u32 truesize = skb->truesize;

	cb->segments = segments;
	cb->truesize = truesize;
	q->segments += segments;
	q->truesize += truesize;
	if (unlikely(delay_due(&q->delay)))
		aqm_queue_time(q, skb, now);
}

/**
 * aqm_queue_add() - count an arrival that is queued
 * @sch: the qdisc
 * @skb: the arrival
 * @segments: wire packets that it counts as
 * @now: the time, ns; 0 if the caller has not read the clock
 */
static inline void aqm_queue_add(struct Qdisc *sch, struct sk_buff *skb,
				 u32 segments, u64 now)
{
	__aqm_queue_add(aqm_queue(sch), skb, segments, now);
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
}

/* As __aqm_queue_add(), for a packet that leaves. */
static inline void __aqm_queue_remove(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct queued_cb *cb = queued_cb(skb);
	struct aqm_queue *q = aqm_queue(sch);

	q->segments -= cb->segments;
	q->truesize -= cb->truesize;
	if (unlikely(!q->segments) && q->unreported)
		parents_settle_last(sch);
}

/* Count a packet that leaves the queue, whatever becomes of it. */
static inline void aqm_queue_remove(struct Qdisc *sch, const struct sk_buff *skb)
{
	__aqm_queue_remove(sch, skb);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
}

/* Count a packet that left the queue for the link. */
static inline void aqm_queue_sent(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct delay_sample *delay = &aqm_queue(sch)->delay;

	_bstats_update(&sch->bstats, qdisc_pkt_len(skb),
		       queued_cb(skb)->segments);
	if (delay_timed(delay, skb))
		delay_end(delay, ktime_get_ns());
	if (unlikely(!sch->q.qlen))
		delay->emptied = true;
	if (unlikely(--delay->look < 0))
		aqm_queue_look(sch);
}

/* Count a drop of a packet that left the queue. */
static inline void aqm_queue_lost(struct Qdisc *sch, struct sk_buff *skb,
				  enum aqm_drop cause)
{
	delay_lost(&aqm_queue(sch)->delay, skb);
	aqm_drop_count(sch, skb, cause);
}

#endif /* _AQM_QUEUE_H */
