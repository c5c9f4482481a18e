/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mark, spare or drop an arrival that RED has chosen.
 *
 *	ecn and the packet can be marked	mark it
 *	nodrop and it cannot			spare it: queue it unmarked
 *	else					drop it
 *
 * With harddrop, packets that were chosen because the average is too high
 * ("forced") are always dropped, because marks have not helped so far.
 *
 * An arrival that is marked and then does not fit counts only as dropped.
 * <aqm/queue.h> counts drops.
 */
#ifndef _AQM_CONGESTION_SIGNAL_H
#define _AQM_CONGESTION_SIGNAL_H

#include <linux/netlink.h>
#include <linux/types.h>
#include <aqm/measure.h>
#include <aqm/packet_network.h>

/**
 * struct congestion_policy - configuration
 * @ecn: mark instead of dropping
 * @harddrop: drop forced packets instead of marking them
 * @nodrop: with @ecn, queue packets that cannot be marked
 */
struct congestion_policy {
	bool	ecn;
	bool	harddrop;
	bool	nodrop;
};

/* Initialize a struct congestion_policy from parameters with TC_AQM_MARK_OPTIONS. */
#define AQM_CONGESTION_POLICY(params) \
	{ TC_AQM_MARK_OPTIONS(AQM_TAKE, params, AQM) }

static inline bool aqm_policy_is_right(const struct congestion_policy *p,
				       struct netlink_ext_ack *extack)
{
	if (p->ecn || !p->nodrop)
		return true;
	NL_SET_ERR_MSG_MOD(extack, "nodrop needs ecn");
	return false;
}

enum congestion_signal {
	CONGESTION_PASS,	/* not chosen */
	CONGESTION_MARKED,
	CONGESTION_SPARED,
	CONGESTION_DROP,
};

/**
 * congestion_signal() - signal congestion to the sender of an arrival
 * @p: configuration
 * @skb: the arrival; it gets the mark if it is marked
 * @forced: chosen because the average is too high
 *
 * Return: the outcome, for congestion_count().
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

/* The statistic "marked" of all disciplines: the sum of all marks. */
static inline u64 congestion_marked(const struct congestion_stats *st)
{
	return st->early_mark + st->forced_mark;
}

/* Fill in the statistics of a qdisc that signals as RED does. */
#define AQM_SIGNAL_STATS(st, q) do {					\
	(st)->early_drop = (q)->drops[AQM_DROP_EARLY];			\
	(st)->early_mark = (q)->signal.early_mark;			\
	(st)->forced_drop = (q)->drops[AQM_DROP_FORCED];		\
	(st)->forced_mark = (q)->signal.forced_mark;			\
} while (0)

#endif /* _AQM_CONGESTION_SIGNAL_H */
