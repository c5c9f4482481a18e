// SPDX-License-Identifier: GPL-2.0
#include <sch_blue.c>
#include "plain_fifo.h"

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct blue_sched_data *q = qdisc_priv(sch);

	inner_plain_fifo(sch, &q->vars.queue);
}
