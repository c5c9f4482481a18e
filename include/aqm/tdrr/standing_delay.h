/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find out whether packets wait for too long, and when to signal it to a sender.
 *
 * With many queues, the waiting time of one packet says little about the others.
 * So the delay is estimated from all queued bytes:
 *
 *	delay = backlog / rate
 *
 * The rate is measured: frame/rate_meter.h.
 *
 * The signals are as many as CoDel would send for each queue (RFC 8289):
 *
 *	The first one comes when the delay was above the target at all departures for
 *	100 ms. One more follows every 100 ms / queues. They end at the first departure
 *	with a delay that is not above the target.
 *
 * CoDel then sends signals faster and faster. We do not: with more than a few
 * queues, one signal per queue in 100 ms is as many as TCP needs.
 *
 * At most one signal is due at a departure, so the cost per packet is O(1).
 */
#ifndef _AQM_STANDING_DELAY_H
#define _AQM_STANDING_DELAY_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#define STANDING_DELAY_SECOND	1000000000U	/* ns */
#define STANDING_DELAY_INTERVAL	100000000U	/* ns */

/**
 * struct standing_delay - the tolerated backlog, and state of the signals
 * @limit: backlog that the link sends in the target time, bytes
 * @next: when the next signal is due, ns; 0: the delay is not above the target
 * @rate: rate of the link, bytes per second; 0: unknown
 * @least: backlog that is never too long, bytes
 */
struct standing_delay {
	u64	limit;
	u64	next;
	u64	rate;
	u32	least;
};

/* Start without a known rate. */
static inline void standing_delay_init(struct standing_delay *sd)
{
	*sd = (struct standing_delay) { .limit = U64_MAX };
}

/* Return whether the delay of @backlog bytes, with the packet that departs, is too long. */
static inline bool standing_delay_is_long(struct standing_delay *sd, u64 backlog)
{
	if (backlog > sd->limit)
		return true;
	sd->next = 0;
	return false;
}

/**
 * standing_delay_due() - whether a sender must get a signal before a departure
 * @sd: the state, after standing_delay_is_long() returned true
 * @queues: number of queues that hold packets; at least 1, because a backlog above the
 *	limit is not empty
 * @now: time, ns; not 0
 */
static inline bool standing_delay_due(struct standing_delay *sd, u32 queues,
				      u64 now)
{
	if (!sd->next) {
		sd->next = now + STANDING_DELAY_INTERVAL;
		return false;
	}
	if (now < sd->next)
		return false;
	sd->next = now + STANDING_DELAY_INTERVAL / queues;
	return true;
}

/**
 * standing_delay_set() - set the rate of the link
 * @sd: the state
 * @rate: bytes per second, at most 2^40; 0: unknown
 * @target: target time, us; at most 1 s
 * @least: backlog that is never too long, bytes
 */
static inline void standing_delay_set(struct standing_delay *sd, u64 rate,
				      u32 target, u32 least)
{
	if (rate == sd->rate && least == sd->least)
		return;
	sd->rate = rate;
	sd->least = least;
	sd->limit = rate ? max_t(u64, div_u64(rate * target, 1000000), least) : U64_MAX;
}

/* Return the delay of @backlog bytes at @rate bytes per second in ns; 0: unknown. */
static inline u64 standing_delay_of(u64 rate, u32 backlog)
{
	if (!rate)
		return 0;
	return div64_u64((u64)backlog * STANDING_DELAY_SECOND, rate);
}

#endif /* _AQM_STANDING_DELAY_H */
