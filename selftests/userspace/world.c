// SPDX-License-Identifier: GPL-2.0
/* One world: its operations, and the checks after each of them. */
#include <signal.h>
#include <stdio.h>

#include "world.h"

#define TC_MSG		16384
#define DRIVER_BULK	64

static bool world_busy;	/* an operation is under way */

/* ---- set up and tear down ---- */

/* "TYPE:VALUE:BYTES ...": raw attributes that no tc would send. */
static void raw_options(char *msg, const char *words)
{
	struct nlattr *nest = (struct nlattr *)msg, *a;
	char *end;
	u64 value;
	u32 bytes;

	nest->nla_type = TCA_OPTIONS | NLA_F_NESTED;
	nest->nla_len = NLA_HDRLEN;
	for (; *words; words = end + strspn(end, " ")) {
		a = (struct nlattr *)(msg + NLA_ALIGN(nest->nla_len));
		a->nla_type = strtoul(words, &end, 0);
		value = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
		bytes = *end == ':' ? strtoul(end + 1, &end, 0) : 0;
		if ((*end && *end != ' ') || bytes > sizeof(value))
			break;
		a->nla_len = NLA_HDRLEN + bytes;
		memcpy(nla_data(a), &value, bytes);
		nest->nla_len = NLA_ALIGN(nest->nla_len) + NLA_ALIGN(a->nla_len);
		if (nest->nla_len > TC_MSG - 64)
			break;
	}
}

static struct nlattr *options_of(char *msg, const char *words, int *err)
{
	memset(msg, 0, TC_MSG);
	*err = 0;
	if (!strncmp(words, "raw ", 4)) {
		raw_options(msg, words + 4);
		return (struct nlattr *)msg;
	}
	*err = tc_options(words, msg, TC_MSG);
	return *err > 0 ? (struct nlattr *)msg : NULL;
}

/* Create the discipline below a class. The harness acts as its parent. */
static struct Qdisc *kind_new(u32 handle)
{
	return world_qdisc(world_ops, handle, 0x80000001);
}

static void keep_message(const struct netlink_ext_ack *extack)
{
	snprintf(world->message, sizeof(world->message), "%s",
		 extack->_msg ?: "");
}

/* Like qdisc_create(). Return false after a failure, with everything freed. */
static bool kind_init(struct Qdisc *sch, struct nlattr *opt, bool by_default)
{
	struct netlink_ext_ack extack = {};

	if (!sch->ops->init(sch, opt, &extack)) {
		keep_message(&extack);
		return true;
	}
	keep_message(&extack);
	/* qdisc_create_dflt() resets a qdisc whose init failed. */
	if (by_default) {
		world->locked = true;
		qdisc_reset(sch);
		world->locked = false;
	}
	if (sch->ops->destroy)
		sch->ops->destroy(sch);
	free(sch);
	return false;
}

/*
 * In the library an oops ends the operation, not the program. Several libraries
 * can be loaded, each with its own handler. If no operation of this library is
 * running, pass the signal to the previous handler.
 */
#ifdef USERSPACE_LIBRARY
static struct sigaction before_segv, before_fpe;

static void on_oops(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *before = sig == SIGSEGV ? &before_segv : &before_fpe;

	if (world_busy)
		userspace_violation("oops: signal %d at address %p", sig,
				    info->si_addr);
	sigaction(sig, before, NULL);
}

static void catch_oopses(void)
{
	struct sigaction action = {
		.sa_sigaction = on_oops,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	sigaction(SIGSEGV, &action, &before_segv);
	sigaction(SIGFPE, &action, &before_fpe);
}
#else
static void catch_oopses(void)
{
}
#endif

static void module_loaded(void)
{
	if (world_ops)
		return;
	catch_oopses();
	userspace_refuse_qdisc = true;
	if (!userspace_module_init())
		userspace_violation("a module whose qdisc is refused stays loaded");
	userspace_refuse_qdisc = false;
	if (userspace_module_init())
		userspace_violation("the module does not load");
	userspace_module_exit();
	if (world_ops || userspace_notifiers())
		userspace_violation("the module does not unload");
	if (userspace_module_init())
		userspace_violation("the module does not load again");
}

static int kind_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free);

/*
 * With protections for old parents, the last packet to leave bears the bytes that the
 * parents count too many.
 */
static struct sk_buff *kind_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = world->dequeue(sch);

	if (skb && !sch->q.qlen) {
		world->held.bytes += world->over;
		world->over = 0;
	}
	return skb;
}

/* The parent that a discipline finds at its init if the harness acts as sch_red. */
static const struct Qdisc_ops red_ops = { .id = "red" };
static struct Qdisc red = { .ops = &red_ops, .handle = 0x80000000 };

struct world *world_new(const char *options, const char *topology, u64 seed,
			const char **error)
{
	struct world *w = calloc(1, sizeof(*w));
	static struct Qdisc taprio;	/* in software mode; it is not modelled */
	char names[128], msg[TC_MSG], *name, *save;
	const char *above[WORLD_LEVELS];
	struct nlattr *opt;
	u32 n = 0;
	int err;

	if (!w)
		abort();
	*error = NULL;
	world = w;
	INIT_LIST_HEAD(&w->alive);
	w->random = seed;
	w->seed = seed;
	w->now = 1000000000ULL + seed % 1000003;
	w->dev = (struct net_device) {
		.name = "g0", .mtu = 1500, .hard_header_len = 14,
		.tx_queue_len = 1000, .gso_max_size = 65536,
		.speed = (u32)SPEED_UNKNOWN, .dev.parent = w,
	};
	w->txq.dev = &w->dev;
	if (setjmp(w->entry)) {
		*error = w->violation;
		return w;
	}
	module_loaded();
	opt = options_of(msg, options, &err);
	if (err < 0) {
		*error = "tc refuses the options";
		goto refused;
	}
	if (!strcmp(topology, "red")) {
		w->dev.qdisc = &red;
		topology = "";
	}
	w->kind = kind_new(0x10000);
	if (!kind_init(w->kind, opt, false)) {
		*error = "the module refuses the options";
		snprintf(w->violation, sizeof(w->violation), "%s: %s", *error,
			 w->message);
		*error = w->violation;
		w->kind = NULL;
		if (w->allocations)
			userspace_violation("a failed init leaves %u allocations",
					    w->allocations);
		return w;
	}
	w->kind->enqueue = kind_enqueue;
	w->dequeue = w->kind->dequeue;
	w->kind->dequeue = kind_dequeue;
	w->levels[w->depth++] = w->kind;

	/* This world may have the address of one below taprio that has ended. */
	taprio.dev_queue = NULL;
	if (!strcmp(topology, "root")) {
		w->kind->parent = TC_H_ROOT;
		topology = "";
	} else if (!strcmp(topology, "mq") || !strcmp(topology, "taprio")) {
		if (*topology == 't')
			taprio.dev_queue = &w->txq;
		w->kind->parent = 0x80000001;
		w->kind->flags |= TCQ_F_NOPARENT;
		topology = "";
	}
	snprintf(names, sizeof(names), "%s", topology);
	for (name = strtok_r(names, " ", &save); name && n < WORLD_LEVELS;
	     name = strtok_r(NULL, " ", &save))
		above[n++] = name;
	if (n == WORLD_LEVELS) {
		*error = "more than two parents";
		goto refused;
	}
	while (n--) {
		w->levels[w->depth] = world_parent(above[n],
						   w->levels[w->depth - 1],
						   w->depth);
		if (!w->levels[w->depth]) {
			*error = "no such parent";
			goto refused;
		}
		w->depth++;
	}
	w->dev.qdisc = w->levels[w->depth - 1];
	w->txq.qdisc = taprio.dev_queue == &w->txq ? &taprio : w->dev.qdisc;
	for (n = 0; n + 1 < w->depth; n++)
		w->dev.qdisc_hash[n] = w->levels[n];
	return w;
refused:
	snprintf(w->violation, sizeof(w->violation), "%s", *error);
	*error = w->violation;
	return w;
}

