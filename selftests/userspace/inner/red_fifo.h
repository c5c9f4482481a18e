/* SPDX-License-Identifier: GPL-2.0 */
/* The FIFO of chokex and cbt; see inner.h. */
#ifndef USERSPACE_INNER_RED_FIFO_H
#define USERSPACE_INNER_RED_FIFO_H

#include "inner.h"

/* @packet: what the discipline adds about a packet. */
static void inner_fifo(struct Qdisc *sch, const struct red_fifo *rf,
		       bool draws,
		       void (*packet)(struct Qdisc *sch,
				      const struct sk_buff *skb))
{
	const struct sk_buff *skb, *last = (const void *)&rf->packets;
	u32 count = red_fifo_count(rf);
	struct inner in = {};

	inner_must(!rf->draw.slots == !draws);
	inner_must(rf->draw.count == (draws ? count : 0));
	skb_queue_walk(&rf->packets, skb) {
		inner_must(skb->prev == last);
		last = skb;
		inner_must(in.qlen < count);
		if (draws) {
			inner_must(red_fifo_cb(skb)->slot < count);
			inner_must(rf->draw.slots[red_fifo_cb(skb)->slot] == skb);
		}
		inner_packet(&in, skb, &aqm_queue(sch)->delay);
		packet(sch, skb);
	}
	inner_must(rf->packets.prev == last);
	inner_must(in.qlen == count);
	inner_check_totals(&in, sch);
	inner_must(aqm_queue(sch)->segments <= sch->limit || count == 1);
}

#endif /* USERSPACE_INNER_RED_FIFO_H */
