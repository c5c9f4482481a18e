// SPDX-License-Identifier: GPL-2.0
/*
 * tracelink - a link whose rate and delay follow a trace.
 *
 * The trace is a list of pieces, which begins anew after the last one. A piece
 * lasts for some time, in which the link carries some bytes at a constant rate. A
 * packet leaves the child qdisc when the link has carried all its bytes, and
 * leaves the link after the piece's delay, but never before an earlier packet.
 * Capacity that no packet uses is lost.
 *
 * A link can send frames of several packets, as Wi-Fi does (A-MPDU). When it is
 * free, it takes all packets that the child has, up to the size of a frame. They
 * leave together when the link has carried the bytes of all of them.
 *
 * A change adds pieces, or sets the time at which the first piece begins, or the
 * packets of a frame.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <compat_5.h>

enum {
	TCA_TRACELINK_UNSPEC,
	TCA_TRACELINK_PIECES,	/* struct trace_piece[] */
	TCA_TRACELINK_START,	/* u64, ns of CLOCK_MONOTONIC */
	TCA_TRACELINK_AGGREGATE,	/* u32, packets of a frame */
	__TCA_TRACELINK_MAX
};

#define TCA_TRACELINK_MAX (__TCA_TRACELINK_MAX - 1)

struct trace_piece {
	u32 us;
	u32 bytes;
	u32 delay_us;
};

struct tracelink_sched_data {
	struct Qdisc *qdisc;
	struct qdisc_watchdog watchdog;
	struct trace_piece *pieces;
	u32 nr_pieces;
	u32 at;				/* the present piece */
	u64 begin_ns;			/* when it began */
	u64 capacity;			/* bytes, of all pieces before it */
	u64 used;			/* bytes of the capacity, sent or lost */
	bool idle;
	u32 aggregate;		/* at most, in a frame */
	struct qdisc_skb_head frame;	/* packets that the link is sending */
	struct qdisc_skb_head sent;	/* packets whose delay has not passed */
};

struct tracelink_skb_cb {
	u64 leave_ns;
};

static struct tracelink_skb_cb *tracelink_skb_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct tracelink_skb_cb));
	return (struct tracelink_skb_cb *)qdisc_skb_cb(skb)->data;
}

static u64 piece_ns(const struct trace_piece *piece)
{
	return (u64)piece->us * NSEC_PER_USEC;
}

/* Return the bytes that the link could carry until @now, and go on to the present piece. */
static u64 capacity_until(struct tracelink_sched_data *q, u64 now)
{
	const struct trace_piece *piece = &q->pieces[q->at];

	while (now >= q->begin_ns + piece_ns(piece)) {
		q->begin_ns += piece_ns(piece);
		q->capacity += piece->bytes;
		q->at = q->at + 1 < q->nr_pieces ? q->at + 1 : 0;
		piece = &q->pieces[q->at];
	}
	if (now <= q->begin_ns)		/* the trace has not begun */
		return q->capacity;
	return q->capacity + mul_u64_u64_div_u64(piece->bytes, now - q->begin_ns,
						 piece_ns(piece));
}

/* Return when the link will have carried @bytes. That is after the present piece began. */
static u64 time_of(const struct tracelink_sched_data *q, u64 bytes)
{
	const struct trace_piece *piece = &q->pieces[q->at];
	u64 begin_ns = q->begin_ns, left = bytes - q->capacity;

	while (left > piece->bytes) {
		left -= piece->bytes;
		begin_ns += piece_ns(piece);
		piece = piece + 1 < q->pieces + q->nr_pieces ? piece + 1 : q->pieces;
	}
	return begin_ns + mul_u64_u64_div_u64(left, piece_ns(piece), piece->bytes) + 1;
}

static int tracelink_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, q->qdisc, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static void send(struct tracelink_sched_data *q, struct sk_buff *skb, u64 now)
{
	tracelink_skb_cb(skb)->leave_ns =
		now + (u64)q->pieces[q->at].delay_us * NSEC_PER_USEC;
	__qdisc_enqueue_tail(skb, &q->sent);
}

/* Take the packets of the next frame from the child. Return false if the child has no packets. */
static bool fill_frame(struct tracelink_sched_data *q, u64 capacity)
{
	struct sk_buff *skb;

	if (q->idle)
		q->used = max(q->used, capacity);
	while (q->frame.qlen < q->aggregate && (skb = qdisc_dequeue_peeked(q->qdisc))) {
		q->used += qdisc_pkt_len(skb);
		__qdisc_enqueue_tail(skb, &q->frame);
	}
	q->idle = !q->frame.qlen;
	return !q->idle;
}

/* Send frames until the capacity is used. Return when it suffices for the present one. */
static u64 take_frames(struct tracelink_sched_data *q, u64 now)
{
	u64 capacity = capacity_until(q, now);
	struct sk_buff *skb;

	while (q->frame.qlen || fill_frame(q, capacity)) {
		if (q->used > capacity)
			return time_of(q, q->used);
		while ((skb = __qdisc_dequeue_head(&q->frame)))
			send(q, skb, now);
	}
	return U64_MAX;
}

/* Take packets from the child until the capacity is used. Return when it suffices for the next. */
static u64 take(struct tracelink_sched_data *q, u64 now)
{
	u64 capacity = capacity_until(q, now);
	struct sk_buff *skb;

	while ((skb = q->qdisc->ops->peek(q->qdisc))) {
		u64 end;

		if (q->idle)
			q->used = max(q->used, capacity);
		q->idle = false;
		end = q->used + qdisc_pkt_len(skb);
		if (end > capacity)
			return time_of(q, end);
		skb = qdisc_dequeue_peeked(q->qdisc);
		if (!skb)
			break;
		q->used = end;
		send(q, skb, now);
	}
	q->idle = true;
	return U64_MAX;
}

