/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A qdisc with flow queues in one buffer and a rule that selects the victim.
 *
 * A full buffer makes room for each arrival: it discards from the front of the
 * queue that the rule selects, until the arrival fits. The qdisc's source has the
 * rule and the index that the rule needs:
 *
 *	static const struct victim_rule x_rule = { .victim = x_victim, ... };
 *	FLOW_QDISC(x, x_rule);
 *
 * FLOW_QDISC() defines x_enqueue(), x_dequeue(), x_reset() and x_evict(). The rule
 * is a constant. The compiler therefore inlines its functions, as it does with
 * struct rhashtable_params.
 */
#ifndef _AQM_FLOW_QDISC_H
#define _AQM_FLOW_QDISC_H

#include "flow_buffer.h"

/**
 * struct victim_rule - the victim rule, and the events that its index follows
 * @victim: select the queue to discard from. At least one queue has a packet.
 *	@again: the same arrival has already discarded a packet.
 * @added: a packet was queued; @first: it is the only one of its queue
 * @discarded: a packet was discarded. It is not freed yet, so the rule may read it.
 * @before_send: a packet will be sent, and may be discarded instead; optional
 * @sent: a packet was sent
 * @purged: all packets of a queue were purged; optional
 * @forget: all queues were purged; start with an empty index
 */
struct victim_rule {
	struct flow_queue *(*victim)(struct Qdisc *sch, bool again);
	void (*added)(struct Qdisc *sch, struct flow_queue *fq,
		      const struct sk_buff *skb, bool first);
	void (*discarded)(struct Qdisc *sch, struct flow_queue *fq,
			  const struct sk_buff *skb);
	void (*before_send)(struct Qdisc *sch);
	void (*sent)(struct Qdisc *sch, struct flow_queue *fq,
		     const struct sk_buff *skb);
	void (*purged)(struct Qdisc *sch, struct flow_queue *fq);
	void (*forget)(struct Qdisc *sch);
};

/* The options of a qdisc begin with these. */
struct flow_qdisc_params {
	struct aqm_given	given;

	TC_AQM_FLOWS_OPTIONS(AQM_PARAM, 0, FLOW_BUFFER)
};

static __always_inline void flow_qdisc_add(struct Qdisc *sch,
					   struct flow_queue *fq,
					   struct sk_buff *skb, u32 segments,
					   const struct victim_rule *rule)
{
	bool first = !fq->head;

	flow_buffer_add(sch, fq, skb, segments);
	rule->added(sch, fq, skb, first);
}

/**
 * flow_qdisc_enqueue_full() - make room for an arrival, and queue it
 * @skb: the arrival, which does not fit
 * @sch: the qdisc
 * @fq: the queue of the arrival
 * @segments: packets that it counts as
 * @to_free: list of packets to free
 * @report: report to the parents; false for a segment, because its caller reports
 * @rule: the victim rule
 *
 * Return: the verdict.
 */
static __always_inline int
flow_qdisc_enqueue_full(struct sk_buff *skb, struct Qdisc *sch,
			struct flow_queue *fq, u32 segments,
			struct sk_buff **to_free, bool report,
			const struct victim_rule *rule)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	bool again = false, own = false;
	struct flow_queue *victim;
	struct sk_buff *lost;
	enum aqm_drop cause;
	int verdict;

	flow_buffer_overflow(sch);
	if (aqm_queue_is_oversize(&b->queue, skb, segments))
		return flow_buffer_refuse(skb, sch, fq, to_free);
	for (; (cause = aqm_queue_full(&b->queue, skb, segments)); again = true) {
		victim = rule->victim(sch, again);
		lost = flow_buffer_discard(sch, victim, cause, to_free);
		rule->discarded(sch, victim, lost);
		own |= victim == fq;
	}
	flow_qdisc_add(sch, fq, skb, segments, rule);
	verdict = own ? NET_XMIT_CN : NET_XMIT_SUCCESS;
	if (!report)
		return verdict;
	return parents_report(sch, &before, qdisc_pkt_len(skb), verdict);
}

/* Send the next packet. */
static __always_inline struct sk_buff *
flow_qdisc_dequeue(struct Qdisc *sch, const struct victim_rule *rule)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq;
	struct sk_buff *skb;

	if (rule->before_send)
		rule->before_send(sch);
	fq = flow_rounds_next(&b->rounds);
	if (!fq)
		return NULL;
	skb = flow_buffer_send(sch, fq);
	flow_rounds_prefetch(&b->rounds);
	rule->sent(sch, fq, skb);
	return skb;
}

