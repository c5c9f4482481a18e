/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hashed flow queues with deficit round robin, and what disciplines built on
 * them share.
 *
 * A queue is active while it holds a packet. Active queues stand in a ring;
 * the first is served while its deficit is positive. A packet's length is
 * charged when it has been taken, and a queue whose deficit is spent gets one
 * quantum and goes to the end of the ring. (Shreedhar and Varghese compare the
 * head's length with the deficit before sending; charging afterwards shares
 * the link the same way, within one packet, without looking at the packet.)
 *
 * Cost: with a quantum of at least the largest packet no queue in the ring has
 * spent its deficit, so a dequeue touches one queue. A packet of k quanta (GSO)
 * makes its queue pass k - 1 turns more, each paid for by bytes already sent:
 * amortised O(length / quantum) per packet, whatever the number of queues.
 */
#ifndef _AQM_FLOW_QUEUES_H
#define _AQM_FLOW_QUEUES_H

#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <net/pkt_cls.h>
#include <net/sch_generic.h>
#include "../compat.h"

/**
 * struct flow_queue - a FIFO of packets that takes part in the round robin
 * @head: next packet to send
 * @tail: last packet queued; meaningful while @head is set
 * @turn: place in the ring of active queues
 * @deficit: bytes it may still send in this turn
 * @backlog: bytes held
 * @qlen: packets held
 * @dropped: packets lost from this queue since it was set up
 */
struct flow_queue {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	struct list_head	turn;
	s32			deficit;
	u32			backlog;
	u32			qlen;
	u32			dropped;
};

/**
 * struct flow_ring - the active queues
 * @turns: active queues in the order of service
 * @active: their number
 * @memory_used: truesize of the packets they hold, bytes
 */
struct flow_ring {
	struct list_head	turns;
	u32			active;
	u32			memory_used;
};

/* What is remembered with a packet: its truesize can change while it waits. */
struct flow_queue_cb {
	u32	truesize;
};

static inline struct flow_queue_cb *flow_queue_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct flow_queue_cb));
	return (struct flow_queue_cb *)qdisc_skb_cb(skb)->data;
}

static inline void flow_ring_init(struct flow_ring *ring)
{
	INIT_LIST_HEAD(&ring->turns);
	ring->active = 0;
	ring->memory_used = 0;
}

static inline void flow_queue_init(struct flow_queue *fq)
{
	INIT_LIST_HEAD(&fq->turn);
}

static inline void flow_queue_add(struct flow_ring *ring, struct flow_queue *fq,
				  struct sk_buff *skb, u32 quantum)
{
	skb->next = NULL;
	if (fq->head) {
		fq->tail->next = skb;
	} else {
		fq->head = skb;
		fq->deficit = quantum;
		list_add_tail(&fq->turn, &ring->turns);
		ring->active++;
	}
	fq->tail = skb;
	fq->backlog += qdisc_pkt_len(skb);
	fq->qlen++;
	flow_queue_cb(skb)->truesize = skb->truesize;
	ring->memory_used += skb->truesize;
}

/**
 * flow_queue_take() - remove the first packet of an active queue
 * @ring: the ring of the queue
 * @fq: the queue
 *
 * An emptied queue leaves the ring. The deficit is the caller's to charge.
 */
static inline struct sk_buff *flow_queue_take(struct flow_ring *ring,
					      struct flow_queue *fq)
{
	struct sk_buff *skb = fq->head;

	fq->head = skb->next;
	skb_mark_not_on_list(skb);
	fq->backlog -= qdisc_pkt_len(skb);
	fq->qlen--;
	ring->memory_used -= flow_queue_cb(skb)->truesize;
	if (!fq->head) {
		list_del_init(&fq->turn);
		ring->active--;
	}
	return skb;
}

