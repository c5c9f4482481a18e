// SPDX-License-Identifier: GPL-2.0
/* Split GSO packets: see <aqm/split_gso.h>. */
#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif
#include <compat_5.h>
#include <aqm/split_gso.h>

#ifndef QDISC_PKT_LEN_MAX	/* older kernels have no limit */
#define QDISC_PKT_LEN_MAX	INT_MAX
#endif

/* Return the parent of @sch, or @root, which is not listed. */
static const struct Qdisc *split_gso_parent(const struct Qdisc *sch,
					    const struct Qdisc *root)
{
	u32 handle = TC_H_MAJ(sch->parent);
	const struct Qdisc *q;

	hash_for_each_possible_rcu(qdisc_dev(sch)->qdisc_hash, q, hash, handle,
				   rcu_read_lock_bh_held())
		if (q->handle == handle)
			return q;
	return root;
}

/*
 * Return the size table (tc's stab) by which the core charged a packet that reached
 * @sch, or NULL. Newer kernels accept one only at the root of a transmit queue. Older
 * ones apply the table of each qdisc on the way, so the nearest one counts.
 */
static const struct qdisc_size_table *
split_gso_size_table(const struct Qdisc *sch, const struct Qdisc *root)
{
	const struct qdisc_size_table *stab;

	while (!(stab = rcu_dereference_bh(sch->stab)) && sch != root)
		sch = split_gso_parent(sch, root);
	return stab;
}

/*
 * Return whether every parent that counts an arrival of @sch can be told that it
 * became several packets. taprio in software mode cannot, and would subtract more
 * packets than it added.
 */
static bool split_gso_can_report(const struct Qdisc *sch, const struct Qdisc *root)
{
	for (; sch != root; sch = split_gso_parent(sch, root))
		if (sch->flags & TCQ_F_NOPARENT)
			return false;
	return true;
}

/*
 * Return the length that the core charges for a packet of @len bytes. This repeats
 * __qdisc_calculate_pkt_len(), which is not exported.
 */
static u32 split_gso_charge(const struct qdisc_size_table *stab, u32 len)
{
	const struct tc_sizespec *s = &stab->szopts;
	int charge = len + s->overhead;
	u32 slot;

	if (s->tsize) {
		slot = max(charge + s->cell_align, 0) >> s->cell_log;
		charge = stab->data[slot % s->tsize];
		if (slot >= s->tsize)
			charge += stab->data[s->tsize - 1] * (slot / s->tsize);
		charge = (u32)charge << s->size_log;
	}
	return clamp(charge, 1, QDISC_PKT_LEN_MAX);
}

/*
 * A segment has the packet's control block, partly overwritten by
 * skb_gso_segment(). Set the fields that the core sets for an arriving packet, so
 * that a shaper charges for it what it charges for a packet of this length.
 */
static void split_gso_prepare(struct sk_buff *segment,
			      const struct qdisc_size_table *stab)
{
	qdisc_skb_cb(segment)->pkt_len = stab ? split_gso_charge(stab, segment->len) :
						segment->len;
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(segment)->pkt_segs = 1;
#endif
	tcf_set_qdisc_drop_reason(segment, QDISC_DROP_GENERIC);
	aqm_clear_conntrack(segment);
}

/**
 * split_gso() - split a GSO packet
 * @skb: the packet, which is freed by the caller
 * @sch: the discipline
 * @split: the option split_gso
 *
 * Return: the segments; NULL if the packet stays whole; an error if it cannot be split.
 */
struct sk_buff *split_gso(struct sk_buff *skb, struct Qdisc *sch, bool split)
{
	/* Read once: a task that takes the device down puts noop there, without the lock. */
	const struct Qdisc *root = qdisc_root_bh(sch);
	const struct qdisc_size_table *stab;
	struct sk_buff *segments, *segment;
	netdev_features_t features;

	if (!split || !split_gso_can_report(sch, root))
		return NULL;
	features = netif_skb_features(skb);
	segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segments))
		return segments;
	stab = split_gso_size_table(sch, root);
	for (segment = segments; segment; segment = segment->next)
		split_gso_prepare(segment, stab);
	return segments;
}
EXPORT_SYMBOL_GPL(split_gso);