/* Free everything. Return WORLD_BROKEN if memory or packets are left. */
int world_free(struct world *w)
{
	int rc = 0;
	u32 i;

	world = w;
	if (!w->violation[0] && setjmp(w->entry))
		rc = WORLD_BROKEN;
	if (!w->violation[0]) {
		struct sk_buff *skb;

		while ((skb = w->flight.head)) {
			w->flight.head = skb->next;
			world_retire(skb, &w->sent);
		}
		w->locked = true;
		qdisc_reset(w->levels[w->depth - 1]);
		w->locked = false;
		if (w->kind->ops->destroy)
			w->kind->ops->destroy(w->kind);
		if (w->allocations)
			userspace_violation("%u allocations are not freed",
					    w->allocations);
		for (i = 0; i < w->depth; i++)
			free(w->levels[i]->stab);
		if (!list_empty(&w->alive))
			userspace_violation("a packet is not freed");
		free(w->kind);
		for (i = 1; i < w->depth; i++)
			parent_free(w->levels[i]);
	}
	if (rc)
		fprintf(stderr, "violation at the end: %s\n", w->violation);
	free(w->out);
	free(w);
	world = NULL;
	return rc;
}

/* ---- checks ---- */

static struct Qdisc *root(void)
{
	return world->levels[world->depth - 1];
}

/* Data that enqueue writes must not be read or written without the lock. */
static void must_have_locked(u64 locks_before, const char *operation)
{
	if (world->locks == locks_before)
		userspace_violation("%s does not take the qdisc lock", operation);
}

static void read_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	u64 locks = world->locks;

	memset(d, 0, sizeof(*d));
	if (!sch->ops->dump_stats)
		return;
	if (sch->ops->dump_stats(sch, d))
		userspace_violation("dump_stats fails");
	must_have_locked(locks, "dump_stats");
}

/* Check queued packets at each level; README.md lists the checks. */
void world_check(void)
{
	struct world_account held = world->held;
	struct sk_buff *skb;
	const char *wrong;
	u32 i;

	/* Packets that a parent has peeked at, or that came back to it. */
	for (i = 1; i < world->depth; i++) {
		for (skb = world->levels[i]->gso_skb.head; skb; skb = skb->next) {
			held.n -= !skb->leaf;
			held.bytes -= skb->leaf ? 0 : qdisc_pkt_len(skb);
		}
	}
	if (world->kind->q.qlen != held.n)
		userspace_violation("qlen is %u, and %llu packets are held",
				    world->kind->q.qlen,
				    (unsigned long long)held.n);
	if (world->kind->qstats.backlog != (u32)held.bytes + world->over)
		userspace_violation("backlog is %u, %llu bytes are held, and %u are unreported",
				    world->kind->qstats.backlog,
				    (unsigned long long)held.bytes, world->over);
	if (world->kind->qstats.drops != world->lost.n + world->filtered.n)
		userspace_violation("drops is %u, and %llu packets were lost",
				    world->kind->qstats.drops,
				    (unsigned long long)(world->lost.n + world->filtered.n));
	for (i = 1; i < world->depth; i++) {
		wrong = parent_wrong(world->levels[i]);
		if (wrong)
			userspace_violation("level %u, %s: %s is wrong: qlen %u backlog %u drops %u; below %u %u %u",
					    i, world->levels[i]->ops->id, wrong,
					    world->levels[i]->q.qlen,
					    world->levels[i]->qstats.backlog,
					    world->levels[i]->qstats.drops,
					    world->levels[i - 1]->q.qlen,
					    world->levels[i - 1]->qstats.backlog,
					    world->levels[i - 1]->qstats.drops);
	}
	if (world->over && !world->kind->q.qlen)
		userspace_violation("nothing is held, and %u bytes are unreported",
				    world->over);
	if (world->locked)
		userspace_violation("the lock is held");
	if (world->walk && userspace_inner)
		userspace_inner(world->kind, false);
}

/* ---- packets ---- */

struct packet {
	unsigned int flow, len, tos, mark, prio, sport, dport, vlan, tag, gso;
	unsigned int label, segs, truesize, size, class, other, bridged, mac;
	unsigned int ihl, frag, flags;
	u32 act;
	u8 proto;
	unsigned int hash, filter, ext, l4, inner, sock, list;
	bool v6, has_ext, has_segs, has_truesize, has_size, has_hash, has_filter;
};

static void put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

