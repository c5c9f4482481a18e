// SPDX-License-Identifier: GPL-2.0
#include <sch_fpq.c>
#include "plain_fifo.h"

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct fpq_sched_data *q = qdisc_priv(sch);
	const struct fpq_vars *v = &q->vars;
	const struct flow_count *c = &v->flows;
	u32 i, set = 0;

	inner_plain_fifo(sch);
	inner_must(v->rule.min_th < v->rule.max_th);
	inner_must(c->bits == q->params.vector && c->hand < c->bits);
	if (!deep)
		return;
	for (i = 0; i < flow_count_words(c->bits); i++)
		set += hweight64(c->words[i]);
	inner_must(set == c->count);
	inner_must(!(c->bits % 64) || !(c->words[c->bits / 64] >> c->bits % 64));
}