/* The queue to serve now, or NULL if none is active. */
static inline struct flow_queue *flow_ring_next(struct flow_ring *ring,
						u32 quantum)
{
	struct flow_queue *fq;

	for (;;) {
		fq = list_first_entry_or_null(&ring->turns, struct flow_queue,
					      turn);
		if (!fq || likely(fq->deficit > 0))
			return fq;
		fq->deficit += quantum;
		list_move_tail(&fq->turn, &ring->turns);
	}
}

/* Charge a queue for @len bytes sent; it passes on its turn if it has spent it. */
static inline void flow_ring_charge(struct flow_ring *ring,
				    struct flow_queue *fq, u32 len, u32 quantum)
{
	fq->deficit -= len;
	if (!fq->head || fq->deficit > 0)
		return;
	fq->deficit += quantum;
	list_move_tail(&fq->turn, &ring->turns);
}

/* Free all packets that wait. The discipline resets its own counters. */
static inline void flow_ring_purge(struct flow_ring *ring)
{
	struct flow_queue *fq, *next;

	list_for_each_entry_safe(fq, next, &ring->turns, turn) {
		rtnl_kfree_skbs(fq->head, fq->tail);
		fq->head = NULL;
		fq->backlog = 0;
		fq->qlen = 0;
		list_del_init(&fq->turn);
	}
	flow_ring_init(ring);
}

/**
 * flow_queues_settle() - what enqueue tells the parents
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
static inline int flow_queues_settle(struct Qdisc *sch, u32 qlen, u32 backlog,
				     u32 len, bool hit)
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
 * flow_queues_classify() - number of the queue for a packet
 * @skb: the packet
 * @sch: the discipline
 * @filters: its filters, or NULL
 * @salt: this discipline's salt
 * @queues: number of queues
 * @verdict: what enqueue returns if the packet has no queue; with
 *	__NET_XMIT_BYPASS the loss is to be counted
 *
 * In order: skb->priority naming a class of this discipline; the filters; where
 * none names a class, the packet's flow hash (ports, addresses of either family,
 * the inner headers of a tunnel that the flow dissector knows). A filter that
 * names a class beyond @queues loses the packet.
 *
 * Return: 1 to @queues, or 0.
 */
static inline u32 flow_queues_classify(struct sk_buff *skb,
				       const struct Qdisc *sch,
				       const struct tcf_proto *filters,
				       u32 salt, u32 queues, int *verdict)
{
	struct tcf_result res;
	u32 minor;

	minor = TC_H_MIN(skb->priority);
	if (TC_H_MAJ(skb->priority) == sch->handle && minor && minor <= queues)
		return minor;

	if (!filters)
		goto hash;

	*verdict = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	switch (tcf_classify_qdisc(skb, filters, &res, false)) {
	case TC_ACT_UNSPEC:
		goto hash;
	case TC_ACT_SHOT:
		return 0;
	case TC_ACT_STOLEN:
	case TC_ACT_QUEUED:
	case TC_ACT_TRAP:
		*verdict = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		return 0;
	}
	minor = TC_H_MIN(res.classid);
	if (minor)
		return minor <= queues ? minor : 0;
hash:
	return 1 + reciprocal_scale(jhash_1word(skb_get_hash(skb), salt),
				    queues);
}

/*
 * Class operations: a class is a queue, numbered from 1; there is nothing to
 * look up, graft or change.
 */
static inline struct Qdisc *flow_queues_leaf(struct Qdisc *sch,
					     unsigned long cl)
{
	return NULL;
}

static inline unsigned long flow_queues_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}

static inline unsigned long flow_queues_bind(struct Qdisc *sch,
					     unsigned long parent, u32 classid)
{
	/* A filter must see every packet. */
	sch->flags &= ~TCQ_F_CAN_BYPASS;
	return 0;
}

static inline void flow_queues_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static inline int flow_queues_dump_class(struct Qdisc *sch, unsigned long cl,
					 struct sk_buff *skb,
					 struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(cl);
	return 0;
}

#endif /* _AQM_FLOW_QUEUES_H */
