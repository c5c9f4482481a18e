/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find out whether packets wait for too long, and when to signal it to a sender.
 *
 * With many queues, the waiting time of one packet says little about the others.
 * So the delay is estimated from all queued bytes:
 *
 *	delay = backlog / rate
 *
 * The rate is measured while the qdisc is busy. The time between two departures
 * counts if packets were queued all the time. Every 10 ms of such time, and the
 * bytes that left in it, are a sample. The first sample is the first rate. Each
 * later one moves the rate by an eighth of the difference. So a pause of the
 * senders does not change the rate, and a slower link does.
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

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#define STANDING_DELAY_SECOND	1000000000U	/* ns */
#define STANDING_DELAY_INTERVAL	100000000U	/* ns */
#define STANDING_DELAY_SAMPLE	10000000U	/* ns */
#define STANDING_DELAY_GAIN	8
/* Bytes that count in a sample. More than 1.7 TB/s is that much. */
#define STANDING_DELAY_BYTES	BIT_ULL(34)

/**
 * struct standing_delay - measured rate, and state of the signals
 * @limit: backlog that the link sends in the target time, bytes
 * @next: when the next signal is due, ns; 0: the delay is not above the target
 * @rate: bytes per second; 0: unknown
 * @last: time of the last departure, ns
 * @time: busy time since the last sample, ns
 * @bytes: bytes that left in it
 * @busy: packets were queued after the last departure
 */
struct standing_delay {
	u64	limit;
	u64	next;
	u64	rate;
	u64	last;
	u64	time;
	u64	bytes;
	bool	busy;
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

static noinline void __standing_delay_sample(struct standing_delay *sd,
					     u32 target, u32 least)
{
	u64 bytes = min_t(u64, sd->bytes, STANDING_DELAY_BYTES);
	u64 sample = div64_u64(bytes * STANDING_DELAY_SECOND, sd->time);
	s64 more = sample - sd->rate;

	if (sd->rate)
		sample = sd->rate + more / STANDING_DELAY_GAIN;
	sd->rate = max_t(u64, sample, 1);
	sd->limit = max_t(u64, div_u64(sd->rate * target, 1000000), least);
	sd->time = 0;
	sd->bytes = 0;
}

/**
 * standing_delay_sent() - measure the rate with a departure
 * @sd: the state
 * @bytes: length of the packet
 * @now: time, ns
 * @busy: packets are still queued
 * @target: target time, us; at most 1 s
 * @least: backlog that is never too long, bytes
 */
static inline void standing_delay_sent(struct standing_delay *sd, u32 bytes,
				       u64 now, bool busy, u32 target, u32 least)
{
	if (sd->busy) {
		sd->time += now - sd->last;
		sd->bytes += bytes;
		if (sd->time >= STANDING_DELAY_SAMPLE)
			__standing_delay_sample(sd, target, least);
	}
	sd->last = now;
	sd->busy = busy;
}

/* Return the estimated delay of @backlog bytes in ns, or 0 if the rate is unknown. */
static inline u64 standing_delay_of(const struct standing_delay *sd, u32 backlog)
{
	if (!sd->rate)
		return 0;
	return div64_u64((u64)backlog * STANDING_DELAY_SECOND, sd->rate);
}

#endif /* _AQM_STANDING_DELAY_H */
