// SPDX-License-Identifier: GPL-2.0
/* The rare steps of <aqm/flow_buffer.h>, for qsdrr and tdrr. */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <compat_5.h>
#include <aqm/flow_buffer.h>
#include <aqm/frame.h>
#include <aqm/packet_network.h>
#include <aqm/split_gso.h>
#include "internal.h"

#define FLOW_BUFFER_MIN_QUANTUM		256
#define FLOW_BUFFER_MAX_QUANTUM		SZ_1M
/* For the default of limit. */
#define FLOW_BUFFER_MIN_LIMIT		8	/* packets */
#define FLOW_BUFFER_DELAY		80	/* ms of the link */
#define FLOW_BUFFER_MIN_PACKET		1500	/* bytes */
/* For growing. */
#define FLOW_BUFFER_GROW		8U	/* as many queues as before */
#define FLOW_BUFFER_GROWS		4096	/* queues at most before */
#define FLOW_BUFFER_SETS		8192U	/* of flows at most */
#define FLOW_BUFFER_GROW_SETS		16U	/* as many sets as before, if flows have levels */
/* For resting. */
#define FLOW_BUFFER_LAZY		1024	/* queues at most */
#define FLOW_BUFFER_REST		60	/* seconds without packets */

/*
 * Set @number to the queue of an arrival, from 0. If a filter names a class above
 * the number of queues, the arrival is dropped.
 *
 * Return: 0, or the verdict on an arrival that was freed.
 */
static int __flow_buffer_classify(struct sk_buff *skb,
				  struct Qdisc *sch, u32 *number,
				  struct sk_buff **to_free)
{
	struct flow_buffer *b = qdisc_priv(sch);
	int verdict;
	u32 minor;

	verdict = filter_class(skb, sch, min_t(u32, b->named, FLOW_BUFFER_CLASSES),
			       &minor, to_free);
	if (unlikely(verdict))
		return verdict;
	if (unlikely(minor > b->named))
		return filter_class_drop(skb, sch,
					 NET_XMIT_SUCCESS | __NET_XMIT_BYPASS,
					 to_free);
	if (minor) {
		*number = minor - 1;
		flow_table_skip(&b->table);
		return 0;
	}
	*number = flow_buffer_hash(b, skb);
	if (b->ops->claimed && b->table.claimed != FLOW_NONE)
		b->ops->claimed(sch);
	return 0;
}

/**
 * struct flow_buffer_memory - what a buffer allocates
 * @queues: the queues; all bytes are 0 except for numbers, and they are in a list
 * @set: the flows; all bytes are 0
 */
struct flow_buffer_memory {
	struct flow_queue	*queues;
	struct flow_set		*set;
};

/* Return the sets of the first table: four entries per queue. */
static u32 flow_buffer_first_sets(const struct flow_buffer *b)
{
	return clamp(b->named / 2, 1U, FLOW_BUFFER_SETS);
}

