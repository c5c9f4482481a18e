// SPDX-License-Identifier: GPL-2.0
/* The steps of <aqm/flow_queues.h> that no packet takes. */
#include <linux/bitops.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>
#include <aqm/flow_queues.h>

/* Initialize without queues. */
void flow_rounds_init(struct flow_rounds *fr)
{
	*fr = (struct flow_rounds) { .round = 1, .urgent = FLOW_NONE };
}

/* Use the first @count queues, which are new and in a list from the last one on, or none. */
void flow_rounds_begin(struct flow_rounds *fr, struct flow_queue *queues, u32 count)
{
	fr->queues = queues;
	fr->count = count;
	fr->empty = count - 1;
}

/* Use a larger array. It begins with a copy of the present queues; the others are as at first. */
void flow_rounds_more(struct flow_rounds *fr, struct flow_queue *queues, u32 count)
{
	if (fr->active < fr->count)
		numbered_list_splice(&queues->turn, count - 1, fr->empty);
	fr->empty = count - 1;
	fr->queues = queues;
	fr->count = count;
}

/*
 * Reset all accounts after a change of the quantum, because rounds and credit
 * were counted in the old one. Queues that hold packets keep their order. Each
 * is updated when it is used next, by __flow_queue_renew(). So the cost does not
 * depend on the number of queues.
 */
void flow_rounds_restart(struct flow_rounds *fr)
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

/* Add a queue's packets and bytes to @qs, by walking the queue. */
void flow_queue_count(const struct flow_queue *fq, struct gnet_stats_queue *qs)
{
	const struct sk_buff *skb;

	for (skb = fq->head; skb; skb = skb->next) {
		qs->qlen++;
		qs->backlog += qdisc_pkt_len(skb);
	}
}

/* Free the packets of one queue. Return: the queue; NULL if all were empty. */
struct flow_queue *flow_rounds_purge(struct flow_rounds *fr, u32 quantum)
{
	struct flow_queue *fq = flow_rounds_next(fr);

	if (!fq)
		return NULL;
	rtnl_kfree_skbs(fq->head, fq->tail);
	WRITE_ONCE(fq->head, NULL);
	__flow_queue_renew(fr, fq, quantum);
	__flow_queue_leave(fr, fq);
	__flow_queue_rest(fr, fq);
	return fq;
}