static struct sk_buff *tracelink_dequeue(struct Qdisc *sch)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	bool frames = q->aggregate > 1 || q->frame.qlen;
	u64 wake_ns = frames ? take_frames(q, now) : take(q, now);
	struct sk_buff *skb = q->sent.head;

	if (skb && tracelink_skb_cb(skb)->leave_ns <= now) {
		skb = __qdisc_dequeue_head(&q->sent);
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	if (skb)
		wake_ns = min(wake_ns, tracelink_skb_cb(skb)->leave_ns);
	if (wake_ns != U64_MAX)
		qdisc_watchdog_schedule_ns(&q->watchdog, wake_ns);
	return NULL;
}

static void tracelink_reset(struct Qdisc *sch)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->qdisc);
	__qdisc_reset_queue(&q->frame);
	__qdisc_reset_queue(&q->sent);
	q->idle = true;
	qdisc_watchdog_cancel(&q->watchdog);
}

/* Append the pieces in @attr. Without a time or capacity, a trace would never end. */
static int add_pieces(struct Qdisc *sch, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);
	u32 i, more = nla_len(attr) / sizeof(struct trace_piece);
	struct trace_piece *pieces, *old = q->pieces;
	u64 bytes = 0;

	pieces = kvmalloc_array(q->nr_pieces + more, sizeof(*pieces), GFP_KERNEL);
	if (!pieces)
		return -ENOMEM;
	if (q->nr_pieces)
		memcpy(pieces, old, q->nr_pieces * sizeof(*pieces));
	memcpy(pieces + q->nr_pieces, nla_data(attr), more * sizeof(*pieces));
	more += q->nr_pieces;
	for (i = 0; i < more && pieces[i].us; i++)
		bytes += pieces[i].bytes;
	if (i < more || bytes < psched_mtu(qdisc_dev(sch))) {
		NL_SET_ERR_MSG(extack, "a piece has no time, or all have less than a packet");
		kvfree(pieces);
		return -EINVAL;
	}
	sch_tree_lock(sch);
	q->pieces = pieces;
	q->nr_pieces = more;
	sch_tree_unlock(sch);
	kvfree(old);
	return 0;
}

static int tracelink_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	static const struct nla_policy policy[TCA_TRACELINK_MAX + 1] = {
		[TCA_TRACELINK_PIECES] = { .type = NLA_BINARY },
		[TCA_TRACELINK_START] = { .type = NLA_U64 },
		[TCA_TRACELINK_AGGREGATE] = NLA_POLICY_MIN(NLA_U32, 1),
	};
	struct tracelink_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_TRACELINK_MAX + 1];
	int err = nla_parse_nested_deprecated(tb, TCA_TRACELINK_MAX, opt, policy, extack);

	if (!err && tb[TCA_TRACELINK_PIECES])
		err = add_pieces(sch, tb[TCA_TRACELINK_PIECES], extack);
	if (err)
		return err;
	sch_tree_lock(sch);
	if (tb[TCA_TRACELINK_START]) {
		q->begin_ns = nla_get_u64(tb[TCA_TRACELINK_START]);
		q->at = 0;
		q->capacity = 0;
		q->used = 0;
	}
	if (tb[TCA_TRACELINK_AGGREGATE])
		q->aggregate = nla_get_u32(tb[TCA_TRACELINK_AGGREGATE]);
	sch_tree_unlock(sch);
	return 0;
}

static int tracelink_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->qdisc = &noop_qdisc;
	q->idle = true;
	q->aggregate = 1;
	q->begin_ns = ktime_get_ns();
	err = opt ? tracelink_change(sch, opt, extack) : -EINVAL;
	if (err || !q->nr_pieces)
		return err ?: -EINVAL;
	q->qdisc = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
				     TC_H_MAKE(sch->handle, 1), extack);
	if (!q->qdisc) {
		q->qdisc = &noop_qdisc;
		return -ENOMEM;
	}
	qdisc_hash_add(q->qdisc, true);
	return 0;
}

static void tracelink_destroy(struct Qdisc *sch)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->qdisc);
	kvfree(q->pieces);
}

static int tracelink_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				struct tcmsg *tcm)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->qdisc->handle;
	return 0;
}

static int tracelink_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			   struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->qdisc);
	return 0;
}

static struct Qdisc *tracelink_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct tracelink_sched_data *q = qdisc_priv(sch);

	return q->qdisc;
}

static unsigned long tracelink_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void tracelink_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops tracelink_class_ops = {
	.graft	= tracelink_graft,
	.leaf	= tracelink_leaf,
	.find	= tracelink_find,
	.walk	= tracelink_walk,
	.dump	= tracelink_dump_class,
};

static struct Qdisc_ops tracelink_ops __read_mostly = {
	.id		= "tracelink",
	.cl_ops		= &tracelink_class_ops,
	.priv_size	= sizeof(struct tracelink_sched_data),
	.enqueue	= tracelink_enqueue,
	.dequeue	= tracelink_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= tracelink_init,
	.change		= tracelink_change,
	.reset		= tracelink_reset,
	.destroy	= tracelink_destroy,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS("net-sch-tracelink");	/* MODULE_ALIAS_NET_SCH("tracelink") since 6.8 */

static int __init tracelink_module_init(void)
{
	return register_qdisc(&tracelink_ops);
}

static void __exit tracelink_module_exit(void)
{
	unregister_qdisc(&tracelink_ops);
}

module_init(tracelink_module_init)
module_exit(tracelink_module_exit)
MODULE_DESCRIPTION("A link whose rate and delay follow a trace");
MODULE_LICENSE("GPL");
