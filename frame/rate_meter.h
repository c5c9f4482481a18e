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
 * Some links serve us in bursts, such as wifi, or a parent that serves others first.
 * Samples inside and between the bursts then differ, and none has the mean rate. So
 * the least span doubles, up to half a second, when samples jump to and fro by a
 * factor of two. With a sample near the last one, it shrinks by an eighth.
 *
 * A rate that is too low leaves a queue so short that no sample is long enough. So
 * if a queue ran empty after at least 3 departures in 0.25 ms, these are a short
 * sample. Two of them can raise the rate, by a quarter at most.
 *
 * We do not read the clock at each departure. Every @spacing departures, the
 * caller looks. The spacing adapts, so that there are a few looks per sample: 1 on
 * slow links, at most 64. Then a departure costs a countdown. A departure that
 * leaves the queue empty also sets a flag.
 *
 * This header uses no sk_buff and no Qdisc.
 */
#ifndef _FRAME_RATE_METER_H
#define _FRAME_RATE_METER_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <aqm/measure.h>

#define RATE_METER_SECOND	1000000000U	/* ns */
#define RATE_METER_SPAN		10000000U	/* ns of a sample, or */
#define RATE_METER_LONGEST	500000000U	/* if samples differ, or */
#define RATE_METER_BYTES	400000U	/* bytes of a sample, but at least */
#define RATE_METER_SHORTEST	250000U	/* ns, and */
#define RATE_METER_PACKETS	8U	/* departures */
#define RATE_METER_FEW		3U	/* departures of a short sample, at least */
#define RATE_METER_LOOK		1000000U	/* ns between two looks, at most if we can */
#define RATE_METER_SPACING	64U	/* departures between two looks, at most */
/* Bytes that count in a sample, so that the product with ns fits into 64 bits. */
#define RATE_METER_COUNTED	BIT_ULL(34)
#define RATE_METER_MOST		BIT_ULL(40)	/* bytes/s */

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

/* Return @bytes in @time ns as a rate, bytes/s. */
static inline u64 rate_meter_ratio(u64 bytes, u64 time)
{
	u64 counted = min(bytes, RATE_METER_COUNTED);

	return clamp_t(u64, div64_u64(counted * RATE_METER_SECOND, time), 1,
		       RATE_METER_MOST);
}

static inline void rate_meter_sample(struct rate_meter *m, u64 sample)
{
	if (m->rate && max(m->last, sample) / 2 > min(m->last, sample)) {
		bool falls = sample < m->last;

		if (falls != m->falls)
			m->span = min(m->span * 2, RATE_METER_LONGEST);
		m->falls = falls;
	} else {
		m->span = max(m->span - m->span / 8, RATE_METER_SPAN);
	}
	m->rate = m->rate ? rate_meter_median(m->rate, m->last, sample) : sample;
	m->last = sample;
	m->burst = 0;
}

/*
 * The queue ran empty: @bytes had left in @time ns. A parent can let one packet leave
 * early, and these are few. So they count if they left at more than 8/5 of the rate.
 *
 * Return: whether the rate rises
 */
static inline bool rate_meter_emptied(struct rate_meter *m, u64 bytes, u64 time)
{
	u64 before = m->burst;

	if (!m->rate || m->packets < RATE_METER_FEW || time < RATE_METER_SHORTEST)
		return false;
	m->burst = rate_meter_ratio(bytes, time);
	if (m->burst / 8 * 5 <= m->rate)
		m->burst = 0;
	if (min(m->burst, before) <= m->rate)
		return false;
	m->rate = min3(m->burst, before, m->rate + m->rate / 4 + 1);
	m->last = m->rate;
	return true;
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
	bool sampled = false;

	if (!m->spacing) {
		m->spacing = 1;
		m->span = RATE_METER_SPAN;
		emptied = true;
	} else if (emptied && m->spacing == 1) {
		/* This departure left it empty, unless it was so at the last look. */
		m->packets++;
		sampled = rate_meter_emptied(m, bytes, time);
		rate_meter_space(m, now - m->looked);
	} else if (emptied) {
		sampled = rate_meter_emptied(m, m->seen - m->total,
					     m->looked - m->since);
		rate_meter_space(m, now - m->looked);
	} else {
		m->packets += m->spacing;
		rate_meter_space(m, now - m->looked);
		sampled = m->packets >= RATE_METER_PACKETS &&
			  time >= RATE_METER_SHORTEST &&
			  (time >= m->span || (m->span == RATE_METER_SPAN &&
					       bytes >= RATE_METER_BYTES));
		if (sampled)
			rate_meter_sample(m, rate_meter_ratio(bytes, time));
	}
	m->looked = now;
	m->seen = total;
	if (emptied || sampled)
		rate_meter_start(m, total, now);
	return sampled;
}

#endif /* _FRAME_RATE_METER_H */