/* Build headers like selftests/qdrive.c, truncated to the length. */
static void write_headers(struct sk_buff *skb, const struct packet *p)
{
	u8 buf[USERSPACE_HEAD] = { 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1 };
	u8 *ip = buf + 14, *l4;

	if (p->vlan) {
		put16(ip - 2, ETH_P_8021Q);
		put16(ip, p->vlan);
		ip += 4;
	}
	put16(ip - 2, p->proto ? p->v6 ? ETH_P_IPV6 : ETH_P_IP : ETH_P_ARP);
	skb->protocol = p->vlan ? htons(ETH_P_8021Q) :
			p->proto ? p->v6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP) :
				   htons(ETH_P_ARP);
	skb->network_offset = p->bridged ? ETH_HLEN : ip - buf;
	skb->mac_len = p->mac;
	if (!p->proto) {
		put16(ip, 1);
	} else if (p->v6) {
		l4 = ip + 40;
		ip[0] = 0x60 | p->tos >> 4;
		ip[1] = p->tos << 4 | (p->label >> 16 & 0xf);
		put16(ip + 2, p->label);
		ip[6] = p->proto;
		ip[7] = 64;
		put16(ip + 8, 0xfd00);
		put16(ip + 10, 1);
		put16(ip + 20, p->flow >> 16);
		put16(ip + 22, p->flow);
		put16(ip + 24, 0xfd00);
		put16(ip + 26, 2);
		ip[39] = 1;
		if (p->has_ext) {
			ip[6] = p->ext;
			l4[0] = p->proto;
			l4 += 8;
		}
	} else {
		l4 = ip + 4 * (p->ihl & 0xf);
		ip[0] = 0x40 | (p->ihl & 0xf);
		ip[1] = p->tos;
		put16(ip + 2, p->len - 14);
		put16(ip + 6, p->frag);
		ip[8] = 64;
		ip[9] = p->proto;
		ip[12] = 10;
		ip[13] = 1;
		put16(ip + 14, p->flow);
		ip[16] = 10;
		ip[17] = 2;
		ip[19] = 1;
	}
	if (p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP) {
		put16(l4, p->sport ?: 1024 + p->flow % 60000);
		put16(l4 + 2, p->dport);
	}
	if (p->proto == IPPROTO_ESP)
		put16(l4 + 2, 0x100);	/* SPI */
	if (p->proto == IPPROTO_TCP)
		l4[13] = p->flags;
	memcpy(skb->data, buf, skb->tail - skb->data);
}

static u8 tos_of(const struct sk_buff *skb)
{
	int network = ETH_HLEN;
	__be16 proto = behind_tags(skb, &network);
	const u8 *ip = skb->data + network;

	if (ip + 2 > skb->tail)
		return 0;
	if (proto == htons(ETH_P_IPV6))
		return ip[0] << 4 | ip[1] >> 4;
	return proto == htons(ETH_P_IP) ? ip[1] : 0;
}

/*
 * In a real kernel the stack has usually hashed a packet before the discipline
 * sees it, and usually no filter is attached. The trace may choose both for each
 * packet; otherwise the seed does, so that all combinations occur.
 */
static void draw_hash_and_filter(struct sk_buff *skb, const struct packet *p)
{
	static const siphash_key_t key = { { 3, 4 } };
	const u64 drawn[] = { world->seed, skb->number };
	u64 draw = siphash(drawn, sizeof(drawn), &key);
	u32 hash = p->has_hash ? p->hash : draw & 3;
	struct flow_keys keys = {};

	skb->filtered = p->has_filter ? p->filter : draw & 4;
	/* Only an attached filter can return a verdict. */
	skb->filtered |= skb->act != (u32)TC_ACT_UNSPEC;
	if (!hash)
		return;
	skb_get_hash(skb);
	skb->sw_hash = hash & 1;
	__skb_flow_dissect(NULL, skb, &flow_keys_dissector, &keys, NULL, 0, 0, 0, 0);
	skb->l4_hash = hash & 2 && keys.ports.ports;
}

/* A tunnel wrapped the packet, after the stack hashed it with its ports. */
static void set_inner(struct sk_buff *skb, const struct packet *p)
{
	skb->inner_network_header = p->inner;
	if (p->sock) {
		skb->sender.sk_protocol = p->sock;
		skb->sk = &skb->sender;
	}
	if (p->l4) {
		skb->hash = p->l4;
		skb->l4_hash = true;
		skb->sw_hash = false;
	}
}

/* Mainline's __qdisc_calculate_pkt_len(); kernels before 2026 have no maximum. */
static void calculate_pkt_len(struct sk_buff *skb,
			      const struct qdisc_size_table *stab)
{
	int pkt_len, slot;

	if (!stab)
		return;
	pkt_len = skb->len + stab->szopts.overhead;
	if (!stab->szopts.tsize)
		goto out;
	slot = pkt_len + stab->szopts.cell_align;
	if (slot < 0)
		slot = 0;
	slot >>= stab->szopts.cell_log;
	if (slot < (int)stab->szopts.tsize)
		pkt_len = stab->data[slot];
	else
		pkt_len = stab->data[stab->szopts.tsize - 1] *
			  (slot / stab->szopts.tsize) +
			  stab->data[slot % stab->szopts.tsize];
	pkt_len <<= stab->szopts.size_log;
out:
	if (pkt_len < 1)
		pkt_len = 1;
#ifdef QDISC_PKT_LEN_MAX
	pkt_len = min(pkt_len, QDISC_PKT_LEN_MAX);
#endif
	qdisc_skb_cb(skb)->pkt_len = pkt_len;
}

/* "LEVEL OVERHEAD CELL_ALIGN CELL_LOG SIZE_LOG [LENGTH]...": give a level a table. */
static int do_size_table(const char *words)
{
	struct qdisc_size_table *stab;
	char *end, *next;
	u32 level = strtoul(words, &end, 0), room = 0;

	if (level >= world->depth)
		return WORLD_MALFORMED;
	stab = calloc(1, sizeof(*stab) + strlen(words) * sizeof(stab->data[0]));
	if (!stab)
		abort();
	stab->szopts.overhead = strtol(end, &end, 0);
	stab->szopts.cell_align = strtol(end, &end, 0);
	stab->szopts.cell_log = strtoul(end, &end, 0);
	stab->szopts.size_log = strtoul(end, &end, 0);
	for (; *end; end = next)
		stab->data[room++] = strtoul(end, &next, 0);
	stab->szopts.tsize = room;
	free(world->levels[level]->stab);
	world->levels[level]->stab = stab;
	return 0;
}

static struct sk_buff *make_packet(const struct packet *p)
{
	u32 headers = 14 + (p->vlan ? 4 : 0) + (p->v6 ? 40 : 20) +
		      (p->proto == IPPROTO_TCP ? 20 : 8);
	u32 level, truesize = 256 + ((p->len + 384 + 511) & ~511U);
	struct sk_buff *skb;

	skb = world_skb(p->len, p->has_truesize ? p->truesize : truesize);
	skb->where = USERSPACE_ARRIVING;
	skb->number = world->number++;
	skb->priority = p->prio;
	skb->mark = p->mark;
	skb->act = p->act;
	skb->act_class = p->class;
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_GENERIC);
	level = min_t(u32, p->other, world->depth - 1);
	if (level && parent_has_sibling(world->levels[level]))
		skb->leaf = level;
	write_headers(skb, p);
	if (p->tag) {
		skb->vlan_present = true;
		skb->vlan_proto = htons(ETH_P_8021Q);
		skb->vlan_tci = p->tag;
	}
	if (p->gso && p->len > headers && p->gso < p->len - headers) {
		u32 segs = DIV_ROUND_UP(p->len - headers, p->gso);

		skb->shinfo.gso_size = p->gso;
		skb->shinfo.gso_segs = p->has_segs ? p->segs : segs;
		skb->shinfo.gso_type = p->proto != IPPROTO_TCP ? 0 :
				       p->v6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
		if (p->list)
			skb->shinfo.gso_type |= SKB_GSO_FRAGLIST;
		qdisc_skb_cb(skb)->pkt_len += (segs - 1) * headers;
#ifndef USERSPACE_OLD
		qdisc_skb_cb(skb)->pkt_segs = p->segs ?: segs;
	} else {
		qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
	}
	for (level = world->depth; level--;)
		calculate_pkt_len(skb, world->levels[level]->stab);
	if (p->has_size)
		qdisc_skb_cb(skb)->pkt_len = p->size;
	skb->handle = world->kind->handle;
	draw_hash_and_filter(skb, p);
	set_inner(skb, p);
	return skb;
}

