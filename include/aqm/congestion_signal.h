/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of an arrival that RED has chosen: marked, spared or dropped.
 *
 *	ecn and the packet can be marked	mark it
 *	nodrop and it cannot			spare it: queue it as it is
 *	else					drop it
 *
 * With harddrop what was chosen without chance ("forced", the average being too
 * high) is dropped in any case: marks have not helped so far.
 *
 * An arrival that is marked and then finds no room counts as dropped only. Drops
 * are counted by <aqm/drops.h>.
 */
#ifndef _AQM_CONGESTION_SIGNAL_H
#define _AQM_CONGESTION_SIGNAL_H

#include <linux/types.h>
#include <aqm/packet_network.h>

/**
 * struct congestion_policy - configuration
 * @ecn: mark instead of dropping
 * @harddrop: what is forced is dropped all the same
 * @nodrop: what should be marked and cannot be is queued; with @ecn only
 */
struct congestion_policy {
	bool	ecn;
	bool	harddrop;
	bool	nodrop;
};

/**
 * struct congestion_stats - arrivals that RED chose and that were queued, packets
 * @early_mark: marked, by chance
 * @forced_mark: marked, without chance
 * @spared: queued without a mark, because of nodrop
 */
struct congestion_stats {
	u64	early_mark;
	u64	forced_mark;
	u64	spared;
};

enum congestion_signal {
	CONGESTION_PASS,	/* not chosen */
	CONGESTION_MARKED,
	CONGESTION_SPARED,
	CONGESTION_DROP,
};

/**
 * congestion_signal() - signal congestion to the sender of an arrival
 * @p: configuration
 * @skb: the arrival; its mark is set if that is what becomes of it
 * @forced: chosen without chance
 *
 * Return: what became of it, for congestion_count().
 */
static inline enum congestion_signal
congestion_signal(const struct congestion_policy *p, struct sk_buff *skb,
		  bool forced)
{
	if (!p->ecn || (forced && p->harddrop))
		return CONGESTION_DROP;
	if (packet_set_ce(skb))
		return CONGESTION_MARKED;
	return p->nodrop ? CONGESTION_SPARED : CONGESTION_DROP;
}

/* Count an arrival that is queued after @signal. */
static inline void congestion_count(struct congestion_stats *st,
				    enum congestion_signal signal, bool forced)
{
	if (signal == CONGESTION_MARKED) {
		st->forced_mark += forced;
		st->early_mark += !forced;
	} else if (signal == CONGESTION_SPARED) {
		st->spared++;
	}
}

/* The counter "marked" of all kinds: marks of every sort. */
static inline u64 congestion_marked(const struct congestion_stats *st)
{
	return st->early_mark + st->forced_mark;
}

#endif /* _AQM_CONGESTION_SIGNAL_H */
