/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FIFO from which any packet can be removed. Packets can be drawn at random if the
 * qdisc asks for it.
 *
 * A packet that a parent has peeked at, or that the driver handed back, is not in
 * the FIFO: it is not drawn, and does not count in the average or the limit.
 */
#ifndef _AQM_RED_FIFO_H
#define _AQM_RED_FIFO_H

#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <aqm/frame.h>
#include <aqm/queue.h>
#include <aqm/random_draw.h>
#include <aqm/red_queue.h>
#include <aqm/seeded_random.h>

/**
 * struct red_fifo - the FIFO; under the qdisc lock
 * @packets: the packets, in order of arrival
 * @draw: array of the same packets for random draws, if used
 * @red: RED's state for the whole queue
 * @random: generator for RED and for the draws
 */
struct red_fifo {
	struct sk_buff_head	packets;
	struct random_draw	draw;
	struct gentle_red_vars	red;
	struct seeded_random	random;
};

/**
 * struct red_fifo_cb - values stored with a queued packet
 * @queued: see struct queued_cb
 * @tag: value for the qdisc's own use
 * @slot: its slot in red_fifo.draw
 */
struct red_fifo_cb {
	struct queued_cb	queued;
	u32		tag;
	u32		slot;
};

static inline struct red_fifo_cb *red_fifo_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct red_fifo_cb));
	return (struct red_fifo_cb *)qdisc_skb_cb(skb)->data;
}

/* Allocate @slots for draws from a FIFO of @limit packets. Return: 0 or an error */
static inline int red_fifo_alloc(void ***slots, u32 limit,
				 struct netlink_ext_ack *extack)
{
	*slots = kvmalloc_array(limit, sizeof(void *), GFP_KERNEL_ACCOUNT);
	if (*slots)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no memory for the queue");
	return -ENOMEM;
}

/* Initialize an empty FIFO; @slots are from red_fifo_alloc(). */
static inline void red_fifo_init(struct red_fifo *rf, void **slots,
				 const struct gentle_red_params *p, u32 seed)
{
	__skb_queue_head_init(&rf->packets);
	rf->draw.slots = slots;
	gentle_red_init(&rf->red, p, ktime_get_ns());
	seeded_random_init(&rf->random, seed);
}

/* Safe after a failed init. */
static inline void red_fifo_destroy(struct red_fifo *rf)
{
	kvfree(rf->draw.slots);
}

/* Return the number of packets in the FIFO. */
static inline u32 red_fifo_count(const struct red_fifo *rf)
{
	return rf->packets.qlen;
}

/* Add an arrival of @segments that fits. */
static inline void red_fifo_add(struct Qdisc *sch, struct red_fifo *rf,
				struct sk_buff *skb, u32 segments, u32 tag)
{
	__skb_queue_tail(&rf->packets, skb);
	red_fifo_cb(skb)->tag = tag;
	if (rf->draw.slots)
		red_fifo_cb(skb)->slot = random_draw_add(&rf->draw, skb);
	aqm_queue_add(sch, skb, segments, 0);
}

/* Remove a packet. */
static inline void red_fifo_remove(struct Qdisc *sch, struct red_fifo *rf,
				   struct sk_buff *skb)
{
	u32 slot = red_fifo_cb(skb)->slot;

	__skb_unlink(skb, &rf->packets);
	if (rf->draw.slots)
		red_fifo_cb(random_draw_remove(&rf->draw, slot))->slot = slot;
	aqm_queue_remove(sch, skb);
	red_queue_removed(&rf->red, red_fifo_count(rf));
}

/* Draw a packet at random. The FIFO must not be empty. */
static inline struct sk_buff *red_fifo_drawn(struct red_fifo *rf)
{
	return rf->draw.slots[seeded_random_below(&rf->random, rf->draw.count)];
}

/* Return the packet that no longer fits after a change: the newest one. NULL: all fit. */
static inline struct sk_buff *red_fifo_excess(struct Qdisc *sch,
					      const struct red_fifo *rf)
{
	return aqm_queue_is_over(sch) ? skb_peek_tail(&rf->packets) : NULL;
}

/**
 * red_fifo_draw() - use other slots for draws after a change
 * @rf: the FIFO, whose packets fit
 * @slots: from red_fifo_alloc()
 * @draws: the qdisc draws packets at random
 *
 * Return: slots to free after the tree is unlocked, or NULL.
 */
static inline void **red_fifo_draw(struct red_fifo *rf, void **slots, bool draws)
{
	void **old = rf->draw.slots;
	struct sk_buff *skb;

	if (!slots && draws)
		return NULL;
	if (old && slots)
		return random_draw_move(&rf->draw, slots);
	rf->draw = (struct random_draw) { .slots = slots };
	if (slots)
		skb_queue_walk(&rf->packets, skb)
			red_fifo_cb(skb)->slot = random_draw_add(&rf->draw, skb);
	return old;
}

/* Purge all packets uncounted, and restart RED. Safe after a failed init. */
static inline void red_fifo_reset(struct Qdisc *sch, struct red_fifo *rf,
				  const struct gentle_red_params *p)
{
	struct sk_buff *skb;

	aqm_queue_reset(sch);
	while ((skb = __skb_dequeue(&rf->packets)))
		rtnl_kfree_skbs(skb, skb);
	rf->draw.count = 0;
	gentle_red_init(&rf->red, p, ktime_get_ns());
}

#endif /* _AQM_RED_FIFO_H */