/* Bytes of the segments that were queued: they arrive and are not in @to_free. */
static u32 bytes_queued(const struct sk_buff *to_free)
{
	const struct sk_buff *skb;
	u32 bytes = 0;

	list_for_each_entry(skb, &world->alive, alive)
		bytes += skb->where == USERSPACE_ARRIVING ? qdisc_pkt_len(skb) : 0;
	for (skb = to_free; skb; skb = skb->next)
		bytes -= skb->where == USERSPACE_ARRIVING ? qdisc_pkt_len(skb) : 0;
	return bytes;
}

/* Call the discipline's enqueue and check its contract with parents. */
static int kind_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	s64 reduced_n = world->reduced_n, reduced_len = world->reduced_len, n, bytes;
	u32 backlog = sch->qstats.backlog, drops = sch->qstats.drops;
	u32 qlen = sch->q.qlen, len = qdisc_pkt_len(skb);
	u64 reduced_drops = world->reduced_drops;
	struct sk_buff *freed = *to_free;
	static struct tcf_proto filter;
	bool gso = skb_is_gso(skb);
	int verdict;

	if (world->filters)
		*world->filters = skb->filtered ? &filter : NULL;
	verdict = sch->ops->enqueue(skb, sch, to_free);
	reduced_n = world->reduced_n - reduced_n;
	reduced_len = world->reduced_len - reduced_len;
	reduced_drops = world->reduced_drops - reduced_drops;
	if (sch->parent == TC_H_ROOT || sch->flags & TCQ_F_NOPARENT)
		return verdict;
	n = (verdict == NET_XMIT_SUCCESS) - reduced_n;
	bytes = (verdict == NET_XMIT_SUCCESS ? len : 0) - reduced_len;
	/* A report of bytes alone would make a parent with 0 packets believe that it is empty. */
	if (gso && !qlen && sch->q.qlen == 1)
		world->over = len - bytes_queued(*to_free);
	if ((s64)sch->q.qlen - qlen != n ||
	    (u32)(sch->qstats.backlog - backlog) != (u32)bytes)
		userspace_violation("enqueue returns %#x and tells %lld packets of %lld bytes: the parents count %+lld of %+lld; qlen changed by %+d, backlog by %+d",
				    verdict, (long long)reduced_n,
				    (long long)reduced_len, (long long)n,
				    (long long)bytes, (int)(sch->q.qlen - qlen),
				    (int)(sch->qstats.backlog - backlog));
	n = reduced_drops + (verdict != NET_XMIT_SUCCESS &&
			     net_xmit_drop_count(verdict));
	drops = sch->qstats.drops - drops;
	/* Packets that no parent has counted must not be reported. */
	if (gso && (!sch->q.qlen || (!qlen && sch->q.qlen == 1)) && n < drops) {
		world->unheard += drops - n;
		n = drops;
	}
	if (n != drops)
		userspace_violation("enqueue counts %u drops and tells of %lld",
				    drops, (long long)n);
	if (verdict == NET_XMIT_DROP && freed == *to_free)
		userspace_violation("enqueue returns NET_XMIT_DROP and frees nothing");
	return verdict;
}

static void requeue(struct Qdisc *sch, struct sk_buff *first, u32 n)
{
	struct sk_buff *last = first;

	for (;; last = last->next) {
		world_move(last, USERSPACE_HELD);
		sch->q.qlen++;
		sch->qstats.requeues++;
		sch->qstats.backlog += qdisc_pkt_len(last);
		sch->gso_skb.qlen++;
		if (!--n)
			break;
	}
	last->next = sch->gso_skb.head;
	sch->gso_skb.head = first;
}

/*
 * Find out why enqueue freed @skb. Segments have the number of their packet and
 * separate filter verdicts. A missing class is the same for all segments.
 */
static struct world_account *why_freed(const struct sk_buff *skb, u32 number,
				       int verdict)
{
	switch (skb->filter_act) {
	case TC_ACT_STOLEN:
	case TC_ACT_QUEUED:
	case TC_ACT_TRAP:
		return &world->stolen;
	case TC_ACT_SHOT:
	case TC_ACT_REDIRECT:
		return &world->filtered;
	}
	if (skb->number == number && verdict & __NET_XMIT_BYPASS)
		return &world->filtered;
	return &world->lost;
}

/* The core's default reason for a drop. */
static void check_reason(const struct sk_buff *skb,
			 const struct world_account *why)
{
	int reason = tc_skb_cb(skb)->drop_reason;

	if (skb->leaf || why == &world->stolen)
		return;
	if (reason == QDISC_DROP_OVERLIMIT || reason == QDISC_DROP_CONGESTED)
		return;
	if (why != &world->filtered || reason != QDISC_DROP_GENERIC)
		userspace_violation("packet %u is dropped for reason %d",
				    skb->number, reason);
}

static int do_enqueue(const struct packet *p)
{
	struct sk_buff *to_free = NULL, *skb = make_packet(p), *next, *s;
	struct world_account *why;
	struct Qdisc *sch = root(), *device_root = world->txq.qdisc;
	u32 number = skb->number;
	int verdict;

	if (world->bypass && (sch->flags & TCQ_F_CAN_BYPASS) && !sch->q.qlen) {
		qdisc_bstats_update(sch, skb);
		requeue(sch, skb, 1);
		return 0;
	}
	world->locked = true;
	verdict = sch->enqueue(skb, sch, &to_free);
	world->verdict = verdict;
	world->locked = false;
	world->txq.qdisc = device_root;
	world->down_in = 0;

	for (s = to_free; s; s = next) {
		next = s->next;
		why = why_freed(s, number, verdict);
		check_reason(s, why);
		world_retire(s, why);
	}
	/* Segments of the arrival that were not freed are queued. */
	list_for_each_entry(s, &world->alive, alive) {
		if (s->where != USERSPACE_ARRIVING)
			break;
		world_move(s, USERSPACE_HELD);
	}
	return verdict;
}

