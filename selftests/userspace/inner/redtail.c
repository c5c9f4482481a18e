// SPDX-License-Identifier: GPL-2.0
#include <sch_redtail.c>
#include "inner.h"

/* Each flow stands once in its set, and was not seen before it began. */
static void table_is_right(const struct flow_age_table *t)
{
	const struct flow_age *fa, *other, *set;

	for (fa = t->slots; fa < t->slots + FLOW_AGE_WAYS * t->sets; fa++) {
		if (!fa->packets || fa->generation != t->generation)
			continue;
		inner_must(fa->first <= fa->last);
		set = t->slots + (fa - t->slots) / FLOW_AGE_WAYS * FLOW_AGE_WAYS;
		for (other = set; other < fa; other++)
			inner_must(!other->packets ||
				   memcmp(&other->key, &fa->key, sizeof(fa->key)));
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
		inner_list(&in, rq->packets.head, rq->packets.tail, &v->delay);
		inner_must(in.qlen == rq->packets.qlen);
		inner_must(in.backlog == rq->backlog);
		all.qlen += in.qlen;
		all.backlog += in.backlog;
		all.held.segments += in.held.segments;
		all.held.truesize += in.held.truesize;
		all.timed |= in.timed;
	}
	inner_whole(&all, sch, &v->held, &v->delay);
	inner_must(all.backlog <= q->law.limit || all.qlen == 1);
	inner_must(all.held.truesize <= q->law.memory_limit);
	inner_must(v->red.idle == !v->queues[REDTAIL_LONG].packets.qlen);
	inner_must(all.qlen || !v->credit);
	if (q->law.dynamic) {
		inner_must(v->red_now.min_th >= q->law.floating.floor);
		inner_must(v->red_now.max_th <= q->law.floating.ceiling);
	}
	if (deep && v->flows.slots)
		table_is_right(&v->flows);
}
