// SPDX-License-Identifier: GPL-2.0
#include <sch_redtail.c>
#include "inner.h"

/*
 * A set has each flow at most once, and no flow ends before it starts. The order
 * of a set names each slot once and is sorted by the time of the last packet.
 */
static void table_is_right(const struct flow_age_table *t)
{
	const struct flow_age *fa, *other, *slots;
	u32 at, named, set;
	u64 last, order;

	for (set = 0; set < t->sets; set++) {
		order = t->orders[set] ^ FLOW_AGE_IN_ORDER;
		slots = &t->slots[FLOW_AGE_WAYS * set];
		last = U64_MAX;
		named = 0;
		for (at = 0; at <= FLOW_AGE_OLDEST; at += 8) {
			named |= 1 << flow_age_slot(order, at);
			fa = &slots[flow_age_slot(order, at)];
			if (!fa->packets || fa->generation != t->generation)
				continue;
			inner_must(fa->first <= fa->last);
			inner_must(fa->last <= last);
			last = fa->last;
			for (other = slots; other < fa; other++)
				inner_must(!other->packets ||
					   !flow_key_equal(&other->key, &fa->key));
		}
		inner_must(named == (1 << FLOW_AGE_WAYS) - 1);
	}
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct redtail_sched_data *q = qdisc_priv(sch);
	const struct redtail_vars *v = &q->vars;
	const struct redtail_queue *rq;
	struct inner all = {}, in;
	u32 i;

	for (i = 0; i < REDTAIL_QUEUES; i++) {
		rq = &v->queues[i];
		in = (struct inner) {};
		inner_list(&in, rq->packets.head, rq->packets.tail, &q->queue.delay);
		inner_must(in.qlen == rq->packets.qlen);
		inner_must(in.backlog == rq->backlog);
		all.qlen += in.qlen;
		all.backlog += in.backlog;
		all.segments += in.segments;
		all.truesize += in.truesize;
		all.timed |= in.timed;
	}
	inner_check_totals(&all, sch);
	inner_must(all.backlog <= q->params.limit || all.qlen == 1);
	inner_must(all.qlen || !v->credit);
	if (q->params.dynamic) {
		inner_must(v->red_now.min_th >= q->params.floating.floor);
		inner_must(v->red_now.max_th <= q->params.floating.ceiling);
	}
	if (deep && v->flows.slots)
		table_is_right(&v->flows);
}
