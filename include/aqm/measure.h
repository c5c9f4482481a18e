/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each queue measures: the waiting times of packets, the rate of the link
 * (frame/rate_meter.h), and marks (<aqm/congestion_signal.h>). This header uses no sk_buff
 * and no Qdisc.
 *
 * A time stamp on every packet would cost two reads of the clock. We time one
 * packet from arrival to departure, and then skip DELAY_SPACING arrivals. A packet
 * that is not timed costs a countdown at its arrival and a comparison at its
 * departure. If the timed packet is dropped, its sample is discarded.
 *
 *	avg = avg + (delay - avg) / 8
 *
 * The choice does not depend on the flow or size of a packet. But fewer packets are
 * timed while delays are long, so @avg follows recent delays and is not the mean
 * over all packets. A packet departs when the parent takes it or peeks at it.
 */
#ifndef _AQM_MEASURE_H
#define _AQM_MEASURE_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/types.h>

#define DELAY_SPACING	16	/* arrivals between two samples */

/**
 * struct delay_sample - when to read the clock: the packet being timed, and the
 *	results. Also when to look at the rate, see aqm_queue_look()
 * @packet: its address, never dereferenced; NULL: no packet is timed
 * @wait: arrivals before the next sample; while a packet is timed, a number that is
 *	never reached
 * @valid: there are results
 * @look: departures before the next look at the rate
 * @emptied: a departure left the queue empty since the last look
 * @since: its arrival, ns
 * @last: last sample, ns
 * @avg: moving average, ns
 * @max: maximum, ns
 */
struct delay_sample {
	const void	*packet;
	s32		wait;
	bool		valid;
	s8		look;
	bool		emptied;
	u64		since;
	u64		last;
	u64		avg;
	u64		max;
};

/**
 * struct rate_meter - measured rate
 * @rate: bytes per second; 0: unknown
 * @last: the last sample, bytes per second
 * @since: start of this sample, ns
 * @looked: time of the last look, ns
 * @total: the caller's count of bytes at the start of this sample
 * @seen: the same at the last look
 * @burst: the last short sample if it was above the rate, bytes per second
 * @span: a sample spans at least so long, ns
 * @falls: the last jump of the samples was downwards
 * @packets: departures in this sample until the last look
 * @spacing: departures between the last look and the next
 */
struct rate_meter {
	u64	rate;
	u64	last;
	u64	since;
	u64	looked;
	u64	total;
	u64	seen;
	u64	burst;
	u32	span;
	u32	packets;
	u32	spacing;
	bool	falls;
};

/**
 * struct congestion_stats - arrivals that RED chose and that were queued, packets
 * @early_mark: marked at random
 * @forced_mark: marked because the average was too high
 * @spared: queued without a mark, because of nodrop
 */
struct congestion_stats {
	u64	early_mark;
	u64	forced_mark;
	u64	spared;
};

/* Return whether to time the arriving packet with delay_start(). */
static inline bool delay_due(struct delay_sample *d)
{
	return unlikely(--d->wait < 0) && !d->packet;
}

/* Start timing @packet, which was queued at @now ns. */
static inline void delay_start(struct delay_sample *d, const void *packet,
			       u64 now)
{
	d->packet = packet;
	d->since = now;
	d->wait = S32_MAX;
}

/* Return whether the departing @packet is timed; then call delay_end(). */
static inline bool delay_timed(const struct delay_sample *d, const void *packet)
{
	return unlikely(packet == d->packet);
}

/* The timed packet departed at @now ns. */
static inline void delay_end(struct delay_sample *d, u64 now)
{
	u64 delay = now - d->since;

	d->packet = NULL;
	d->wait = DELAY_SPACING;
	d->last = delay;
	d->avg = d->valid ? d->avg - d->avg / 8 + delay / 8 : delay;
	d->max = delay > d->max ? delay : d->max;
	d->valid = true;
}

/* @packet is dropped. If it was timed, time the next arrival instead. */
static inline void delay_lost(struct delay_sample *d, const void *packet)
{
	if (likely(packet != d->packet))
		return;
	d->packet = NULL;
	d->wait = 0;
}

/* All packets are gone. Results stay. */
static inline void delay_reset(struct delay_sample *d)
{
	d->packet = NULL;
	d->wait = 0;
	d->emptied = true;
}

#endif /* _AQM_MEASURE_H */
