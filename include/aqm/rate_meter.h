/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measure the rate of the link by the departures of a busy queue.
 *
 * The device often does not know the rate: a shaper is below us, the device is
 * virtual, or other queues use the link, too. While packets are queued all the
 * time, the link takes them as fast as it can:
 *
 *	sample = bytes that left / time
 *
 * A sample spans at least 8 departures, and at least 10 ms or 400 kB. It starts again
 * when the queue was empty in between. One sample can be wrong by far: a token
 * bucket sends its burst at once, and a virtual machine stops for a second. So the
 * rate is the median of three numbers: the rate before, the last sample and this one.
 * It moves when two samples agree on the direction, by the smaller of the two steps.
 * After a change of the rate it is right after two samples. The first sample is
 * the first rate.
 *
 * We do not read the clock at each departure. Every @spacing departures, the
 * caller looks. The spacing adapts, so that there are a few looks per sample: 1 on
 * slow links, at most 64. Then a departure costs a countdown. A departure that
 * leaves the queue empty also sets a flag.
 *
 * This header uses no sk_buff and no Qdisc.
 */
#ifndef _AQM_RATE_METER_H
#define _AQM_RATE_METER_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define RATE_METER_SECOND	1000000000U	/* ns */
#define RATE_METER_SPAN		10000000U	/* ns of a sample, or */
#define RATE_METER_BYTES	400000U	/* bytes of a sample, but at least */
#define RATE_METER_SHORTEST	250000U	/* ns, and */
#define RATE_METER_PACKETS	8U	/* departures */
#define RATE_METER_LOOK		1000000U	/* ns between two looks, at most if we can */
#define RATE_METER_SPACING	64U	/* departures between two looks, at most */
/* Bytes that count in a sample, so that the product with ns fits into 64 bits. */
#define RATE_METER_COUNTED	BIT_ULL(34)
#define RATE_METER_MOST		BIT_ULL(40)	/* bytes/s */

/**
 * struct rate_meter - measured rate
 * @rate: bytes per second; 0: unknown
 * @last: the last sample, bytes per second
 * @since: start of this sample, ns
 * @looked: time of the last look, ns
 * @total: the caller's count of bytes at the start of this sample
 * @packets: departures in this sample
 * @spacing: departures between the last look and the next
 */
struct rate_meter {
	u64	rate;
	u64	last;
	u64	since;
	u64	looked;
	u64	total;
	u32	packets;
	u32	spacing;
};

/* Return the median of three numbers. */
static inline u64 rate_meter_median(u64 a, u64 b, u64 c)
{
	return max(min(a, b), min(max(a, b), c));
}

static inline void rate_meter_start(struct rate_meter *m, u64 total, u64 now)
{
	m->since = now;
	m->total = total;
	m->packets = 0;
}

/* Choose the departures until the next look by the @time since the last one, in ns. */
static inline void rate_meter_space(struct rate_meter *m, u64 time)
{
	if (time > RATE_METER_LOOK)
		m->spacing = max(m->spacing / 2, 1U);
	else if (time < RATE_METER_LOOK / 4)
		m->spacing = min(m->spacing * 2, RATE_METER_SPACING);
}

static inline void rate_meter_sample(struct rate_meter *m, u64 bytes, u64 time)
{
	u64 counted = min(bytes, RATE_METER_COUNTED);
	u64 sample = div64_u64(counted * RATE_METER_SECOND, time);

	sample = clamp_t(u64, sample, 1, RATE_METER_MOST);
	m->rate = m->rate ? rate_meter_median(m->rate, m->last, sample) : sample;
	m->last = sample;
}

/**
 * rate_meter_look() - look at the departures since the last look
 * @m: the meter; all 0 at the start
 * @total: bytes that left in all, including the packet that is leaving
 * @now: time, ns
 * @emptied: the queue was empty since the last look, or after it
 *
 * Call again after @m->spacing departures.
 *
 * Return: whether there is a new sample. The rate may be the same.
 */
static inline bool rate_meter_look(struct rate_meter *m, u64 total, u64 now,
				   bool emptied)
{
	u64 bytes = total - m->total, time = now - m->since;

	if (!m->spacing) {
		m->spacing = 1;
		emptied = true;
	} else {
		m->packets += m->spacing;
		rate_meter_space(m, now - m->looked);
	}
	m->looked = now;
	if (emptied) {
		rate_meter_start(m, total, now);
		return false;
	}
	if (m->packets < RATE_METER_PACKETS || time < RATE_METER_SHORTEST ||
	    (time < RATE_METER_SPAN && bytes < RATE_METER_BYTES))
		return false;
	rate_meter_sample(m, bytes, time);
	rate_meter_start(m, total, now);
	return true;
}

#endif /* _AQM_RATE_METER_H */