static void note_out(struct sk_buff *skb)
{
	if (world->n_out == world->out_room) {
		world->out_room = 2 * world->out_room + 64;
		world->out = realloc(world->out,
				     world->out_room * sizeof(*world->out));
		if (!world->out)
			abort();
	}
	world->out[world->n_out][0] = skb->number;
	world->out[world->n_out++][1] = tos_of(skb);
}

static struct sk_buff *take(void)
{
	struct Qdisc *sch = root();
	u32 qlen = sch->q.qlen, i;
	struct sk_buff *skb;
	bool waits = false;

	world->locked = true;
	skb = qdisc_dequeue_peeked(sch);
	world->locked = false;
	for (i = 1; i < world->depth; i++)
		waits |= parent_may_wait(world->levels[i]);
	if (!skb) {
		if (qlen && !waits)
			userspace_violation("stall: %u packets are held and none comes out",
					    qlen);
		return NULL;
	}
	if (skb->where != USERSPACE_HELD)
		userspace_violation("packet %u comes out, which was not held",
				    skb->number);
	if (tc_skb_cb(skb)->drop_reason != QDISC_DROP_GENERIC ||
	    tc_skb_cb(skb)->zone || tc_skb_cb(skb)->mru)
		userspace_violation("packet %u comes out with another's reason, zone or mru",
				    skb->number);
	if (world->peeked && world->depth == 1 && skb != world->peeked)
		userspace_violation("peek saw packet %u, and %u comes out",
				    world->peeked->number, skb->number);
	world->peeked = NULL;
	if (skb->next)
		userspace_violation("packet %u comes out with another attached",
				    skb->number);
	world_move(skb, USERSPACE_OUT);
	return skb;
}

static void do_dequeue(u32 n)
{
	struct sk_buff *skb;

	while (n-- && (skb = take())) {
		note_out(skb);
		world_retire(skb, &world->sent);
	}
}

/* A parent sends the next packet, although it has peeked at one, as sch_red did until 2026. */
static void do_next(void)
{
	struct Qdisc *sch = world->kind;
	struct sk_buff *skb;

	if (world->depth > 1)
		return;
	world->locked = true;
	skb = sch->dequeue(sch);
	world->locked = false;
	if (!skb)
		return;
	if (skb == world->peeked)
		world->peeked = NULL;
	note_out(skb);
	world_retire(skb, &world->sent);
}

/* The driver takes up to @n packets and keeps them. */
static void do_bulk(u32 n)
{
	struct sk_buff *skb;

	while (n-- && (skb = take())) {
		skb->next = NULL;
		if (world->flight.qlen++)
			world->flight.tail->next = skb;
		else
			world->flight.head = skb;
		world->flight.tail = skb;
	}
}

static void send_flight(u32 n)
{
	struct sk_buff *skb;

	while (n-- && (skb = world->flight.head)) {
		world->flight.head = skb->next;
		world->flight.qlen--;
		note_out(skb);
		world_retire(skb, &world->sent);
	}
}

/* The driver hands its last @n packets back and sends the others. */
static void do_requeue(u32 n)
{
	if (!world->flight.qlen)
		do_bulk(min_t(u32, n, DRIVER_BULK));
	n = min_t(u32, n, world->flight.qlen);
	send_flight(world->flight.qlen - n);
	if (n)
		requeue(root(), world->flight.head, n);
	world->flight = (struct qdisc_skb_head) {};
	world->peeked = NULL;
}

/* Only parents peek. At the root we act as the parent. */
static void do_peek(void)
{
	struct Qdisc *sch = root();

	/* Packets that the driver handed back leave first. No parent knows of them. */
	if (world->depth == 1 && sch->gso_skb.head)
		return;
	world->locked = true;
	world->peeked = sch->ops->peek(sch);
	world->locked = false;
	if (!world->peeked != !sch->q.qlen && world->depth == 1)
		userspace_violation("peek sees %s, qlen is %u",
				    world->peeked ? "a packet" : "nothing",
				    sch->q.qlen);
}

static void do_reset(u32 level)
{
	struct Qdisc *sch = world->levels[level];
	u32 qlen = sch->q.qlen, backlog = sch->qstats.backlog;

	world->locked = true;
	qdisc_reset(sch);
	/* qdisc_purge_queue(): a class is deleted or its child replaced. */
	if (sch != root() && qlen)
		qdisc_tree_reduce_backlog(sch, qlen, backlog);
	world->locked = false;
	world->peeked = NULL;
	world->over = 0;
	if (sch != root())
		world->purge_drops[level + 1] += qlen;
}

/* ---- configuration and statistics ---- */

static int do_change(const char *words)
{
	struct netlink_ext_ack extack = {};
	size_t size = world_ops->priv_size;
	u32 drops = world->kind->qstats.drops;
	u64 told = world->reduced_drops;
	u64 locks;
	char msg[TC_MSG];
	struct nlattr *opt;
	void *before;
	int err;

	opt = options_of(msg, words, &err);
	if (err < 0)
		return -EINVAL;
	if (!opt || !world_ops->change)
		return -EOPNOTSUPP;
	before = malloc(size);
	if (!before)
		abort();
	memcpy(before, qdisc_priv(world->kind), size);
	world->message[0] = 0;
	locks = world->locks;
	err = world_ops->change(world->kind, opt, &extack);
	keep_message(&extack);
	if (!err)
		must_have_locked(locks, "change");
	if (err > 0)
		userspace_violation("change returns %d", err);
	if (err && memcmp(before, qdisc_priv(world->kind), size))
		userspace_violation("change is refused (%d), and changes something", err);
	free(before);
	if (world->kind->qstats.drops - drops != world->reduced_drops - told)
		userspace_violation("change drops %u packets and tells of %llu",
				    world->kind->qstats.drops - drops,
				    (unsigned long long)(world->reduced_drops - told));
	return err;
}

static struct sk_buff *message_skb(void)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	if (!skb)
		abort();
	skb->data = malloc(USERSPACE_MSG);
	if (!skb->data)
		abort();
	skb->tail = skb->data;
	skb->end = skb->data + USERSPACE_MSG;
	return skb;
}

static void message_free(struct sk_buff *skb)
{
	free(skb->data);
	free(skb);
}

static struct sk_buff *dump(struct Qdisc *sch)
{
	struct sk_buff *skb = message_skb();

	if (!sch->ops->dump)
		return skb;
	if (sch->ops->dump(sch, skb) < 0)
		userspace_violation("dump fails");
	return skb;
}

struct walk {
	struct qdisc_walker w;
	struct world_stats *st;
	u32 n, room;
	u64 qlen, backlog;
};

static void fill(struct world_stats *st, const struct gnet_dump *d)
{
	st->xstats_len = d->app_len;
	memcpy(st->xstats, d->app, d->app_len);
}

