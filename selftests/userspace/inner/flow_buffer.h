/* SPDX-License-Identifier: GPL-2.0 */
/* The rounds of qsdrr and tdrr; see inner.h. */
#ifndef USERSPACE_INNER_FLOW_BUFFER_H
#define USERSPACE_INNER_FLOW_BUFFER_H

#include "inner.h"

/* The next member of a list knows that it is. */
static bool inner_is_linked(struct numbered_link *links, u32 number)
{
	return numbered_link(links, numbered_link(links, number)->next)->prev ==
	       number;
}

/* The set of a flow. As long as the set before has not moved, no entry of it has. */
static const struct flow_set *inner_set(const struct flow_table *ft, u32 tag)
{
	u32 way, old = (u64)tag * ft->old_sets >> 32;

	for (way = 0; old < ft->unmoved && way < 8; way++)
		if (ft->old[old].tag[way])
			return &ft->old[old];
	return &ft->set[(u64)tag * ft->sets >> 32];
}

/*
 * Whether a flow with this hash may have packets in this queue: it is the flow's own, or
 * the flow has none and shares the one that its tag names.
 */
static bool inner_is_table_of(const struct flow_buffer *b, u32 hash, u32 number)
{
	u32 tag = flow_mix(hash, b->salt), way, value;
	const struct flow_set *set = inner_set(&b->table, tag);

	tag += !tag;
	for (way = 0; way < 8; way++) {
		value = set->value[way];
		if (set->tag[way] == tag && value & FLOW_HAS_QUEUE)
			return (value & FLOW_QUEUE) == number;
	}
	return number == (u64)tag * b->named >> 32 &&
	       flow_rounds_queue(&b->rounds, number)->shared;
}

/*
 * A flow that has its own queue is the only one that has. It is in the set that its tag
 * names. Count entries without a queue, and those with one of the first queues.
 */
static void inner_entries(const struct flow_buffer *b, const struct flow_set *set, u32 sets,
			  u32 *kept, u32 *owned)
{
	u32 entry, value, tag;

	for (entry = 0; entry < 8 * sets; entry++) {
		value = set[entry / 8].value[entry % 8];
		tag = set[entry / 8].tag[entry % 8];
		inner_must(!tag || inner_set(&b->table, tag) == &set[entry / 8]);
		*kept += tag && !(value & FLOW_HAS_QUEUE);
		if (!(value & FLOW_HAS_QUEUE))
			continue;
		inner_must((value & FLOW_QUEUE) < b->flows);
		inner_must(flow_rounds_queue(&b->rounds, value & FLOW_QUEUE)->owner == entry);
		*owned += (value & FLOW_QUEUE) < b->named;
	}
}

/* Entries of both tables, if the present one is new. The empty queues are in a list. */
static void inner_table(const struct flow_buffer *b)
{
	const struct flow_table *ft = &b->table;
	const struct flow_queue *fq;
	u32 number, empty = 0, kept = 0, owned = 0;

	inner_must(ft->old ? ft->unmoved <= ft->old_sets : !ft->unmoved);
	inner_entries(b, ft->set, ft->sets, &kept, &owned);
	inner_entries(b, ft->old, ft->unmoved, &kept, &owned);
	inner_must(ft->kept == kept && ft->fresh == b->named - owned);
	number = b->rounds.empty;
	while (b->rounds.queues && empty < b->flows - b->rounds.active) {
		fq = flow_rounds_queue(&b->rounds, number);
		inner_must(!fq->head && !fq->shared);
		inner_must(inner_is_linked(&b->rounds.queues->turn, number));
		number = fq->turn.next;
		empty++;
	}
	inner_must(!empty || number == b->rounds.empty);
}

/*
 * Return true if queued packets may have arrived before a change of avoid_collisions.
 * This ends when no packet is queued. We check after each operation, which makes at
 * most one change.
 */
static bool inner_was_changed(const struct Qdisc *sch, const struct flow_buffer *b)
{
	static const struct Qdisc *seen;
	static bool avoided, changed;

	changed = sch->q.qlen && sch == seen &&
		  (changed || avoided != b->avoid_collisions);
	seen = sch;
	avoided = b->avoid_collisions;
	return changed;
}

/* A packet's priority or a filter names its queue, else the hash of its flow. */
static bool inner_is_queue_of(const struct flow_buffer *b, struct sk_buff *skb,
			      u32 number, bool changed)
{
	bool hashed = number == flow_spread(skb_get_hash(skb), b->salt,
					    b->named);
	bool table = inner_is_table_of(b, skb_get_hash(skb), number);
	u32 named = 0;

	if (skb->handle && TC_H_MAJ(skb->priority) == skb->handle &&
	    TC_H_MIN(skb->priority) <= b->named)
		named = TC_H_MIN(skb->priority);
	if (!named && skb->act == TC_ACT_OK)
		named = TC_H_MIN(skb->act_class);
	if (named)
		return number == named - 1;
	if (changed)
		return hashed || table;
	return b->avoid_collisions ? table : hashed;
}

/* One queue that holds packets: @flow adds what its discipline knows of it. */
static void inner_rounds(struct Qdisc *sch,
			 void (*flow)(struct Qdisc *sch, struct flow_queue *fq,
				      const struct inner *in))
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_rounds *fr = &b->rounds;
	struct flow_queue *fq;
	struct inner all = {}, in;
	struct sk_buff *skb;
	bool changed = inner_was_changed(sch, b);
	u32 slot, number, active = 0, shared = 0;

	for (slot = 0; slot < FLOW_ROUNDS; slot++) {
		if (!(fr->used & BIT_ULL(slot)))
			continue;
		number = fr->slots[slot];
		do {
			inner_must(number < b->flows);
			fq = flow_rounds_queue(fr, number);
			active++;
			shared += fq->shared;
			inner_must(active <= b->flows);
			/* A restart reaches a queue when it is looked at next. */
			if (fq->round < fr->restarted)
				inner_must(slot == fr->restarted % FLOW_ROUNDS);
			else
				inner_must(fq->round - fr->round < FLOW_ROUNDS &&
					   fq->round % FLOW_ROUNDS == slot);
			inner_must(fq->head);
			inner_must(fq->credit);
			inner_must(fq->credit <= max(b->quantum, fr->least) ||
				   fq->round < fr->restarted);
			in = (struct inner) {};
			inner_list(&in, fq->head, fq->tail, &b->queue.delay);
			for (skb = fq->head; skb; skb = skb->next)
				inner_must(inner_is_queue_of(b, skb, number, changed));
			flow(sch, fq, &in);
			all.qlen += in.qlen;
			all.backlog += in.backlog;
			all.segments += in.segments;
			all.truesize += in.truesize;
			all.timed |= in.timed;
			inner_must(inner_is_linked(&fr->queues->turn, number));
			number = fq->turn.next;
		} while (number != fr->slots[slot]);
	}
	inner_must(active == fr->active);
	inner_must(fr->count == b->flows);
	inner_must(fr->shared == shared);
	inner_table(b);
	inner_check_totals(&all, sch);
	inner_must(all.segments <= b->queue.limit || all.qlen == 1);
}

#endif /* USERSPACE_INNER_FLOW_BUFFER_H */
