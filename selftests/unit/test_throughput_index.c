// SPDX-License-Identifier: GPL-2.0
/*
 * Compare throughput_index with floating point and a scan over all queues. The
 * bounds are as the header states, or closer.
 */
#include <math.h>

#include <aqm/tdrr/throughput_index.h>

#include "unit.h"

#define QUEUES	100
#define UNIT	ldexp(1, -24)	/* byte/s */
#define LAG	exp2(1. / 1024)	/* a weight may be so many times too low */

struct queue {
	struct throughput_score score;
	double rate;		/* byte/s at @last, by the formula */
	u64 last;		/* ns */
	u64 entered;		/* when it came into its bucket */
	bool active;
} __attribute__((aligned(NUMBERED_BYTES)));

static void init_index(struct throughput_index *ti, struct throughput_score *scores,
		       u32 count, u32 us, u64 now)
{
	numbered_links_init(&scores->link, count);
	throughput_index_init(ti, scores, us, now);
}

/* The time constant that a clock really has, ns. */
static double time_constant(const struct throughput_clock *clock)
{
	return clock->length / log(2);
}

/* The formula: @q's throughput at @now, byte/s. */
static double oracle(const struct throughput_clock *clock,
		     const struct queue *q, u64 now)
{
	return q->rate * exp(-(double)(now - q->last) / time_constant(clock));
}

static void oracle_count(const struct throughput_clock *clock, struct queue *q,
			 u32 bytes, u64 now)
{
	q->rate = oracle(clock, q, now) +
		  bytes * 1e9 / time_constant(clock);
	q->last = now;
}

/* The header's number decayed to @now, without its arithmetic. */
static double kept(const struct throughput_clock *clock,
		   const struct queue *q, u64 now)
{
	double halves = (double)(now - clock->start) / clock->length;

	halves += clock->half_life - q->score.half_life;
	return q->score.units * UNIT * exp2(-halves);
}

static void count(struct throughput_index *ti, struct queue *q, u32 bytes,
		  u64 now)
{
	throughput_index_count(ti, &q->score, q->active, bytes, now);
}

static void toggle(struct throughput_index *ti, struct queue *q)
{
	if (q->active)
		throughput_index_del(ti, &q->score);
	else
		throughput_index_add(ti, &q->score);
	q->active = !q->active;
}

static u64 rate(const struct throughput_index *ti, const struct queue *q,
		u64 now)
{
	return throughput_score_rate(&q->score, &ti->clock, now);
}

static void exp2_is_within_its_bound(void)
{
	double worst = 0;
	bool rising = true;
	u64 f, last = 0;

	for (f = 0; f < 1ULL << 32; f += 997) {
		u64 got = throughput_exp2(f);
		double want = exp2(f * ldexp(1, -32));
		double error = fabs(got * ldexp(1, -31) / want - 1);

		worst = error > worst ? error : worst;
		rising &= got >= last && got < 1ULL << 32;
		last = got;
	}
	f = throughput_exp2(U32_MAX);
	unit_ok(worst <= ldexp(1, -26), "2^f is within 2^-26 (2^%.2f)",
		log2(worst));
	unit_ok(rising && f >= last && f < 1ULL << 32,
		"2^f never falls and stays below 2");
}

static void the_time_constant_is_met(void)
{
	double worst = 0;
	u32 us;

	for (us = THROUGHPUT_MIN_TIME_CONSTANT;
	     us <= THROUGHPUT_MAX_TIME_CONSTANT; us += 1 + us / 1000) {
		struct throughput_clock clock;
		double error;

		throughput_clock_init(&clock, us, 0);
		error = fabs(time_constant(&clock) - us * 1e3);
		worst = error > worst ? error : worst;
	}
	unit_ok(worst <= 1.2, "T is met within 1.2 ns (%.2f)", worst);
}

