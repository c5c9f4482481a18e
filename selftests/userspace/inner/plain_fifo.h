/* SPDX-License-Identifier: GPL-2.0 */
/* See inner.h. */
#ifndef USERSPACE_INNER_PLAIN_FIFO_H
#define USERSPACE_INNER_PLAIN_FIFO_H

#include "inner.h"

static void inner_plain_fifo(struct Qdisc *sch, const struct plain_fifo *f)
{
	struct inner in = {};

	inner_list(&in, sch->q.head, sch->q.tail, &f->delay);
	inner_check_totals(&in, sch, &f->queued, &f->delay);
	inner_must(f->limit == sch->limit);
	inner_must(f->queued.segments <= f->limit || in.qlen == 1);
	inner_must(f->queued.truesize <= f->memory_limit);
}

#endif /* USERSPACE_INNER_PLAIN_FIFO_H */
