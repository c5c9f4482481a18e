/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow queues with deficit round robin.
 *
 * M. Shreedhar, G. Varghese, "Efficient Fair Queueing using Deficit Round
 * Robin", 1995: in each round every queue may send a quantum of bytes, and what
 * it sends is settled to the byte over the rounds. Here:
 *
 *	a queue with credit sends, and its credit falls by what it sent
 *	a queue without credit waits for the first round in which it has some:
 *		each round gives it one quantum
 *	a queue that has run empty keeps credit to the end of the round, and debt
 *		until it is paid, or until a packet finds all queues empty
 *
 * (The paper compares the head's length with the credit before it sends, which
 * is the same, within a packet, without debts. But a queue that it finds
 * without enough credit costs a turn in which nothing is sent, so its O(1)
 * needs a quantum of at least the largest packet, 64 kB and more with GSO,
 * which every other queue would have to wait for, too. And it takes credit
 * from a queue that runs empty, so that a sender of small packets who keeps one
 * queued gets less than others.)
 *
 * O(1): queues wait in a list for each of the next 64 rounds, with a bitmap of
 * the lists in use. The round that a queue has to wait for is known when its
 * credit is spent. So whoever is first in the present round, or in the next
 * that is in use, sends: there is no turn without a packet sent, whatever
 * quantum and sizes. A packet of more than 63 quanta raises the quantum to a
 * 63rd of its length, until all queues are empty.
 *
 * Fair: let Q be the quantum, L the largest packet, and a queue's account what
 * it may send up to the end of the present round (credit less one Q for each
 * round that it has to wait). A queue sends while its account is above 0, so
 *
 *	-L < account <= Q	at any time, and
 *	-L < account <= 0	at the end of a round, if it holds packets.
 *
 * All accounts rise by Q a round and fall by what is sent. So queues that hold
 * packets from the same round on, and had equal accounts then, have sent the
 * same at the end of any round, to within L, and at any time to within Q + L.
 * If one was in debt, that is less than L, and comes on top: 2 L, and Q + 2 L.
 * And no pattern of arrivals helps: in n rounds a queue sends less than n Q + L,
 * one that always holds a packet more than n Q - L.
 *
 * Where Q changes: a packet that raises it costs a queue in debt, which waits
 * for up to 63 rounds counted in the old Q, at most L, and all such packets
 * together no more. A live change of the quantum begins all accounts anew:
 * flow_rounds_restart(). So it costs a queue at most Q + L, of the old Q, which
 * is by how much its account may be above another's.
 *
 * The queues lie in an array: <aqm/numbered_list.h>.
 */
#ifndef _AQM_FLOW_QUEUES_H
#define _AQM_FLOW_QUEUES_H

#include <linux/bitops.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include "numbered_list.h"

#define FLOW_ROUNDS	64
#define FLOW_NONE	U32_MAX		/* no queue */

/* A packet that costs more is charged as if it cost this. */
#define FLOW_MAX_DEBT	0x80000000U

/**
 * struct flow_queue - a FIFO of packets that takes part in the round robin
 * @head: next packet to send; NULL: the queue is idle
 * @tail: last packet queued; meaningful while @head is set
 * @round: first round in which it has credit
 * @credit: bytes that it may send in that round, at least 1 if that is not over
 * @dropped: packets discarded from it, which its owner counts
 * @turn: place in the list of its round; while @head is set
 *
 * All 0 but its number is an idle queue that owes nothing. What a discipline
 * keeps of a queue begins with it.
 */
struct flow_queue {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	u64			round;
	u32			credit;
	u32			dropped;
	struct numbered_link	turn;
};

/**
 * struct flow_rounds - the queues that hold packets
 * @round: number of the present round
 * @used: bit (r % FLOW_ROUNDS) is set if a queue waits for round r; r is from
 *	@round to @round + FLOW_ROUNDS - 1
 * @restarted: round of the last restart: queues that have waited since before
 *	it wait for it
 * @queues: the queue of number 0
 * @least: smallest quantum by which no packet sent was too long; bytes
 * @active: number of queues that hold packets
 * @urgent: last of the queues that flow_queue_hasten() put first in the present
 *	round, or FLOW_NONE
 * @slots: the queues of each round, in the order of service
 */
struct flow_rounds {
	u64			round;
	u64			used;
	u64			restarted;
	struct flow_queue	*queues;
	u32			least;
	u32			active;
	u32			urgent;
	u16			slots[FLOW_ROUNDS];
};

/* Begin with @count idle queues, which are all 0. */
static inline void flow_rounds_init(struct flow_rounds *fr,
				    struct flow_queue *queues, u32 count)
{
	*fr = (struct flow_rounds) {
		.round = 1, .queues = queues, .urgent = FLOW_NONE,
	};
	numbered_links_init(&queues->turn, count);
}

/* The queue of a number, from 0. */
static inline struct flow_queue *flow_rounds_queue(const struct flow_rounds *fr,
						   u32 number)
{
	return (void *)fr->queues + (size_t)number * NUMBERED_BYTES;
}

