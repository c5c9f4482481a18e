/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer that is shared by hashed flow queues. Kantawala and Turner use it for
 * each of their algorithms, which differ only in the rule that selects the queue
 * to drop from. The qdisc has this rule.
 *
 * The buffer has a limit in wire packets and a limit in bytes of truesize:
 * <aqm/queue.h>. A full buffer makes room for each arrival: it discards from the
 * front of the queue that the rule selects, until the arrival fits. The priority or
 * a filter of a packet can name a class, which is its queue. Otherwise the queue is
 * the hash of its flow. The queues are served by deficit round robin:
 * <aqm/flow_queues.h>.
 *
 * A qdisc has a struct flow_buffer at the start of its private data, and a
 * struct flow_queue at the start of its state of a queue. The lists
 * TC_AQM_FLOWS_... are the first of its options and of its statistics.
 *
 * An enqueue has three functions:
 *
 *  X_enqueue()		nearly all arrivals: one segment, whose hash gives its queue
 *  X_enqueue_one()	called for all others by flow_buffer_enqueue_other(), once for
 *			each segment. It does not report to the parents, because its
 *			caller does.
 *  X_enqueue_full()	called by both if the arrival does not fit
 */
#ifndef _AQM_FLOW_BUFFER_H
#define _AQM_FLOW_BUFFER_H

#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"
#include "filter_class.h"
#include "flow_queues.h"
#include "flow_spread.h"
#include "flow_ways.h"
#include "kind.h"
#include "parents.h"
#include "queue.h"
#include "split_gso.h"

#define FLOW_BUFFER_MIN_QUANTUM		256
#define FLOW_BUFFER_MAX_QUANTUM		SZ_1M
/* Numbers of classes have 16 bits, and 0 is the qdisc itself. */
#define FLOW_BUFFER_CLASSES		65535
/* For the default of limit. */
#define FLOW_BUFFER_MIN_LIMIT		8	/* packets */
#define FLOW_BUFFER_DELAY		80	/* ms of the link */
#define FLOW_BUFFER_MIN_PACKET		1500	/* bytes */

/**
 * struct flow_buffer - the buffer; first member of the private data
 * @queue: its limits and counters
 * @quantum: bytes per queue and round
 * @flows: number of queues
 * @salt: salt of the flow hash; odd
 * @split_gso: split GSO packets
 * @rounds: the queues, and the order of the queues with packets
 * @ways: assignment of flows to queues
 * @overflows: arrivals that did not fit
 */
struct flow_buffer {
	struct aqm_queue	queue;
	u32			quantum;
	u32			flows;
	u32			salt;
	bool			split_gso;
	struct flow_rounds	rounds;
	struct flow_ways	ways;
	u64			overflows;
};

/* Packets */

/* Return the queue of a packet's flow, from 0. */
static inline u32 flow_buffer_hash(struct flow_buffer *b, struct sk_buff *skb)
{
	if (b->ways.sets)
		return flow_ways_find(&b->ways, skb_get_hash(skb), b->salt);
	return flow_spread(skb_get_hash(skb), b->salt, b->flows);
}

/*
 * Return whether an arrival is one segment and its flow hash alone selects its
 * queue. This holds for nearly all arrivals, and costs a few comparisons. All others
 * go through flow_buffer_enqueue_other().
 */
static inline bool flow_buffer_is_plain(const struct flow_buffer *b,
					const struct Qdisc *sch,
					const struct sk_buff *skb)
{
	return !rcu_dereference_bh(b->queue.filters) &&
	       (TC_H_MAJ(skb->priority) != sch->handle || !sch->handle) &&
	       !queued_is_gso(skb) && (skb->l4_hash || skb->sw_hash);
}

/*
 * Set @number to the queue of an arrival, from 0. If a filter names a class above
 * the number of queues, the arrival is dropped.
 *
 * Return: 0, or the verdict on an arrival that was freed.
 */
static inline int __flow_buffer_classify(struct sk_buff *skb,
					 struct Qdisc *sch, u32 *number,
					 struct sk_buff **to_free)
{
	struct flow_buffer *b = qdisc_priv(sch);
	int verdict;
	u32 minor;

	verdict = filter_class(skb, sch, b->flows, &minor, to_free);
	if (unlikely(verdict))
		return verdict;
	if (unlikely(minor > b->flows))
		return filter_class_drop(skb, sch,
					 NET_XMIT_SUCCESS | __NET_XMIT_BYPASS,
					 to_free);
	*number = minor ? minor - 1 : flow_buffer_hash(b, skb);
	return 0;
}

/**
 * flow_buffer_enqueue_other() - enqueue an arrival that is not flow_buffer_is_plain()
 * @skb: the arrival
 * @sch: the qdisc
 * @to_free: list of packets to free
 * @one: the qdisc's function that enqueues a packet, with its number of segments,
 *	into the queue with a number
 *
 * A GSO packet is classified once, before it is split. So filters and their actions
 * see the same packets as with other qdiscs.
 *
 * Return: the verdict.
 */
