/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the queue with the highest throughput in O(1).
 *
 * The throughput of a queue at time t is an exponentially weighted average over
 * the packets that left it, with time constant T. Packets of L_k bytes at times
 * t_k give
 *
 *	throughput(t) = sum L_k / T exp(-(t - t_k) / T)
 *
 * A steady rate gives that rate. All throughputs decay by the same factor, so
 * the order of two queues changes only when one of them sends. We therefore
 * count time in half-lives, u = t / (T ln 2), and store the throughput of a
 * queue in forward-decayed form,
 *
 *	sum L_k / T 2^(u_k) = throughput(t) 2^u,
 *
 * as units * 2^(half_life), where half_life is floor(u) at the queue's last
 * departure. A packet adds L / T 2^(u - floor(u)) to units, after a shift if a
 * new half-life has begun. The weight of a byte is computed anew at the first departure
 * after a tick of 1/1024 of a half-life, in which it changes by 0.07 %. Nothing is
 * multiplied by a decay factor, so errors do not grow with the number of packets. A new
 * T changes only how much a packet adds and how fast u grows, not the stored numbers.
 *
 * Queues are in buckets by the highest five bits of that number: sixteen buckets
 * per octave. Throughputs in one bucket differ by a factor of less than 17/16
 * (0.0875 octave). The octaves form a ring of 64. The lowest octave holds
 * throughputs that have decayed to one unit (2^-24 byte/s) at the beginning of
 * the current half-life, the highest octave the largest possible ones. Each
 * half-life turns the ring by one octave. Queues that fall off the lower end are
 * "spent": they count as 0 and move to a bucket below all others, in at most 16
 * list splices per octave.
 *
 * Errors:
 *  - 2^f has a relative error of at most 2^-26.
 *  - A weight is up to a tick old. So a throughput is up to 2^(1/1024) times, that is
 *    0.07 %, too low.
 *  - Apart from this, it has a relative error of at most 2^-20 at a departure if
 *    packets have at least 14 bytes (2^-16 with 1 byte). Each packet and each
 *    shift loses less than one unit, and a shift halves earlier errors. The
 *    worst case is the longest T, where a byte is 167772 units, with one packet
 *    per half-life: 2^-16.36.
 *  - The half-life is a whole number of ns, so T is exact to 1.2 ns.
 *  - The selected queue is within 0.0885 octave of the highest throughput
 *    (required: 1/8), unless all queues are spent.
 *  - Throughput saturates at 2^64 units (1.1 TB/s). A packet counts as at most
 *    2^28 bytes.
 *  - Half-lives are counted modulo 2^32, and at most 64 count while all queues
 *    are silent. If one queue is silent for 2^32 half-lives in which others send
 *    (34 days for T = 1 ms, 9 years for 100 ms), its old throughput counts as
 *    current for up to 64 half-lives. We accept this.
 *
 * Among queues of one bucket the index selects the one that entered it first.
 * With the last one, queues that have sent nothing yet would push each other
 * out and leave the whole buffer to earlier queues.
 *
 * A throughput is stored and compared in four forms:
 *
 *	units, half_life	a score: throughput(t) 2^u is units 2^half_life
 *	bucket			in the index: the octave of that number, and four bits
 *	level			of a flow without a queue, 31 bits: <aqm/flow_table.h>
 *	above			a level minus that of one unit now
 *
 * The index knows scores, lengths and times, but no sk_buff and no Qdisc. A score
 * is a member of a queue's state; see <aqm/numbered_list.h>.
 */
#ifndef _AQM_THROUGHPUT_INDEX_H
#define _AQM_THROUGHPUT_INDEX_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>
#include <aqm/flow_table.h>
#include <aqm/numbered_list.h>

#define THROUGHPUT_MIN_TIME_CONSTANT	1000U		/* us */
#define THROUGHPUT_MAX_TIME_CONSTANT	100000000U	/* us */

#define THROUGHPUT_UNIT_SHIFT		24	/* a unit is 2^-24 byte/s */
#define THROUGHPUT_MAX_BYTES		0x10000000U
#define THROUGHPUT_TICKS		10	/* log2 of ticks per half-life */
#define THROUGHPUT_WEIGHT_SHIFT		16	/* bits of a weight after the point */

#define THROUGHPUT_INDEX_OCTAVES	64
#define THROUGHPUT_INDEX_STEPS		16
#define THROUGHPUT_INDEX_SPENT \
	(THROUGHPUT_INDEX_OCTAVES * THROUGHPUT_INDEX_STEPS)

