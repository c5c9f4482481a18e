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

#include <linux/workqueue.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"
#include "flow_queues.h"
#include "flow_key.h"
#include "flow_table.h"
#include "frame.h"
#include "queue.h"

/* Numbers of classes have 16 bits, and 0 is the qdisc itself. */
#define FLOW_BUFFER_CLASSES		65535

/**
 * struct flow_buffer_ops - what the frame must know to let a buffer grow, and rest
 * @link: offset of the numbered_link in a queue's state that the qdisc adds
 * @moved: b->rounds.queues is another copy of the queues, which were at @old; under the
 *	qdisc lock. NULL, before or now: there are no queues
 * @claimed: a flow claimed a queue: see flow_table_search(); optional
 * @is_spent: nothing is remembered of packets that left; under the tree lock; optional
 */
struct flow_buffer_ops {
	size_t	link;
	void	(*moved)(struct Qdisc *sch, const void *old);
	void	(*claimed)(struct Qdisc *sch);
	bool	(*is_spent)(struct Qdisc *sch);
};

/**
 * struct flow_buffer - the buffer; first member of the private data
 * @queue: its limits and counters
 * @quantum: bytes per queue and round
 * @flows: number of queues
 * @named: number of queues at first. Filters name these
 * @salt: salt of the flow hash; odd
 * @split_gso: split GSO packets
 * @avoid_collisions: each flow has a separate queue; otherwise its hash has one of the first @named
 * @rounds: the queues, and the order of the queues with packets
 * @table: the flows
 * @overflows: arrivals that did not fit
 * @sent: bytes that had left when @idle last looked
 * @wants: of @table, and possible; for @work
 * @ops: for growing, and resting
 * @work: lets the buffer grow
 * @idle: lets it rest
 *
 * If flows share queues, because more than @named have packets at the same time, work
 * allocates more queues, once. If the table of flows is too small, work allocates a larger
 * one, once.
 *
 * If one processor enqueues and another one dequeues, cache lines move between them. So
 * @table, which only arrivals use, has its own. @rounds has what both write. The members
 * before it are only read.
 *
 * Up to FLOW_BUFFER_LAZY queues and the table are allocated by the first packet:
 * flow_buffer_wake(). After a minute without packets the buffer gives all back.
 */
struct flow_buffer {
	struct aqm_queue	queue;
	u32			quantum;
	u32			flows;
	u32			named;
	u32			salt;
	bool			split_gso;
	bool			avoid_collisions;
	struct flow_rounds	rounds ____cacheline_aligned;
	struct flow_table	table ____cacheline_aligned;
	u64			overflows;
	u64			sent;
	u32			wants;
	const struct flow_buffer_ops	*ops;
	struct delayed_work	work;
	struct delayed_work	idle;
};

/* The rest is in frame/flow_buffer.c. */
int flow_buffer_enqueue_other(struct sk_buff *skb, struct Qdisc *sch,
			      struct sk_buff **to_free,
			      int (*one)(struct sk_buff *skb, struct Qdisc *sch,
					 struct sk_buff **to_free, u32 segments,
					 u32 number));
bool flow_buffer_owns(const struct flow_buffer *b, struct sk_buff *skb,
		      const struct flow_queue *fq);
bool flow_buffer_mark(struct Qdisc *sch, struct flow_queue *fq);
struct flow_queue *flow_buffer_purge(struct Qdisc *sch);

u32 flow_buffer_quantum(const struct Qdisc *sch);
u32 flow_buffer_limit(const struct Qdisc *sch, u64 bandwidth);
int flow_buffer_check(struct Qdisc *sch, u32 flows, struct netlink_ext_ack *extack);
int flow_buffer_init(struct Qdisc *sch, u32 flows, const struct flow_buffer_ops *ops,
		     struct netlink_ext_ack *extack);
u32 flow_buffer_search(struct flow_buffer *b, u32 tag);
void *flow_buffer_moved(const struct flow_buffer *b, const void *old, const void *queue);
void flow_buffer_set(struct Qdisc *sch, u32 quantum, bool avoid_collisions,
		     bool split_gso);
void flow_buffer_destroy(struct Qdisc *sch);

struct flow_queue *flow_buffer_class(const struct flow_buffer *b, u32 cl);
s32 flow_buffer_account(const struct flow_buffer *b, struct flow_queue *fq);
void flow_buffer_count(struct Qdisc *sch, u32 cl, struct gnet_stats_queue *qs);
void flow_buffer_walk(struct Qdisc *sch, struct qdisc_walker *arg);

/* Packets */

/* Return the queue of a packet's flow, from 0. */
static inline u32 flow_buffer_hash(struct flow_buffer *b, struct sk_buff *skb)
{
	u32 number, hash = skb_get_hash(skb);

	if (!b->avoid_collisions)
		return flow_spread(hash, b->salt, b->named);
	hash = flow_mix(hash, b->salt);
	number = flow_table_own(&b->table, hash);
	return likely(number != FLOW_NONE) ? number : flow_buffer_search(b, hash);
}

/*
 * Return whether an arrival is one segment, its flow hash alone selects its queue, and
 * there are queues. This holds for nearly all arrivals, and costs a few comparisons. All others
 * go through flow_buffer_enqueue_other().
 */
static inline bool flow_buffer_is_plain(const struct flow_buffer *b,
					const struct Qdisc *sch,
					const struct sk_buff *skb)
{
	return b->rounds.queues && !rcu_dereference_bh(b->queue.filters) &&
	       (TC_H_MAJ(skb->priority) != sch->handle || !sch->handle) &&
	       !queued_is_gso(skb) && (skb->l4_hash || skb->sw_hash);
}

/* Queue an arrival that fits. Return: whether the queue was empty */
static __always_inline bool flow_buffer_add(struct Qdisc *sch,
					    struct flow_queue *fq,
					    struct sk_buff *skb, u32 segments)
{
	struct flow_buffer *b = qdisc_priv(sch);
	bool first = flow_queue_add(&b->rounds, fq, skb, b->quantum);

	if (first)
		flow_table_filled(&b->table, &b->rounds, fq);
	aqm_queue_add(sch, skb, segments, 0);
	return first;
}

/* Count an arrival that found the buffer full. */
static inline void flow_buffer_overflow(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);

	b->overflows++;
	qdisc_qstats_overlimit(sch);
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

/* The statistics that these qdiscs share. */
struct flow_buffer_stats {
	TC_AQM_FLOWS_STATS(TC_AQM_MEMBER, 0)
};

void __flow_buffer_stats(struct Qdisc *sch, struct flow_buffer_stats *st);

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

#endif /* _AQM_FLOW_BUFFER_H */
