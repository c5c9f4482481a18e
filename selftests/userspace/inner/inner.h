/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands behind the counts: a walk over a discipline's own structures.
 *
 * inner/KIND.c includes sch_KIND.c for its types alone, and says of each list,
 * index and table what must hold between operations. The discipline itself is
 * compiled as it stands, elsewhere. The fuzzer and replay-KIND walk after each
 * operation; what takes as long as there are queues or slots, when statistics
 * are read.
 */
#ifndef USERSPACE_INNER_H
#define USERSPACE_INNER_H

#include <aqm/measure.h>
#include <aqm/queue.h>

#include "../world.h"

#define inner_must(condition) do {					\
	if (!(condition))						\
		userspace_violation("%s:%d: not %s",			\
				    strrchr(__FILE__, '/') + 1, __LINE__, \
				    #condition);			\
} while (0)

/**
 * struct inner - totals of the packets that a walk has found
 * @qlen: packets
 * @backlog: bytes
 * @segments: wire packets, as stored with each packet
 * @truesize: memory, as stored with each packet, bytes
 * @timed: the packet whose delay is sampled is one of them
 */
struct inner {
	u32		qlen;
	u64		backlog;
	u32		segments;
	u32		truesize;
	bool		timed;
};

static inline void inner_packet(struct inner *in, const struct sk_buff *skb,
				const struct delay_sample *delay)
{
	const struct queued_cb *cb = queued_cb(skb);

	inner_must(skb->where == USERSPACE_HELD);
	inner_must(cb->segments);
	in->qlen++;
	in->backlog += qdisc_pkt_len(skb);
	in->segments += cb->segments;
	in->truesize += cb->truesize;
	in->timed |= skb == delay->packet;
}

/* A list of packets that ends at @tail. */
static inline void inner_list(struct inner *in, const struct sk_buff *skb,
			      const struct sk_buff *tail,
			      const struct delay_sample *delay)
{
	for (; skb; skb = skb->next) {
		inner_packet(in, skb, delay);
		inner_must(skb->next || skb == tail);
	}
}

/* Check the totals of all packets against the qdisc's counters. */
static inline void inner_check_totals(const struct inner *in, struct Qdisc *sch)
{
	u32 qlen = sch->q.qlen, backlog = sch->qstats.backlog - world->over;
	const struct aqm_queue *q = aqm_queue(sch);
	const struct sk_buff *skb;

	/* A packet that a parent has peeked at still counts but is not queued any more. */
	for (skb = sch->gso_skb.head; skb; skb = skb->next) {
		qlen--;
		backlog -= qdisc_pkt_len(skb);
	}
	inner_must(in->qlen == qlen);
	inner_must(in->qlen == aqm_queue_len(sch));
	inner_must((u32)in->backlog == backlog);
	inner_must(in->segments == q->segments);
	inner_must(in->truesize == q->truesize);
	inner_must(in->timed == !!q->delay.packet);
	inner_must(q->limit == sch->limit);
	inner_must(in->truesize <= q->memory_limit);
}

#endif /* USERSPACE_INNER_H */
