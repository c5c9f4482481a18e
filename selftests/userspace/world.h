/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A discipline with its parents and packets, and checks of all counts.
 *
 * One world has one compiled-in discipline, at the root of a device or below one
 * or two parents. world_do() performs one operation of a trace and then checks
 * that every count agrees with the packets. A wrong count, list or division is a
 * violation, which ends the operation and the world.
 *
 * README.md describes traces.
 */
#ifndef USERSPACE_WORLD_H
#define USERSPACE_WORLD_H

#include <setjmp.h>

#include <compat.h>
#include <compat_5.h>

#define WORLD_LEVELS	3	/* the discipline and two parents */
#define SPEED_UNASKABLE	0x80000000U	/* Mb/s: the device cannot be asked */
#define WORLD_BROKEN	(-1000)	/* world_do(): a violation */
#define WORLD_MALFORMED	(-1001)	/* world_do(): not an operation */

/**
 * struct world_account - packets and bytes
 * @n: packets
 * @bytes: sum of qdisc_pkt_len()
 */
struct world_account {
	u64	n;
	u64	bytes;
};

/**
 * struct world - state of a world
 * @violation: description of the violation; empty if there was none
 * @verdict: NET_XMIT_... of the last enqueue at the root
 * @message: last extack or log line; empty if there was none
 * @warnings: number of log lines
 * @fatal: abort() on a violation
 * @entry: jump buffer for a violation
 * @now: the time, ns
 * @work: work that @kind asked for; NULL: none
 * @follows: do @work, so that the discipline follows a measured rate
 * @measured: @work was done
 * @random: state of the random numbers
 * @seed: initial state
 * @filters: pointer to the discipline's list of filters; NULL: it takes none
 * @fail_in: the allocation that will fail, counted from 1; 0: none
 * @down_in: the look at the root after which the device has none, counted from 1; 0: none
 * @locked: the qdisc lock is held
 * @locks: number of times the discipline took the lock
 * @walk: check the inner structures after each operation
 * @purging: packets that are freed are neither sent nor lost
 * @bypass: respect TCQ_F_CAN_BYPASS
 * @allocations: allocations not yet freed
 * @purge_drops: for each level, losses that only this level and those above know of
 * @unheard: losses that are correctly not reported to the parents
 * @over: bytes that @kind and the parents correctly count too many
 * @kind: the discipline
 * @dequeue: dequeue() of @kind
 * @levels: @kind, its parent, its parent
 * @depth: entries of @levels
 * @alive: packets not yet freed, the newest first
 * @held: packets that @kind or a parent holds, without those of other leaves
 * @flight: packets that the driver took and has not sent
 * @sent: packets sent by the driver
 * @lost: packets freed without being sent
 * @congested: lost packets whose drop reason is congestion
 * @stolen: packets stolen by a filter
 * @filtered: packets dropped by a filter
 * @purged: packets freed by a reset
 * @consumed: packets split into segments
 * @reduced_n: packets that @kind reported to its parents in this operation
 * @reduced_len: bytes reported
 * @reduced_drops: reported packets that counted as drops
 * @peeked: packet seen by the last peek
 * @number: number of the next packet
 * @out: number and TOS of the packets sent in this operation
 * @n_out: entries of @out
 * @out_room: room of @out
 */
struct world {
	char			violation[512];
	int			verdict;
	char			message[256];
	u32			warnings;
	bool			fatal;
	bool			forgot;	/* the device no longer knows its speed */
	bool			stale;	/* memory failed when the device changed */
	jmp_buf			entry;
	u64			now;
	struct delayed_work	*work[3];
	bool			follows;
	bool			measured;
	u64			random;
	u64			seed;
	struct tcf_proto	**filters;
	u32			fail_in;
	u32			down_in;
	bool			locked;
	u64			locks;
	bool			walk;
	bool			purging;
	bool			bypass;
	u32			allocations;
	u32			purge_drops[WORLD_LEVELS];
	u32			unheard;
	u32			over;
	struct net_device	dev;
	struct netdev_queue	txq;
	struct Qdisc		*kind;
	struct sk_buff		*(*dequeue)(struct Qdisc *sch);
	struct Qdisc		*levels[WORLD_LEVELS];
	u32			depth;
	struct list_head	alive;
	struct world_account	held;
	struct qdisc_skb_head	flight;
	struct world_account	sent;
	struct world_account	lost;
	u64			congested;
	struct world_account	stolen;
	struct world_account	filtered;
	struct world_account	purged;
	struct world_account	consumed;
	s64			reduced_n;
	s64			reduced_len;
	u64			reduced_drops;
	struct sk_buff		*peeked;
	u32			number;
	u32			(*out)[2];
	u32			n_out;
	u32			out_room;
};

