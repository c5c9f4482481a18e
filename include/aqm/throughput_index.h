/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue has had the highest throughput, in O(1).
 *
 * The throughput of a queue at time t is an exponentially weighted average of
 * what has left it, with time constant T: packets of L_k bytes at times t_k
 * give
 *
 *	throughput(t) = sum L_k / T exp(-(t - t_k) / T)
 *
 * which for a steady rate settles at that rate. As time passes all throughputs
 * lose the same factor, so the order of two queues changes only when one of
 * them sends. Time is therefore counted in half-lives, u = t / (T ln 2), and a
 * queue keeps its throughput in forward-decayed form,
 *
 *	sum L_k / T 2^(u_k) = throughput(t) 2^u,
 *
 * as a number of its own, units * 2^(half_life), where half_life is floor(u) at
 * its last departure. Counting a packet adds L / T 2^(u - floor(u)) to units,
 * after a shift if another half-life has begun; nothing is ever multiplied by a
 * decay factor, so errors do not add up with the number of packets. Another T
 * changes what a packet adds and how fast u runs from then on, and nothing that
 * is kept.
 *
 * Queues hang in buckets by that number cut down to its highest bit and the
 * four that follow: sixteen buckets an octave. What is in one bucket differs by
 * a factor of less than 17/16, 0.0875 octave. The octaves stand in a ring of
 * 64. The lowest is the one of a throughput that has decayed to one unit, 2^-24
 * byte/s, at the beginning of the present half-life, the highest that of the
 * largest possible one; the ring turns by one octave a half-life. What falls
 * off its lower end is spent: it counts as nothing, and goes to a bucket below
 * all the others in at most 16 splices an octave.
 *
 * Errors:
 *  - 2^f is within 2^-26 of its value, relative, and a throughput made of
 *    packets of at least 14 bytes (of 1 byte) within 2^-20 (2^-16) of the
 *    formula above when one of them leaves, however many they are and however
 *    fast they come: a packet loses less than a unit, and so does the shift of
 *    each half-life, which halves what was lost before. With the longest T a
 *    byte is 167772 units, so one packet a half-life is the worst, 2^-16.36;
 *  - the half-life is a whole number of ns: T is met within 1.2 ns;
 *  - the queue named is within 0.0875 octave of the highest (asked for: 1/8),
 *    unless all are spent;
 *  - a throughput of 2^64 units, 1.1 TB/s, saturates, and a packet counts as
 *    at most 2^28 bytes;
 *  - half-lives are numbered modulo 2^32, where a silence of all queues counts
 *    as 64 at most: a queue that is silent for 2^32 of them, in which others
 *    send (34 days if T is 1 ms, 9 years if it is 100 ms), is for as long as
 *    its throughput would have lasted then, 64 at most, taken for what it was.
 *
 * Among queues of one bucket the index names the one that entered it first: were
 * it the last, queues that have sent nothing yet would push each other out, and
 * leave the whole buffer to whoever came before them.
 *
 * The index sees list nodes, lengths and times, no sk_buff and no Qdisc. The
 * caller keeps each queue's half_life, which would leave a hole in its struct
 * if it stood here.
 */
#ifndef _AQM_THROUGHPUT_INDEX_H
#define _AQM_THROUGHPUT_INDEX_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/types.h>

#define THROUGHPUT_MIN_TIME_CONSTANT	1000U		/* us */
#define THROUGHPUT_MAX_TIME_CONSTANT	100000000U	/* us */

#define THROUGHPUT_UNIT_SHIFT		24	/* a unit is 2^-24 byte/s */
#define THROUGHPUT_MAX_BYTES		0x10000000U

#define THROUGHPUT_INDEX_OCTAVES	64
#define THROUGHPUT_INDEX_STEPS		16
#define THROUGHPUT_INDEX_SPENT \
	(THROUGHPUT_INDEX_OCTAVES * THROUGHPUT_INDEX_STEPS)

/**
 * struct throughput_score - what one queue has sent, forward-decayed
 * @node: its place in the index, while it is there
 * @units: throughput at the beginning of its half-life, 2^-24 byte/s
 *
 * All 0 is a queue that has sent nothing.
 */
struct throughput_score {
	struct list_head	node;
	u64			units;
};

