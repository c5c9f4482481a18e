// SPDX-License-Identifier: GPL-2.0
#include <sch_chokex.c>
#include "red_fifo.h"

static void packet_is_right(struct Qdisc *sch, const struct sk_buff *skb)
{
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct chokex_sched_data *q = qdisc_priv(sch);

	inner_fifo(sch, &q->vars.fifo, true, packet_is_right);
}
