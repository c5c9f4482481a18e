/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue has had the highest throughput, in O(1).
 *
 * The throughput of a queue at time t is an exponentially weighted average of
 * what has left it, with time constant T: packets of L_k bytes at times t_k
 * give
 *
 *	throughput(t) = score(t) / T,  score(t) = sum L_k exp(-(t - t_k) / T)
 *
 * which for a steady rate settles at that rate. As time passes every score
 * loses the same factor, so the order of two queues changes only when one of
 * them sends. Time is therefore counted in half-lives, u = t / (T ln 2), and a
 * queue keeps its score in forward-decayed form,
 *
 *	sum L_k 2^(u_k) = score(t) 2^u,
 *
 * as a number of its own, units * 2^(half_life), where half_life is floor(u) at
 * its last departure. Counting a packet adds L 2^(u - floor(u)) to units, after
 * a shift if another half-life has begun; nothing is ever multiplied by a decay
 * factor, so errors do not add up with the number of packets.
 *
 * Queues hang in buckets by that number cut down to its highest bit and the
 * four that follow: sixteen buckets an octave. Scores in one bucket differ by a
 * factor of less than 17/16, 0.0875 octave. The octaves stand in a ring of 64.
 * The lowest is the one of a score that has decayed to one unit, 2^-20 byte, at
 * the beginning of the present half-life, the highest that of the largest
 * possible score; the ring turns by one octave a half-life. What falls off its
 * lower end is spent: it counts as nothing, and goes to a bucket below all the
 * others in at most 16 splices an octave.
 *
 * Errors:
 *  - 2^f is within 2^-26 of its value, relative, and a score made of packets of
 *    at least 14 bytes within 2^-21 (of 1 byte: 2^-18) of the formula above,
 *    however many they are, however fast they came, and at whatever time it is
 *    looked at;
 *  - the half-life is a whole number of ns: T is met within 1.2 ns;
 *  - the queue named is within 0.0875 octave of the highest (asked for: 1/8),
 *    unless all are spent;
 *  - a score of 2^64 units, 400 Gb/s for 100 s out of one queue, saturates.
 *
 * Among queues of one bucket the index names the one that entered it first.
 *
 * The index sees list nodes, lengths and times, no sk_buff and no Qdisc.
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

#define THROUGHPUT_UNIT_SHIFT		20	/* a unit is 2^-20 byte */

#define THROUGHPUT_INDEX_OCTAVES	64
#define THROUGHPUT_INDEX_STEPS		16
#define THROUGHPUT_INDEX_SPENT \
	(THROUGHPUT_INDEX_OCTAVES * THROUGHPUT_INDEX_STEPS)

/**
 * struct throughput_score - what one queue has sent, forward-decayed
 * @node: its place in the index; empty while it is not there
 * @units: score at the beginning of half-life @half_life, 2^-20 byte
 * @half_life: number of the half-life of the last departure
 */
struct throughput_score {
	struct list_head	node;
	u64			units;
	u64			half_life;
};

/**
 * struct throughput_clock - time in half-lives
 * @half_life: number of the present half-life
 * @start: when it began, ns
 * @length: of a half-life, ns
 * @inverse: floor(2^64 / @length)
 * @time_constant: T, us
 */