/**
 * struct throughput_clock - time in half-lives
 * @half_life: number of the present half-life
 * @start: when it began, ns
 * @length: of a half-life, ns
 * @inverse: floor(2^64 / @length)
 * @per_byte: 1 / T, per second, in units of 2^-40
 */
struct throughput_clock {
	u32	half_life;
	u64	start;
	u64	length;
	u64	inverse;
	u64	per_byte;
};

/**
 * struct throughput_index - queues by throughput
 * @clock: time as of the last departure; @clock.half_life is also the lowest
 *	octave of the ring
 * @octaves: bit (o mod 64) is set if any bucket of octave o holds a queue
 * @steps: bit s of @steps[o mod 64] is set if that bucket holds a queue
 * @buckets: the queues of each bucket, the first to enter first; the last
 *	bucket holds the spent ones
 */
struct throughput_index {
	struct throughput_clock	clock;
	u64			octaves;
	u16			steps[THROUGHPUT_INDEX_OCTAVES];
	struct list_head	buckets[THROUGHPUT_INDEX_SPENT + 1];
};

/* 2^(i / 32) in units of 2^-31 */
static const u32 throughput_exp2_table[32] = {
	0x80000000, 0x82cd8699, 0x85aac368, 0x88980e81,
	0x8b95c1e4, 0x8ea4398b, 0x91c3d374, 0x94f4efa9,
	0x9837f052, 0x9b8d39ba, 0x9ef53261, 0xa2704303,
	0xa5fed6aa, 0xa9a15ab5, 0xad583eea, 0xb123f582,
	0xb504f334, 0xb8fbaf47, 0xbd08a39f, 0xc12c4cca,
	0xc5672a11, 0xc9b9bd86, 0xce248c15, 0xd2a81d92,
	0xd744fccb, 0xdbfbb798, 0xe0ccdeec, 0xe5b906e7,
	0xeac0c6e8, 0xefe4b99c, 0xf5257d15, 0xfa83b2db,
};

/**
 * throughput_exp2() - 2 to the power of a fraction
 * @fraction: in units of 2^-32
 *
 * 2^(i/32) from a table, and for the rest r < 1/32 the series of exp(r ln 2)
 * as far as the third power.
 *
 * Return: 2^@fraction, 1 to 2, in units of 2^-31; at most 2^-26, relative, off.
 */
static inline u64 throughput_exp2(u32 fraction)
{
	const u64 one = 1ULL << 32, ln2 = 0xb17217f8, third = 0x55555555;
	u64 base = throughput_exp2_table[fraction >> 27];
	u64 x = ((fraction & GENMASK(26, 0)) * ln2) >> 32;
	u64 rest;

	rest = one + ((x * third) >> 32);
	rest = one + ((x * rest) >> 33);
	rest = (x * rest) >> 32;
	return base + ((base * rest) >> 32);
}

/* Count by the time constant @time_constant, us. */
static inline void __throughput_clock_run(struct throughput_clock *clock,
					  u32 time_constant)
{
	/* 1000 ln 2, in units of 2^-26 */
	const u64 ln2 = 46516319872ULL;

	clock->length = (time_constant * ln2 + BIT(25)) >> 26;
	clock->inverse = div64_u64(U64_MAX, clock->length);
	clock->per_byte = div_u64(1000000ULL << 40, time_constant);
}

static inline void throughput_clock_init(struct throughput_clock *clock,
					 u32 time_constant, u64 now)
{
	clock->half_life = 0;
	clock->start = now;
	__throughput_clock_run(clock, time_constant);
}

/* Advance to @now. Return: the part of the half-life gone, units of 2^-32. */
static inline u32 throughput_clock_set(struct throughput_clock *clock, u64 now)
{
	u64 gone = now - clock->start;
	u64 whole;

	/* A time before the present half-life is its beginning. */
	if (unlikely((s64)gone < 0))
		return 0;
	if (unlikely(gone >= clock->length)) {
		whole = div64_u64(gone, clock->length);
		clock->start += whole * clock->length;
		gone = now - clock->start;
		/* After 64 in silence all is spent; more would only wrap sooner. */
		clock->half_life += min_t(u64, whole, THROUGHPUT_INDEX_OCTAVES);
	}
	return mul_u64_u64_shr(gone, clock->inverse, 32);
}

