/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow queues with deficit round robin.
 *
 * M. Shreedhar, G. Varghese, "Efficient Fair Queueing using Deficit Round
 * Robin", 1995: in each round every queue may send a quantum of bytes. A queue
 * that sends more or less than its quantum settles the difference, to the byte,
 * in later rounds.
 *
 * The rule here:
 *
 *	A queue with credit sends a packet. The packet's length is subtracted
 *	from the credit.
 *	A queue without credit is in debt. Each round pays back one quantum. The
 *	queue waits for the first round in which it has credit again.
 *	A queue that becomes empty loses its credit at the end of the round. It
 *	keeps its debt until the debt is paid, or until all queues are empty.
 *
 * Difference from the paper: the paper sends a packet only if the credit covers
 * all of it, so it has no debts. Both rules give the same service, to within one
 * packet. We changed it for two reasons. In the paper, a queue without enough
 * credit costs a turn in which nothing is sent. To be O(1) it therefore needs a
 * quantum as large as the largest packet, which is 64 KB or more with GSO. And
 * it takes the credit of a queue that becomes empty at once. A sender that keeps
 * one small packet queued would then get less than its share.
 *
 * Cost: O(1) for any quantum and any packet sizes. The round that a queue waits
 * for is known as soon as its credit is spent. There is a list of queues for
 * each of the next 64 rounds, and a bitmap of the lists that are not empty. The
 * first queue of the first such list sends next, so every turn sends a packet.
 * A packet longer than 63 quanta raises the quantum to a 63rd of its length,
 * until all queues are empty.
 *
 * Fairness: let Q be the quantum and L the largest packet. The account of a
 * queue is what it may send until the end of the present round: its credit,
 * minus Q for each round that it has to wait. A queue sends only while its
 * account is above 0, so
 *
 *	-L < account <= Q	at any time, and
 *	-L < account <= 0	at the end of a round, if it holds packets.
 *
 * Each round adds Q to every account, and sending subtracts. So for queues that
 * have held packets since the same round:
 *
 *	started with			difference in bytes sent is below
 *					at the end of a round	at any time
 *	equal accounts			L			Q + L
 *	one of them in debt		2 L			Q + 2 L
 *
 * No pattern of arrivals gains more. In n rounds a queue sends less than
 * n Q + L bytes, and a queue that always holds packets more than n Q - L.
 *
 * A packet that raises the quantum can harm a queue in debt, because the rounds
 * that it waits for were counted in the smaller quantum. This costs the queue at
 * most L, for all such packets together. A user who changes the quantum resets
 * all accounts: see flow_rounds_restart(). This costs a queue at most Q + L, of
 * the old Q, because no two accounts differ by more.
 *
 * The queues lie in an array: <aqm/numbered_list.h>.
 */
#ifndef _AQM_FLOW_QUEUES_H
#define _AQM_FLOW_QUEUES_H

#include <linux/bitops.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include "numbered_list.h"

#define FLOW_ROUNDS	64
#define FLOW_NONE	U32_MAX		/* no queue */

/* Most bytes that a packet is charged for. */
#define FLOW_MAX_DEBT	0x80000000U

/**
 * struct flow_queue - a FIFO of packets that takes part in the round robin
 * @head: next packet to send; NULL if the queue is empty
 * @tail: last packet queued; valid only while @head is set
 * @round: first round in which the queue has credit
 * @credit: bytes that it may send in that round; at least 1 until that round
 *	has ended
 * @dropped: queued packets that were dropped, modulo 2^31; a refused arrival does not
 *	count
 * @shared: flows that do not own it may have packets in it: <aqm/flow_table.h>
 * @turn: link in the list of its round, or of the empty queues
 * @owner: entry of the flow that it belongs to, if that entry has its number
 *
 * A new queue has the value 0 everywhere except in its link.
 * A qdisc that stores more embeds this as the first member of its structure.
 */
struct flow_queue {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	u64			round;
	u32			credit;
	u32			dropped : 31;
	u32			shared : 1;
	struct numbered_link	turn;
	u16			owner;
};

/**
 * struct flow_rounds - the queues that hold packets
 * @round: number of the present round
 * @used: bit (r % FLOW_ROUNDS) is set if a queue waits for round r; r is from
 *	@round to @round + FLOW_ROUNDS - 1
 * @restarted: round of the last restart; a queue with an earlier @round has
 *	full credit in this round
 * @queues: queue number 0
 * @least: lower bound of the quantum, raised by long packets; bytes
 * @count: number of queues
 * @active: number of queues that hold packets
 * @shared: number of those in which flows may have packets that do not own them
 * @empty: first of the empty queues, for longest; valid if there is one
 * @urgent: last of the queues that flow_queue_hasten() put first in the present
 *	round, or FLOW_NONE
 * @slots: list of the queues of each round, in the order of service
 */