/* Allocate an array that is filled with 0. Return: NULL without memory */
static void *flow_buffer_array(u32 number, size_t size, bool may_wait)
{
	if (!may_wait)
		return kcalloc(number, size, GFP_ATOMIC | __GFP_NOWARN);
	return kvcalloc(number, size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static void flow_buffer_free(const struct flow_buffer_memory *m)
{
	kvfree(m->queues);
	kvfree(m->set);
}

/*
 * Allocate queues and sets, unless their number is 0. The queues from @first on are in a
 * list.
 *
 * Return: false without memory
 */
static bool flow_buffer_alloc(const struct flow_buffer *b, struct flow_buffer_memory *m,
			      u32 first, u32 flows, u32 sets, bool may_wait)
{
	m->queues = flows ? flow_buffer_array(flows, NUMBERED_BYTES, may_wait) : NULL;
	m->set = sets ? flow_buffer_array(sets, sizeof(*m->set), may_wait) : NULL;
	if ((flows && !m->queues) || (sets && !m->set)) {
		flow_buffer_free(m);
		return false;
	}
	if (!flows)
		return true;
	numbered_links_init(&m->queues->turn, flows);
	numbered_links_init((void *)m->queues + b->ops->link, flows);
	numbered_list_chain(&m->queues->turn, first, flows - 1);
	return true;
}

/* Use the first queues and flows, or the first ones after a rest. */
static void flow_buffer_begin(struct Qdisc *sch, const struct flow_buffer_memory *m)
{
	struct flow_buffer *b = qdisc_priv(sch);

	flow_rounds_begin(&b->rounds, m->queues, b->flows);
	flow_table_begin(&b->table, m->set, flow_buffer_first_sets(b), b->named);
	b->ops->moved(sch, NULL);
	b->sent = 0;
	schedule_delayed_work(&b->idle, FLOW_BUFFER_REST * HZ);
}

/*
 * A packet has arrived, and there are no queues. Without memory, the work tries again
 * where it may wait for it.
 *
 * Return: whether there are queues now
 */
static bool flow_buffer_wake(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_buffer_memory m;

	if (!flow_buffer_alloc(b, &m, 0, b->flows, flow_buffer_first_sets(b), false)) {
		schedule_delayed_work(&b->work, 0);
		return false;
	}
	flow_buffer_begin(sch, &m);
	return true;
}

/* Use @m unless a packet has brought memory. Set it to what to free */
static void flow_buffer_offer(struct Qdisc *sch, struct flow_buffer_memory *m)
{
	struct flow_buffer *b = qdisc_priv(sch);

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	if (b->rounds.queues)
		return;
	flow_buffer_begin(sch, m);
	*m = (struct flow_buffer_memory) {};
}

/* The same in the work. */
static void flow_buffer_wake_late(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_buffer_memory m;

	if (!flow_buffer_alloc(b, &m, 0, b->flows, flow_buffer_first_sets(b), true))
		return;
	sch_tree_lock(sch);
	flow_buffer_offer(sch, &m);
	sch_tree_unlock(sch);
	flow_buffer_free(&m);
}

/* Give all memory back that the first packet can get again. */
static void flow_buffer_rest(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	const struct flow_buffer_memory old = { b->rounds.queues, b->table.set };

	sch_tree_lock(sch);
	if (b->rounds.active || b->table.old ||
	    (b->ops->is_spent && !b->ops->is_spent(sch))) {
		sch_tree_unlock(sch);
		schedule_delayed_work(&b->idle, FLOW_BUFFER_REST * HZ);
		return;
	}
	WRITE_ONCE(b->flows, b->named);
	flow_rounds_begin(&b->rounds, NULL, b->flows);
	flow_table_begin(&b->table, NULL, 0, b->named);
	b->ops->moved(sch, old.queues);
	sch_tree_unlock(sch);
	flow_buffer_free(&old);
}

/* Return whether a packet has left since the last call. */
static bool flow_buffer_has_sent(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u64 before = b->sent;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	b->sent = aqm_bstats_bytes(&sch->bstats);
	return b->sent != before;
}

/* Let the buffer rest if no packet has left for a while. */
static void flow_buffer_idle(struct work_struct *work)
{
	struct flow_buffer *b = container_of(to_delayed_work(work), struct flow_buffer, idle);
	struct Qdisc *sch = b->queue.link.sch;
	bool has_sent;

	if (!aqm_rtnl_trylock(&b->idle))
		return;
	sch_tree_lock(sch);
	has_sent = flow_buffer_has_sent(sch);
	sch_tree_unlock(sch);
	if (!has_sent)
		flow_buffer_rest(sch);
	else
		schedule_delayed_work(&b->idle, FLOW_BUFFER_REST * HZ);
	rtnl_unlock();
}

/**
 * flow_buffer_enqueue_other() - enqueue an arrival that is not flow_buffer_is_plain()
 * @skb: the arrival
 * @sch: the qdisc
 * @to_free: list of packets to free
 * @one: the qdisc's function that enqueues a packet, with its number of segments,
 *	into the queue with a number
 *
 * A GSO packet is classified once, before it is split. So filters and their actions
 * see the same packets as with other qdiscs.
 *
 * Return: the verdict.
 */
int
flow_buffer_enqueue_other(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free,
			  int (*one)(struct sk_buff *skb, struct Qdisc *sch,
				     struct sk_buff **to_free, u32 segments,
				     u32 number))
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct parents_before before = parents_before(sch);
	u32 len = qdisc_pkt_len(skb);
	int verdict;
	u32 number = 0;

	if (unlikely(!b->rounds.queues) && !flow_buffer_wake(sch))
		return aqm_drop(skb, sch, AQM_DROP_MEMORY, to_free);
	verdict = __flow_buffer_classify(skb, sch, &number, to_free);
	if (unlikely(verdict))
		return verdict;
	if (queued_is_gso(skb))
		return split_gso_enqueue(skb, sch, to_free, b->split_gso, number,
					 one);
	verdict = one(skb, sch, to_free, 1, number);
	if (sch->qstats.drops == before.drops)
		return verdict;
	return parents_report(sch, &before, len, verdict);
}
EXPORT_SYMBOL_GPL(flow_buffer_enqueue_other);

/* Return whether the flow of a packet owns a queue. A filter may choose another one. */
bool flow_buffer_owns(const struct flow_buffer *b, struct sk_buff *skb,
		      const struct flow_queue *fq)
{
	return flow_table_owns(&b->table, flow_mix(skb_get_hash(skb), b->salt), fq);
}
EXPORT_SYMBOL_GPL(flow_buffer_owns);

/* Mark the first packet of a queue that is not empty. Return: false if it cannot be marked */
bool flow_buffer_mark(struct Qdisc *sch, struct flow_queue *fq)
{
	if (!packet_set_ce(fq->head))
		return false;
	aqm_queue(sch)->signal.early_mark++;
	return true;
}
EXPORT_SYMBOL_GPL(flow_buffer_mark);

/*
 * Free the packets of one queue. The core resets qlen and backlog.
 *
 * Return: the queue; NULL if all queues are empty, also after a failed init.
 */
struct flow_queue *flow_buffer_purge(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *fq;

	aqm_queue_reset(sch);
	fq = flow_rounds_purge(&b->rounds, b->quantum);
	if (!fq && b->table.set)
		flow_table_reset(&b->table);
	return fq;
}
EXPORT_SYMBOL_GPL(flow_buffer_purge);

/* Return the default quantum, bytes. */
u32 flow_buffer_quantum(const struct Qdisc *sch)
{
	return clamp_t(u32, psched_mtu(qdisc_dev(sch)), FLOW_BUFFER_MIN_QUANTUM,
		       FLOW_BUFFER_MAX_QUANTUM);
}
EXPORT_SYMBOL_GPL(flow_buffer_quantum);

/*
 * Return the default limit: the packets that the link sends in FLOW_BUFFER_DELAY,
 * 59 * 10^6 at 2^40 bytes/s. It is at least FLOW_BUFFER_MIN_LIMIT, because TCP needs
 * a window of some packets at any rate.
 */
u32 flow_buffer_limit(const struct Qdisc *sch, u64 bandwidth)
{
	u32 packet = clamp_t(u32, READ_ONCE(qdisc_dev(sch)->mtu),
			     FLOW_BUFFER_MIN_PACKET, SZ_64K);
	u64 packets = div_u64(bandwidth * FLOW_BUFFER_DELAY, 1000 * packet);

	return max_t(u64, packets, FLOW_BUFFER_MIN_LIMIT);
}
EXPORT_SYMBOL_GPL(flow_buffer_limit);

/* Refuse another number of queues on a live qdisc. Return: 0 or an error */
int flow_buffer_check(struct Qdisc *sch, u32 flows,
		      struct netlink_ext_ack *extack)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	if (!b->named || flows == b->named)
		return 0;
	NL_SET_ERR_MSG_MOD(extack,
			   "flows cannot be changed on a live qdisc: delete it and add it again");
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(flow_buffer_check);

/* Switch to other options. Call before the qdisc is in use, or under the tree lock. */
void flow_buffer_set(struct Qdisc *sch, u32 quantum,
		     bool avoid_collisions, bool split_gso)
{
	struct flow_buffer *b = qdisc_priv(sch);

	if (quantum != b->quantum)
		flow_rounds_restart(&b->rounds);
	b->quantum = quantum;
	b->split_gso = split_gso;
	b->avoid_collisions = avoid_collisions;
	/* Without avoid_collisions, arrivals would repeat the claim of the last one before. */
	flow_table_skip(&b->table);
}
EXPORT_SYMBOL_GPL(flow_buffer_set);

/*
 * Return the present address of a queue's state that was at @queue before it moved;
 * NULL if there are no queues.
 */
void *flow_buffer_moved(const struct flow_buffer *b, const void *old, const void *queue)
{
	if (!queue || !b->rounds.queues)
		return NULL;
	return (void *)b->rounds.queues + (queue - old);
}
EXPORT_SYMBOL_GPL(flow_buffer_moved);

/* Use what was allocated, and set @m to what to free. */
static void flow_buffer_switch(struct Qdisc *sch, struct flow_buffer_memory *m, u32 flows,
			       u32 sets)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_queue *old = b->rounds.queues;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	if (m->queues) {
		memcpy(m->queues, old, (size_t)b->flows * NUMBERED_BYTES);
		flow_rounds_more(&b->rounds, m->queues, flows);
		WRITE_ONCE(b->flows, flows);
		b->ops->moved(sch, old);
		m->queues = old;
	}
	if (m->set) {
		flow_table_grow(&b->table, m->set, sets);
		m->set = NULL;
	}
}

