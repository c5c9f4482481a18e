// SPDX-License-Identifier: GPL-2.0
#include <sch_fred.c>
#include "plain_fifo.h"

/* Each flow is exactly once in the chain of its number. */
static void table_is_right(const struct fred_vars *v)
{
	const struct active_flows *t = &v->flows;
	const u32 *buckets = active_flows_bucket(t, 0);
	u32 i, slot, listed = 0, struck = 0, free = 0;
	const struct active_flow *flow;

	inner_must(t->used <= t->capacity);
	for (i = 0; i <= t->mask; i++) {
		for (slot = buckets[i]; slot; slot = flow->next) {
			inner_must(slot <= t->used);
			inner_must(++listed <= t->count);
			flow = &t->flows[slot];
			inner_must((flow->number & t->mask) == i);
			inner_must(flow->qlen);
			struck += flow->strikes > 1;
		}
	}
	inner_must(listed == t->count);
	inner_must(struck == v->struck);
	for (slot = t->free; slot; slot = t->flows[slot].next)
		inner_must(++free <= t->used);
	inner_must(free + t->count == t->used);
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct fred_sched_data *q = qdisc_priv(sch);
	const struct fred_vars *v = &q->vars;
	struct active_flow *flow;
	const struct sk_buff *skb;
	u32 flows = 0;

	inner_plain_fifo(sch);
	inner_must(v->flows.capacity == q->params.limit);

	/* What the packets of each flow come to. */
	for (skb = sch->q.head; skb; skb = skb->next) {
		inner_must(fred_cb(skb)->flow <= v->flows.used);
		flow = &v->flows.flows[fred_cb(skb)->flow];
		flow->qlen -= queued_cb(skb)->segments;
		flows += !flow->qlen;
	}
	inner_must(flows == v->flows.count);
	for (skb = sch->q.head; skb; skb = skb->next) {
		flow = &v->flows.flows[fred_cb(skb)->flow];
		flow->qlen += queued_cb(skb)->segments;
	}
	if (deep || v->flows.capacity < 100)
		table_is_right(v);
}