/* Packets that come @gap ns apart on average, in bursts and with pauses. */
static void a_score_is_within_its_bound(const char *what, u32 us, u64 gap,
					u32 least, u32 most, int packets,
					double bound)
{
	static struct throughput_index ti;
	double high = 0, low = 2, want;
	struct queue q = {};
	u64 now;
	int i;

	now = unit_random() >> 2;
	init_index(&ti, &q.score, 1, us, now);
	for (i = 0; i < packets; i++) {
		u32 bytes = least + unit_below(most - least + 1);
		double error;

		if (unit_below(3))
			now += unit_random() % (2 * gap);
		if (!unit_below(packets / 8))	/* up to 40 half-lives */
			now += unit_random() % (40 * ti.clock.length);
		count(&ti, &q, bytes, now);
		oracle_count(&ti.clock, &q, bytes, now);
		error = kept(&ti.clock, &q, now) / q.rate;
		high = error > high ? error : high;
		low = error < low ? error : low;
	}
	unit_ok(high <= 1 + bound && low >= (1 - bound) / LAG,
		"%s: %d packets within 2^%.0f (2^%.2f), and a tick (2^-%.0f)", what,
		packets, log2(bound), log2(high - 1), log2(1 / (1 - low)));

	now += ti.clock.length * 3 / 7;
	want = 8 * oracle(&ti.clock, &q, now);
	unit_ok(rate(&ti, &q, now) <= 1 + want * (1 + 2 * bound) &&
		rate(&ti, &q, now) >= want * (1 - 2 * bound) / LAG - 1,
		"%s: the rate, %.0f bit/s", what, want);
}

/*
 * The worst case: each half-life a packet of the least weight, which with T of
 * 100 s is 167772 units a byte, loses a part of a unit, and the shift another.
 */
static void a_packet_a_half_life_is_within_its_bound(u32 bytes, double bound)
{
	static struct throughput_index ti;
	double worst = 0, error;
	int trial, i;

	for (trial = 0; trial < 3000; trial++) {
		struct queue q = {};
		u64 begin, now = 1;

		init_index(&ti, &q.score, 1, THROUGHPUT_MAX_TIME_CONSTANT, now);
		begin = now + ti.clock.length / 1000 + unit_random() % (ti.clock.length / 40);
		for (i = 0; i < 60; i++) {
			now = begin + i * ti.clock.length +
			      unit_random() % (ti.clock.length / 1000);
			count(&ti, &q, bytes, now);
			oracle_count(&ti.clock, &q, bytes, now);
			error = fabs(kept(&ti.clock, &q, now) / q.rate - 1);
			worst = error > worst ? error : worst;
		}
	}
	unit_ok(worst <= bound && worst > bound / 2,
		"%u bytes a half-life: within 2^%.0f (2^%.2f), and not much closer",
		bytes, log2(bound), log2(worst));
}

/* Sixteen buckets an octave, from the four bits behind the highest. */
static u64 oracle_bucket(const struct throughput_index *ti,
			 const struct queue *q)
{
	double units = q->score.units;
	double octave;
	u64 key;

	if (!q->score.units)
		return 0;
	octave = floor(log2(units));
	/* log2() may round up to the next octave */
	if (exp2(octave) > units)
		octave--;
	key = 16 * (q->score.half_life + (u64)octave) +
	      (u64)floor(16 * (units / exp2(octave) - 1));
	return key < 16 * (u64)ti->clock.half_life ? 0 : key + 1;
}

/* How many queues hang in a bucket that is in use, all of them listed there. */
static u32 members(struct throughput_index *ti, u32 bucket)
{
	u32 number = ti->buckets[bucket], n = 0;
	const struct throughput_score *score;

	do {
		score = container_of(numbered_link(&ti->scores->link, number),
				     struct throughput_score, link);
		if (throughput_index_bucket(ti, score) != bucket)
			return QUEUES + 1;
		number = score->link.next;
	} while (++n <= QUEUES && number != ti->buckets[bucket]);
	return n;
}

/* The buckets that the bitmaps mark as used hold each listed queue once, and nothing else. */
static bool maps_match_lists(struct throughput_index *ti,
			     const struct queue *queues)
{
	u32 o, s, i, held = 0;

	for (o = 0; o < THROUGHPUT_INDEX_OCTAVES; o++) {
		if (!(ti->octaves & BIT_ULL(o)) != !ti->steps[o])
			return false;
		for (s = 0; s < THROUGHPUT_INDEX_STEPS; s++)
			if (ti->steps[o] & BIT(s))
				held += members(ti, 16 * o + s);
	}
	if (ti->steps[THROUGHPUT_INDEX_OCTAVES])
		held += members(ti, THROUGHPUT_INDEX_SPENT);
	for (i = 0; i < QUEUES; i++)
		held -= queues[i].active;
	return !held;
}

