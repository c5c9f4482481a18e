/* SPDX-License-Identifier: GPL-2.0 */
/* See inner.h. */
#ifndef USERSPACE_INNER_PLAIN_FIFO_H
#define USERSPACE_INNER_PLAIN_FIFO_H

#include "inner.h"

static void inner_plain_fifo(struct Qdisc *sch)
{
	const struct aqm_queue *q = aqm_queue(sch);
	struct inner in = {};

	inner_list(&in, sch->q.head, sch->q.tail, &q->delay);
	inner_check_totals(&in, sch);
	inner_must(q->segments <= q->limit || in.qlen == 1);
}

#endif /* USERSPACE_INNER_PLAIN_FIFO_H */
