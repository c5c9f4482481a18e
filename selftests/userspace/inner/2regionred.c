// SPDX-License-Identifier: GPL-2.0
#include <sch_2regionred.c>
#include "inner.h"

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct tworr_sched_data *q = qdisc_priv(sch);
	const struct tworr_vars *v = &q->vars;
	struct inner in = {};

	inner_list(&in, sch->q.head, sch->q.tail, &v->delay);
	inner_whole(&in, sch, &v->held, &v->delay);
	inner_must(v->held.segments <= q->derived.limit || in.qlen == 1);
	inner_must(v->held.truesize <= q->derived.memory_limit);
}
