// SPDX-License-Identifier: GPL-2.0
/*
 * Models of mainline's parents (7.3). Each has two classes: the first holds the
 * discipline or the next parent, the second a plain FIFO. A model decides as
 * mainline does, from the child's return values and its calls of
 * qdisc_tree_reduce_backlog(), when a class becomes active or inactive, and when
 * the parent peeks at the child.
 *
 *	prio	no state; dequeues a packet that it may have peeked at
 *	tbf	peeks, then the packet waits for tokens; one class only
 *	drr	a class is listed on SUCCESS, unlisted when its child is empty
 *	ets	the same, but unlists only while the parent holds packets
 *	qfq	the same, and peeks at the child on each arrival of a listed class
 *	htb	listed on SUCCESS; skips a listed class that turns out to be empty
 *	hfsc	listed on SUCCESS only if the child was empty before that call
 *	hfsc-rt	the same, and isolates the head by a peek
 */
#include "world.h"

#define PARENT_CLASSES	2
#define PARENT_QUANTUM	1514
#define SIBLING_LIMIT	100

enum parent_kind { PRIO, TBF, DRR, ETS, QFQ, HTB, HFSC, HFSC_RT };

struct parent_class {
	struct Qdisc		*q;
	struct list_head	listed;
	s64			deficit;
	u64			vt;
};

struct parent {
	enum parent_kind	kind;
	u32			level;
	struct parent_class	c[PARENT_CLASSES];
	struct list_head	active;
	s64			tokens;	/* packets; negative: any number */
};

/* ---- the FIFO beside ---- */

static int sibling_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			   struct sk_buff **to_free)
{
	if (sch->q.qlen >= SIBLING_LIMIT)
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static const struct Qdisc_ops sibling_ops = {
	.id		= "sibling",
	.enqueue	= sibling_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.reset		= qdisc_reset_queue,
};

/* ---- what all parents share ---- */

static bool is_listed(const struct parent_class *cl)
{
	return !list_empty(&cl->listed);
}

static void list_it(struct parent *p, struct parent_class *cl)
{
	cl->deficit = PARENT_QUANTUM;
	list_add_tail(&cl->listed, &p->active);
}

static void hfsc_list(struct parent *p, struct parent_class *cl)
{
	struct parent_class *other = &p->c[cl == p->c];

	/* A class that was away does not come back with a claim. */
	if (is_listed(other) && other->vt > cl->vt)
		cl->vt = other->vt;
	list_it(p, cl);
}

static void charge(struct Qdisc *sch, struct sk_buff *skb)
{
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
}

static int parent_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct parent *p = qdisc_priv(sch);
	struct parent_class *cl = &p->c[skb->leaf == p->level];
	unsigned int len = qdisc_pkt_len(skb);
	bool first = !cl->q->q.qlen;
	int err;

	err = cl->q->enqueue(skb, cl->q, to_free);
	if (err != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(err))
			qdisc_qstats_drop(sch);
		return err;
	}
	if (p->kind != HFSC && p->kind != HFSC_RT && p->kind != QFQ &&
	    p->kind != PRIO && p->kind != TBF && !is_listed(cl))
		list_it(p, cl);

	sch->qstats.backlog += len;
	sch->q.qlen++;

	switch (p->kind) {
	case HFSC:
	case HFSC_RT:
		if (!first || is_listed(cl))
			break;
		hfsc_list(p, cl);
		if (p->kind == HFSC_RT)
			cl->q->ops->peek(cl->q);
		break;
	case QFQ:
		if (!is_listed(cl))
			list_it(p, cl);
		else if (skb == cl->q->ops->peek(cl->q) &&
			 list_first_entry(&p->active, struct parent_class,
					  listed) == cl && cl->deficit < len)
			list_move_tail(&cl->listed, &p->active);
		break;
	default:
		break;
	}
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *prio_dequeue(struct parent *p)
{
	struct sk_buff *skb;
	int i;

	for (i = 0; i < PARENT_CLASSES; i++) {
		skb = qdisc_dequeue_peeked(p->c[i].q);
		if (skb)
			return skb;
	}
	return NULL;
}

static struct sk_buff *tbf_dequeue(struct parent *p)
{
	struct Qdisc *child = p->c[0].q;
	struct sk_buff *skb = child->ops->peek(child);

	if (!skb || !p->tokens)
		return NULL;
	p->tokens -= p->tokens > 0;
	return qdisc_dequeue_peeked(child);
}

/* drr, ets and qfq: deficits and a look at the head. */
static struct sk_buff *rr_dequeue(struct parent *p)
{
	struct parent_class *cl;
	struct sk_buff *skb;
	s64 len;

