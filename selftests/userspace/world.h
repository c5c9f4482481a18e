/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A discipline, what is above it, the packets, and the account kept of them.
 *
 * One world is one discipline, the one that is compiled in, at the root of a
 * device or below one or two parents. world_do() does one operation of a trace
 * and checks afterwards that every count agrees with the packets that are
 * there. What does not agree, what a list or a division would have tripped
 * over in the kernel, is a violation: it ends the operation and the world.
 *
 * README.md has the language of a trace.
 */
#ifndef USERSPACE_WORLD_H
#define USERSPACE_WORLD_H

#include <setjmp.h>

#include <compat.h>

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
 * struct world - the whole
 * @violation: what went wrong; empty while nothing did
 * @verdict: of the last enqueue at the root, a NET_XMIT_...
 * @message: of the last extack, or line in the log; empty if there was none
 * @warnings: lines in the log
 * @fatal: abort() on a violation
 * @entry: where a violation returns to
 * @now: the time, ns
 * @random: state of the random numbers
 * @seed: their first state
 * @filters: pointer to the discipline's list of filters; NULL: it takes none
 * @fail_in: the allocation that will fail, counted from 1; 0: none
 * @locked: the qdisc lock is held
 * @locks: how often the discipline has taken it
 * @walk: the inner structures are walked over after each operation
 * @purging: packets that are freed are neither sent nor lost
 * @bypass: TCQ_F_CAN_BYPASS counts
 * @allocations: not freed yet
 * @purge_drops: losses that only the parents know of
 * @unheard: losses that the parents were not told of, rightly
 * @over: bytes that the parents count too many, rightly
 * @kind: the discipline
 * @levels: @kind, its parent, its parent
 * @depth: entries of @levels
 * @alive: packets not yet freed
 * @flight: packets that the driver took and has not sent
 * @sent: by the driver
 * @lost: freed without having been sent
 * @congested: of them those whose reason is congestion
 * @stolen: taken by a filter
 * @filtered: lost to a filter
 * @purged: by a reset
 * @consumed: cut into segments
 * @told_n: what @kind told its parents in this operation, packets
 * @told_len: bytes
 * @told_drops: the packets of them that counted as lost
 * @peeked: what the last peek saw
 * @number: next packet's
 * @out: number and TOS of the packets sent in this operation
 * @n_out: how many
 * @out_room: for how many there is room
 */
struct world {
	char			violation[512];
	int			verdict;
	char			message[256];
	u32			warnings;
	bool			fatal;
	bool			forgot;	/* the device no longer knows its speed */
	jmp_buf			entry;
	u64			now;
	u64			random;
	u64			seed;
	struct tcf_proto	**filters;
	u32			fail_in;
	bool			locked;
	u64			locks;
	bool			walk;
	bool			purging;
	bool			bypass;
	u32			allocations;
	u32			purge_drops;
	u32			unheard;
	u32			over;
	struct net_device	dev;
	struct netdev_queue	txq;
	struct Qdisc		*kind;
	struct Qdisc		*levels[WORLD_LEVELS];
	u32			depth;
	struct list_head	alive;
	struct qdisc_skb_head	flight;
	struct world_account	sent;
	struct world_account	lost;
	u64			congested;
	struct world_account	stolen;
	struct world_account	filtered;
	struct world_account	purged;
	struct world_account	consumed;
	s64			told_n;
	s64			told_len;
	u64			told_drops;
	struct sk_buff		*peeked;
	u32			number;
	u32			(*out)[2];
	u32			n_out;
	u32			out_room;
};

extern struct world *world;		/* whose turn it is */
extern struct Qdisc_ops *world_ops;	/* of the discipline compiled in */
extern u32 world_most_alloc;		/* larger ones fail; as the kernel's */
extern int world_stderr;		/* where a fatal violation is told */

/* What Python sees of a qdisc or a class. */
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
 * @options: as typed after tc qdisc add ... KIND; @topology: names of parents,
 * from the root down, with a space between; "" for the root; seed: of the
 * kernel's random numbers. Sets @error to NULL or what was wrong.
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

/* Of inner/KIND.c, for those that have one; @deep: also what takes long. */
void userspace_inner(struct Qdisc *sch, bool deep) __attribute__((weak));


struct sk_buff *world_skb(u32 len, u32 truesize);
__be16 behind_tags(const struct sk_buff *skb, int *at);
void world_lose(struct sk_buff *skb);
void world_gone(struct sk_buff *skb, struct world_account *account);
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

/* The discipline's, as its uapi header lists them; one without a name at the end. */
struct tc_statistic {
	const char *name;
	const char *meaning;
};

extern const struct tc_statistic tc_statistics[];

#endif /* USERSPACE_WORLD_H */
