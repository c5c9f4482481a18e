/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer that hashed flow queues share, for disciplines that differ in one
 * thing: whose packet goes when an arrival finds no room.
 *
 * The buffer holds at most so many packets and so many bytes of truesize. A
 * packet's queue is the class that its priority or a filter names, else the
 * hash of its flow. The queues are served by deficit round robin,
 * <aqm/flow_queues.h>. Packets are discarded until an arrival fits, from the
 * front of the queue that the discipline names; the arrival is not counted
 * while it names one, and is itself discarded only when even an empty buffer
 * could not hold it.
 *
 * A discipline has a struct flow_buffer at the start of its private data and
 * passes its struct flow_buffer_ops as a constant: the functions are inlined,
 * so that no call through a pointer remains in the datapath.
 */
#ifndef _AQM_FLOW_BUFFER_H
#define _AQM_FLOW_BUFFER_H

#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "../compat.h"
#include "filter_class.h"
#include "flow_queues.h"

#define FLOW_BUFFER_MIN_QUANTUM		256
#define FLOW_BUFFER_MAX_QUANTUM		SZ_1M

/**
 * struct flow_buffer_params - configuration; written by change under the tree
 *	lock
 * @limit: packets held at most
 * @memory_limit: truesize held at most, bytes
 * @flows: number of queues; fixed once set up
 * @quantum: bytes a queue may send per turn
 */
struct flow_buffer_params {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	quantum;
};

/**
 * struct flow_buffer_stats - counters
 * @dropped_bytes: bytes of the packets discarded
 * @drop_limit: packets discarded for want of packet slots
 * @drop_memory: packets discarded for want of memory
 * @drop_oversize: arrivals larger than memory_limit
 * @drop_change: packets discarded because a change lowered a limit
 * @overflows: arrivals that found no room
 */
struct flow_buffer_stats {
	u64	dropped_bytes;
	u32	drop_limit;
	u32	drop_memory;
	u32	drop_oversize;
	u32	drop_change;
	u32	overflows;
};

/**
 * struct flow_buffer - the buffer; first member of the private data
 * @params: configuration
 * @ring: the active queues
 * @stats: counters
 * @salt: of the flow hash
 * @filter_list: filters that choose the queue
 * @block: their block
 */
struct flow_buffer {
	struct flow_buffer_params	params;
	struct flow_ring		ring;
	struct flow_buffer_stats	stats;
	u32				salt;
	struct tcf_proto __rcu		*filter_list;
	struct tcf_block		*block;
};

/**
 * struct flow_buffer_ops - what a discipline adds; called under the qdisc lock
 * @queue: the queue with a number, 1 to flows
 * @victim: the queue to discard from, or NULL if all are empty; @last is the
 *	queue that the same arrival has already discarded from, or NULL
 * @resized: a queue that held @before bytes holds its present backlog now;
 *	it is active while that is not 0
 */
struct flow_buffer_ops {
	struct flow_queue *(*queue)(struct Qdisc *sch, u32 number);
	struct flow_queue *(*victim)(struct Qdisc *sch,
				     struct flow_queue *last);
	void (*resized)(struct Qdisc *sch, struct flow_queue *fq, u32 before);
};

/* An empty buffer with the defaults that do not depend on the discipline. */
static inline int flow_buffer_init(struct Qdisc *sch,
				   struct netlink_ext_ack *extack)
{
	struct flow_buffer *b = qdisc_priv(sch);

	flow_ring_init(&b->ring);
	b->salt = get_random_u32();
	b->params.limit = 1000;
	b->params.memory_limit = SZ_32M;
	b->params.flows = 1024;
	b->params.quantum = clamp_t(u32, psched_mtu(qdisc_dev(sch)),
				    FLOW_BUFFER_MIN_QUANTUM,
				    FLOW_BUFFER_MAX_QUANTUM);
	return tcf_block_get(&b->block, &b->filter_list, sch, extack);
}

/* Whether a live buffer can take on @p. */
static inline int flow_buffer_can_change(struct Qdisc *sch,
					 const struct flow_buffer_params *p,
					 struct netlink_ext_ack *extack)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	if (p->flows == b->params.flows)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "flows cannot be changed on a live qdisc");
	return -EOPNOTSUPP;
}