static void the_top_is_that_of_a_scan(const char *what, u32 us, u64 pause,
				      int steps)
{
	static struct throughput_index ti;
	static struct queue queues[QUEUES];
	bool first = true, maps = true, found = true;
	u64 now = unit_random() >> 2, buckets[QUEUES];
	double worst = 1, octaves;
	int step, i, spent = 0, told = 0;

	for (i = 0; i < QUEUES; i++)
		queues[i] = (struct queue) { .last = now };
	init_index(&ti, &queues->score, QUEUES, us, now);
	for (step = 1; step <= steps; step++) {
		struct queue *q = &queues[unit_below(QUEUES)], *top, *best;
		struct throughput_score *named;
		double most = 0, own;
		u64 highest = 0;

		/* Long stretches in which few queues send. */
		if ((step / 500) % 2)
			q = &queues[unit_below(3)];
		for (i = 0; i < QUEUES; i++)
			buckets[i] = oracle_bucket(&ti, &queues[i]);

		now += unit_random() % (unit_below(50) ? pause : 1000 * pause);
		switch (unit_below(4)) {
		case 0:
			toggle(&ti, q);
			q->entered = step;
			break;
		default:
			i = unit_below(10) ? 1514 : 14 + unit_below(65536);
			count(&ti, q, i, now);
			oracle_count(&ti.clock, q, i, now);
		}

		best = NULL;
		for (i = 0; i < QUEUES; i++) {
			u64 bucket = oracle_bucket(&ti, &queues[i]);

			/* Spent queues lie in the order of their octaves, and
			 * in no stated one if they were spent together.
			 */
			if (bucket != buckets[i])
				queues[i].entered = step;
			if (!queues[i].active)
				continue;
			own = oracle(&ti.clock, &queues[i], now);
			most = own > most ? own : most;
			if (!best || bucket > highest ||
			    (bucket == highest &&
			     queues[i].entered < best->entered)) {
				best = &queues[i];
				highest = bucket;
			}
		}
		named = throughput_index_top(&ti);
		found &= !named == !best;
		if (!(step % 97))
			maps &= maps_match_lists(&ti, queues);
		if (!named)
			continue;
		top = container_of(named, struct queue, score);
		found &= top->active;
		if (!highest) {
			/* At the last departure, less than a unit each. */
			spent++;
			found &= oracle(&ti.clock, top, ti.clock.start) <= UNIT;
			continue;
		}
		first &= top == best;
		told++;
		octaves = most / oracle(&ti.clock, top, now);
		worst = octaves > worst ? octaves : worst;
	}
	unit_ok(found && told > steps / 4,
		"%s: an active queue is named if there is one (%d steps, %d of them spent)",
		what, told + spent, spent);
	unit_ok(worst <= 17. / 16 * LAG * (1 + ldexp(1, -20)),
		"%s: it is within 0.0885 octave of the highest (%.4f)", what,
		log2(worst));
	unit_ok(first, "%s: it came into its bucket first", what);
	unit_ok(maps, "%s: the maps say what the lists hold", what);
}

static void an_idle_queue_loses_its_lead(u64 idle_ns, bool again)
{
	static struct throughput_index ti;
	struct queue queues[2] = {};
	struct queue *old = &queues[0], *new = &queues[1];
	u64 now = 1000;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues), 1000000, now);
	toggle(&ti, old);
	toggle(&ti, new);
	for (i = 0; i < 1000; i++)
		count(&ti, old, 1514, now += 1000);
	count(&ti, new, 100, now);
	now += idle_ns;
	unit_ok(throughput_index_top(&ti) == &old->score,
		"the one that sent more is on top until another sends");
	if (again)	/* it takes the clock along, in two steps */
		count(&ti, new, 100, now - idle_ns / 3);
	count(&ti, new, 100, now);
	unit_ok(throughput_index_top(&ti) == &new->score,
		"after %.3g time constants a fresh packet outweighs a thousand",
		idle_ns / 1e9);
	toggle(&ti, new);
	unit_ok(throughput_index_top(&ti) == &old->score,
		"and the old one is still there");
	toggle(&ti, old);
	unit_ok(!throughput_index_top(&ti) && !ti.octaves, "until it leaves");
}

/*
 * Two queues in the topmost octave and in the lowest one of the ring, while it
 * turns by one half-life at a time: every slot is once where it goes round.
 */
