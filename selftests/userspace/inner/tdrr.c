// SPDX-License-Identifier: GPL-2.0
#include <sch_tdrr.c>
#include "flow_buffer.h"

static void flow_is_whole(struct Qdisc *sch, struct flow_queue *fq,
			  const struct inner *in)
{
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct tdrr_sched_data *q = qdisc_priv(sch);
	struct throughput_index *ti = &q->vars.by_throughput;
	u64 units, highest = 0, present = 0;
	struct tdrr_flow *flow, *top;
	u32 i, listed = 0;

	inner_rounds(sch, flow_is_whole);
	for (i = 0; i <= THROUGHPUT_INDEX_SPENT; i++) {
		if (!deep && i < THROUGHPUT_INDEX_SPENT &&
		    !(ti->octaves & BIT_ULL(i / 16))) {
			i |= 15;
			continue;
		}
		inner_must(i == THROUGHPUT_INDEX_SPENT ||
			   !(ti->steps[i / 16] & BIT(i % 16)) ==
			   list_empty(&ti->buckets[i]));
		list_for_each_entry(flow, &ti->buckets[i], sent.node) {
			listed++;
			inner_must(listed <= q->buffer.rounds.active);
			inner_must(flow->fq.head);
			inner_must(throughput_index_bucket(ti, flow->sent.units,
							   flow->fq.word) == i);
			units = throughput_decay(flow->sent.units, flow->fq.word,
						 ti->clock.half_life);
			highest = max(highest, units);
		}
	}
	for (i = 0; i < THROUGHPUT_INDEX_OCTAVES; i++)
		inner_must(!(ti->octaves & BIT_ULL(i)) == !ti->steps[i]);
	inner_must(listed == q->buffer.rounds.active);

	/* The index names one within a sixteenth of the highest. */
	top = tdrr_top(q);
	inner_must(!top == !listed);
	if (top)
		present = throughput_decay(top->sent.units, top->fq.word,
					   ti->clock.half_life);
	inner_must(highest < 64 || present >= highest / 17 * 16 - 1);
	if (!deep)
		return;
	for (i = 0; i < q->params.flows; i++)
		listed -= !!q->flows[i].fq.head;
	inner_must(!listed);
}
