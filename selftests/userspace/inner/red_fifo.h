/* SPDX-License-Identifier: GPL-2.0 */
/* The FIFO of chokex and cbt; see inner.h. */
#ifndef USERSPACE_INNER_RED_FIFO_H
#define USERSPACE_INNER_RED_FIFO_H

#include "inner.h"

/* @packet: what the discipline adds about the packet in a slot. */
static void inner_fifo(struct Qdisc *sch, const struct red_fifo *rf,
		       void (*packet)(struct Qdisc *sch,
				      const struct random_fifo_slot *slot))
{
	const struct random_fifo *f = &rf->fifo;
	struct inner in = {};
	u32 slot, last = 0;

	inner_must(f->count <= f->capacity);
	inner_must(f->capacity >= sch->limit);
	for (slot = f->slots[0].next; slot; slot = f->slots[slot].next) {
		inner_must(slot <= f->count);
		inner_must(in.qlen < f->count);
		inner_must(f->slots[slot].prev == last);
		last = slot;
		inner_packet(&in, f->slots[slot].item, &rf->delay);
		packet(sch, &f->slots[slot]);
	}
	inner_must(f->slots[0].prev == last);
	inner_must(in.qlen == f->count);
	inner_whole(&in, sch, &rf->held, &rf->delay);
	inner_must(rf->held.segments <= sch->limit || f->count == 1);
	inner_must(rf->held.truesize <= rf->stats.memory_limit);
	inner_must(rf->red.idle == !f->count);
}

#endif /* USERSPACE_INNER_RED_FIFO_H */
