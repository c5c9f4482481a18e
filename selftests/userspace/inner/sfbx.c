// SPDX-License-Identifier: GPL-2.0
#include <sch_sfbx.c>
#include "plain_fifo.h"

/* Each bin has as many packets as the queue has of its flows, in both sets. */
static void bins_are_right(struct Qdisc *sch)
{
	struct sfbx_sched_data *q = qdisc_priv(sch);
	const struct accounting_params *p = &q->params.accounting;
	const struct accounting_bins *v = &q->vars.bins;
	size_t size = accounting_size(p->bins, p->levels);
	struct accounting_bin *counted = calloc(1, size), *set;
	struct accounting_bins mine = *v;
	const struct sk_buff *skb;
	struct accounting_flow flow;
	u32 epoch, i;

	mine.bins = counted;
	for (skb = sch->q.head; skb; skb = skb->next) {
		const struct sfbx_cb *cb = sfbx_cb(skb);

		for (epoch = v->epoch; epoch != v->epoch + 2; epoch++) {
			/* The hash functions cb->epoch and the next one. */
			if (epoch - cb->epoch > 1)
				continue;
			flow = accounting_find(p, &mine, cb->number, epoch);
			accounting_count(p, &mine, &flow, epoch, cb->queued.segments);
		}
	}
	for (set = v->bins, i = 0; i < size / sizeof(*set); i++)
		inner_must(set[i].qlen == counted[i].qlen);
	free(counted);
}

void userspace_inner(struct Qdisc *sch, bool deep)
{
	inner_plain_fifo(sch);
	if (deep)
		bins_are_right(sch);
}
