/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED on any queue: parameters that depend on the link, the average with idle time,
 * and the signal. <aqm/gentle_red.h> has the arithmetic.
 *
 * Idle time: a queue becomes idle when its last packet is removed, for whatever
 * reason. An arrival that is not queued does not end the idle time. A packet that
 * waits with a parent does not delay it. We read the clock only when the queue
 * becomes idle and when an arrival finds it idle, and not at all while the average
 * is 0, because there is nothing to decay.
 */
#ifndef _AQM_RED_QUEUE_H
#define _AQM_RED_QUEUE_H

#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <aqm/congestion_signal.h>
#include <aqm/gentle_red.h>
#include <aqm/frame.h>
#include <aqm/seeded_random.h>
#include <uapi/linux/pkt_sched_aqm.h>
#include "../compat.h"

/* Parameters that depend on the rate of the link. */

/*
 * Return the weight for a link of @rate bytes/s, packets of @avpkt bytes, and a
 * queue of @limit packets. w = 1 - exp(-1 / n) remembers n packets, with
 *
 *	n = min(1 s of packets, 3 limit)
 *
 * Adaptive RED's authors advise 1 s, ten round trips of 100 ms. A fixed weight is
 * right at one rate only. 1/512 remembers 6 s at 1 Mb/s, so that TCP is punished
 * long after it has slowed down. At 10 Gb/s it remembers 0.6 ms, so that each burst
 * counts as congestion.
 *
 * The bound 3 limit: a flow roughly halves its window in each round trip in which
 * it loses a packet, and a full queue takes about one round trip to drain. An
 * average that remembers many full queues goes on dropping after the queue has
 * drained, and reduces the windows of a few flows to nothing. We measured 10 limit
 * with one CUBIC flow: after the first slow start cbt did not fill a link of 1 Gb/s
 * for 17 s.
 */
static inline u32 red_queue_weight(u64 rate, u32 avpkt, u32 limit)
{
	u64 packets = min_t(u64, div_u64(rate, avpkt), 3ULL * limit);

	return gentle_red_auto_weight(min_t(u64, packets, U32_MAX));
}

/* Return the ns to send @bytes at @rate bytes/s, at least 1; U32_MAX: over 4 s. */
static inline u32 red_queue_ptime(u64 rate, u32 bytes)
{
	return clamp_t(u64, div64_u64((u64)bytes * NSEC_PER_SEC, rate), 1,
		       U32_MAX);
}

/**
 * red_queue_check() - reject invalid parameters, and warn about useless ones
 * @sch: the qdisc
 * @red: RED's parameters; max_th is 0 if it is set later
 * @signal: marking policy
 * @limit: packets
 * @memory_limit: bytes
 * @extack: gets the message
 *
 * Return: 0 or an error
 */
static inline int red_queue_check(const struct Qdisc *sch,
				  const struct gentle_red_params *red,
				  const struct congestion_policy *signal,
				  u32 limit, u32 memory_limit,
				  struct netlink_ext_ack *extack)
{
	if (red->ptime == U32_MAX) {
		NL_SET_ERR_MSG_MOD(extack,
				   "avpkt takes more than 4 s at this bandwidth: raise bandwidth");
		return -EINVAL;
	}
	if (red->max_th && red->min_th >= red->max_th) {
		NL_SET_ERR_MSG_MOD(extack, "min must be below max");
		return -EINVAL;
	}
	if (!aqm_policy_is_right(signal, extack))
		return -EINVAL;
	if (!aqm_warn_of_memory(sch, memory_limit, extack) &&
	    limit <= red->min_th)
		NL_SET_ERR_MSG_MOD(extack, "limit is not above min: no early drops");
	return 0;
}

/* The average, with idle time. */

/* Update the average for an arrival at a queue of @length. */
static inline void red_queue_arrival(const struct gentle_red_params *p,
				     struct gentle_red_vars *v, u32 length)
{
	if (likely(length))
		v->avg = gentle_red_fold(v->avg, p->weight, length);
	else if (v->avg)
		gentle_red_average(p, v, 0, ktime_get_ns());
}

/* Call after a packet was removed, with the number of remaining @packets. */
static inline void red_queue_removed(struct gentle_red_vars *v, u32 packets)
{
	if (unlikely(!packets) && v->avg)
		gentle_red_idle(v, ktime_get_ns());
}

/* Mark, spare or drop an arrival that RED has chosen. */
static noinline enum congestion_signal
red_queue_chosen(struct Qdisc *sch, struct sk_buff *skb,
		 const struct congestion_policy *policy, bool forced)
{
	qdisc_qstats_overlimit(sch);
	return congestion_signal(policy, skb, forced);
}

/**
 * red_queue_signal() - apply RED to an arrival
 * @sch: the qdisc
 * @skb: the arrival; red_queue_arrival() has been called for it
 * @p: configuration
 * @v: RED's state
 * @random: generator; used once per drop that chance decides
 * @policy: marking policy for arrivals that RED chooses
 * @forced: set to true if RED chose the arrival without chance
 *
 * Return: the signal, which the caller also passes to congestion_count().
 */
static inline enum congestion_signal
red_queue_signal(struct Qdisc *sch, struct sk_buff *skb,
		 const struct gentle_red_params *p, struct gentle_red_vars *v,
		 struct seeded_random *random,
		 const struct congestion_policy *policy, bool *forced)
{
	enum gentle_red_verdict verdict = gentle_red_verdict(p, v, random);

	*forced = verdict == GENTLE_RED_FORCED;
	if (likely(verdict == GENTLE_RED_PASS))
		return CONGESTION_PASS;
	return red_queue_chosen(sch, skb, policy, *forced);
}

/*
 * Fill in RED's statistics of @q, a struct aqm_queue: @p parameters, @v state.
 */
#define RED_QUEUE_STATS(st, q, p, v) do {				\
	AQM_SIGNAL_STATS(st, q);					\
	(st)->avg = (v)->avg;						\
	(st)->max_p = (v)->max_p;					\
	(st)->probability = min_t(u64, gentle_red_probability(p, v),	\
				  U32_MAX);				\
	(st)->segments = (q)->segments;					\
	(st)->min_th = (p)->min_th;					\
	(st)->max_th = (p)->max_th;					\
	(st)->weight = (p)->weight;					\
	(st)->ptime = (p)->ptime;					\
	(st)->count = (v)->count;					\
} while (0)

#endif /* _AQM_RED_QUEUE_H */