/* Free all packets. */
static inline void flow_qdisc_reset(struct Qdisc *sch,
				    const struct victim_rule *rule)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq;

	/* Also called after a failed init. */
	if (!b->rounds.queues)
		return;
	while ((fq = flow_buffer_purge(sch))) {
		if (rule->purged)
			rule->purged(sch, fq);
	}
	rule->forget(sch);
}

/* For aqm_queue_trim(): remove a packet by the same rule, unless the rest fits. */
static inline struct sk_buff *flow_qdisc_evict(struct Qdisc *sch, bool again,
					       const struct victim_rule *rule)
{
	struct flow_queue *victim;
	struct sk_buff *skb;

	if (!aqm_queue_is_over(sch))
		return NULL;
	victim = rule->victim(sch, again);
	skb = flow_buffer_evict(sch, victim);
	rule->discarded(sch, victim, skb);
	return skb;
}

/**
 * FLOW_QDISC() - define the functions of a flow qdisc that handle packets
 * @kind: prefix of the functions
 * @rule: a constant struct victim_rule
 *
 * An enqueue has three functions:
 *
 *  x_enqueue()		nearly all arrivals: one segment, whose hash gives its queue
 *  x_enqueue_one()	called for all others by flow_buffer_enqueue_other(), once for
 *			each segment. It does not report to the parents, because its
 *			caller does.
 *  x_enqueue_full()	called by both if the arrival does not fit
 */
#define FLOW_QDISC(kind, rule)						\
static noinline int kind##_enqueue_full(struct sk_buff *skb,		\
					struct Qdisc *sch,		\
					struct flow_queue *fq,		\
					u32 segments,			\
					struct sk_buff **to_free,	\
					bool report)			\
{									\
	return flow_qdisc_enqueue_full(skb, sch, fq, segments, to_free,	\
				       report, &(rule));			\
}									\
									\
static int kind##_enqueue_one(struct sk_buff *skb, struct Qdisc *sch,	\
			      struct sk_buff **to_free, u32 segments,	\
			      u32 number)				\
{									\
	struct flow_buffer *b = qdisc_priv(sch);			\
	struct flow_queue *fq = flow_rounds_queue(&b->rounds, number);	\
									\
	if (aqm_queue_full(&b->queue, skb, segments))			\
		return kind##_enqueue_full(skb, sch, fq, segments,	\
					   to_free, false);		\
	flow_qdisc_add(sch, fq, skb, segments, &(rule));		\
	return NET_XMIT_SUCCESS;					\
}									\
									\
static int kind##_enqueue(struct sk_buff *skb, struct Qdisc *sch,	\
			  struct sk_buff **to_free)			\
{									\
	struct flow_buffer *b = qdisc_priv(sch);			\
	struct flow_queue *fq;						\
									\
	if (unlikely(!flow_buffer_is_plain(b, sch, skb)))		\
		return flow_buffer_enqueue_other(skb, sch, to_free,	\
						 kind##_enqueue_one);	\
	fq = flow_rounds_queue(&b->rounds, flow_buffer_hash(b, skb));	\
	if (unlikely(aqm_queue_full(&b->queue, skb, 1)))			\
		return kind##_enqueue_full(skb, sch, fq, 1, to_free,	\
					   true);			\
	flow_qdisc_add(sch, fq, skb, 1, &(rule));			\
	return NET_XMIT_SUCCESS;					\
}									\
									\
static struct sk_buff *kind##_dequeue(struct Qdisc *sch)		\
{									\
	return flow_qdisc_dequeue(sch, &(rule));			\
}									\
									\
static void kind##_reset(struct Qdisc *sch)				\
{									\
	flow_qdisc_reset(sch, &(rule));					\
}									\
									\
static struct sk_buff *kind##_evict(struct Qdisc *sch, bool again)	\
{									\
	return flow_qdisc_evict(sch, again, &(rule));			\
}

static inline int flow_qdisc_derive(struct Qdisc *sch, struct aqm_given *given,
				    struct netlink_ext_ack *extack)
{
	struct flow_qdisc_params *p = aqm_params_of(flow_qdisc, given);
	struct flow_buffer_params b = FLOW_BUFFER_PARAMS(p);
	int err;