/* Throughput that @bytes add, at a part of the half-life; units. */
static inline u64 throughput_clock_weigh(const struct throughput_clock *clock,
					 u32 bytes, u32 fraction)
{
	bytes = min(bytes, THROUGHPUT_MAX_BYTES);
	return mul_u64_u64_shr(bytes * throughput_exp2(fraction),
			       clock->per_byte,
			       31 + 40 - THROUGHPUT_UNIT_SHIFT);
}

/* A throughput of half-life @half_life at the beginning of a later one. */
static inline u64 throughput_decay(u64 units, u32 half_life, u32 later)
{
	u32 age = later - half_life;

	return age < 64 ? units >> age : 0;
}

/**
 * throughput_score_now() - a throughput decayed to a point in time
 * @score: of the queue
 * @half_life: of the score
 * @clock: the clock it was counted by
 * @now: the time, ns; not before the clock's last
 *
 * Return: the throughput at @now, in units of 2^-24 byte/s.
 */
static inline u64 throughput_score_now(const struct throughput_score *score,
				       u32 half_life,
				       const struct throughput_clock *clock,
				       u64 now)
{
	struct throughput_clock at = *clock;
	u32 fraction;
	u64 units;

	fraction = throughput_clock_set(&at, now);
	units = throughput_decay(score->units, half_life, at.half_life);
	/* 2^-f = 2^(1 - f) / 2, and f = 0 does not fit */
	if (!fraction)
		return units;
	return mul_u64_u64_shr(units, throughput_exp2(-fraction), 32);
}

/* The throughput of a queue at @now, bits per second. */
static inline u64 throughput_score_rate(const struct throughput_score *score,
					u32 half_life,
					const struct throughput_clock *clock,
					u64 now)
{
	return throughput_score_now(score, half_life, clock, now) >>
	       (THROUGHPUT_UNIT_SHIFT - 3);
}

static inline u32 throughput_index_bucket(const struct throughput_index *ti,
					  u64 units, u32 half_life)
{
	u32 age = ti->clock.half_life - half_life;
	u32 bits = fls64(units);
	u32 top, octave, step;

	/* It has decayed to less than a unit: each half-life takes a bit. */
	if (age >= bits)
		return THROUGHPUT_INDEX_SPENT;
	top = bits - 1;
	octave = half_life + top;
	step = (units << (63 - top) >> 59) % THROUGHPUT_INDEX_STEPS;
	return octave % THROUGHPUT_INDEX_OCTAVES * THROUGHPUT_INDEX_STEPS +
	       step;
}

/* Empty an index, wherever its queues are. */
static inline void __throughput_index_clear(struct throughput_index *ti)
{
	u32 i;

	ti->octaves = 0;
	for (i = 0; i < THROUGHPUT_INDEX_OCTAVES; i++)
		ti->steps[i] = 0;
	for (i = 0; i <= THROUGHPUT_INDEX_SPENT; i++)
		INIT_LIST_HEAD(&ti->buckets[i]);
}

/**
 * throughput_index_init() - set up an empty index
 * @ti: the index
 * @time_constant: T, us; THROUGHPUT_MIN_TIME_CONSTANT to _MAX_
 * @now: the time, ns
 */
static inline void throughput_index_init(struct throughput_index *ti,
					 u32 time_constant, u64 now)
{
	throughput_clock_init(&ti->clock, time_constant, now);
	__throughput_index_clear(ti);
}

/* Nothing has ever been sent, and no queue is in the index. */
static inline void throughput_index_forget(struct throughput_index *ti)
{
	ti->clock.half_life += THROUGHPUT_INDEX_OCTAVES;
	__throughput_index_clear(ti);
}

static inline void __throughput_index_del(struct throughput_index *ti,
					  struct throughput_score *score,
					  u32 bucket)
{
	u32 o = bucket / THROUGHPUT_INDEX_STEPS;

	list_del(&score->node);
	if (bucket == THROUGHPUT_INDEX_SPENT ||
	    !list_empty(&ti->buckets[bucket]))
		return;
	ti->steps[o] &= ~BIT(bucket % THROUGHPUT_INDEX_STEPS);
	if (!ti->steps[o])
		ti->octaves &= ~BIT_ULL(o);
}

static inline void __throughput_index_add(struct throughput_index *ti,
					  struct throughput_score *score,
					  u32 bucket)
{
	u32 o = bucket / THROUGHPUT_INDEX_STEPS;

	list_add_tail(&score->node, &ti->buckets[bucket]);
	if (bucket == THROUGHPUT_INDEX_SPENT)
		return;
	ti->steps[o] |= BIT(bucket % THROUGHPUT_INDEX_STEPS);
	ti->octaves |= BIT_ULL(o);
}