/* Statistics that do not fit into a message are an error, whichever part it is. */
static void check_full_dump(struct Qdisc *sch, unsigned long cl)
{
	struct gnet_dump d;
	u32 part = 0;

	do {
		memset(&d, 0, sizeof(d));
		d.full = ++part;
		if (sch->ops->cl_ops->dump_stats(sch, cl, &d) >= 0 && !d.full)
			userspace_violation("a class ignores that its dump is full");
	} while (!d.full);
}

/* A walker that stops at the first class. */
static int on_first_class(struct Qdisc *sch, unsigned long cl,
			  struct qdisc_walker *w)
{
	container_of(w, struct walk, w)->n++;
	return -1;
}

static int on_class(struct Qdisc *sch, unsigned long cl, struct qdisc_walker *w)
{
	struct walk *walk = container_of(w, struct walk, w);
	struct tcmsg t = { .tcm_handle = sch->handle };
	struct sk_buff *skb = message_skb();
	struct world_stats *st;
	struct gnet_dump d;
	u64 locks;

	if (sch->ops->cl_ops->dump(sch, cl, skb, &t) < 0)
		userspace_violation("dump of a class fails");
	message_free(skb);
	memset(&d, 0, sizeof(d));
	locks = world->locks;
	if (sch->ops->cl_ops->dump_stats(sch, cl, &d) < 0)
		userspace_violation("dump_stats of a class fails");
	must_have_locked(locks, "dump_stats of a class");
	check_full_dump(sch, cl);
	walk->qlen += d.queue.qlen;
	walk->backlog += d.queue.backlog;
	if (walk->n++ >= walk->room)
		return 0;
	st = &walk->st[walk->n - 1];
	memset(st, 0, sizeof(*st));
	st->minor = TC_H_MIN(t.tcm_handle);
	st->qlen = d.queue.qlen;
	st->backlog = d.queue.backlog;
	st->drops = d.queue.drops;
	st->overlimits = d.queue.overlimits;
	st->bytes = d.basic.bytes;
	st->packets = d.basic.packets;
	fill(st, &d);
	return 0;
}

/* The classes together have the packets of the qdisc, except peeked ones. */
static void check_classes(void)
{
	struct walk walk = { .w.fn = on_class }, first = { .w.fn = on_first_class };
	u32 qlen = world->kind->q.qlen;
	u32 backlog = world->kind->qstats.backlog - world->over;
	const struct sk_buff *skb;

	for (skb = world->kind->gso_skb.head; skb; skb = skb->next) {
		qlen--;
		backlog -= qdisc_pkt_len(skb);
	}
	/* A class accepts no child and has no filters. */
	if (world_ops->cl_ops->leaf(world->kind, 1) ||
	    world_ops->cl_ops->find(world->kind, world->kind->handle | 1) ||
	    world_ops->cl_ops->bind_tcf(world->kind, 0, 1) ||
	    world_ops->cl_ops->tcf_block(world->kind, 1, NULL))
		userspace_violation("a class is more than a name");
	world_ops->cl_ops->unbind_tcf(world->kind, 0);
	world_ops->cl_ops->walk(world->kind, &walk.w);
	world_ops->cl_ops->walk(world->kind, &first.w);
	world_ops->cl_ops->walk(world->kind, &first.w);
	if (first.n != !!walk.n)
		userspace_violation("a walk over classes goes on where it must stop");
	if (walk.qlen != qlen || (u32)walk.backlog != backlog)
		userspace_violation("the classes hold %llu packets of %llu bytes, the qdisc %u of %u",
				    (unsigned long long)walk.qlen,
				    (unsigned long long)walk.backlog, qlen,
				    backlog);
}

/* Find a number in JSON by name. Return false if it is missing. */
static bool number_of(const char *json, const char *name, u64 *value)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(json, key);
	if (at)
		*value = strtoull(at + strlen(key), NULL, 10);
	return at;
}

/*
 * Sum the counters of drops by the algorithm, or of all other losses, as
 * <linux/pkt_sched_aqm.h> distinguishes them.
 */
static u64 causes(const char *json, bool chosen)
{
	const struct tc_statistic *st;
	u64 value, sum = 0;
	bool other;

	for (st = tc_statistics; st->name; st++) {
		other = !strncmp(st->name, "drop_", 5);
		if (!other && strncmp(st->meaning, "dropped ", 8))
			continue;
		if (chosen != other && number_of(json, st->name, &value))
			sum += value;
	}
	return sum;
}

/* Each loss has one cause, and dropped_bytes is their total length. */
static void check_causes(const struct gnet_dump *d)
{
	struct {
		struct rtattr a;
		u8 app[512];
	} attr;
	char json[16384];
	u64 lost = world->lost.n + world->filtered.n;
	u64 bytes = world->lost.bytes + world->filtered.bytes;
	u64 value = 0, sum, chosen;

	if (!d->app_len)
		return;
	attr.a.rta_type = TCA_STATS_APP;
	attr.a.rta_len = RTA_LENGTH(d->app_len);
	memcpy(RTA_DATA(&attr.a), d->app, d->app_len);
	if (tc_print(&attr, true, json, sizeof(json)) < 0)
		userspace_violation("the plugin does not print the statistics");
	chosen = causes(json, true);
	if (chosen != world->congested)
		userspace_violation("%llu packets were lost to congestion, and the causes add up to %llu: %s",
				    (unsigned long long)world->congested,
				    (unsigned long long)chosen, json);
	sum = chosen + causes(json, false);
	if (sum != lost)
		userspace_violation("%llu packets were lost, and the causes add up to %llu: %s",
				    (unsigned long long)lost,
				    (unsigned long long)sum, json);
	number_of(json, "dropped_bytes", &value);
	if (value != bytes)
		userspace_violation("%llu bytes were lost, and dropped_bytes is %llu",
				    (unsigned long long)bytes,
				    (unsigned long long)value);
	if (tc_has_classes())
		check_classes();
}

/* Reading statistics changes nothing, for any buffer size. */
static void do_read_statistics(void)
{
	size_t size = world_ops->priv_size;
	void *before = malloc(size);
	struct sk_buff *skb, *small;
	struct gnet_dump d;

	if (!before)
		abort();
	memcpy(before, qdisc_priv(world->kind), size);
	if (world->walk && userspace_inner)
		userspace_inner(world->kind, true);
	read_stats(world->kind, &d);
	check_causes(&d);
	skb = dump(world->kind);
	for (small = message_skb(); small->end > small->data; small->end -= 4) {
		small->tail = small->data;
		if (small->end - small->data > (int)skb->len)
			continue;
		if (world_ops->dump(world->kind, small) >= 0 &&
		    small->end - small->data < (int)skb->len)
			userspace_violation("dump does not see that there is no room");
		if (small->end - small->data < (int)skb->len &&
		    small->tail != small->data)
			userspace_violation("dump leaves half a message");
	}
	small->end = small->data + USERSPACE_MSG;
	message_free(small);
	message_free(skb);
	if (memcmp(before, qdisc_priv(world->kind), size))
		userspace_violation("reading statistics changes something");
	free(before);
}