/* Take on @p: before the discipline is in use, or under the tree lock. */
static inline void flow_buffer_set(struct Qdisc *sch,
				   const struct flow_buffer_params *p)
{
	struct flow_buffer *b = qdisc_priv(sch);

	WRITE_ONCE(sch->limit, p->limit);
	WRITE_ONCE(b->params.limit, p->limit);
	WRITE_ONCE(b->params.memory_limit, p->memory_limit);
	WRITE_ONCE(b->params.flows, p->flows);
	WRITE_ONCE(b->params.quantum, p->quantum);
}

/* Packets peeked at have left their queues but still count in sch->q.qlen. */
static inline bool flow_buffer_has_slot(struct Qdisc *sch, u32 arriving)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	return sch->q.qlen + arriving <= b->params.limit;
}

static inline bool flow_buffer_has_memory(struct Qdisc *sch, u32 arriving)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	return (u64)b->ring.memory_used + arriving <= b->params.memory_limit;
}

/* Take the first packet of a queue, and all that goes with its leaving. */
static __always_inline struct sk_buff *
__flow_buffer_take(struct Qdisc *sch, struct flow_queue *fq,
		   const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 before = fq->backlog;
	struct sk_buff *skb;

	skb = flow_queue_take(&b->ring, fq);
	ops->resized(sch, fq, before);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* Count a packet that is lost; @cause is its counter. */
static inline void __flow_buffer_lose(struct Qdisc *sch, struct sk_buff *skb,
				      u32 *cause)
{
	struct flow_buffer *b = qdisc_priv(sch);

	b->stats.dropped_bytes += qdisc_pkt_len(skb);
	++*cause;
	qdisc_qstats_drop(sch);
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
}

/* As __flow_buffer_take(), for a packet that is lost. */
static __always_inline struct sk_buff *
__flow_buffer_discard(struct Qdisc *sch, struct flow_queue *fq, u32 *cause,
		      const struct flow_buffer_ops *ops)
{
	struct sk_buff *skb = __flow_buffer_take(sch, fq, ops);

	fq->dropped++;
	__flow_buffer_lose(sch, skb, cause);
	return skb;
}

/**
 * __flow_buffer_make_room() - discard until an arrival fits
 * @sch: the discipline
 * @truesize: of the arrival, bytes
 * @arriving: the arrival's queue
 * @to_free: list that takes the discarded packets
 * @hit: set to true if the arrival's queue lost a packet
 * @ops: the discipline's
 *
 * Return: NULL if there is room; the counter for the arrival's own loss if
 * there cannot be, because it is larger than the memory, or because a packet
 * that a parent has peeked at fills the limit.
 */
static __always_inline u32 *
__flow_buffer_make_room(struct Qdisc *sch, u32 truesize,
			const struct flow_queue *arriving,
			struct sk_buff **to_free, bool *hit,
			const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq = NULL;
	struct sk_buff *skb;
	bool slot;

	b->stats.overflows++;
	if (truesize > b->params.memory_limit)
		return &b->stats.drop_oversize;

	while (!(slot = flow_buffer_has_slot(sch, 1)) ||
	       !flow_buffer_has_memory(sch, truesize)) {
		fq = ops->victim(sch, fq);
		if (!fq)
			return &b->stats.drop_limit;
		*hit |= fq == arriving;
		skb = __flow_buffer_discard(sch, fq,
					    slot ? &b->stats.drop_memory :
						   &b->stats.drop_limit, ops);
		__qdisc_drop(skb, to_free);
	}
	return NULL;
}

/**
 * __flow_buffer_settle() - what enqueue tells the parents
 * @sch: the discipline; the arrival is queued and counted
 * @qlen: packets that it held before
 * @backlog: bytes that it held before
 * @len: length of the arrival, bytes
 * @hit: the arrival's queue lost a packet to make room
 *
 * What the parents counted and is gone again is taken from them. After
 * NET_XMIT_CN they do not count the arrival, so it stands for one of the
 * discards. A queue that lost a packet was not empty: the parents know the
 * discipline as active.
 *
 * Return: the verdict.
 */
static inline int __flow_buffer_settle(struct Qdisc *sch, u32 qlen,
				       u32 backlog, u32 len, bool hit)
{
	qlen += 1 - sch->q.qlen;
	backlog += len - sch->qstats.backlog;
	if (!qlen)
		return NET_XMIT_SUCCESS;
	if (hit) {
		qdisc_tree_reduce_backlog(sch, qlen - 1, backlog - len);
		return NET_XMIT_CN;
	}
	qdisc_tree_reduce_backlog(sch, qlen, backlog);
	return NET_XMIT_SUCCESS;
}

/**
 * flow_buffer_enqueue() - queue an arrival
 * @skb: the arrival
 * @sch: the discipline
 * @to_free: list that takes the discarded packets
 * @ops: the discipline's
 *
 * A filter that names a class beyond the number of queues loses the packet.
 *
 * Return: the verdict.
 */
static __always_inline int
flow_buffer_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		    struct sk_buff **to_free, const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 len = qdisc_pkt_len(skb);
	u32 before, number, *cause;
	u32 qlen = sch->q.qlen;
	struct flow_queue *fq;
	bool hit = false;
	int verdict;

	verdict = filter_class(skb, sch, rcu_dereference_bh(b->filter_list),
			       b->params.flows, &number);
	if (!verdict && number > b->params.flows)
		verdict = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	if (unlikely(verdict))
		return filter_class_drop(skb, sch, verdict, to_free);
	if (!number)
		number = 1 + reciprocal_scale(jhash_1word(skb_get_hash(skb),
							  b->salt),
					      b->params.flows);
	fq = ops->queue(sch, number);

	if (unlikely(!flow_buffer_has_slot(sch, 1) ||
		     !flow_buffer_has_memory(sch, skb->truesize))) {
		cause = __flow_buffer_make_room(sch, skb->truesize, fq,
						to_free, &hit, ops);
		if (cause) {
			__flow_buffer_lose(sch, skb, cause);
			__qdisc_drop(skb, to_free);
			return NET_XMIT_DROP;
		}
	}

	before = fq->backlog;
	flow_queue_add(&b->ring, fq, skb, b->params.quantum);
	ops->resized(sch, fq, before);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);
	return __flow_buffer_settle(sch, qlen, backlog, len, hit);
}