	while (!list_empty(&p->active)) {
		cl = list_first_entry(&p->active, struct parent_class, listed);
		skb = cl->q->ops->peek(cl->q);
		if (!skb)
			return NULL;
		len = qdisc_pkt_len(skb);
		if (len <= cl->deficit) {
			cl->deficit -= len;
			skb = qdisc_dequeue_peeked(cl->q);
			if (skb && !cl->q->q.qlen)
				list_del_init(&cl->listed);
			return skb;
		}
		/* As many turns as it takes at once, when alone. */
		if (list_is_singular(&p->active))
			cl->deficit = len;
		cl->deficit += PARENT_QUANTUM;
		list_move_tail(&cl->listed, &p->active);
	}
	return NULL;
}

static struct sk_buff *htb_dequeue(struct parent *p)
{
	struct parent_class *cl;
	struct sk_buff *skb;

	while (!list_empty(&p->active)) {
		cl = list_first_entry(&p->active, struct parent_class, listed);
		if (!cl->q->q.qlen) {
			list_del_init(&cl->listed);
			continue;
		}
		skb = cl->q->dequeue(cl->q);
		if (!skb)
			return NULL;
		cl->deficit -= qdisc_pkt_len(skb);
		if (cl->deficit < 0) {
			cl->deficit += PARENT_QUANTUM;
			list_move_tail(&cl->listed, &p->active);
		}
		if (!cl->q->q.qlen)
			list_del_init(&cl->listed);
		return skb;
	}
	return NULL;
}

static struct sk_buff *hfsc_dequeue(struct parent *p)
{
	struct parent_class *cl, *least = NULL;
	struct sk_buff *skb;

	list_for_each_entry(cl, &p->active, listed)
		if (!least || cl->vt < least->vt)
			least = cl;
	if (!least)
		return NULL;
	skb = qdisc_dequeue_peeked(least->q);
	if (!skb)
		return NULL;
	least->vt += qdisc_pkt_len(skb);
	if (!least->q->q.qlen)
		list_del_init(&least->listed);
	else if (p->kind == HFSC_RT)
		least->q->ops->peek(least->q);
	return skb;
}

static struct sk_buff *parent_dequeue(struct Qdisc *sch)
{
	struct parent *p = qdisc_priv(sch);
	struct sk_buff *skb = NULL;

	switch (p->kind) {
	case PRIO:
		skb = prio_dequeue(p);
		break;
	case TBF:
		skb = tbf_dequeue(p);
		break;
	case DRR:
	case ETS:
	case QFQ:
		skb = rr_dequeue(p);
		break;
	case HTB:
		skb = htb_dequeue(p);
		break;
	case HFSC:
	case HFSC_RT:
		skb = sch->q.qlen ? hfsc_dequeue(p) : NULL;
		break;
	}
	if (skb)
		charge(sch, skb);
	return skb;
}

static struct sk_buff *parent_peek(struct Qdisc *sch)
{
	struct parent *p = qdisc_priv(sch);
	struct sk_buff *skb;
	int i;

	if (p->kind != PRIO)
		return qdisc_peek_dequeued(sch);
	for (i = 0; i < PARENT_CLASSES; i++) {
		skb = p->c[i].q->ops->peek(p->c[i].q);
		if (skb)
			return skb;
	}
	return NULL;
}

static void parent_reset(struct Qdisc *sch)
{
	struct parent *p = qdisc_priv(sch);
	int i;

	for (i = 0; i < PARENT_CLASSES; i++) {
		if (is_listed(&p->c[i]))
			list_del_init(&p->c[i].listed);
		qdisc_reset(p->c[i].q);
	}
}

/*
 * The child of class @minor holds nothing any more. Before spring 2025 drr, hfsc and
 * htb took this of an inactive class badly: drr unlinked it once more.
 */
static void parent_qlen_notify(struct Qdisc *sch, unsigned long minor)
{
	struct parent *p = qdisc_priv(sch);
	struct parent_class *cl = &p->c[minor - 1];

	if (!is_listed(cl))
		userspace_violation("qlen_notify of an inactive %s class",
				    sch->ops->id);
	if (p->kind == ETS && !sch->q.qlen)
		return;
	list_del_init(&cl->listed);
}

static const struct Qdisc_class_ops parent_class_ops = {
	.qlen_notify	= parent_qlen_notify,
};

static const struct Qdisc_class_ops plain_class_ops = {};

#define PARENT(name, ops)						\
	{								\
		.id		= name,					\
		.cl_ops		= ops,					\
		.priv_size	= sizeof(struct parent),		\
		.enqueue	= parent_enqueue,			\
		.dequeue	= parent_dequeue,			\
		.peek		= parent_peek,				\
		.reset		= parent_reset,				\
	}