/* Empty queues owe nothing: no debt lasts longer than FLOW_ROUNDS - 1 rounds. */
static inline void flow_rounds_settle(struct flow_rounds *fr)
{
	fr->round += FLOW_ROUNDS;
	fr->least = 0;
}

/*
 * All accounts begin anew, with another quantum: rounds and credit that were
 * counted in the old one mean nothing in the new. Queues that hold packets keep
 * their order, and learn of it when they are looked at next:
 * __flow_queue_renew(). So it takes no longer if there are more of them.
 */
static inline void flow_rounds_restart(struct flow_rounds *fr)
{
	u32 i, slot, present = 0;
	bool any = false;

	for (i = 0; i < FLOW_ROUNDS; i++) {
		slot = (fr->round + i) % FLOW_ROUNDS;
		if (!(fr->used & BIT_ULL(slot)))
			continue;
		if (any)
			numbered_list_splice(&fr->queues->turn, present,
					     fr->slots[slot]);
		else
			present = fr->slots[slot];
		any = true;
	}
	slot = fr->round % FLOW_ROUNDS;
	fr->slots[slot] = present;
	fr->used = any ? BIT_ULL(slot) : 0;
	flow_rounds_settle(fr);
	fr->restarted = fr->round;
}

/* A queue that holds packets may have waited since before a restart. */
static inline void __flow_queue_renew(const struct flow_rounds *fr,
				      struct flow_queue *fq, u32 quantum)
{
	if (likely(fq->round >= fr->restarted))
		return;
	fq->round = fr->restarted;
	fq->credit = quantum;
}

/* Wait for the first round in which it has credit. */
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

	/* The class walk looks at it without the lock. */
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
 */
static inline void flow_queue_add(struct flow_rounds *fr, struct flow_queue *fq,
				  struct sk_buff *skb, u32 quantum)
{
	skb->next = NULL;
	if (fq->head) {
		fq->tail->next = skb;
		fq->tail = skb;
		return;
	}
	if (!fr->used)
		flow_rounds_settle(fr);
	if (fq->round < fr->round) {
		fq->round = fr->round;
		fq->credit = max(quantum, fr->least);
	}
	WRITE_ONCE(fq->head, skb);
	fq->tail = skb;
	__flow_queue_wait(fr, fq);
	fr->active++;
}

/**
 * flow_queue_hasten() - serve a queue before the others of the present round
 * @fr: the rounds
 * @fq: the queue, to which flow_queue_add() has added its only packet
 *
 * Queues that were hastened earlier stay before it. A queue without credit in the
 * present round keeps its place. Only the order within a round changes, so the bounds
 * above hold.
 *
 * Return: whether the queue has credit in the present round.
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

/* Take a queue's first packet, which will not be sent. */
static inline struct sk_buff *flow_queue_discard(struct flow_rounds *fr,
						 struct flow_queue *fq,
						 u32 quantum)
{
	struct sk_buff *skb = __flow_queue_pop(fq);

	if (!fq->head) {
		__flow_queue_renew(fr, fq, quantum);
		__flow_queue_leave(fr, fq);
		fr->active--;
	}
	return skb;
}

/* The queue to serve now, or NULL if none holds a packet. */
static inline struct flow_queue *flow_rounds_next(struct flow_rounds *fr)
{
	if (!fr->used)
		return NULL;
	fr->round += __ffs64(ror64(fr->used, fr->round % FLOW_ROUNDS));
	return flow_rounds_queue(fr, fr->slots[fr->round % FLOW_ROUNDS]);
}

/*
 * Charge a queue, which is served now, for @len bytes.
 *
 * Return: how many rounds it has to wait for credit; 0 if it still has some.
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
 * flow_queue_send() - take a packet to send it
 * @fr: the rounds
 * @fq: the queue that flow_rounds_next() returned
 * @quantum: bytes per round
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
		fr->active--;
	return skb;
}

/* Bytes that a queue may send up to the end of the present round. */
static inline s32 flow_queue_account(const struct flow_rounds *fr,
				     struct flow_queue *fq, u32 quantum)
{
	if (!fq->head)
		return 0;
	__flow_queue_renew(fr, fq, quantum);
	return fq->credit - (u32)(fq->round - fr->round) *
			    max(quantum, fr->least);
}

/* Packets and bytes that a queue holds, by looking at each. */
static inline void flow_queue_count(const struct flow_queue *fq,
				    struct gnet_stats_queue *qs)
{
	const struct sk_buff *skb;

	for (skb = fq->head; skb; skb = skb->next) {
		qs->qlen++;
		qs->backlog += qdisc_pkt_len(skb);
	}
}

/* Free what one queue holds. Return: the queue; NULL once all are empty. */
static inline struct flow_queue *flow_rounds_purge(struct flow_rounds *fr,
						   u32 quantum)
{
	struct flow_queue *fq = flow_rounds_next(fr);

	if (!fq)
		return NULL;
	rtnl_kfree_skbs(fq->head, fq->tail);
	WRITE_ONCE(fq->head, NULL);
	__flow_queue_renew(fr, fq, quantum);
	__flow_queue_leave(fr, fq);
	fr->active--;
	return fq;
}

#endif /* _AQM_FLOW_QUEUES_H */
