// SPDX-License-Identifier: GPL-2.0
#include <sch_cbt.c>
#include "red_fifo.h"

static struct inner of_class[CBT_CLASSES];

static void packet_is_right(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	u32 class = cbt_class_in(skb);

	inner_must(class > CBT_ALL && class < CBT_CLASSES);
	inner_packet(&of_class[class], skb, &q->queue.delay);
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	struct cbt_sched_data *q = qdisc_priv(sch);
	const struct cbt_class *cl;
	u32 i;

	memset(of_class, 0, sizeof(of_class));
	inner_fifo(sch, &q->vars.fifo, q->params.victim != CBT_VICTIM_ARRIVAL,
		   packet_is_right);
	for (i = CBT_ALL + 1; i < CBT_CLASSES; i++) {
		cl = &q->vars.cls[i];
		inner_must(of_class[i].qlen == cl->qlen);
		inner_must(of_class[i].backlog == cl->backlog);
		inner_must(of_class[i].segments == cl->segments);
	}
}