/**
 * flow_buffer_dequeue() - the next packet to send
 * @sch: the discipline
 * @from: set to the queue that it comes from
 * @ops: the discipline's
 *
 * Return: the packet, or NULL if all queues are empty.
 */
static __always_inline struct sk_buff *
flow_buffer_dequeue(struct Qdisc *sch, struct flow_queue **from,
		    const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq;
	struct sk_buff *skb;

	fq = flow_ring_next(&b->ring, b->params.quantum);
	if (!fq)
		return NULL;
	skb = __flow_buffer_take(sch, fq, ops);
	flow_ring_charge(&b->ring, fq, qdisc_pkt_len(skb), b->params.quantum);
	qdisc_bstats_update(sch, skb);
	*from = fq;
	return skb;
}

/* A change made the buffer smaller; each discard is as for an arrival. */
static __always_inline void
flow_buffer_trim(struct Qdisc *sch, const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	u32 qlen = sch->q.qlen;
	struct flow_queue *fq;
	struct sk_buff *skb;

	while (!flow_buffer_has_slot(sch, 0) ||
	       !flow_buffer_has_memory(sch, 0)) {
		fq = ops->victim(sch, NULL);
		if (!fq)
			break;
		skb = __flow_buffer_discard(sch, fq, &b->stats.drop_change,
					    ops);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_tree_reduce_backlog(sch, qlen - sch->q.qlen,
				  backlog - sch->qstats.backlog);
}

/* Class operations: a class is a queue. See also <aqm/filter_class.h>. */
static inline struct tcf_block *
flow_buffer_tcf_block(struct Qdisc *sch, unsigned long cl,
		      struct netlink_ext_ack *extack)
{
	struct flow_buffer *b = qdisc_priv(sch);

	return cl ? NULL : b->block;
}

/* Show the queues that hold a packet. */
static __always_inline void flow_buffer_walk(struct Qdisc *sch,
					     struct qdisc_walker *arg,
					     const struct flow_buffer_ops *ops)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 i;

	if (arg->stop)
		return;
	for (i = 1; i <= b->params.flows; i++) {
		if (!READ_ONCE(ops->queue(sch, i)->qlen)) {
			arg->count++;
			continue;
		}
		if (!tc_qdisc_stats_dump(sch, i, arg))
			break;
	}
}

#endif /* _AQM_FLOW_BUFFER_H */