/**
 * struct throughput_score - forward-decayed throughput of one queue
 * @units: throughput at the beginning of @half_life, in 2^-24 byte/s
 * @half_life: number of the half-life in which the queue last sent
 * @link: its place in the index, while it is there
 * @bucket: its bucket until it is spent
 * @mark: for the owner of the index. It fills a gap.
 *
 * A queue that has sent nothing has 0 everywhere except in its number.
 */
struct throughput_score {
	u64			units;
	u32			half_life;
	struct numbered_link	link;
	u16			bucket;
	u32			mark;
};

/**
 * struct throughput_clock - time in half-lives
 * @half_life: number of the current half-life
 * @start: its start, in ns
 * @length: length of a half-life, in ns
 * @inverse: floor(2^64 / @length)
 * @per_byte: 1 / T per second, in units of 2^-40
 * @weighed: time at which @weight was computed, ns
 * @weight: units that a byte adds, in units of 2^-16
 */
struct throughput_clock {
	u32	half_life;
	u64	start;
	u64	length;
	u64	inverse;
	u64	per_byte;
	u64	weighed;
	u64	weight;
};

/**
 * struct throughput_index - queues by throughput
 * @clock: time as of the departure at which the weight was computed; @clock.half_life is
 *	also the lowest octave of the ring
 * @scores: the score of queue 0
 * @octaves: bit (o mod 64) is set if any bucket of octave o holds a queue
 * @steps: bit s of @steps[o mod 64] is set if that bucket holds a queue; the
 *	last one is 1 if a queue is spent
 * @buckets: the queues of each bucket, in the order of entry; the last
 *	bucket has the spent queues
 */
