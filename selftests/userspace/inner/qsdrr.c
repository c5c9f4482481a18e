// SPDX-License-Identifier: GPL-2.0
#include <sch_qsdrr.c>
#include "flow_buffer.h"

static void flow_is_whole(struct Qdisc *sch, struct flow_queue *fq,
			  const struct inner *in)
{
	inner_must(qsdrr_flow(fq)->backlog == in->backlog);
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct qsdrr_sched_data *q = qdisc_priv(sch);
	struct length_index *li = &q->vars.by_length;
	struct qsdrr_flow *flow;
	struct hlist_node *node;
	u32 i, listed = 0;

	inner_rounds(sch, flow_is_whole);
	for (i = 0; i < LENGTH_INDEX_BUCKETS; i++) {
		if (!deep && !(li->octaves & BIT(i / 16))) {
			i |= 15;
			continue;
		}
		inner_must(!(li->steps[i / 16] & BIT(i % 16)) ==
			   hlist_empty(&li->buckets[i]));
		for (node = li->buckets[i].first; node; node = node->next) {
			flow = hlist_entry_safe(node, struct qsdrr_flow, by_length);
			listed++;
			inner_must(listed <= q->buffer.rounds.active);
			inner_must(flow->fq.head);
			inner_must(length_index_bucket(qsdrr_length(flow)) == i);
		}
	}
	for (i = 0; i < LENGTH_INDEX_OCTAVES; i++)
		inner_must(!(li->octaves & BIT(i)) == !li->steps[i]);
	inner_must(listed == q->buffer.rounds.active);
	inner_must(!q->vars.q || (q->vars.q >= q->flows &&
				  q->vars.q < q->flows + q->params.flows));
	if (!deep)
		return;
	for (i = 0; i < q->params.flows; i++) {
		listed -= !!q->flows[i].fq.head;
		inner_must(q->flows[i].fq.head || !q->flows[i].backlog);
	}
	inner_must(!listed);
}
