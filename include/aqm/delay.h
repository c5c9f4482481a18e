/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long packets wait, from one packet at a time.
 *
 * A time stamp on every packet costs two reads of the clock each. Here one
 * packet is timed from its arrival to its departure, then DELAY_SPACING
 * arrivals pass before the next one is: a packet that is not timed costs a
 * countdown at its arrival and a comparison at its departure. A timed packet that
 * is lost is forgotten.
 *
 *	avg = avg + (delay - avg) / 8
 *
 * Which packets are timed does not depend on their flow or size, but there are
 * fewer of them while delays are long: @avg follows the present, it is no mean
 * over all packets. A packet departs when the parent takes or peeks at it.
 */
#ifndef _AQM_DELAY_H
#define _AQM_DELAY_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/types.h>

#define DELAY_SPACING	16	/* arrivals between two samples */

/**
 * struct delay_sample - the packet being timed, and the results
 * @packet: its address, never followed; NULL while none is timed
 * @wait: arrivals that pass before the next sample; while a packet is timed, more
 *	than come
 * @samples: packets timed so far; at 0 the rest means nothing
 * @since: its arrival, ns
 * @last: delay of the last packet timed, ns
 * @avg: average, ns
 * @max: greatest so far, ns
 */
struct delay_sample {
	const void	*packet;
	s32		wait;
	u32		samples;
	u64		since;
	u64		last;
	u64		avg;
	u64		max;
};

/* Whether the packet that arrives is to be timed: then delay_start() it. */
static inline bool delay_due(struct delay_sample *d)
{
	return unlikely(--d->wait < 0) && !d->packet;
}

/* Time @packet, which has been queued at @now, ns. */
static inline void delay_start(struct delay_sample *d, const void *packet,
			       u64 now)
{
	d->packet = packet;
	d->since = now;
	d->wait = S32_MAX;
}

/* Whether @packet, which departs, is timed: then delay_end() it. */
static inline bool delay_timed(const struct delay_sample *d, const void *packet)
{
	return unlikely(packet == d->packet);
}

/* The packet that is timed has departed at @now, ns. */
static inline void delay_end(struct delay_sample *d, u64 now)
{
	u64 delay = now - d->since;

	d->packet = NULL;
	d->wait = DELAY_SPACING;
	d->last = delay;
	d->avg = d->samples ? d->avg - d->avg / 8 + delay / 8 : delay;
	d->max = delay > d->max ? delay : d->max;
	if (d->samples + 1)
		d->samples++;
}

/* @packet is lost: if it was timed, the next arrival is timed instead. */
static inline void delay_lost(struct delay_sample *d, const void *packet)
{
	if (likely(packet != d->packet))
		return;
	d->packet = NULL;
	d->wait = 0;
}

/* All packets are gone; what has been measured stays. */
static inline void delay_reset(struct delay_sample *d)
{
	d->packet = NULL;
	d->wait = 0;
}

#endif /* _AQM_DELAY_H */