struct throughput_index {
	struct throughput_clock	clock;
	struct throughput_score	*scores;
	u64			octaves;
	u16			steps[THROUGHPUT_INDEX_OCTAVES + 1];
	u16			buckets[THROUGHPUT_INDEX_SPENT + 1];
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
 * Uses a table for 2^(i/32), and for the rest r < 1/32 the series of exp(r ln 2)
 * up to the third power.
 *
 * Return: 2^@fraction, from 1 to 2, in units of 2^-31; relative error at most 2^-26.
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

/* Set the time constant to @time_constant us. */
static inline void __throughput_clock_run(struct throughput_clock *clock,
					  u32 time_constant)
{
	/* 1000 ln 2, in units of 2^-26 */
	const u64 ln2 = 46516319872ULL;

	clock->length = (time_constant * ln2 + BIT(25)) >> 26;
	clock->inverse = div64_u64(U64_MAX, clock->length);
	clock->per_byte = div_u64(1000000ULL << 40, time_constant);
}

/* Compute the weight of a byte at @now, which is a fraction of the half-life. */
static inline void __throughput_clock_weigh(struct throughput_clock *clock,
					    u32 fraction, u64 now)
{
	clock->weight = mul_u64_u64_shr(throughput_exp2(fraction),
					clock->per_byte,
					31 + 40 - THROUGHPUT_UNIT_SHIFT -
					THROUGHPUT_WEIGHT_SHIFT);
	clock->weighed = now;
}

static inline void throughput_clock_init(struct throughput_clock *clock,
					 u32 time_constant, u64 now)
{
	clock->half_life = 0;
	clock->start = now;
	__throughput_clock_run(clock, time_constant);
	__throughput_clock_weigh(clock, 0, now);
}

/* Advance to @now. Return: elapsed fraction of the half-life, in units of 2^-32. */
static inline u32 throughput_clock_set(struct throughput_clock *clock, u64 now)
{
	u64 gone = now - clock->start;
	u64 whole;

	/* Treat a time before the current half-life as its beginning. */
	if (unlikely((s64)gone < 0))
		return 0;
	if (unlikely(gone >= clock->length)) {
		whole = div64_u64(gone, clock->length);
		clock->start += whole * clock->length;
		gone = now - clock->start;
		/* After 64 half-lives all queues are spent. More would only wrap earlier. */
		clock->half_life += min_t(u64, whole, THROUGHPUT_INDEX_OCTAVES);
	}
	return mul_u64_u64_shr(gone, clock->inverse, 32);
}

/* Return whether all throughputs have decayed to nothing at @now. */
static inline bool throughput_clock_is_over(const struct throughput_clock *clock,
					    u64 now)
{
	return now - clock->start >= THROUGHPUT_INDEX_OCTAVES * clock->length;
}

/* Return whether the weight is a tick old, or from a later time. */
static inline bool throughput_clock_is_due(const struct throughput_clock *clock,
					   u64 now)
{
	return now - clock->weighed >= clock->length >> THROUGHPUT_TICKS;
}

/* Return the units that @bytes add. */
static inline u64 throughput_clock_units(const struct throughput_clock *clock,
					 u32 bytes)
{
	return mul_u64_u64_shr(min(bytes, THROUGHPUT_MAX_BYTES), clock->weight,
			       THROUGHPUT_WEIGHT_SHIFT);
}

/* Decay a throughput of half-life @half_life to the beginning of a later one. */
static inline u64 throughput_decay(u64 units, u32 half_life, u32 later)
{
	u32 age = later - half_life;

	return age < 64 ? units >> age : 0;
}

/**
 * throughput_score_now() - decay a throughput to a point in time
 * @score: score of the queue
 * @clock: its clock
 * @now: time in ns, not before the last one of the clock
 *
 * Return: the throughput at @now, in units of 2^-24 byte/s.
 */
static inline u64 throughput_score_now(const struct throughput_score *score,
				       const struct throughput_clock *clock,
				       u64 now)
{
	struct throughput_clock at = *clock;
	u32 fraction;
	u64 units;

	fraction = throughput_clock_set(&at, now);
	units = throughput_decay(score->units, score->half_life, at.half_life);
	/* 2^-f = 2^(1 - f) / 2, except for f = 0 */
	if (!fraction)
		return units;
	return mul_u64_u64_shr(units, throughput_exp2(-fraction), 32);
}

/* Return the throughput of a queue at @now, in bits per second. */
static inline u64 throughput_score_rate(const struct throughput_score *score,
					const struct throughput_clock *clock,
					u64 now)
{
	return throughput_score_now(score, clock, now) >>
	       (THROUGHPUT_UNIT_SHIFT - 3);
}

/* Return the bucket of @units > 0 of a half-life, valid until they are spent. */
static inline u32 __throughput_index_place(u64 units, u32 half_life)
{
	u32 top = fls64(units) - 1;
	u32 step = (units << (63 - top) >> 59) % THROUGHPUT_INDEX_STEPS;

	return (half_life + top) % THROUGHPUT_INDEX_OCTAVES *
	       THROUGHPUT_INDEX_STEPS + step;
}

/* Return the current bucket of a score. */
static inline u32 throughput_index_bucket(const struct throughput_index *ti,
					  const struct throughput_score *score)
{
	u32 age = ti->clock.half_life - score->half_life;
	u32 bits = fls64(score->units);

	/* A score below one unit is spent. Each half-life takes one bit. */
	return age < bits ? score->bucket : THROUGHPUT_INDEX_SPENT;
}

/**
 * throughput_score_level() - the logarithm of a score, for <aqm/flow_table.h>
 * @score: the score
 *
 * Return: the octave of units * 2^half_life, modulo 2^12, and the FLOW_LEVEL_BITS bits
 * that follow its highest one. So it is at most 2^-19 too low.
 */
static inline u32 throughput_score_level(const struct throughput_score *score)
{
	u32 top;

	if (!score->units)
		return score->half_life << FLOW_LEVEL_BITS;
	top = fls64(score->units) - 1;
	return (score->half_life + top) << FLOW_LEVEL_BITS |
	       (u32)(score->units << (63 - top) << 1 >> (64 - FLOW_LEVEL_BITS));
}

/* Return how far the level of @bytes, sent at the start of a half-life, is above one unit. */
static inline u32 throughput_level_of(const struct throughput_clock *clock, u32 bytes)
{
	struct throughput_score score = {
		.units = mul_u64_u32_shr(clock->per_byte, bytes, 40 - THROUGHPUT_UNIT_SHIFT),
	};

	return throughput_score_level(&score);
}

/* Set a score that is not in the index to a level above that of one unit. */
static inline void throughput_score_set(struct throughput_score *score, u32 above,
					u32 half_life)
{
	u64 digits = BIT_ULL(FLOW_LEVEL_BITS) | (above & (BIT(FLOW_LEVEL_BITS) - 1));

	score->half_life = half_life;
	score->units = above ? digits << (63 - FLOW_LEVEL_BITS) >>
			       (63 - (above >> FLOW_LEVEL_BITS)) : 0;
	if (score->units)
		score->bucket = __throughput_index_place(score->units, half_life);
}

/* Empty the index. */
static inline void __throughput_index_clear(struct throughput_index *ti)
{
	u32 i;

	ti->octaves = 0;
	for (i = 0; i <= THROUGHPUT_INDEX_OCTAVES; i++)
		ti->steps[i] = 0;
}

/**
 * throughput_index_init() - set up an empty index
 * @ti: the index
 * @scores: the score of queue 0. All links have their numbers
 * @time_constant: T, us; THROUGHPUT_MIN_TIME_CONSTANT to _MAX_
 * @now: the time, ns
 */
static inline void throughput_index_init(struct throughput_index *ti,
					 struct throughput_score *scores,
					 u32 time_constant, u64 now)
{
	ti->scores = scores;
	throughput_clock_init(&ti->clock, time_constant, now);
	__throughput_index_clear(ti);
}

/* Initially no queue has sent anything and the index is empty. */
static inline void throughput_index_forget(struct throughput_index *ti)
{
	ti->clock.half_life += THROUGHPUT_INDEX_OCTAVES;
	__throughput_index_clear(ti);
}

static inline void __throughput_index_del(struct throughput_index *ti,
					  const struct numbered_link *link,
					  u32 bucket)
{
	u32 o = bucket / THROUGHPUT_INDEX_STEPS;

	if (!numbered_list_is_alone(link)) {
		numbered_list_remove(&ti->scores->link, &ti->buckets[bucket],
				     link);
		return;
	}
	ti->steps[o] &= ~BIT(bucket % THROUGHPUT_INDEX_STEPS);
	if (!ti->steps[o] && bucket != THROUGHPUT_INDEX_SPENT)
		ti->octaves &= ~BIT_ULL(o);
}

static inline void __throughput_index_add(struct throughput_index *ti,
					  struct numbered_link *link,
					  u32 bucket)
{
	u32 o = bucket / THROUGHPUT_INDEX_STEPS;

	if (ti->steps[o] & BIT(bucket % THROUGHPUT_INDEX_STEPS)) {
		numbered_list_append(&ti->scores->link, ti->buckets[bucket],
				     link);
		return;
	}
	numbered_list_begin(&ti->buckets[bucket], link);
	ti->steps[o] |= BIT(bucket % THROUGHPUT_INDEX_STEPS);
	if (bucket != THROUGHPUT_INDEX_SPENT)
		ti->octaves |= BIT_ULL(o);
}

/* Add a queue that is not in the index. */
static inline void throughput_index_add(struct throughput_index *ti,
					struct throughput_score *score)
{
	__throughput_index_add(ti, &score->link,
			       throughput_index_bucket(ti, score));
}

/* Remove a queue from the index. It keeps its score. */
static inline void throughput_index_del(struct throughput_index *ti,
					struct throughput_score *score)
{
	__throughput_index_del(ti, &score->link,
			       throughput_index_bucket(ti, score));
}

/* Take @part / 2^32 of its throughput from a queue that is not in the index. */
static inline void throughput_score_cut(struct throughput_score *score, u32 part)
{
	score->units -= mul_u64_u32_shr(score->units, part, 32);
	if (score->units)
		score->bucket = __throughput_index_place(score->units, score->half_life);
}

/* Move all queues of octave @o of the ring to the spent ones. */
static inline void __throughput_index_spend(struct throughput_index *ti, u32 o)
{
	u16 *spent = &ti->buckets[THROUGHPUT_INDEX_SPENT];
	u16 *any = &ti->steps[THROUGHPUT_INDEX_OCTAVES];
	u32 s;

	for (; ti->steps[o]; ti->steps[o] &= ~BIT(s)) {
		s = __fls(ti->steps[o]);
		if (*any)
			numbered_list_splice(&ti->scores->link, *spent,
					     ti->buckets[THROUGHPUT_INDEX_STEPS *
							 o + s]);
		else
			*spent = ti->buckets[THROUGHPUT_INDEX_STEPS * o + s];
		*any = 1;
	}
	ti->octaves &= ~BIT_ULL(o);
}

/* Turn the ring to @now. Return: elapsed fraction of the half-life, in 2^-32. */
static inline u32 __throughput_index_turn(struct throughput_index *ti,
					  u64 now)
{
	u32 octave = ti->clock.half_life;
	u32 fraction, turned, o;

	fraction = throughput_clock_set(&ti->clock, now);
	turned = ti->clock.half_life - octave;
	for (; turned && ti->octaves; turned--, octave++) {
		o = octave % THROUGHPUT_INDEX_OCTAVES;
		if (ti->octaves & BIT_ULL(o))
			__throughput_index_spend(ti, o);
	}
	return fraction;
}

/* Advance to @now. Return: elapsed fraction of the half-life, in units of 2^-32. */
static inline u32 throughput_index_advance(struct throughput_index *ti, u64 now)
{
	u64 gone = now - ti->clock.start;

	if (unlikely(gone >= ti->clock.length))
		return __throughput_index_turn(ti, now);
	return mul_u64_u64_shr(gone, ti->clock.inverse, 32);
}

/* Change the time constant. Each queue keeps its throughput. */
static inline void throughput_index_change(struct throughput_index *ti,
					   u32 time_constant, u64 now)
{
	struct throughput_clock *clock = &ti->clock;
	u32 fraction = throughput_index_advance(ti, now);

	__throughput_clock_run(clock, time_constant);
	clock->start = now - mul_u64_u32_shr(clock->length, fraction, 32);
	__throughput_clock_weigh(clock, fraction, now);
}

/**
 * throughput_index_count() - count a packet that left a queue
 * @ti: the index
 * @score: the queue's score
 * @listed: the queue is in the index
 * @bytes: length of the packet
 * @now: the time, ns; not before any earlier one
 */
static inline void throughput_index_count(struct throughput_index *ti,
					  struct throughput_score *score,
					  bool listed, u32 bytes, u64 now)
{
	struct throughput_clock *clock = &ti->clock;
	u32 from, to;
	u64 units;

	if (unlikely(throughput_clock_is_due(clock, now)))
		__throughput_clock_weigh(clock, throughput_index_advance(ti, now), now);
	from = throughput_index_bucket(ti, score);
	units = throughput_decay(score->units, score->half_life,
				 clock->half_life);
	score->units = units + throughput_clock_units(clock, bytes);
	if (unlikely(score->units < units))
		score->units = U64_MAX;
	score->half_life = clock->half_life;
	/* The queue was spent, and a packet of length 0 adds nothing. */
	if (unlikely(!score->units))
		return;
	to = __throughput_index_place(score->units, score->half_life);
	score->bucket = to;
	if (!listed || from == to)
		return;
	__throughput_index_del(ti, &score->link, from);
	__throughput_index_add(ti, &score->link, to);
}

/* Return the bucket with the highest throughput of an index with one that is not spent. */
static inline u32 __throughput_index_highest(const struct throughput_index *ti)
{
	u32 lowest = ti->clock.half_life % THROUGHPUT_INDEX_OCTAVES;
	u32 o = lowest + fls64(ror64(ti->octaves, lowest)) - 1;

	o %= THROUGHPUT_INDEX_OCTAVES;
	return THROUGHPUT_INDEX_STEPS * o + __fls(ti->steps[o]);
}

/* Return the queue with the highest throughput, or NULL if the index is empty. */
static inline struct throughput_score *
throughput_index_top(struct throughput_index *ti)
{
	u32 bucket = ti->octaves ? __throughput_index_highest(ti) :
				   THROUGHPUT_INDEX_SPENT;

	if (!ti->steps[bucket / THROUGHPUT_INDEX_STEPS])
		return NULL;
	return container_of(numbered_link(&ti->scores->link,
					  ti->buckets[bucket]),
			    struct throughput_score, link);
}

/* Put the queue that is the top behind the others of its bucket. */
static inline void throughput_index_pass_over(struct throughput_index *ti,
					      const struct throughput_score *top)
{
	/* A list is a ring. */
	ti->buckets[throughput_index_bucket(ti, top)] = top->link.next;
}

/**
 * throughput_index_is_low() - whether a throughput is below half of the highest one
 * @ti: the index
 * @score: the score
 *
 * Buckets of more than an octave apart differ by a factor of 2 at least. So the answer
 * is never true from half of the highest on, and always true below 8/17 of it.
 *
 * Return: true if it is, false if all throughputs in the index are spent.
 */
static inline bool throughput_index_is_low(const struct throughput_index *ti,
					   const struct throughput_score *score)
{
	u32 lowest = ti->clock.half_life * THROUGHPUT_INDEX_STEPS;
	u32 bucket = throughput_index_bucket(ti, score);
	u32 high;

	if (!ti->octaves)
		return false;
	if (bucket == THROUGHPUT_INDEX_SPENT)
		return true;
	high = (__throughput_index_highest(ti) - lowest) %
	       THROUGHPUT_INDEX_SPENT;
	return high > (bucket - lowest) % THROUGHPUT_INDEX_SPENT +
		      THROUGHPUT_INDEX_STEPS;
}

#endif /* _AQM_THROUGHPUT_INDEX_H */