extern struct world *world;		/* the world in which an operation runs */
extern struct Qdisc_ops *world_ops;	/* the compiled-in discipline */
extern u32 world_most_alloc;		/* larger allocations fail, as in the kernel */
extern int world_stderr;		/* file descriptor for messages */

/* State of a qdisc or class for Python. */
struct world_stats {
	u32	minor;
	u32	qlen;
	u32	backlog;
	u32	drops;
	u32	overlimits;
	u32	requeues;
	u64	bytes;
	u64	packets;
	u32	active;		/* its class in the parent above; 1: none above */
	u32	xstats_len;
	u8	xstats[512];
};

/* ---- the library ---- */

/*
 * @options: options as for tc qdisc add ... KIND; @topology: names of parents from
 * the root down, separated by a space; "" if the harness is the parent, "red" if it calls
 * itself so, or "root" or "mq" if no parent counts its packets; @seed: seed of the kernel's random
 * numbers. Sets @error to NULL or to a message.
 */
struct world *world_new(const char *options, const char *topology, u64 seed,
			const char **error);
int world_do(struct world *w, const char *operation);
const u32 *world_out(const struct world *w, u32 *n);
int world_stats(struct world *w, u32 level, struct world_stats *st);
int world_classes(struct world *w, struct world_stats *st, u32 room);
int world_named(struct world *w, u32 minor, char *json, u32 room);
int world_options(struct world *w, char *json, u32 room);
u64 world_now(const struct world *w);
const char *world_violation(const struct world *w);
int world_verdict(const struct world *w);
const char *world_message(const struct world *w);
u32 world_warnings(const struct world *w);
int world_free(struct world *w);
void world_fatal(struct world *w);
void world_walk(struct world *w);

/* ---- inside ---- */

/* Checks of inner/KIND.c, if the discipline has one; @deep: also slow checks. */
void userspace_inner(struct Qdisc *sch, bool deep) __attribute__((weak));


struct sk_buff *world_skb(u32 len, u32 truesize);
__be16 behind_tags(const struct sk_buff *skb, int *at);
void world_move(struct sk_buff *skb, enum userspace_where where);
void world_retire(struct sk_buff *skb, struct world_account *account);
void world_check(void);
void world_notify(struct net_device *dev, unsigned long event);
struct Qdisc *world_parent(const char *name, struct Qdisc *child, u32 level);
struct Qdisc *world_qdisc(const struct Qdisc_ops *ops, u32 handle, u32 parent);
bool parent_is_active(const struct Qdisc *parent, const struct Qdisc *child);
const char *parent_wrong(const struct Qdisc *parent);
bool parent_has_sibling(const struct Qdisc *parent);
void parent_tokens(struct Qdisc *parent, s64 tokens);
bool parent_may_wait(const struct Qdisc *parent);
void parent_free(struct Qdisc *parent);

/* ---- tc: its plugin makes attributes out of words, and words of attributes */

int tc_options(const char *words, void *msg, size_t room);
int tc_print(const void *attr, bool xstats, char *json, size_t room);
bool tc_has_classes(void);

/* Lists of the discipline's uapi header, ended by an entry without a name. */
struct tc_statistic {
	const char *name;
	const char *meaning;
};

extern const struct tc_statistic tc_statistics[];

#endif /* USERSPACE_WORLD_H */