/* A dump sets up another instance with the same dump. */
static void do_again(void)
{
	struct netlink_ext_ack extack = {};
	struct sk_buff *one = dump(world->kind), *two;
	u32 allocations = world->allocations, fail_in = world->fail_in;
	u32 most_alloc = world_most_alloc;
	struct nlattr *opt = (struct nlattr *)one->data;
	struct Qdisc *sch = kind_new(0x20000);

	world->fail_in = 0;
	world_most_alloc = S32_MAX;
	/*
	 * A copy does not know a speed that the device forgot, a measured rate, or
	 * values that stayed because there was no memory for new ones.
	 */
	if (world->forgot || world->measured || world->stale)
		goto free;
	if (world_ops->init(sch, opt, &extack))
		userspace_violation("what is dumped is refused: %s",
				    extack._msg ?: "without a word");
	two = dump(sch);
	if (one->len != two->len || memcmp(one->data, two->data, one->len))
		userspace_violation("what is dumped sets up something else");
	world->locked = true;
	qdisc_reset(sch);
	world->locked = false;
	if (world_ops->destroy)
		world_ops->destroy(sch);
	if (world->allocations != allocations)
		userspace_violation("init and destroy leave %d allocations",
				    (int)(world->allocations - allocations));
	message_free(two);
free:
	free(sch);
	message_free(one);
	world->fail_in = fail_in;
	world_most_alloc = most_alloc;
}

/* Set up a second instance, which may fail, on both paths of the core. */
static int do_init(const char *words, bool by_default)
{
	u32 allocations = world->allocations;
	struct Qdisc *sch = kind_new(by_default ? 0 : 0x30000);
	char msg[TC_MSG];
	struct nlattr *opt;
	bool good;
	int err;

	opt = options_of(msg, words, &err);
	if (err < 0) {
		free(sch);
		return -EINVAL;
	}
	good = kind_init(sch, by_default ? NULL : opt, by_default);
	if (good) {
		world->locked = true;
		qdisc_reset(sch);
		world->locked = false;
		if (world_ops->destroy)
			world_ops->destroy(sch);
		free(sch);
	}
	if (world->allocations != allocations)
		userspace_violation("init%s leaves %d allocations",
				    good ? " and destroy" : ", which fails,",
				    (int)(world->allocations - allocations));
	return good ? 0 : -EINVAL;
}

/* The holder of a clone pulls data or frees it, so truesize changes. */
static void do_truesize(u32 truesize)
{
	struct sk_buff *skb;

	list_for_each_entry(skb, &world->alive, alive)
		if (skb->where == USERSPACE_HELD)
			skb->truesize = truesize;
}

/* The device has changed. */
static void do_event(unsigned long event)
{
	bool might_fail = world->fail_in;

	world_notify(&world->dev, event);
	world->stale = might_fail && !world->fail_in;
}

static void do_speed(u32 speed)
{
	world->dev.speed = speed;
	world->forgot = !speed || speed == (u32)SPEED_UNKNOWN ||
			speed == SPEED_UNASKABLE;
	do_event(NETDEV_CHANGE);
}

/* ---- the language ---- */

static int read_packet(struct packet *p, const char *words)
{
	static const struct {
		const char *name;
		size_t offset;
	} numbers[] = {
#define FIELD(name) { #name, offsetof(struct packet, name) }
		FIELD(flow), FIELD(len), FIELD(tos), FIELD(mark), FIELD(prio),
		FIELD(sport), FIELD(dport), FIELD(vlan), FIELD(tag),
		FIELD(gso), FIELD(label),
		FIELD(segs), FIELD(truesize), FIELD(size), FIELD(class),
		FIELD(other), FIELD(bridged), FIELD(mac),
		FIELD(hash), FIELD(filter), FIELD(ext), FIELD(ihl), FIELD(frag),
		FIELD(flags),
		FIELD(l4), FIELD(inner), FIELD(sock), FIELD(list),
#undef FIELD
	};
	static const struct {
		const char *name;
		int act;
	} acts[] = {
		{ "ok", TC_ACT_OK }, { "shot", TC_ACT_SHOT },
		{ "stolen", TC_ACT_STOLEN }, { "queued", TC_ACT_QUEUED },
		{ "trap", TC_ACT_TRAP }, { "consumed", TC_ACT_CONSUMED },
		{ "redirect", TC_ACT_REDIRECT },
	};
	static const struct {
		const char *name;
		u8 proto;
	} protos[] = {
		{ "udp", IPPROTO_UDP }, { "tcp", IPPROTO_TCP },
		{ "icmp", IPPROTO_ICMP }, { "sctp", IPPROTO_SCTP },
		{ "esp", IPPROTO_ESP },
		{ "dccp", IPPROTO_DCCP }, { "arp", 0 },
	};
	const char *value;
	size_t i, n;

	*p = (struct packet) {
		.len = 1514, .dport = 5001, .proto = IPPROTO_UDP, .ihl = 5,
		.act = TC_ACT_UNSPEC,
	};
	for (words += strspn(words, " "); *words;
	     words += strcspn(words, " "), words += strspn(words, " ")) {
		value = strchr(words, '=');
		if (!value)
			return WORLD_MALFORMED;
		n = value++ - words;
#define IS(text) (n == strlen(text) && !strncmp(words, text, n))
#define SAYS(text) (strcspn(value, " ") == strlen(text) && \
		    !strncmp(value, text, strlen(text)))
		if (IS("v6")) {
			p->v6 = *value == '1';
			continue;
		}
		if (IS("act")) {
			for (i = 0; i < ARRAY_SIZE(acts) && !SAYS(acts[i].name); i++)
				;
			if (i == ARRAY_SIZE(acts))
				return WORLD_MALFORMED;
			p->act = acts[i].act;
			continue;
		}
		if (IS("proto")) {
			for (i = 0; i < ARRAY_SIZE(protos) && !SAYS(protos[i].name); i++)
				;
			if (i == ARRAY_SIZE(protos))
				return WORLD_MALFORMED;
			p->proto = protos[i].proto;
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(numbers) && !IS(numbers[i].name); i++)
			;
		if (i == ARRAY_SIZE(numbers))
			return WORLD_MALFORMED;
		*(unsigned int *)((char *)p + numbers[i].offset) =
			strtoul(value, NULL, 0);
		p->has_segs |= IS("segs");
		p->has_truesize |= IS("truesize");
		p->has_size |= IS("size");
		p->has_ext |= IS("ext");
		p->has_hash |= IS("hash");
		p->has_filter |= IS("filter");
		if (IS("class") && p->act == (u32)TC_ACT_UNSPEC)
			p->act = TC_ACT_OK;
#undef IS
#undef SAYS
	}
	return 0;
}