static void all_octaves_of_the_ring_are_used(void)
{
	static struct throughput_index ti;
	struct queue queues[3] = {};
	struct queue *low = &queues[0], *high = &queues[1], *silent = &queues[2];
	bool top = true, kept_low = true;
	u64 now = 1;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues), 1000, now);
	toggle(&ti, low);
	toggle(&ti, high);
	for (i = 0; i < 1000; i++) {
		now += ti.clock.length;
		while (high->score.units < 1ULL << 63 ||
		       high->score.half_life != ti.clock.half_life)
			count(&ti, high, 1 << 28, now);
		/* one unit, as nothing but the decay makes it */
		low->score.units >>= 1;
		throughput_index_del(&ti, &low->score);
		low->score.units = 1;
		low->score.half_life = ti.clock.half_life;
		low->score.bucket =
			__throughput_index_place(1, ti.clock.half_life);
		throughput_index_add(&ti, &low->score);
		top &= throughput_index_top(&ti) == &high->score;
		kept_low &= fls64(ti.octaves) && (ti.octaves & (ti.octaves - 1));
	}
	unit_ok(top && kept_low,
		"the largest and the smallest throughput are told apart in every position of the ring");
	count(&ti, silent, 14, now + 100 * ti.clock.length);
	unit_ok(!ti.octaves, "a hundred half-lives later both are spent");
}

static void another_time_constant_keeps_the_throughput(u32 from, u32 to)
{
	static struct throughput_index ti;
	struct queue queues[2] = {};
	struct queue *q = &queues[0], *other = &queues[1];
	double want;
	u64 now = 5000000000, before, after;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues), from, now);
	toggle(&ti, q);
	toggle(&ti, other);
	for (i = 0; i < 5000; i++)
		count(&ti, q, 1514, now += 100000);
	count(&ti, other, 64, now);
	now += 12345678;
	before = rate(&ti, q, now);
	throughput_index_change(&ti, to, now);
	after = rate(&ti, q, now);
	unit_ok(llabs((long long)(after - before)) <= before / 1000000. + 1 &&
		throughput_index_top(&ti) == (before ? &q->score : &other->score),
		"from %u to %u us: %llu bit/s, then %llu", from, to,
		(unsigned long long)before, (unsigned long long)after);

	/* What comes now weighs and decays by the new one. */
	now += 1000 * (u64)to / 2;
	want = after * exp(-0.5) + 8 * 1000000.0 * 1000000 / to;
	count(&ti, q, 1000000, now);
	after = rate(&ti, q, now);
	unit_ok(fabs(after / want - 1) < 0.0001,
		"and half of %u us later, with a packet: %llu bit/s", to,
		(unsigned long long)after);
}

static void nothing_is_left_of_what_is_forgotten(void)
{
	static struct throughput_index ti;
	struct queue queues[2] = {};
	struct queue *q = &queues[0], *fresh = &queues[1];
	u64 now = 1;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues), 100000000, now);
	toggle(&ti, q);
	for (i = 0; i < 10000; i++)
		count(&ti, q, 1 << 20, now += 1000);
	throughput_index_forget(&ti);
	q->active = false;
	unit_ok(!throughput_index_top(&ti) && !ti.octaves && !rate(&ti, q, now),
		"nothing is in the index, and nothing has been sent");
	toggle(&ti, q);
	toggle(&ti, fresh);
	count(&ti, fresh, 14, now);
	unit_ok(throughput_index_top(&ti) == &fresh->score,
		"a small packet then is the highest throughput");
}

/* Half-lives in which others have sent, up to where their number wraps. */
static void a_queue_long_silent_stays_spent(void)
{
	static const u32 ages[] = { 64, 1U << 30, (1U << 31) - 1, 1U << 31,
				    (1U << 31) + 100, 3U << 30, U32_MAX - 64 };
	static struct throughput_index ti;
	bool told = true;
	u64 now = 1;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ages); i++) {
		struct queue queues[2] = {};
	struct queue *silent = &queues[0], *sends = &queues[1];

		init_index(&ti, &queues->score, ARRAY_SIZE(queues), 1000, now);
		count(&ti, silent, 65536, now);
		ti.clock.half_life += ages[i];
		count(&ti, sends, 14, now);
		toggle(&ti, silent);
		toggle(&ti, sends);
		told &= throughput_index_top(&ti) == &sends->score;
		told &= !rate(&ti, silent, now) && rate(&ti, sends, now);
	}
	unit_ok(told, "a queue that was silent for 64 to 2^32 half-lives is spent");
}

static void a_time_before_the_last_one_is_the_last_one(void)
{
	static struct throughput_index ti;
	struct queue q = {};
	u64 now = 1000000, before;

	init_index(&ti, &q.score, 1, 1000, now);
	count(&ti, &q, 1514, now);
	before = rate(&ti, &q, now);
	unit_ok(before && rate(&ti, &q, now - 1) == before,
		"a clock that goes back by 1 ns spends nothing: %llu bit/s",
		(unsigned long long)rate(&ti, &q, now - 1));
	count(&ti, &q, 1514, now - 1);
	unit_ok(rate(&ti, &q, now) / 2 == before && ti.clock.start == now,
		"and a packet then counts as one now");
}

