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
 * The counters are for what became of the packet in the end. One that was marked
 * and then found no room has not been signalled to: count the loss instead.
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
 * struct congestion_stats - what became of the arrivals chosen
 * @early_drop: dropped, by chance
 * @early_mark: marked, by chance
 * @forced_drop: dropped, without chance
 * @forced_mark: marked, without chance
 * @spared: queued because of nodrop
 */
struct congestion_stats {
	u64	early_drop;
	u64	early_mark;
	u64	forced_drop;
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

static inline void congestion_count(struct congestion_stats *st,
				    enum congestion_signal signal, bool forced)
{
	switch (signal) {
	case CONGESTION_PASS:
		break;
	case CONGESTION_MARKED:
		++*(forced ? &st->forced_mark : &st->early_mark);
		break;
	case CONGESTION_SPARED:
		st->spared++;
		break;
	case CONGESTION_DROP:
		++*(forced ? &st->forced_drop : &st->early_drop);
		break;
	}
}

/* The counter "marked" of all kinds: marks of every sort. */
static inline u64 congestion_marked(const struct congestion_stats *st)
{
	return st->early_mark + st->forced_mark;
}

#endif /* _AQM_CONGESTION_SIGNAL_H */