static int operation(const char *op)
{
	const char *rest = op + (op[0] && op[1] == ' ' ? 2 : 1);
	struct packet p;
	u64 n = strtoull(rest, NULL, 0);
	u32 i;
	int rc;

	if (!op[0] || (op[1] && op[1] != ' '))
		return WORLD_MALFORMED;
	switch (op[0]) {
	case 'e':
		rc = read_packet(&p, rest);
		if (rc)
			return rc;
		rc = do_enqueue(&p) & 0xffff;
		return rc == NET_XMIT_DROP ? ENOBUFS : 0;
	case 'd':
		do_dequeue(n);
		return 0;
	case 't':
		world->now += n;
		return 0;
	case 'p':
		do_peek();
		return 0;
	case 'r':
		do_reset(world->depth - 1);
		return 0;
	case 'v':
		do_reset(min_t(u64, n, world->depth - 1));
		return 0;
	case 'n':
		do_next();
		return 0;
	case 'b':
		do_bulk(n);
		return 0;
	case 'q':
		do_requeue(n);
		return 0;
	case 'a':
		world->fail_in = n;
		return 0;
	case 'f':
		world->down_in = n;
		return 0;
	case 'k':
		for (i = 1; i < world->depth; i++)
			parent_tokens(world->levels[i],
				      strtoll(rest, NULL, 0));
		return 0;
	case 'x':
		return -do_change(rest);
	case 'i':
		return -do_init(rest, false);
	case 'j':
		return -do_init("", true);
	case 's':
		do_read_statistics();
		return 0;
	case 'u':
		do_again();
		return 0;
	case 'l':
		do_speed(strtol(rest, NULL, 0));
		return 0;
	case 'm':
		world->dev.mtu = n;
		do_event(NETDEV_CHANGEMTU);
		return 0;
	case 'o':
		world->follows = n;
		return 0;
	case 'c':
		world->dev.dev.parent = n ? world : NULL;
		return 0;
	case 'h':
		world->kind->handle = n;
		return 0;
	case 'w':
		return do_size_table(rest);
	case 'y':
		world->bypass = n;
		return 0;
	case 'z':
		do_truesize(n);
		return 0;
	}
	return WORLD_MALFORMED;
}

/* The kernel would do this soon, on its own. */
static void do_work(void)
{
	struct delayed_work *work;
	u32 i;

	for (i = 0; world->follows && i < ARRAY_SIZE(world->work); i++) {
		work = world->work[i];
		if (!work || world->now < work->due)
			continue;
		world->work[i] = NULL;
		work->work.func(&work->work);
		world->measured = true;
	}
}

int world_do(struct world *w, const char *op)
{
	struct sk_buff *skb;
	int rc;

	world = w;
	if (w->violation[0] || setjmp(w->entry)) {
		world_busy = false;
		return WORLD_BROKEN;
	}
	w->n_out = 0;
	w->reduced_n = 0;
	w->reduced_len = 0;
	w->reduced_drops = 0;
	world_busy = true;
	rc = operation(op);
	do_work();
	while ((skb = w->txq.qdisc->to_free)) {
		w->txq.qdisc->to_free = skb->next;
		kfree_skb(skb);
	}
	world_check();
	world_busy = false;
	return rc;
}

/* ---- for Python ---- */

const u32 *world_out(const struct world *w, u32 *n)
{
	*n = w->n_out;
	return w->out ? w->out[0] : NULL;
}

int world_stats(struct world *w, u32 level, struct world_stats *st)
{
	struct gnet_dump d;
	struct Qdisc *sch;

	world = w;
	if (w->violation[0] || setjmp(w->entry))
		return WORLD_BROKEN;
	if (level >= w->depth)
		return WORLD_MALFORMED;
	sch = w->levels[level];
	memset(st, 0, sizeof(*st));
	read_stats(sch, &d);
	st->qlen = sch->q.qlen;
	st->backlog = sch->qstats.backlog;
	st->drops = sch->qstats.drops;
	st->overlimits = sch->qstats.overlimits;
	st->requeues = sch->qstats.requeues;
	st->bytes = sch->bstats.bytes;
	st->packets = sch->bstats.packets;
	st->active = level + 1 == w->depth ||
		     parent_is_active(w->levels[level + 1], sch);
	fill(st, &d);
	return 0;
}

/* Return the number of entries, which may exceed the room. */
int world_classes(struct world *w, struct world_stats *st, u32 room)
{
	struct walk walk = { .w.fn = on_class, .st = st, .room = room };

	world = w;
	if (w->violation[0] || setjmp(w->entry))
		return WORLD_BROKEN;
	if (world_ops->cl_ops && world_ops->cl_ops->walk)
		world_ops->cl_ops->walk(w->kind, &walk.w);
	return walk.n;
}

/* Return statistics by their names in tc; minor 0 means the qdisc. */
int world_named(struct world *w, u32 minor, char *json, u32 room)
{
	struct {
		struct rtattr a;
		u8 app[512];
	} attr;
	struct gnet_dump d = {};

	world = w;
	if (w->violation[0] || setjmp(w->entry))
		return WORLD_BROKEN;
	if (minor && world_ops->cl_ops->dump_stats(w->kind, minor, &d) < 0)
		return WORLD_MALFORMED;
	if (!minor)
		read_stats(w->kind, &d);
	attr.a.rta_type = TCA_STATS_APP;
	attr.a.rta_len = RTA_LENGTH(d.app_len);
	memcpy(RTA_DATA(&attr.a), d.app, d.app_len);
	return tc_print(&attr, true, json, room);
}

/* Return dumped options by their names in tc. */
int world_options(struct world *w, char *json, u32 room)
{
	struct sk_buff *skb;
	int rc;

	world = w;
	if (w->violation[0] || setjmp(w->entry))
		return WORLD_BROKEN;
	skb = dump(w->kind);
	rc = tc_print(skb->data, false, json, room);
	message_free(skb);
	return rc;
}

u64 world_now(const struct world *w)
{
	return w->now;
}

const char *world_violation(const struct world *w)
{
	return w->violation;
}

int world_verdict(const struct world *w)
{
	return w->verdict;
}

const char *world_message(const struct world *w)
{
	return w->message;
}

u32 world_warnings(const struct world *w)
{
	return w->warnings;
}

void world_walk(struct world *w)
{
	w->walk = true;
}

void world_fatal(struct world *w)
{
	w->fatal = true;
}