	err = flow_buffer_derive(sch, &b, extack);
	p->bandwidth = b.bandwidth;
	p->memory_limit = b.memory_limit;
	p->limit = b.limit;
	p->quantum = b.quantum;
	return err;
}

static inline int flow_qdisc_alloc(struct Qdisc *sch, struct aqm_given *given,
				   struct aqm_memory *m,
				   struct netlink_ext_ack *extack)
{
	const struct flow_qdisc_params *p = aqm_params_of(flow_qdisc, given);

	return flow_buffer_alloc(sch, p->flows, extack);
}

/* The class of a queue, from 1. */
static inline u32 flow_qdisc_classid(const struct flow_queue *fq)
{
	return min_t(u32, fq->turn.number + 1, FLOW_BUFFER_CLASSES);
}

/* Count the packets of a class. None of them may leave meanwhile. */
static inline void flow_qdisc_count(struct Qdisc *sch, u32 cl,
				    struct gnet_stats_queue *qs)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 i, end = flow_buffer_class_end(b, cl);
	const struct flow_queue *fq;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	for (i = cl - 1; i < end; i++) {
		fq = flow_rounds_queue(&b->rounds, i);
		flow_queue_count(fq, qs);
		qs->drops += fq->dropped;
	}
}

/**
 * flow_qdisc_class_stats() - dump the statistics of a class
 * @sch: the qdisc
 * @cl: the class
 * @d: the dump
 * @st: a zeroed struct tc_KIND_xstats
 * @size: its size, bytes
 * @fill: fill in the qdisc's own part of @st; under the tree lock
 *
 * Return: 0, or -1 if the dump is full
 */
static inline int
flow_qdisc_class_stats(struct Qdisc *sch, unsigned long cl, struct gnet_dump *d,
		       void *st, int size,
		       void (*fill)(struct Qdisc *sch, struct flow_queue *fq,
				    s64 deficit, void *st))
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct gnet_stats_queue qs = {};
	struct flow_queue *fq;

	sch_tree_lock(sch);
	fq = flow_buffer_class(b, cl);
	flow_qdisc_count(sch, cl, &qs);
	fill(sch, fq, flow_queue_account(&b->rounds, fq, b->params.quantum),
	     st);
	sch_tree_unlock(sch);

	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, st, size);
}

/**
 * FLOW_AQM_KIND() - define the struct aqm_kind of a flow qdisc, and its module
 * @kind: tc's name for it, which is the prefix of its functions and structs
 * @KIND: the same in capitals
 * @about: description of the module
 *
 * Define kind##_setup(), kind##_commit() and kind##_stats() before: see struct
 * aqm_kind. kind##_class_stats() fills in the statistics of a class; see
 * flow_qdisc_class_stats(). Options are derived by flow_qdisc_derive(). If a qdisc
 * needs another function, make it a parameter of this macro.
 */
#define FLOW_AQM_KIND(kind, KIND, about)				\
static int kind##_dump_class_stats(struct Qdisc *sch, unsigned long cl,	\
				   struct gnet_dump *d)			\
{									\
	struct tc_##kind##_xstats st = { .type = TC_AQM_XSTATS_CLASS };	\
									\
	return flow_qdisc_class_stats(sch, cl, d, &st, sizeof(st),	\
				      kind##_class_stats);		\
}									\
									\
static_assert(offsetof(struct kind##_params, split_gso) ==		\
	      offsetof(struct flow_qdisc_params, split_gso));		\
AQM_STATS_ARE_WHOLE(struct tc_##kind##_class_stats,			\
		    TC_##KIND##_CLASS_STATS);				\
									\
static const struct Qdisc_class_ops kind##_class_ops =			\
	AQM_CLASS_OPS(flow_buffer_walk, kind##_dump_class_stats);	\
									\
__AQM_KIND(kind, kind, KIND, about, buffer.queue, flow_qdisc_derive,	\
	   .follows_mtu	= true,						\
	   .alloc	= flow_qdisc_alloc,				\
	   .destroy	= flow_buffer_destroy,				\
	   .ops.cl_ops	= &kind##_class_ops,				\
	   .ops.peek	= qdisc_peek_dequeued)

#endif /* _AQM_FLOW_QDISC_H */