struct flow_rounds {
	u64			round;
	u64			used;
	u64			restarted;
	struct flow_queue	*queues;
	u32			least;
	u32			count;
	u32			active;
	u32			shared;
	u32			urgent;
	u16			empty;
	u16			slots[FLOW_ROUNDS];
};

/* The rest is in frame/flow_queues.c. */
void flow_rounds_init(struct flow_rounds *fr);
void flow_rounds_begin(struct flow_rounds *fr, struct flow_queue *queues, u32 count);
void flow_rounds_more(struct flow_rounds *fr, struct flow_queue *queues, u32 count);
void flow_rounds_restart(struct flow_rounds *fr);
struct flow_queue *flow_rounds_purge(struct flow_rounds *fr, u32 quantum);
void flow_queue_count(const struct flow_queue *fq, struct gnet_stats_queue *qs);

/* Return a queue by its number, from 0. */
static inline struct flow_queue *flow_rounds_queue(const struct flow_rounds *fr,
						   u32 number)
{
	return (void *)fr->queues + (size_t)number * NUMBERED_BYTES;
}

/* Cancel the debt of empty queues: no debt lasts FLOW_ROUNDS rounds. */
static inline void flow_rounds_settle(struct flow_rounds *fr)
{
	fr->round += FLOW_ROUNDS;
	fr->least = 0;
}

/* Apply the last restart to a queue that holds packets. */
static inline void __flow_queue_renew(const struct flow_rounds *fr,
				      struct flow_queue *fq, u32 quantum)
{
	if (likely(fq->round >= fr->restarted))
		return;
	fq->round = fr->restarted;
	fq->credit = quantum;
}

/* Append a queue to the list of the first round in which it has credit. */
static inline void __flow_queue_wait(struct flow_rounds *fr,
				     struct flow_queue *fq)
{
	u32 slot = fq->round % FLOW_ROUNDS;

	if (fr->used & BIT_ULL(slot)) {
		numbered_list_append(&fr->queues->turn, fr->slots[slot],
				     &fq->turn);
		return;
	}
	numbered_list_begin(&fr->slots[slot], &fq->turn);
	fr->used |= BIT_ULL(slot);
}

/* A queue gets its first packet, and no longer is one of the empty ones. */
static inline void __flow_queue_fill(struct flow_rounds *fr, struct flow_queue *fq)
{
	if (!numbered_list_is_alone(&fq->turn))
		numbered_list_remove(&fr->queues->turn, &fr->empty, &fq->turn);
	fr->active++;
}

/* A queue that left its round has become empty. */
static inline void __flow_queue_rest(struct flow_rounds *fr, struct flow_queue *fq)
{
	if (fr->active == fr->count)
		numbered_list_begin(&fr->empty, &fq->turn);
	else
		numbered_list_append(&fr->queues->turn, fr->empty, &fq->turn);
	if (unlikely(fq->shared)) {
		fq->shared = false;
		fr->shared--;
	}
	fr->active--;
}

static inline void __flow_queue_leave(struct flow_rounds *fr,
				      struct flow_queue *fq)
{
	u32 slot = fq->round % FLOW_ROUNDS;

	if (fq->turn.number == fr->urgent)
		fr->urgent = fr->slots[slot] == fr->urgent ? FLOW_NONE :
							     fq->turn.prev;
	if (numbered_list_is_alone(&fq->turn))
		fr->used &= ~BIT_ULL(slot);
	else
		numbered_list_remove(&fr->queues->turn, &fr->slots[slot],
				     &fq->turn);
}

static inline struct sk_buff *__flow_queue_pop(struct flow_queue *fq)
{
	struct sk_buff *skb = fq->head;

	/* Class dumps read it without the lock. */
	WRITE_ONCE(fq->head, skb->next);
	skb_mark_not_on_list(skb);
	return skb;
}

/**
 * flow_queue_add() - append a packet to a queue
 * @fr: the rounds
 * @fq: the queue
 * @skb: the packet
 * @quantum: bytes per round
 *
 * Return: whether the queue was empty
 */
static inline bool flow_queue_add(struct flow_rounds *fr, struct flow_queue *fq,
				  struct sk_buff *skb, u32 quantum)
{
	skb->next = NULL;
	if (fq->head) {
		fq->tail->next = skb;
		fq->tail = skb;
		return false;
	}
	if (!fr->used)
		flow_rounds_settle(fr);
	if (fq->round < fr->round) {
		fq->round = fr->round;
		fq->credit = max(quantum, fr->least);
	}
	WRITE_ONCE(fq->head, skb);
	fq->tail = skb;
	__flow_queue_fill(fr, fq);
	__flow_queue_wait(fr, fq);
	return true;
}