struct throughput_clock {
	u64	half_life;
	u64	start;
	u64	length;
	u64	inverse;
	u32	time_constant;
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

static inline void throughput_clock_init(struct throughput_clock *clock,
					 u32 time_constant, u64 now)
{
	/* 1000 ln 2, in units of 2^-26 */
	const u64 ln2 = 46516319872ULL;

	clock->half_life = 0;
	clock->start = now;
	clock->length = (time_constant * ln2 + BIT(25)) >> 26;
	clock->inverse = div64_u64(U64_MAX, clock->length);
	clock->time_constant = time_constant;
}

/* Advance to @now. Return: the part of the half-life gone, units of 2^-32. */
static inline u32 throughput_clock_set(struct throughput_clock *clock, u64 now)
{
	u64 gone = now - clock->start;
	u64 whole;

	if (unlikely(gone >= clock->length)) {
		whole = div64_u64(gone, clock->length);
		clock->half_life += whole;
		clock->start += whole * clock->length;
		gone = now - clock->start;
	}
	return mul_u64_u64_shr(gone, clock->inverse, 32);
}

static inline void throughput_score_init(struct throughput_score *score)
{
	INIT_LIST_HEAD(&score->node);
	score->units = 0;
	score->half_life = 0;
}

/* The score at the beginning of half-life @now, units. */
static inline u64 throughput_score_at(const struct throughput_score *score,
				      u64 now)
{
	u64 age = now - score->half_life;

	return age < 64 ? score->units >> age : 0;
}

/**
 * throughput_score_now() - a score decayed to a point in time
 * @score: the score
 * @clock: the clock it was counted by
 * @now: the time, ns; not before the clock's last
 *
 * Return: the score at @now, in units of 2^-20 byte.
 */
static inline u64 throughput_score_now(const struct throughput_score *score,
				       const struct throughput_clock *clock,
				       u64 now)
{
	struct throughput_clock at = *clock;
	u32 fraction;
	u64 units;

	fraction = throughput_clock_set(&at, now);
	units = throughput_score_at(score, at.half_life);
	/* 2^-f = 2^(1 - f) / 2, and f = 0 does not fit */
	if (!fraction)
		return units;
	return mul_u64_u64_shr(units, throughput_exp2(-fraction), 32);
}

/**
 * throughput_score_rate() - throughput of a queue
 * @score: its score
 * @clock: the clock it was counted by
 * @now: the time, ns
 *
 * Return: bits per second.
 */
static inline u64 throughput_score_rate(const struct throughput_score *score,
					const struct throughput_clock *clock,
					u64 now)
{
	u64 units = throughput_score_now(score, clock, now);

	return mul_u64_u32_div(units, 8 * 1000000, clock->time_constant) >>
	       THROUGHPUT_UNIT_SHIFT;
}

/**
 * throughput_score_rebase() - express a score by another clock
 * @score: a score that is not in an index
 * @from: the clock it was counted by
 * @to: a clock that begins now, maybe with another time constant
 *
 * The throughput stays what it was.
 */
static inline void throughput_score_rebase(struct throughput_score *score,
					   const struct throughput_clock *from,
					   const struct throughput_clock *to)
{
	u32 t1 = from->time_constant, t2 = to->time_constant;
	u64 units = throughput_score_now(score, from, to->start);

	score->half_life = to->half_life;
	if (t2 > t1 && units > mul_u64_u32_div(U64_MAX, t1, t2))
		score->units = U64_MAX;
	else
		score->units = mul_u64_u32_div(units, t2, t1);
}

static inline u32 throughput_index_bucket(const struct throughput_index *ti,
					  const struct throughput_score *score)
{
	u32 top, step;
	u64 octave;

	if (!score->units)
		return THROUGHPUT_INDEX_SPENT;
	top = fls64(score->units) - 1;
	octave = score->half_life + top;
	if (octave < ti->clock.half_life)
		return THROUGHPUT_INDEX_SPENT;
	step = (score->units << (63 - top) >> 59) % THROUGHPUT_INDEX_STEPS;
	return octave % THROUGHPUT_INDEX_OCTAVES * THROUGHPUT_INDEX_STEPS +
	       step;
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
	u32 i;

	throughput_clock_init(&ti->clock, time_constant, now);
	ti->octaves = 0;
	for (i = 0; i < THROUGHPUT_INDEX_OCTAVES; i++)
		ti->steps[i] = 0;
	for (i = 0; i <= THROUGHPUT_INDEX_SPENT; i++)
		INIT_LIST_HEAD(&ti->buckets[i]);
}

static inline void __throughput_index_del(struct throughput_index *ti,
					  struct throughput_score *score,
					  u32 bucket)
{
	u32 o = bucket / THROUGHPUT_INDEX_STEPS;

	list_del_init(&score->node);
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
					struct throughput_score *score)
{
	__throughput_index_add(ti, score, throughput_index_bucket(ti, score));
}

/* A queue that is in the index leaves it, and keeps its score. */
static inline void throughput_index_del(struct throughput_index *ti,
					struct throughput_score *score)
{
	__throughput_index_del(ti, score, throughput_index_bucket(ti, score));
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
	u64 octave = ti->clock.half_life;
	u32 fraction, turned, o;

	fraction = throughput_clock_set(&ti->clock, now);
	if (likely(ti->clock.half_life == octave))
		return fraction;
	turned = min_t(u64, ti->clock.half_life - octave,
		       THROUGHPUT_INDEX_OCTAVES);
	for (; turned && ti->octaves; turned--, octave++) {
		o = octave % THROUGHPUT_INDEX_OCTAVES;
		if (ti->octaves & BIT_ULL(o))
			__throughput_index_spend(ti, o);
	}
	return fraction;
}

/**
 * throughput_index_count() - a packet left a queue
 * @ti: the index
 * @score: the queue's score, in the index or not
 * @bytes: length of the packet
 * @now: the time, ns; not before any earlier one
 */
static inline void throughput_index_count(struct throughput_index *ti,
					  struct throughput_score *score,
					  u32 bytes, u64 now)
{
	bool listed = !list_empty(&score->node);
	u32 fraction, from, to;
	u64 units, more;

	fraction = throughput_index_advance(ti, now);
	from = throughput_index_bucket(ti, score);

	units = throughput_score_at(score, ti->clock.half_life);
	more = (bytes * throughput_exp2(fraction)) >>
	       (31 - THROUGHPUT_UNIT_SHIFT);
	score->units = units + more < units ? U64_MAX : units + more;
	score->half_life = ti->clock.half_life;

	if (!listed)
		return;
	to = throughput_index_bucket(ti, score);
	if (from == to)
		return;
	__throughput_index_del(ti, score, from);
	__throughput_index_add(ti, score, to);
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