static void a_steady_rate_reads_as_itself(void)
{
	static struct throughput_index ti;
	struct queue q = {};
	double got;
	u64 now = 1;
	int i;

	/* 1250 bytes every 10 us: 1 Gb/s, for 20 time constants */
	init_index(&ti, &q.score, 1, 100000, now);
	for (i = 0; i < 200000; i++)
		count(&ti, &q, 1250, now += 10000);
	got = rate(&ti, &q, now + 5000);
	unit_ok(got >= 1e9 / LAG && got <= 1e9 + 1000, "1 Gb/s reads as %.0f bit/s", got);
}

/* A throughput of up to 2^64 units, most of them small, becomes a level, and later comes back. */
static void a_level_keeps_a_throughput(void)
{
	bool placed = true, spent = true, never = true;
	double worst = 0, error;
	u32 i, now, later, above;

	for (i = 0; i < 100000; i++) {
		struct throughput_score was = {}, is = {}, fresh = {};

		now = unit_random();
		later = now + unit_below(70);
		was.units = (unit_random() | 1ULL << 63) >> unit_below(64);
		was.half_life = now;
		fresh.half_life = now;
		above = flow_level_above(throughput_score_level(&was), later << FLOW_LEVEL_BITS);
		throughput_score_set(&is, above, later);
		never &= !flow_level_above(throughput_score_level(&fresh),
					   later << FLOW_LEVEL_BITS);
		if (later - now >= 64 || was.units >> (later - now) <= 1) {
			spent &= is.units <= 1;
			continue;
		}
		/* The rest of a unit is lost. */
		error = fabs(ldexp(is.units, later - now) - was.units);
		error = fmax(0., error - ldexp(1, later - now)) / was.units;
		worst = fmax(worst, error);
		placed &= is.half_life == later &&
			  is.bucket == __throughput_index_place(is.units, later);
	}
	unit_ok(worst <= ldexp(1, -19), "a throughput comes back within 2^-19 (2^%.1f)",
		log2(worst));
	unit_ok(spent, "one that decayed to one unit comes back as that or less");
	unit_ok(placed, "and it has the bucket of its throughput");
	unit_ok(never, "a queue that has sent nothing has level 0");
}

static void bytes_have_a_level(void)
{
	static const u32 constant[] = { 1000, 100000, 100000000 };	/* us */
	struct throughput_clock clock;
	double level, want, worst = 0;
	u32 i, bytes;

	for (i = 0; i < 3000; i++) {
		bytes = 1 + unit_below(1 << (1 + unit_below(20)));
		throughput_clock_init(&clock, constant[i % 3], 1);
		level = throughput_level_of(&clock, bytes);
		/* bytes / T, in units. The bits after the highest one are linear. */
		want = log2(bytes / (constant[i % 3] * 1e-6) / UNIT);
		want = floor(want) + exp2(want - floor(want)) - 1;
		worst = fmax(worst, fabs(level / (1 << FLOW_LEVEL_BITS) - want));
	}
	unit_ok(worst <= 1e-5, "bytes have the level of their throughput, within %.7f", worst);
}

/* In units, rounded; in the index it is where a queue that sent so little is. */
static void a_cut_takes_its_part(void)
{
	static struct throughput_index ti;
	bool left = true, placed = true, none = true;
	u64 now = 1, units;
	double want;
	int i;

	init_index(&ti, &(struct queue) {}.score, 1, 100000, now);
	for (i = 0; i < 100000; i++) {
		u32 part = unit_random() >> unit_below(32);
		struct queue q = {};

		now += unit_random() % (unit_below(100) ? ti.clock.length : 1ULL << 40);
		count(&ti, &q, 1 + unit_below(1 << (1 + unit_below(30))), now);
		units = q.score.units;
		want = units - ldexp(units, -32) * part;
		throughput_score_cut(&q.score, part);
		left &= fabs(q.score.units - want) <= 1 + ldexp(units, -40);
		placed &= q.score.bucket == (u32)(oracle_bucket(&ti, &q) - 1) % 1024;
		q.score.units = 1;
		throughput_score_cut(&q.score, U32_MAX);
		throughput_score_cut(&q.score, U32_MAX);
		none &= q.score.units <= 1;
	}
	unit_ok(left, "a cut takes its part of a throughput");
	unit_ok(placed, "and moves it to its bucket");
	unit_ok(none, "a single unit stays or goes");
}