/* A queue that is not in the index enters it. */
static inline void throughput_index_add(struct throughput_index *ti,
					struct throughput_score *score,
					u32 half_life)
{
	__throughput_index_add(ti, score,
			       throughput_index_bucket(ti, score->units,
						       half_life));
}

/* A queue that is in the index leaves it, and keeps its score. */
static inline void throughput_index_del(struct throughput_index *ti,
					struct throughput_score *score,
					u32 half_life)
{
	__throughput_index_del(ti, score,
			       throughput_index_bucket(ti, score->units,
						       half_life));
}

/* Move what octave @o of the ring holds to the spent ones. */
static inline void __throughput_index_spend(struct throughput_index *ti, u32 o)
{
	struct list_head *spent = &ti->buckets[THROUGHPUT_INDEX_SPENT];
	u32 s;

	for (; ti->steps[o]; ti->steps[o] &= ~BIT(s)) {
		s = __fls(ti->steps[o]);
		list_splice_tail_init(&ti->buckets[THROUGHPUT_INDEX_STEPS * o + s],
				      spent);
	}
	ti->octaves &= ~BIT_ULL(o);
}

/* Turn the ring to @now. Return: the part of the half-life gone, 2^-32. */
static inline u32 throughput_index_advance(struct throughput_index *ti, u64 now)
{
	u32 octave = ti->clock.half_life;
	u32 fraction, turned, o;

	fraction = throughput_clock_set(&ti->clock, now);
	if (likely(ti->clock.half_life == octave))
		return fraction;
	turned = ti->clock.half_life - octave;
	for (; turned && ti->octaves; turned--, octave++) {
		o = octave % THROUGHPUT_INDEX_OCTAVES;
		if (ti->octaves & BIT_ULL(o))
			__throughput_index_spend(ti, o);
	}
	return fraction;
}

/* Another time constant: each queue's throughput stays, and decays anew. */
static inline void throughput_index_change(struct throughput_index *ti,
					   u32 time_constant, u64 now)
{
	struct throughput_clock *clock = &ti->clock;
	u32 fraction = throughput_index_advance(ti, now);

	__throughput_clock_run(clock, time_constant);
	clock->start = now - mul_u64_u32_shr(clock->length, fraction, 32);
}

/**
 * throughput_index_count() - a packet left a queue
 * @ti: the index
 * @score: the queue's score
 * @half_life: of the score
 * @listed: the queue is in the index
 * @bytes: length of the packet
 * @now: the time, ns; not before any earlier one
 */
static inline void throughput_index_count(struct throughput_index *ti,
					  struct throughput_score *score,
					  u32 *half_life, bool listed,
					  u32 bytes, u64 now)
{
	u32 fraction = throughput_index_advance(ti, now);
	u32 present = ti->clock.half_life;
	u64 was = score->units, units;
	u32 from, to;

	units = throughput_decay(was, *half_life, present);
	score->units = units + throughput_clock_weigh(&ti->clock, bytes,
						      fraction);
	if (unlikely(score->units < units))
		score->units = U64_MAX;

	if (listed) {
		from = throughput_index_bucket(ti, was, *half_life);
		to = throughput_index_bucket(ti, score->units, present);
		if (from != to) {
			__throughput_index_del(ti, score, from);
			__throughput_index_add(ti, score, to);
		}
	}
	*half_life = present;
}

/* The queue of the highest throughput, or NULL if the index is empty. */
static inline struct throughput_score *
throughput_index_top(struct throughput_index *ti)
{
	u32 lowest = ti->clock.half_life % THROUGHPUT_INDEX_OCTAVES;
	u32 o, bucket = THROUGHPUT_INDEX_SPENT;

	if (ti->octaves) {
		o = lowest + fls64(ror64(ti->octaves, lowest)) - 1;
		o %= THROUGHPUT_INDEX_OCTAVES;
		bucket = THROUGHPUT_INDEX_STEPS * o + __fls(ti->steps[o]);
	}
	return list_first_entry_or_null(&ti->buckets[bucket],
					struct throughput_score, node);
}

#endif /* _AQM_THROUGHPUT_INDEX_H */
