/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow queues with deficit round robin.
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

#include <linux/list.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

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

#endif /* _AQM_FLOW_QUEUES_H */