/**
 * flow_queue_hasten() - serve a queue before the others of the present round
 * @fr: the rounds
 * @fq: the queue, after flow_queue_add() of its only packet
 *
 * Queues that were hastened earlier stay before it. A queue without credit in
 * the present round keeps its place. Only the order within a round changes, so
 * the bounds above still hold.
 *
 * Return: true if the queue has credit in the present round.
 */
static inline bool flow_queue_hasten(struct flow_rounds *fr,
				     struct flow_queue *fq)
{
	u16 *first = &fr->slots[fr->round % FLOW_ROUNDS];
	struct numbered_link *links = &fr->queues->turn;

	if (fq->round != fr->round)
		return false;
	/* The queue is the last one of its list, which is a ring. */
	if (fr->urgent == FLOW_NONE) {
		*first = fq->turn.number;
	} else if (fr->urgent != fq->turn.prev) {
		numbered_list_remove(links, first, &fq->turn);
		numbered_list_insert(links, fr->urgent, &fq->turn);
	}
	fr->urgent = fq->turn.number;
	return true;
}

/* Remove a queue's first packet without sending it. */
static inline struct sk_buff *flow_queue_discard(struct flow_rounds *fr,
						 struct flow_queue *fq,
						 u32 quantum)
{
	struct sk_buff *skb = __flow_queue_pop(fq);

	if (!fq->head) {
		__flow_queue_renew(fr, fq, quantum);
		__flow_queue_leave(fr, fq);
		__flow_queue_rest(fr, fq);
	}
	return skb;
}

/* Return the queue to serve next; NULL if all are empty. */
static inline struct flow_queue *flow_rounds_next(struct flow_rounds *fr)
{
	if (!fr->used)
		return NULL;
	fr->round += __ffs64(ror64(fr->used, fr->round % FLOW_ROUNDS));
	return flow_rounds_queue(fr, fr->slots[fr->round % FLOW_ROUNDS]);
}

/* Return the queue that is served next, if no other one comes first. One is not empty. */
static inline struct flow_queue *flow_rounds_peek(const struct flow_rounds *fr)
{
	u32 slot = fr->round % FLOW_ROUNDS;

	slot = (slot + __ffs64(ror64(fr->used, slot))) % FLOW_ROUNDS;
	return flow_rounds_queue(fr, fr->slots[slot]);
}

/* Fetch the packet that is sent next. It has waited, so no cache may have it. */
static inline void flow_rounds_prefetch(const struct flow_rounds *fr)
{
	if (fr->used)
		prefetch(flow_rounds_peek(fr)->head);
}

/*
 * Charge the queue that is being served for @len bytes.
 *
 * Return: number of rounds until it has credit again; 0 if it still has credit.
 */
static inline u32 __flow_queue_charge(struct flow_rounds *fr,
				      struct flow_queue *fq, u32 len,
				      u32 quantum)
{
	u32 debt, rounds = 1;

	if (len < fq->credit) {
		fq->credit -= len;
		return 0;
	}
	quantum = max(quantum, fr->least);
	debt = len - fq->credit;
	if (unlikely(debt >= quantum)) {
		debt = min(debt, FLOW_MAX_DEBT);
		rounds += debt / quantum;
		if (unlikely(rounds >= FLOW_ROUNDS)) {
			quantum = debt / (FLOW_ROUNDS - 1) + 1;
			fr->least = quantum;
			rounds = 1 + debt / quantum;
		}
	}
	fq->credit = rounds * quantum - debt;
	return rounds;
}

/**
 * flow_queue_send() - remove a packet to send it, and charge its queue
 * @fr: the rounds
 * @fq: the queue that flow_rounds_next() returned
 * @quantum: bytes per round
 *
 * Return: the packet.
 */
static inline struct sk_buff *flow_queue_send(struct flow_rounds *fr,
					      struct flow_queue *fq,
					      u32 quantum)
{
	struct sk_buff *skb = __flow_queue_pop(fq);
	u32 rounds;

	__flow_queue_renew(fr, fq, quantum);
	rounds = __flow_queue_charge(fr, fq, qdisc_pkt_len(skb), quantum);
	if (fq->head && !rounds)
		return skb;
	__flow_queue_leave(fr, fq);
	fq->round += rounds;
	if (fq->head)
		__flow_queue_wait(fr, fq);
	else
		__flow_queue_rest(fr, fq);
	return skb;
}

#endif /* _AQM_FLOW_QUEUES_H */