/* Return the sets of the second table. */
static u32 flow_buffer_more_sets(const struct flow_buffer *b)
{
	u32 first = flow_buffer_first_sets(b);
	u32 times = b->table.level ? FLOW_BUFFER_GROW_SETS : FLOW_BUFFER_GROW;

	return first * min(times, FLOW_BUFFER_SETS / first);
}

/*
 * Switch to so many queues or sets, unless their number is 0. Under the lock we only copy
 * the present queues, at most 256 KB. Entries of flows move later: flow_buffer_move().
 */
static void flow_buffer_enlarge(struct Qdisc *sch, u32 flows, u32 sets)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_buffer_memory m;

	if (!flow_buffer_alloc(b, &m, b->flows, flows, sets, true))
		return;
	sch_tree_lock(sch);
	flow_buffer_switch(sch, &m, flows, sets);
	sch_tree_unlock(sch);
	flow_buffer_free(&m);
}

/* Add queues if wanted, and entries for flows. One of them may find no memory. */
static void flow_buffer_grow(struct Qdisc *sch, u32 wants)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 sets = flow_buffer_more_sets(b);

	if (wants & FLOW_WANTS_QUEUES)
		flow_buffer_enlarge(sch, b->named * FLOW_BUFFER_GROW, 0);
	if (sets != b->table.sets)
		flow_buffer_enlarge(sch, 0, sets);
}