static void packets_without_bytes_add_nothing(void)
{
	static struct throughput_index ti;
	struct queue queues[2] = {};
	struct queue *empty = &queues[0], *sends = &queues[1];
	u64 now = 1;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues), 1000, now);
	toggle(&ti, empty);
	toggle(&ti, sends);
	for (i = 0; i < 10; i++)
		count(&ti, empty, 0, now++);
	count(&ti, sends, 1, now);
	unit_ok(!rate(&ti, empty, now) && throughput_index_top(&ti) == &sends->score,
		"a queue of packets without bytes has no throughput");
	toggle(&ti, sends);
	unit_ok(throughput_index_top(&ti) == &empty->score, "and is in the index");
}

static void a_score_saturates(void)
{
	static struct throughput_index ti;
	struct queue queues[3] = {};
	struct queue *q = &queues[0], *other = &queues[1], *huge = &queues[2];
	bool never_falls = true;
	u64 now = 1, last = 0;
	int i;

	init_index(&ti, &queues->score, ARRAY_SIZE(queues),
		   THROUGHPUT_MIN_TIME_CONSTANT, now);
	toggle(&ti, q);
	toggle(&ti, other);
	count(&ti, other, 1514, now);
	for (i = 0; i < 20000; i++) {
		count(&ti, q, U32_MAX, now);
		never_falls &= q->score.units >= last;
		last = q->score.units;
	}
	unit_ok(never_falls && last == U64_MAX &&
		throughput_index_top(&ti) == &q->score &&
		rate(&ti, q, now) == U64_MAX >> 21,
		"a throughput too large for its type stays at the largest");
	/* 2^40 / 1000 bytes in 1 ms: where 64 bits begin anew */
	count(&ti, huge, 1099511628, now);
	unit_ok(rate(&ti, huge, now) >= 8000ULL << 28,
		"a packet too large for it counts as the largest");
}

UNIT_TESTS
{
	exp2_is_within_its_bound();
	the_time_constant_is_met();
	a_score_is_within_its_bound("1 s, 10 Mb/s", 1000000, 1200000, 64, 1514,
				    100000, ldexp(1, -21));
	a_score_is_within_its_bound("1 s, 100 Gb/s of small packets", 1000000,
				    5, 64, 64, 3000000, ldexp(1, -21));
	a_score_is_within_its_bound("1 ms, slow", 1000, 3000000, 14, 200,
				    100000, ldexp(1, -21));
	a_score_is_within_its_bound("100 s, GSO", 100000000, 5000000, 64,
				    524288, 100000, ldexp(1, -21));
	a_score_is_within_its_bound("1 s, bytes", 1000000, 100000000, 1, 3,
				    100000, ldexp(1, -18));
	a_score_is_within_its_bound("100 s, bytes", 100000000, 100000000, 1, 3,
				    100000, ldexp(1, -17));
	a_packet_a_half_life_is_within_its_bound(14, ldexp(1, -20));
	a_packet_a_half_life_is_within_its_bound(1, ldexp(1, -16));
	the_top_is_that_of_a_scan("busy", 1000000, 100000, 40000);
	the_top_is_that_of_a_scan("slow", 1000000, 100000000, 40000);
	the_top_is_that_of_a_scan("mostly spent", 1000, 200000000, 40000);
	an_idle_queue_loses_its_lead(10000000000, false);
	an_idle_queue_loses_its_lead(10000000000, true);
	an_idle_queue_loses_its_lead(60000000000, true);
	an_idle_queue_loses_its_lead(1ULL << 60, false);
	another_time_constant_keeps_the_throughput(1000000, 1000000);
	another_time_constant_keeps_the_throughput(1000000, 100000000);
	another_time_constant_keeps_the_throughput(1000000, 1000);
	another_time_constant_keeps_the_throughput(1000, 100000000);
	all_octaves_of_the_ring_are_used();
	nothing_is_left_of_what_is_forgotten();
	a_queue_long_silent_stays_spent();
	a_time_before_the_last_one_is_the_last_one();
	a_steady_rate_reads_as_itself();
	a_level_keeps_a_throughput();
	bytes_have_a_level();
	a_cut_takes_its_part();
	packets_without_bytes_add_nothing();
	a_score_saturates();
}
