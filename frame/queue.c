// SPDX-License-Identifier: GPL-2.0
/* The rare steps of <aqm/queue.h>. */
#include <net/sch_generic.h>
#include <aqm/queue.h>

/**
 * aqm_drop() - drop an arrival
 * @skb: the arrival
 * @sch: the qdisc
 * @cause: the cause
 * @to_free: list of packets to free
 *
 * Return: the verdict.
 */
int aqm_drop(struct sk_buff *skb, struct Qdisc *sch,
	     enum aqm_drop cause, struct sk_buff **to_free)
{
	aqm_drop_count(sch, skb, cause);
	__qdisc_drop(skb, to_free);
	return aqm_drop_verdict(cause);
}
EXPORT_SYMBOL_GPL(aqm_drop);

/* Start to time an arrival at @now, ns; 0: read the clock. Few packets are timed. */
void aqm_queue_time(struct aqm_queue *q,
		    const struct sk_buff *skb, u64 now)
{
	delay_start(&q->delay, skb, now ?: ktime_get_ns());
}
EXPORT_SYMBOL_GPL(aqm_queue_time);

/*
 * Return whether the queue exceeds a limit, after a change of it. A single packet that
 * is larger than the limit stays, because it would be accepted into an empty queue.
 */
bool aqm_queue_is_over(struct Qdisc *sch)
{
	const struct aqm_queue *q = aqm_queue(sch);

	return (q->segments > q->limit && aqm_queue_len(sch) > 1) ||
	       q->truesize > q->memory_limit;
}
EXPORT_SYMBOL_GPL(aqm_queue_is_over);

/* All packets are purged without counting them. The core resets qlen and backlog. */
void aqm_queue_reset(struct Qdisc *sch)
{
	struct aqm_queue *q = aqm_queue(sch);

	q->segments = 0;
	q->truesize = 0;
	q->unreported = 0;
	delay_reset(&q->delay);
}
EXPORT_SYMBOL_GPL(aqm_queue_reset);
