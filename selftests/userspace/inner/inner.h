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

#include <aqm/delay.h>
#include <aqm/queued.h>

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
 * @queued: segments and memory, as stored with each packet
 * @timed: the packet whose delay is sampled is one of them
 */
struct inner {
	u32		qlen;
	u64		backlog;
	struct queued	queued;
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
	in->queued.segments += cb->segments;
	in->queued.truesize += cb->truesize;
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

static inline void inner_is(const struct inner *in, u32 qlen, u64 backlog,
			    const struct queued *queued)
{
	inner_must(in->qlen == qlen);
	inner_must(in->backlog == backlog);
	inner_must(in->queued.segments == queued->segments);
	inner_must(in->queued.truesize == queued->truesize);
}

/* Check the totals of all packets against the qdisc's counters. */
static inline void inner_check_totals(const struct inner *in, const struct Qdisc *sch,
				      const struct queued *queued,
				      const struct delay_sample *delay)
{
	u32 qlen = sch->q.qlen, backlog = sch->qstats.backlog - world->over;
	const struct sk_buff *skb;

	/* A packet that a parent has peeked at still counts but is not queued any more. */
	for (skb = sch->gso_skb.head; skb; skb = skb->next) {
		qlen--;
		backlog -= qdisc_pkt_len(skb);
	}
	inner_must((u32)in->backlog == backlog);
	inner_is(in, qlen, in->backlog, queued);
	inner_must(in->timed == !!delay->packet);
}

#endif /* USERSPACE_INNER_H */