static const struct Qdisc_ops parent_ops[] = {
	[PRIO]		= PARENT("prio", &plain_class_ops),
	[TBF]		= PARENT("tbf", &plain_class_ops),
	[DRR]		= PARENT("drr", &parent_class_ops),
	[ETS]		= PARENT("ets", &parent_class_ops),
	[QFQ]		= PARENT("qfq", &parent_class_ops),
	[HTB]		= PARENT("htb", &parent_class_ops),
	[HFSC]		= PARENT("hfsc", &parent_class_ops),
	[HFSC_RT]	= PARENT("hfsc-rt", &parent_class_ops),
};

/* ---- for the world ---- */

struct Qdisc *world_qdisc(const struct Qdisc_ops *ops, u32 handle, u32 parent)
{
	struct Qdisc *sch = aligned_alloc(64, (sizeof(*sch) + ops->priv_size + 63) & ~63UL);

	if (!sch)
		abort();
	memset(sch, 0, sizeof(*sch) + ops->priv_size);
	sch->ops = ops;
	sch->enqueue = ops->enqueue;
	sch->dequeue = ops->dequeue;
	sch->handle = handle;
	sch->parent = parent;
	sch->dev_queue = &world->txq;
	sch->flags = ops->static_flags;
	return sch;
}

/* Create a parent for @child at @level. Return NULL if @name is unknown. */
struct Qdisc *world_parent(const char *name, struct Qdisc *child, u32 level)
{
	struct parent *p;
	struct Qdisc *sch;
	size_t kind;
	int i;

	for (kind = 0; kind < ARRAY_SIZE(parent_ops); kind++)
		if (!strcmp(parent_ops[kind].id, name))
			break;
	if (kind == ARRAY_SIZE(parent_ops))
		return NULL;
	sch = world_qdisc(&parent_ops[kind], (0x8000 + level) << 16, TC_H_ROOT);
	p = qdisc_priv(sch);
	p->kind = kind;
	p->level = level;
	p->tokens = -1;
	INIT_LIST_HEAD(&p->active);
	for (i = 0; i < PARENT_CLASSES; i++)
		INIT_LIST_HEAD(&p->c[i].listed);
	p->c[0].q = child;
	child->parent = sch->handle | 1;
	child->above = sch;
	p->c[1].q = world_qdisc(&sibling_ops, 0, sch->handle | 2);
	p->c[1].q->above = sch;
	return sch;
}

bool parent_is_active(const struct Qdisc *parent, const struct Qdisc *child)
{
	const struct parent *p = qdisc_priv(parent);

	return p->kind == PRIO || p->kind == TBF ||
	       is_listed(&p->c[p->c[1].q == child]);
}

/* A count of @sch that is not the sum of what is below it and what it peeked at. */
const char *parent_wrong(const struct Qdisc *sch)
{
	const struct parent *p = qdisc_priv(sch);
	const struct Qdisc *a = p->c[0].q, *b = p->c[1].q;
	u32 qlen = a->q.qlen + b->q.qlen;
	u32 backlog = a->qstats.backlog + b->qstats.backlog;
	const struct sk_buff *skb;
	int i;

	for (skb = sch->gso_skb.head; skb; skb = skb->next) {
		qlen++;
		backlog += qdisc_pkt_len(skb);
	}
	if (sch->q.qlen != qlen)
		return "qlen";
	if (sch->qstats.backlog != backlog)
		return "backlog";
	if (sch->qstats.drops != a->qstats.drops + b->qstats.drops +
	    world->purge_drops[p->level] - (p->level == 1 ? world->unheard : 0))
		return "drops";
	if (p->kind == PRIO || p->kind == TBF)
		return NULL;
	for (i = 0; i < PARENT_CLASSES; i++) {
		if (p->c[i].q->q.qlen && !is_listed(&p->c[i]))
			return "a class that holds packets is not active: it will stall;";
		if (!p->c[i].q->q.qlen && is_listed(&p->c[i]) && p->kind != HTB)
			return "an empty class is active: it will block the others;";
	}
	return NULL;
}

/* Whether packets can pass beside the child. */
bool parent_has_sibling(const struct Qdisc *parent)
{
	const struct parent *p = qdisc_priv(parent);

	return p->kind != TBF;
}

void parent_tokens(struct Qdisc *parent, s64 tokens)
{
	struct parent *p = qdisc_priv(parent);

	p->tokens = tokens;
}

bool parent_may_wait(const struct Qdisc *parent)
{
	const struct parent *p = qdisc_priv(parent);

	return p->kind == TBF && !p->tokens;
}

void parent_free(struct Qdisc *sch)
{
	struct parent *p = qdisc_priv(sch);

	free(p->c[1].q);
	free(sch);
}