static noinline int
flow_buffer_enqueue_other(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free,
			  int (*one)(struct sk_buff *skb, struct Qdisc *sch,
				     struct sk_buff **to_free, u32 segments,
				     u32 number))
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	u32 len = qdisc_pkt_len(skb);
	int verdict;
	u32 number = 0;

	verdict = __flow_buffer_classify(skb, sch, &number, to_free);
	if (unlikely(verdict))
		return verdict;
	if (queued_is_gso(skb))
		return split_gso_enqueue(skb, sch, to_free, b->split_gso, number,
					 one);
	verdict = one(skb, sch, to_free, 1, number);
	if (sch->qstats.drops == before.drops)
		return verdict;
	return parents_report(sch, &before, len, verdict);
}

/* Queue an arrival that fits. */
static __always_inline void flow_buffer_add(struct Qdisc *sch,
					    struct flow_queue *fq,
					    struct sk_buff *skb, u32 segments)
{
	struct flow_buffer *b = qdisc_priv(sch);

	if (!fq->head)
		flow_ways_busy(&b->ways, fq->turn.number);
	flow_queue_add(&b->rounds, fq, skb, b->quantum);
	aqm_queue_add(sch, skb, segments, 0);
}

/* Count an arrival that found the buffer full. */
static inline void flow_buffer_overflow(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);

	b->overflows++;
	qdisc_qstats_overlimit(sch);
}

/* Drop an oversize arrival at queue @fq. Return: the verdict. */
static inline int flow_buffer_refuse(struct sk_buff *skb, struct Qdisc *sch,
				     const struct flow_queue *fq,
				     struct sk_buff **to_free)
{
	struct flow_buffer *b = qdisc_priv(sch);

	flow_ways_refuse(&b->ways, fq->turn.number);
	return aqm_drop(skb, sch, AQM_DROP_OVERSIZE, to_free);
}

/* Remove the first packet of a queue that is not empty, to drop it. */
static inline struct sk_buff *flow_buffer_evict(struct Qdisc *sch,
						struct flow_queue *fq)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = flow_queue_discard(&b->rounds, fq, b->quantum);
	aqm_queue_remove(sch, skb);
	fq->dropped++;
	return skb;
}

/* Remove the first packet of the queue whose turn it is, to send it. */
static inline struct sk_buff *flow_buffer_send(struct Qdisc *sch,
					       struct flow_queue *fq)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = flow_queue_send(&b->rounds, fq, b->quantum);
	aqm_queue_remove(sch, skb);
	aqm_queue_sent(sch, skb);
	return skb;
}

/* Return the bytes in all queues. */
static inline u32 flow_buffer_backlog(struct Qdisc *sch)
{
	return sch->qstats.backlog - aqm_queue(sch)->unreported;
}

/*
 * Free the packets of one queue. The core resets qlen and backlog.
 *
 * Return: the queue; NULL if all queues are empty, or after a failed init.
 */
static inline struct flow_queue *flow_buffer_purge(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq;

	if (!b->rounds.queues)
		return NULL;
	aqm_queue_reset(sch);
	fq = flow_rounds_purge(&b->rounds, b->quantum);
	if (!fq)
		flow_ways_reset(&b->ways, b->flows);
	return fq;
}

/* Configuration */

/* Return the default quantum, bytes. */
static inline u32 flow_buffer_quantum(const struct Qdisc *sch)
{
	return clamp_t(u32, psched_mtu(qdisc_dev(sch)), FLOW_BUFFER_MIN_QUANTUM,
		       FLOW_BUFFER_MAX_QUANTUM);
}

/*
 * Return the default limit: the packets that the link sends in FLOW_BUFFER_DELAY,
 * 59 * 10^6 at 2^40 bytes/s. It is at least FLOW_BUFFER_MIN_LIMIT, because TCP needs
 * a window of some packets at any rate.
 */
static inline u32 flow_buffer_limit(const struct Qdisc *sch, u64 bandwidth)
{
	u32 packet = clamp_t(u32, READ_ONCE(qdisc_dev(sch)->mtu),
			     FLOW_BUFFER_MIN_PACKET, SZ_64K);
	u64 packets = div_u64(bandwidth * FLOW_BUFFER_DELAY, 1000 * packet);

	return max_t(u64, packets, FLOW_BUFFER_MIN_LIMIT);
}

/* Refuse another number of queues on a live qdisc. Return: 0 or an error */
static inline int flow_buffer_check(struct Qdisc *sch, u32 flows,
				    struct netlink_ext_ack *extack)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	if (!b->flows || flows == b->flows)
		return 0;
	NL_SET_ERR_MSG_MOD(extack,
			   "flows cannot be changed on a live qdisc: delete it and add it again");
	return -EOPNOTSUPP;
}