/* Move some entries to the larger table. Return: the one before, when it is empty */
static struct flow_set *flow_buffer_move_some(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	return flow_table_move(&b->table, &b->rounds);
}

/* The lock is held briefly, and given back before the next entries move. */
static void flow_buffer_move(struct Qdisc *sch)
{
	struct flow_set *old;

	sch_tree_lock(sch);
	old = flow_buffer_move_some(sch);
	sch_tree_unlock(sch);
	kvfree(old);
}

/* Return which of the wanted additions are possible. */
static u32 flow_buffer_possible(const struct flow_buffer *b, u32 wants)
{
	if (b->flows > b->named || b->named > FLOW_BUFFER_GROWS)
		wants &= ~FLOW_WANTS_QUEUES;
	if (b->table.sets == flow_buffer_more_sets(b))
		wants &= ~FLOW_WANTS_ENTRIES;
	return wants;
}

/* Let the buffer grow, step by step. */
static void flow_buffer_work(struct work_struct *work)
{
	struct flow_buffer *b = container_of(to_delayed_work(work), struct flow_buffer, work);
	struct Qdisc *sch = b->queue.link.sch;
	u32 wants;

	if (!aqm_rtnl_trylock(&b->work))
		return;
	wants = flow_buffer_possible(b, READ_ONCE(b->wants));
	WRITE_ONCE(b->wants, 0);
	if (b->table.old)
		flow_buffer_move(sch);
	if (!READ_ONCE(b->rounds.queues))
		flow_buffer_wake_late(sch);
	else if (wants)
		flow_buffer_grow(sch, wants);
	if (b->table.old)
		schedule_delayed_work(&b->work, 0);
	rtnl_unlock();
}

/* The table of flows or the queues should grow. */
static void flow_buffer_want(struct flow_buffer *b)
{
	u32 wants = flow_buffer_possible(b, b->table.wants);

	b->table.wants = 0;
	if (!wants)
		return;
	WRITE_ONCE(b->wants, b->wants | wants);
	schedule_delayed_work(&b->work, 0);
}

/* Find the queue of a flow, or get one for it: flow_table_search(). Return: its number */
u32 flow_buffer_search(struct flow_buffer *b, u32 tag)
{
	u32 number = flow_table_search(&b->table, &b->rounds, tag);

	if (unlikely(b->table.wants))
		flow_buffer_want(b);
	return number;
}
EXPORT_SYMBOL_GPL(flow_buffer_search);

/**
 * flow_buffer_init() - set up a new buffer
 * @sch: the qdisc
 * @flows: number of queues
 * @ops: for growing, and resting
 * @extack: gets the error
 *
 * Each queue has NUMBERED_BYTES bytes, which are 0 except for its link. There may be no
 * queues yet. Then call flow_buffer_set().
 *
 * Return: 0 or an error
 */
int flow_buffer_init(struct Qdisc *sch, u32 flows, const struct flow_buffer_ops *ops,
		     struct netlink_ext_ack *extack)
{
	struct flow_buffer *b = qdisc_priv(sch);
	struct flow_buffer_memory m = {};

