// SPDX-License-Identifier: GPL-2.0
#include <sch_ared.c>
#include "plain_fifo.h"

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct ared_sched_data *q = qdisc_priv(sch);
	const struct ared_vars *v = &q->vars;

	inner_plain_fifo(sch);
	if (!q->params.red.adaptive)
		return;
	inner_must(v->red.max_p >= q->params.red.bottom);
	inner_must(v->red.max_p <= q->params.red.top);
}