/* Switch to other options. Call before the qdisc is in use, or under the tree lock. */
static inline void flow_buffer_set(struct Qdisc *sch, u32 quantum,
				   bool avoid_collisions, bool split_gso)
{
	struct flow_buffer *b = qdisc_priv(sch);

	if (quantum != b->quantum)
		flow_rounds_restart(&b->rounds);
	b->quantum = quantum;
	b->split_gso = split_gso;
	b->ways.sets = avoid_collisions && b->flows % FLOW_WAYS == 0 ?
		       b->flows / FLOW_WAYS : 0;
}

/**
 * flow_buffer_init() - allocate the queues of a new buffer
 * @sch: the qdisc
 * @flows: number of queues
 * @extack: gets the error
 *
 * Each queue has NUMBERED_BYTES bytes, which are 0 except for its number. Then call
 * flow_buffer_set().
 *
 * Return: 0 or an error
 */
static inline int flow_buffer_init(struct Qdisc *sch, u32 flows,
				   struct netlink_ext_ack *extack)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *queues;

	queues = kvcalloc(flows, NUMBERED_BYTES, GFP_KERNEL_ACCOUNT);
	b->ways.set = kvcalloc(flow_ways_sets(flows), sizeof(*b->ways.set),
			       GFP_KERNEL_ACCOUNT);
	if (!queues || !b->ways.set) {
		kvfree(queues);
		kvfree(b->ways.set);
		b->ways.set = NULL;
		NL_SET_ERR_MSG_MOD(extack, "no memory for the flow queues: lower flows");
		return -ENOMEM;
	}
	flow_rounds_init(&b->rounds, queues, flows);
	b->flows = flows;
	b->salt = get_random_u32() | 1;
	return 0;
}

/* Also after a failed init. */
static inline void flow_buffer_destroy(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);

	kvfree(b->ways.set);
	kvfree(b->rounds.queues);
}

/* Statistics */

/* The statistics that these qdiscs share. */
struct flow_buffer_stats {
	TC_AQM_FLOWS_STATS(TC_AQM_MEMBER, 0)
};

static inline void __flow_buffer_stats(struct Qdisc *sch, struct flow_buffer_stats *st)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	aqm_common_stats(sch, st);
	st->drop_oversize = b->queue.drops[AQM_DROP_OVERSIZE];
	st->drop_filter = b->queue.drops[AQM_DROP_FILTER];
	st->overflows = b->overflows;
	st->active = b->rounds.active;
	st->flows = b->flows;
	st->quantum = b->quantum;
}

/* Fill in the first members of @st, a struct of statistics; under the tree lock. */
#define flow_buffer_stats(sch, st) do {					\
	static_assert(offsetof(typeof(*(st)), quantum) ==		\
		      offsetof(struct flow_buffer_stats, quantum));	\
	__flow_buffer_stats(sch, (struct flow_buffer_stats *)(st));	\
} while (0)

/* Classes: a class is a queue. The last of FLOW_BUFFER_CLASSES has the queues beyond. */

/* Return the class of a queue, from 1. */
static inline u32 flow_buffer_classid(const struct flow_queue *fq)
{
	return min_t(u32, fq->turn.number + 1, FLOW_BUFFER_CLASSES);
}

/* Return the number of queues in classes 1 to @cl. */
static inline u32 flow_buffer_class_end(const struct flow_buffer *b, u32 cl)
{
	return cl < FLOW_BUFFER_CLASSES ? cl : b->flows;
}

/* Return the queue of a class that holds packets, or its first queue. */
static inline struct flow_queue *
flow_buffer_class(const struct flow_buffer *b, u32 cl)
{
	u32 i, end = flow_buffer_class_end(b, cl);
	struct flow_queue *fq;

	for (i = cl - 1; i < end; i++) {
		fq = flow_rounds_queue(&b->rounds, i);
		if (READ_ONCE(fq->head))
			return fq;
	}
	return flow_rounds_queue(&b->rounds, cl - 1);
}

/* Count the packets of a class. None of them may leave meanwhile. */
static inline void flow_buffer_count(struct Qdisc *sch, u32 cl,
				     struct gnet_stats_queue *qs)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 i, end = flow_buffer_class_end(b, cl);
	const struct flow_queue *fq;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	for (i = cl - 1; i < end; i++) {
		fq = flow_rounds_queue(&b->rounds, i);
		flow_queue_count(fq, qs);
		qs->drops += fq->dropped;
	}
}

/**
 * flow_buffer_walk() - Qdisc_class_ops.walk over the classes that have a packet
 * @sch: the qdisc
 * @arg: the walk
 */
static inline void flow_buffer_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	const struct flow_buffer *b = qdisc_priv(sch);
	u32 cl, classes = min_t(u32, b->flows, FLOW_BUFFER_CLASSES);

	for (cl = 1; cl <= classes && !arg->stop; cl++) {
		if (READ_ONCE(flow_buffer_class(b, cl)->head))
			tc_qdisc_stats_dump(sch, cl, arg);
		else
			arg->count++;
	}
}

#endif /* _AQM_FLOW_BUFFER_H */
