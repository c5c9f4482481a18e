// SPDX-License-Identifier: GPL-2.0
#include <sch_tdrr.c>
#include "flow_buffer.h"

static void flow_is_consistent(struct Qdisc *sch, struct flow_queue *fq,
			       const struct inner *in)
{
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct throughput_index *ti = &q->vars.by_throughput;
	u64 units, highest = 0, present = 0;
	struct flow_rounds *fr = &q->buffer.rounds;
	struct tdrr_flow *flow, *top;
	u32 i, number, listed = 0;

	inner_rounds(sch, flow_is_consistent);
	for (i = 0; i <= THROUGHPUT_INDEX_SPENT; i++) {
		if (!(ti->steps[i / 16] & BIT(i % 16)))
			continue;
		number = ti->buckets[i];
		do {
			inner_must(number < q->buffer.flows);
			flow = tdrr_flow(flow_rounds_queue(fr, number));
			listed++;
			inner_must(listed <= fr->active);
			inner_must(flow->fq.head);
			inner_must(throughput_index_bucket(ti, &flow->sent) == i);
			inner_must(inner_is_linked(&ti->scores->link, number));
			units = throughput_decay(flow->sent.units,
						 flow->sent.half_life,
						 ti->clock.half_life);
			highest = max(highest, units);
			number = flow->sent.link.next;
		} while (number != ti->buckets[i]);
	}
	for (i = 0; i < THROUGHPUT_INDEX_OCTAVES; i++)
		inner_must(!(ti->octaves & BIT_ULL(i)) == !ti->steps[i]);
	inner_must(ti->steps[THROUGHPUT_INDEX_OCTAVES] <= 1);
	inner_must(listed == fr->active);

	/* The index names one within a sixteenth of the highest. */
	top = tdrr_top(q);
	inner_must(!top == !listed);
	if (top)
		present = throughput_decay(top->sent.units, top->sent.half_life,
					   ti->clock.half_life);
	inner_must(highest < 64 || present >= highest / 17 * 16 - 1);
	if (!deep)
		return;
	for (i = 0; fr->queues && i < q->buffer.flows; i++)
		listed -= !!flow_rounds_queue(fr, i)->head;
	inner_must(!listed);
}
