/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Learn the round-trip time of a link's flows from TCP handshakes.
 *
 * After a SYN, with or without ACK, a sender waits for the other end before it sends its
 * next packet (RFC 9293, section 3.5). So in any place of the path the next packet comes
 * one round trip later, or more if the sender had nothing to say. A SYN that is sent
 * again starts anew, because nobody knows which one was answered.
 *
 *	a new flow sends a SYN		it starts now
 *	its next packet is not one	sample = time since the start, at most the longest
 *					memory
 *					average += (sample - average) / 8
 *	memory				2 (average + delay of the queue), but from 1 ms to the
 *					longest memory
 *
 * The first sample sets the average. Because a sample is at most the longest memory, a
 * sender that waits before it speaks counts no more than one with a long round trip. The
 * gain of 1/8 is TCP's (RFC 6298, section 2). The factor 2 is ours:
 * docs/tdrr-time-constant.md. <aqm/measure.h> averages the delay. A handshake shows little
 * of it, because a new flow passes the queues of others, but its later packets wait.
 * Anybody can fake short round trips. At worst the memory is twice the delay, or 1 ms.
 */
#ifndef _AQM_TDRR_ROUND_TRIP_H
#define _AQM_TDRR_ROUND_TRIP_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#define ROUND_TRIP_GAIN		8
#define ROUND_TRIP_MEMORY	2	/* round trips */
#define ROUND_TRIP_TOLERANCE	16
/* A start is in units of 1024 ns, modulo 2^32, and even. 0: none. */
#define ROUND_TRIP_SHIFT	10

/* Return the start of a handshake at @now, ns. */
static inline u32 round_trip_start(u64 now)
{
	return (u32)(now >> ROUND_TRIP_SHIFT) & ~1U ?: 2;
}

/* Return whether a queue's mark is a start. */
static inline bool round_trip_has_start(u32 mark)
{
	return mark && !(mark & 1);
}

/* Return how long ago a handshake began, ns modulo 2^42. */
static inline u64 round_trip_gone(u32 start, u64 now)
{
	return (u64)((u32)(now >> ROUND_TRIP_SHIFT) - start) << ROUND_TRIP_SHIFT;
}

/**
 * round_trip_count() - count a handshake
 * @average: of the samples, us; 0 before the first
 * @gone: time from its start to the packet behind it, ns
 * @longest: memory, us
 *
 * The average is off by less than 1 us for each sample, towards the sample. So it reaches
 * a sample that stays the same.
 *
 * Return: the new average.
 */
static inline u32 round_trip_count(u32 average, u64 gone, u32 longest)
{
	u32 sample = clamp_t(u64, div_u64(gone, 1000), 1, longest);

	if (!average)
		return sample;
	if (sample > average)
		return average + DIV_ROUND_UP(sample - average, ROUND_TRIP_GAIN);
	return average - DIV_ROUND_UP(average - sample, ROUND_TRIP_GAIN);
}

/**
 * round_trip_memory() - the memory for round trips
 * @average: of the samples, us
 * @delay: average delay of the queue, ns
 * @least: memory, us
 * @longest: memory, us
 *
 * Return: the memory, us.
 */
static inline u32 round_trip_memory(u32 average, u64 delay, u32 least, u32 longest)
{
	return clamp_t(u64, (average + div_u64(delay, 1000)) * ROUND_TRIP_MEMORY, least,
		       longest);
}

/* Return whether the memory in force differs from a better one by more than a sixteenth. */
static inline bool round_trip_memory_is_off(u32 memory, u32 better)
{
	return max(memory, better) - min(memory, better) > memory / ROUND_TRIP_TOLERANCE;
}

#endif /* _AQM_TDRR_ROUND_TRIP_H */
