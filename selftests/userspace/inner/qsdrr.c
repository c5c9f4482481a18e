// SPDX-License-Identifier: GPL-2.0
#include <sch_qsdrr.c>
#include "flow_buffer.h"

static void flow_is_consistent(struct Qdisc *sch, struct flow_queue *fq,
			       const struct inner *in)
{
	inner_must(qsdrr_flow(fq)->backlog == in->backlog);
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct length_index *li = &q->vars.by_length;
	struct flow_rounds *fr = &q->buffer.rounds;
	struct qsdrr_flow *flow;
	u32 i, number, listed = 0, held = 0, counted = 0;

	inner_rounds(sch, flow_is_consistent);
	for (i = 0; i < LENGTH_INDEX_BUCKETS; i++) {
		counted += li->count[i];
		inner_must(!li->count[i] == !__length_map_has(&li->lengths, i));
		if (!__length_map_has(&li->places, i))
			continue;
		number = li->first[i];
		do {
			inner_must(number < q->buffer.flows);
			flow = qsdrr_flow(flow_rounds_queue(fr, number));
			listed++;
			inner_must(listed <= q->buffer.flows);
			held += !!flow->fq.head;
			inner_must(length_index_bucket(qsdrr_length(flow)) ==
				   flow->by_length.bucket);
			inner_must(flow->by_length.bucket <= i);
			inner_must(flow->by_length.place == i);
			inner_must(inner_is_linked(&li->entries->link, number));
			number = flow->by_length.link.next;
		} while (number != li->first[i]);
	}
	for (i = 0; i < LENGTH_INDEX_WORDS; i++) {
		inner_must(!(li->lengths.words & BIT(i)) == !li->lengths.used[i]);
		inner_must(!(li->places.words & BIT(i)) == !li->places.used[i]);
	}
	inner_must(held == fr->active && counted == fr->active);
	inner_must(!q->vars.q ||
		   flow_buffer_classid(&q->vars.q->fq) <= q->buffer.flows);
	if (!deep)
		return;
	for (i = 0; fr->queues && i < q->buffer.flows; i++) {
		flow = qsdrr_flow(flow_rounds_queue(fr, i));
		held -= !!flow->fq.head;
		listed -= !!flow->by_length.place;
		inner_must(flow->fq.head ||
			   (!flow->backlog && !flow->by_length.bucket));
	}
	inner_must(!held && !listed);
}