	INIT_DELAYED_WORK(&b->work, flow_buffer_work);
	INIT_DEFERRABLE_WORK(&b->idle, flow_buffer_idle);
	b->ops = ops;
	b->flows = flows;
	b->named = flows;
	b->salt = get_random_u32() | 1;
	b->table.useful = U32_MAX;
	flow_rounds_init(&b->rounds);
	if (flows > FLOW_BUFFER_LAZY &&
	    !flow_buffer_alloc(b, &m, 0, flows, flow_buffer_first_sets(b), true)) {
		NL_SET_ERR_MSG_MOD(extack, "no memory for the flow queues: lower flows");
		return -ENOMEM;
	}
	flow_rounds_begin(&b->rounds, m.queues, flows);
	flow_table_begin(&b->table, m.set, m.set ? flow_buffer_first_sets(b) : 0, b->named);
	return 0;
}
EXPORT_SYMBOL_GPL(flow_buffer_init);

/* Also after a failed init. */
void flow_buffer_destroy(struct Qdisc *sch)
{
	struct flow_buffer *b = qdisc_priv(sch);

	if (b->ops) {
		cancel_delayed_work_sync(&b->work);
		cancel_delayed_work_sync(&b->idle);
	}
	kvfree(b->table.old);
	kvfree(b->table.set);
	kvfree(b->rounds.queues);
}
EXPORT_SYMBOL_GPL(flow_buffer_destroy);

void __flow_buffer_stats(struct Qdisc *sch, struct flow_buffer_stats *st)
{
	const struct flow_buffer *b = qdisc_priv(sch);

	aqm_common_stats(sch, st);
	st->drop_oversize = b->queue.drops[AQM_DROP_OVERSIZE];
	st->drop_filter = b->queue.drops[AQM_DROP_FILTER];
	st->overflows = b->overflows;
	st->active = b->rounds.active;
	st->flows = b->flows;
	st->quantum = b->quantum;
}
EXPORT_SYMBOL_GPL(__flow_buffer_stats);

/* Return the number of queues in classes 1 to @cl. */
static u32 flow_buffer_class_end(const struct flow_buffer *b, u32 cl)
{
	return cl < FLOW_BUFFER_CLASSES ? cl : b->flows;
}

/*
 * Return the queue of a class that holds packets, or its first queue; NULL if there are
 * no queues. RTNL or the tree lock keeps the queues there.
 */
struct flow_queue *
flow_buffer_class(const struct flow_buffer *b, u32 cl)
{
	u32 i, end = flow_buffer_class_end(b, cl);
	struct flow_queue *fq;

	if (!READ_ONCE(b->rounds.queues))
		return NULL;
	for (i = cl - 1; i < end; i++) {
		fq = flow_rounds_queue(&b->rounds, i);
		if (READ_ONCE(fq->head))
			return fq;
	}
	return flow_rounds_queue(&b->rounds, cl - 1);
}
EXPORT_SYMBOL_GPL(flow_buffer_class);

/* Return the bytes that a queue may send until the end of the present round. */
s32 flow_buffer_account(const struct flow_buffer *b, struct flow_queue *fq)
{
	const struct flow_rounds *fr = &b->rounds;

	if (!fq->head)
		return 0;
	__flow_queue_renew(fr, fq, b->quantum);
	return fq->credit - (u32)(fq->round - fr->round) *
			    max(b->quantum, fr->least);
}
EXPORT_SYMBOL_GPL(flow_buffer_account);

/* Count the packets of a class. None of them may leave meanwhile. */
void flow_buffer_count(struct Qdisc *sch, u32 cl,
		       struct gnet_stats_queue *qs)
{
	struct flow_buffer *b = qdisc_priv(sch);
	u32 i, end = flow_buffer_class_end(b, cl);
	const struct flow_queue *fq;

	lockdep_assert_held(qdisc_root_sleeping_lock(sch));
	for (i = cl - 1; b->rounds.queues && i < end; i++) {
		fq = flow_rounds_queue(&b->rounds, i);
		flow_queue_count(fq, qs);
		qs->drops += fq->dropped;
	}
}
EXPORT_SYMBOL_GPL(flow_buffer_count);

/**
 * flow_buffer_walk() - Qdisc_class_ops.walk over the classes that have a packet
 * @sch: the qdisc
 * @arg: the walk
 */
void flow_buffer_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	const struct flow_buffer *b = qdisc_priv(sch);
	u32 cl, classes = min_t(u32, b->flows, FLOW_BUFFER_CLASSES);
	const struct flow_queue *fq;

	for (cl = 1; cl <= classes && !arg->stop; cl++) {
		fq = flow_buffer_class(b, cl);
		if (fq && READ_ONCE(fq->head))
			tc_qdisc_stats_dump(sch, cl, arg);
		else
			arg->count++;
	}
}
EXPORT_SYMBOL_GPL(flow_buffer_walk);
