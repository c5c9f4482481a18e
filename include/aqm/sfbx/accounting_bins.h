/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFB's accounting bins: levels of bins, each with its queued packets and its own
 * BLUE, and two sets of them, because the hash functions change.
 *
 * Stochastic Fair BLUE, as in G. F. Ali Ahammed, R. Banu, "Analyzing the Performance
 * of Active Queue Management Algorithms", sections 2.4 and 4.3. A flow has one bin in
 * each level:
 *
 *	arrival, in each level:
 *		bin has more than size packets:	p = p + up
 *		bin has no packet:		p = p - down
 *	departure, in each level:
 *		bin has no packet left:		p = p - down
 *
 * with 0 <= p <= 1, and in each bin at most one step in a freeze time. A flow's
 * probability is the lowest of its bins'.
 *
 * The second set has the next hash functions. Packets count in both sets. The first
 * set decides. In the second set, only flows whose probability is 1 raise p ("warm
 * up"): each of their arrivals counts as one at full bins. Nothing falls there,
 * because the penalty box leaves such a flow too few packets to fill a bin again, and
 * the paper wants it to be limited from the first moment after the change.
 *
 * A change starts the next epoch. It costs O(bins), and no packet is counted again: a
 * packet of epoch e has bins by the hash functions e and e + 1, and leaves those that
 * still exist.
 *
 * p, up and down are Q0.32 in u32, where U32_MAX means 1. Times are in ns. This
 * header uses no sk_buff and no Qdisc.
 */
#ifndef _AQM_ACCOUNTING_BINS_H
#define _AQM_ACCOUNTING_BINS_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include "../flow_key.h"

#define ACCOUNTING_LEVELS	8U	/* at most */

/**
 * struct accounting_params - configuration
 * @freeze: minimum time between two steps of a bin, ns; 0: none
 * @interval: time between two changes of the hash functions, ns; 0: no change
 * @up: d1, Q0.32; not 0
 * @down: d2, Q0.32; not 0
 * @size: a bin with more packets than this is overfull
 * @bins: bins of a level
 * @levels: levels
 */
struct accounting_params {
	u64	freeze;
	u64	interval;
	u32	up;
	u32	down;
	u32	size;
	u32	bins;
	u32	levels;
};

/**
 * struct accounting_bin - a bin
 * @step_at: no step before this time, ns
 * @qlen: queued packets
 * @p: Q0.32
 *
 * A dump reads @qlen and @p without the lock. With WRITE_ONCE() of @qlen, which each
 * packet changes 8 times, a packet takes 2 % more instructions.
 */
struct accounting_bin {
	u64	step_at;
	u32	qlen;
	u32	p;
};

/**
 * struct accounting_bins - state
 * @bins: two sets of levels of bins; the set of epoch e is number e % 2
 * @salts: the hash functions of each set; odd
 * @epoch: number of changes of the hash functions
 * @change_at: time of the next change, ns
 * @rises: number of steps up, in both sets
 * @falls: number of steps down
 */
struct accounting_bins {
	struct accounting_bin	*bins;
	u32			salts[2];
	u32			epoch;
	u64			change_at;
	u64			rises;
	u64			falls;
};

/**
 * struct accounting_verdict - what the bins say of an arrival
 * @p: the lowest probability of its bins, Q0.32
 * @overfull: number of levels in which its bin is overfull
 */
struct accounting_verdict {
	u32	p;
	u32	overfull;
};

/* Return the size of both sets in bytes. */
static inline size_t accounting_size(u32 bins, u32 levels)
{
	return 2 * sizeof(struct accounting_bin) * bins * levels;
}

/* Return the first bin of a set. */
static inline struct accounting_bin *
accounting_set(const struct accounting_params *p, const struct accounting_bins *v,
	       u32 epoch)
{
	return &v->bins[(size_t)(epoch & 1) * p->bins * p->levels];
}

/**
 * struct accounting_flow - the bins of a flow in one set
 * @bins: number of its bin in the set, for each level
 */
struct accounting_flow {
	u32	bins[ACCOUNTING_LEVELS];
};

/* Find the bins of flow @number by the hash functions of @epoch. */
static inline struct accounting_flow
accounting_find(const struct accounting_params *p, const struct accounting_bins *v,
		u32 number, u32 epoch)
{
	u32 salt = v->salts[epoch & 1], level;
	struct accounting_flow flow;

	for (level = 0; level < p->levels; level++) {
		number = flow_mix(number, salt);
		flow.bins[level] = level * p->bins + reciprocal_scale(number, p->bins);
	}
	return flow;
}

/* Raise a bin's p. */
static inline void accounting_rise(const struct accounting_params *p,
				   struct accounting_bins *v, struct accounting_bin *bin,
				   u64 now)
{
	if (bin->p == U32_MAX || now < bin->step_at)
		return;
	WRITE_ONCE(bin->p, bin->p + min_t(u32, p->up, U32_MAX - bin->p));
	bin->step_at = now + p->freeze;
	v->rises++;
}

/* Lower a bin's p. */
static inline void accounting_fall(const struct accounting_params *p,
				   struct accounting_bins *v, struct accounting_bin *bin,
				   u64 now)
{
	if (!bin->p || now < bin->step_at)
		return;
	WRITE_ONCE(bin->p, bin->p - min_t(u32, p->down, bin->p));
	bin->step_at = now + p->freeze;
	v->falls++;
}

/* Update the bins of an arrival. Return: what they say of it. */
static inline struct accounting_verdict
accounting_arrival(const struct accounting_params *p, struct accounting_bins *v,
		   const struct accounting_flow *flow, u64 now)
{
	struct accounting_bin *set = accounting_set(p, v, v->epoch), *bin;
	struct accounting_verdict verdict = { .p = U32_MAX };
	u32 level;

	for (level = 0; level < p->levels; level++) {
		bin = &set[flow->bins[level]];
		if (bin->qlen > p->size) {
			accounting_rise(p, v, bin, now);
			verdict.overfull++;
		} else if (!bin->qlen) {
			accounting_fall(p, v, bin, now);
		}
		verdict.p = min(verdict.p, bin->p);
	}
	return verdict;
}

/* Warm up the second set for a flow whose probability is 1. */
static inline void accounting_warm(const struct accounting_params *p,
				   struct accounting_bins *v, u32 number, u64 now)
{
	struct accounting_flow next = accounting_find(p, v, number, v->epoch + 1);
	struct accounting_bin *set = accounting_set(p, v, v->epoch + 1);
	u32 level;

	for (level = 0; level < p->levels; level++)
		accounting_rise(p, v, &set[next.bins[level]], now);
}

/* Count @packets of a flow in one set. */
static inline void accounting_count(const struct accounting_params *p,
				    struct accounting_bins *v,
				    const struct accounting_flow *flow, u32 epoch,
				    u32 packets)
{
	struct accounting_bin *set = accounting_set(p, v, epoch);
	u32 level;

	for (level = 0; level < p->levels; level++)
		set[flow->bins[level]].qlen += packets;
}

/* An arrival is queued: count it in both sets. @flow is its bins in the first one. */
static inline void accounting_add(const struct accounting_params *p,
				  struct accounting_bins *v,
				  const struct accounting_flow *flow, u32 number,
				  u32 packets)
{
	struct accounting_flow next = accounting_find(p, v, number, v->epoch + 1);

	accounting_count(p, v, flow, v->epoch, packets);
	accounting_count(p, v, &next, v->epoch + 1, packets);
}

/*
 * A packet that was queued in epoch @since leaves. @flow is its bins in the first set.
 * Return: whether accounting_emptied() has something to do.
 */
static inline bool accounting_remove(const struct accounting_params *p,
				     struct accounting_bins *v,
				     const struct accounting_flow *flow, u32 number,
				     u32 since, u32 packets)
{
	struct accounting_bin *set = accounting_set(p, v, v->epoch), *bin;
	struct accounting_flow next;
	bool emptied = false;
	u32 level;

	/* A packet of an older epoch has left the bins that still exist. */
	if (unlikely(v->epoch - since > 1))
		return false;
	for (level = 0; level < p->levels; level++) {
		bin = &set[flow->bins[level]];
		bin->qlen -= packets;
		emptied |= !bin->qlen && bin->p;
	}
	if (likely(since == v->epoch)) {
		next = accounting_find(p, v, number, v->epoch + 1);
		accounting_count(p, v, &next, v->epoch + 1, -packets);
	}
	return emptied;
}

/* Lower p of a flow's bins that have no packet left. */
static inline void accounting_emptied(const struct accounting_params *p,
				      struct accounting_bins *v,
				      const struct accounting_flow *flow, u64 now)
{
	struct accounting_bin *set = accounting_set(p, v, v->epoch), *bin;
	u32 level;

	for (level = 0; level < p->levels; level++) {
		bin = &set[flow->bins[level]];
		if (!bin->qlen)
			accounting_fall(p, v, bin, now);
	}
}

/* Return whether the hash functions must change: accounting_next(). */
static inline bool accounting_due(const struct accounting_params *p,
				  const struct accounting_bins *v, u64 now)
{
	return p->interval && now >= v->change_at;
}

/*
 * Change the hash functions: the warm set decides from now on, and a fresh one with
 * @salt is warmed up.
 */
static inline void accounting_next(const struct accounting_params *p,
				   struct accounting_bins *v, u32 salt)
{
	v->salts[v->epoch & 1] = salt | 1;
	memset(accounting_set(p, v, v->epoch), 0,
	       accounting_size(p->bins, p->levels) / 2);
	WRITE_ONCE(v->epoch, v->epoch + 1);
}

/*
 * Return how many changes are due, at most 2: both sets are fresh after two. Call if
 * accounting_due().
 */
static inline u32 accounting_changes(const struct accounting_params *p,
				     struct accounting_bins *v, u64 now)
{
	u64 due = 1 + div64_u64(now - v->change_at, p->interval);

	v->change_at += due * p->interval;
	return min_t(u64, due, 2);
}

/* Forget all packets and probabilities. The hash functions stay, for an interval from now. */
static inline void accounting_reset(const struct accounting_params *p,
				    struct accounting_bins *v, u64 now)
{
	memset(v->bins, 0, accounting_size(p->bins, p->levels));
	v->change_at = now + p->interval;
}

/* Switch to new parameters. No step is delayed longer than they allow. */
static inline void accounting_change(const struct accounting_params *p,
				     struct accounting_bins *v, u64 now)
{
	u32 i;

	for (i = 0; i < 2 * p->bins * p->levels; i++)
		v->bins[i].step_at = min(v->bins[i].step_at, now + p->freeze);
}

/**
 * struct accounting_summary - the state of all bins
 * @used: bins with packets, of all levels
 * @polluted: bins with p = 1, of all levels
 * @warmed: the same in the second set
 * @highest: highest p, Q0.32
 * @false_alarm: probability that all bins of a flow are polluted, Q0.32
 */
struct accounting_summary {
	u32	used;
	u32	polluted;
	u32	warmed;
	u32	highest;
	u32	false_alarm;
};

/*
 * Summarize up to 65536 bins, without the lock: packets may pass meanwhile. The bins
 * themselves must stay.
 */
static inline struct accounting_summary
accounting_summarize(const struct accounting_params *p, const struct accounting_bins *v)
{
	u32 level, i, polluted, prob, epoch = READ_ONCE(v->epoch);
	const struct accounting_bin *warm = accounting_set(p, v, epoch + 1);
	const struct accounting_bin *set = accounting_set(p, v, epoch);
	struct accounting_summary sum = { .false_alarm = U32_MAX };

	for (level = 0; level < p->levels; level++) {
		polluted = 0;
		for (i = 0; i < p->bins; i++, set++, warm++) {
			prob = READ_ONCE(set->p);
			/* A packet may pass: one bin more or less. */
			sum.used += !!data_race(set->qlen);
			polluted += prob == U32_MAX;
			sum.warmed += READ_ONCE(warm->p) == U32_MAX;
			sum.highest = max(sum.highest, prob);
		}
		sum.polluted += polluted;
		sum.false_alarm = div_u64((u64)sum.false_alarm * polluted, p->bins);
	}
	return sum;
}

#endif /* _AQM_ACCOUNTING_BINS_H */
