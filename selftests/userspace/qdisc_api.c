// SPDX-License-Identifier: GPL-2.0
/* What the disciplines call: bodies for the declarations in kernel.h. */
#include <stdarg.h>
#include <stdio.h>

#include "world.h"

struct world *world;
struct Qdisc_ops *world_ops;
u32 world_most_alloc = S32_MAX;
int world_stderr = 2;

void userspace_violation(const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(world->violation)];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!world || world->fatal) {
		dprintf(world_stderr, "violation: %s\n", text);
		abort();
	}
	strcpy(world->violation, text);
	longjmp(world->entry, 1);
}

/* The log: the last line, and how many there were. */
void userspace_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(world->message, sizeof(world->message), fmt, ap);
	va_end(ap);
	world->warnings++;
}

/* ---- memory ---- */

static bool fails(void)
{
	return world->fail_in && !--world->fail_in;
}

/* Not zeroed unless asked for: 0xa5 everywhere, so that it shows. */
void *userspace_alloc(size_t n, size_t size, gfp_t gfp)
{
	size_t bytes;
	void *p;

	if (world->locked && (gfp & GFP_KERNEL))
		userspace_violation("an allocation that may sleep, under the lock");
	if (fails() || __builtin_mul_overflow(n, size, &bytes) ||
	    bytes > world_most_alloc)
		return NULL;
	p = gfp & __GFP_ZERO ? calloc(1, bytes ?: 1) : malloc(bytes ?: 1);
	if (!p)
		return NULL;
	if (!(gfp & __GFP_ZERO))
		memset(p, 0xa5, bytes);
	world->allocations++;
	return p;
}

void *kmemdup(const void *from, size_t n, gfp_t gfp)
{
	void *to = kmalloc(n, gfp);

	return to ? memcpy(to, from, n) : NULL;
}

void kvfree(const void *p)
{
	if (!p)
		return;
	world->allocations--;
	free((void *)p);
}

/* ---- time and chance ---- */

u64 ktime_get_ns(void)
{
	return world->now;
}

/* splitmix64: good enough for salts, and the same for the same seed. */
u64 get_random_u64(void)
{
	u64 z = world->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void get_random_bytes(void *to, size_t n)
{
	u8 *p = to;

	while (n--)
		*p++ = get_random_u64();
}

/* ---- hashes ---- */

static inline u64 rol64_(u64 x, int n)
{
	return x << n | x >> (64 - n);
}

static inline u32 rol32_(u32 x, int n)
{
	return x << n | x >> (32 - n);
}

static void sip_round(u64 v[4])
{
	v[0] += v[1];
	v[1] = rol64_(v[1], 13) ^ v[0];
	v[0] = rol64_(v[0], 32);
	v[2] += v[3];
	v[3] = rol64_(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rol64_(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rol64_(v[1], 17) ^ v[2];
	v[2] = rol64_(v[2], 32);
}

/* SipHash-2-4, Aumasson and Bernstein 2012. */
u64 siphash(const void *data, size_t len, const siphash_key_t *key)
{
	u64 v[4] = {
		key->key[0] ^ 0x736f6d6570736575ULL,
		key->key[1] ^ 0x646f72616e646f6dULL,
		key->key[0] ^ 0x6c7967656e657261ULL,
		key->key[1] ^ 0x7465646279746573ULL,
	};
	const u8 *p = data;
	size_t left = len;
	u64 m;
	int i;

	for (; left >= 8; left -= 8, p += 8) {
		memcpy(&m, p, 8);
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
	}
	m = 0;
	memcpy(&m, p, left);
	m |= (u64)len << 56;
	v[3] ^= m;
	sip_round(v);
	sip_round(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* A 32-bit hash, shorter than the kernel's jhash(). */
u32 jhash(const void *data, u32 len, u32 initval)
{
	const u8 *p = data;
	u32 h = 0xdeadbeef + len + initval;

	while (len--) {
		h = (h ^ *p++) * 0x01000193U;
		h = rol32_(h, 13);
	}
	h ^= h >> 16;
	h *= 0x85ebca6bU;
	h ^= h >> 13;
	h *= 0xc2b2ae35U;
	return h ^ h >> 16;
}

/* ---- the lock ---- */

void userspace_lock(void)
{
	if (world->locked)
		userspace_violation("the qdisc lock is taken twice");
	world->locked = true;
	world->locks++;
}

void userspace_assert_locked(void)
{
	if (!world->locked)
		userspace_violation("the qdisc lock is not held");
}

void userspace_unlock(void)
{
	if (!world->locked)
		userspace_violation("the qdisc lock is not held and given back");
	world->locked = false;
}

/* ---- work ---- */

void schedule_delayed_work(struct delayed_work *work, unsigned long delay)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(world->work); i++) {
		if (world->work[i] && world->work[i] != work)
			continue;
		if (!world->work[i])
			work->due = world->now + delay * (NSEC_PER_SEC / HZ);
		world->work[i] = work;
		return;
	}
	userspace_violation("a discipline has more than %u items of work", i);
}

void cancel_delayed_work_sync(struct delayed_work *work)
{
	if (!work->work.func)
		userspace_violation("work is cancelled that was never initialized");
	for (u32 i = 0; i < ARRAY_SIZE(world->work); i++)
		if (world->work[i] == work)
			world->work[i] = NULL;
}

/* Of a machine with 1 GB. */
unsigned long totalram_pages(void)
{
	return 1UL << (30 - PAGE_SHIFT);
}

/* ---- devices ---- */

static struct notifier_block *notifiers;
static unsigned long now_notified;	/* the event; 0: none */

/* The kernel may ask other devices for it, sleep, and lock them. */
int __ethtool_get_link_ksettings(struct net_device *dev,
				 struct ethtool_link_ksettings *link)
{
	if (!dev->dev.parent)
		userspace_violation("a device without hardware is asked for its speed");
	if (world->locked)
		userspace_violation("the speed is asked for under the qdisc lock");
	if (now_notified && now_notified != NETDEV_UP && now_notified != NETDEV_CHANGE)
		userspace_violation("the speed is asked for while other devices are locked");
	memset(link, 0, sizeof(*link));
	link->base.speed = dev->speed;
	return dev->speed == SPEED_UNASKABLE ? -EOPNOTSUPP : 0;
}

/* As the kernel: who registers hears at once of the devices that are up. */
int register_netdevice_notifier(struct notifier_block *nb)
{
	nb->next = notifiers;
	notifiers = nb;
	return 0;
}

bool userspace_notifiers(void)
{
	return notifiers;
}

int unregister_netdevice_notifier(struct notifier_block *nb)
{
	struct notifier_block **p;

	for (p = &notifiers; *p; p = &(*p)->next)
		if (*p == nb) {
			*p = nb->next;
			return 0;
		}
	return -ENOENT;
}

void world_notify(struct net_device *dev, unsigned long event)
{
	struct netdev_notifier_info info = { dev };
	struct notifier_block *nb;

	now_notified = event;
	for (nb = notifiers; nb; nb = nb->next)
		nb->notifier_call(nb, event, &info);
	now_notified = 0;
}

/* ---- packets ---- */

struct sk_buff *world_skb(u32 len, u32 truesize)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));
	u32 linear = min_t(u32, len, USERSPACE_HEAD);

	if (!skb)
		abort();
	/* Without room at the end, so that the sanitizer sees a read beyond it. */
	skb->head = calloc(1, NET_IP_ALIGN + linear);
	if (!skb->head)
		abort();
	skb->data = skb->head + NET_IP_ALIGN;
	skb->tail = skb->data + linear;
	skb->end = skb->tail;
	skb->len = len;
	skb->data_len = len - linear;
	skb->truesize = truesize;
	skb->dev = &world->dev;
	qdisc_skb_cb(skb)->pkt_len = len;
	list_add(&skb->alive, &world->alive);
	return skb;
}

/* A packet goes to another place. */
void world_move(struct sk_buff *skb, enum userspace_where where)
{
	s64 more = (where == USERSPACE_HELD) - (skb->where == USERSPACE_HELD);

	skb->where = where;
	if (!skb->leaf) {
		world->held.n += more;
		world->held.bytes += more * qdisc_pkt_len(skb);
	}
}

static struct Qdisc noop;
static struct netdev_queue noop_queue = { .qdisc = &noop };	/* of no device */
static struct Qdisc noop = { .dev_queue = &noop_queue };

/* The operation f: another processor takes the device down, without the lock. */
struct Qdisc *qdisc_root_bh(const struct Qdisc *sch)
{
	struct Qdisc *root = sch->dev_queue->qdisc;

	if (world->down_in && !--world->down_in)
		sch->dev_queue->qdisc = &noop;
	return root;
}

/* A packet leaves the world, for @account's reason. */
void world_retire(struct sk_buff *skb, struct world_account *account)
{
	if (skb->where == USERSPACE_GONE)
		userspace_violation("packet %u is freed twice", skb->number);
	if (skb->users)
		userspace_violation("packet %u is freed while it is used", skb->number);
	world_move(skb, USERSPACE_GONE);
	if (!skb->leaf) {
		account->n++;
		account->bytes += qdisc_pkt_len(skb);
		world->congested += account == &world->lost &&
				    tc_skb_cb(skb)->drop_reason == QDISC_DROP_CONGESTED;
	}
	if (skb == world->peeked)
		world->peeked = NULL;
	list_del(&skb->alive);
	free(skb->head);
	free(skb);
}

static void free_packet(struct sk_buff *skb)
{
	world_retire(skb, world->purging ? &world->purged : &world->lost);
}

void kfree_skb(struct sk_buff *skb)
{
	if (!skb)
		return;
#ifndef USERSPACE_OLD
	if (world->locked && !world->purging &&
	    world->txq.qdisc->flags & TCQ_F_DEQUEUE_DROPS)
		userspace_violation("packet %u is freed under the lock", skb->number);
#endif
	free_packet(skb);
}

void consume_skb(struct sk_buff *skb)
{
	if (skb->users)
		skb->users--;
	else
		world_retire(skb, &world->consumed);
}

void rtnl_kfree_skbs(struct sk_buff *head, struct sk_buff *tail)
{
	struct sk_buff *next;

	if (!head != !tail)
		userspace_violation("rtnl_kfree_skbs: only one end");
	for (; head; head = next) {
		next = head == tail ? NULL : head->next;
		if (head != tail && !next)
			userspace_violation("rtnl_kfree_skbs: the tail is not on the list");
		free_packet(head);
	}
}

void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
	if (skb->lost)
		userspace_violation("packet %u is dropped twice", skb->number);
	skb->lost = true;
	skb->next = *to_free;
	*to_free = skb;
}

#ifndef USERSPACE_OLD
/* As the kernel: the root frees the packet after it gave back the lock. */
void qdisc_dequeue_drop(struct Qdisc *sch, struct sk_buff *skb,
			enum qdisc_drop_reason reason)
{
	struct Qdisc *root = sch->dev_queue->qdisc;

	if (!(sch->flags & TCQ_F_DEQUEUE_DROPS))
		userspace_violation("qdisc_dequeue_drop() without its flag");
	tcf_set_qdisc_drop_reason(skb, reason);
	if (root->flags & TCQ_F_DEQUEUE_DROPS)
		__qdisc_drop(skb, &root->to_free);
	else
		kfree_skb(skb);
}
#endif

/* What is behind the tags in the data, the first being @at, and where. */
__be16 behind_tags(const struct sk_buff *skb, int *at)
{
	__be16 type = skb->protocol;

	for (; eth_type_vlan(type); *at += VLAN_HLEN) {
		if (skb->data + *at + VLAN_HLEN > skb->tail)
			return 0;
		memcpy(&type, skb->data + *at + 2, 2);
	}
	return type;
}

/* As in the kernel, which looks for tags where mac_len says that they end. */
__be16 skb_protocol(const struct sk_buff *skb, bool skip_vlan)
{
	int at = skb->mac_len ? skb->mac_len - VLAN_HLEN : ETH_HLEN;

	if (skip_vlan)
		return behind_tags(skb, &at);
	return skb->vlan_present ? skb->vlan_proto : skb->protocol;
}

static void ip_checksum(u8 *ip)
{
	u32 sum = 0;
	int i;

	ip[10] = 0;
	ip[11] = 0;
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = ~sum >> 8;
	ip[11] = ~sum;
}

/* RFC 3168: 1 if the packet bears the mark now, 0 if it cannot. */
int INET_ECN_set_ce(struct sk_buff *skb)
{
	u8 *ip = skb_network_header(skb);
	__be16 proto = skb_protocol(skb, true);

	if (proto == htons(ETH_P_IP) && ip + 20 <= skb->tail) {
		if (!(ip[1] & 3))
			return 0;
		ip[1] |= 3;
		ip_checksum(ip);
		return 1;
	}
	if (proto == htons(ETH_P_IPV6) && ip + 40 <= skb->tail) {
		if (!(ip[1] & 0x30))
			return 0;
		ip[1] |= 0x30;
		return 1;
	}
	return 0;
}

struct flow_dissector flow_keys_dissector;

/*
 * VLAN, then IPv4 or IPv6 with extensions, then TCP or UDP. As in the kernel,
 * which takes what is at the network header for a tag if the type says so.
 */
bool __skb_flow_dissect(const struct net *net, const struct sk_buff *skb,
			struct flow_dissector *dissector, void *container,
			const void *data, __be16 proto, int nhoff, int hlen,
			unsigned int flags)
{
	struct flow_keys *keys = container;
	const u8 *ip, *l4, *end;

	if (!data) {
		data = skb->data;
		proto = skb_protocol(skb, false);
		nhoff = skb_network_offset(skb);
		hlen = skb_headlen(skb);
	}
	ip = data + nhoff;
	end = data + hlen;
	while (eth_type_vlan(proto)) {
		bool first = !keys->vlan.vlan_tpid;
		__be16 tpid = proto;
		u16 tci;

		if (first && skb->vlan_present) {
			tci = skb->vlan_tci;
			proto = skb->protocol;
		} else {
			if (ip + 4 > end)
				return false;
			tci = ip[0] << 8 | ip[1];
			memcpy(&proto, ip + 2, 2);
			ip += 4;
		}
		if (first) {
			keys->vlan.vlan_id = tci & 0xfff;
			keys->vlan.vlan_dei = tci >> 12;
			keys->vlan.vlan_priority = tci >> 13;
			keys->vlan.vlan_tpid = tpid;
		}
	}
	keys->basic.n_proto = proto;
	if (proto == htons(ETH_P_IP)) {
		if (ip + 20 > end || (ip[0] & 0xf) < 5)
			return false;
		keys->basic.ip_proto = ip[9];
		keys->control.addr_type = FLOW_DISSECTOR_KEY_IPV4_ADDRS;
		memcpy(&keys->addrs.v4addrs, ip + 12, 8);
		if (ip_is_fragment((const void *)ip)) {
			keys->control.flags |= FLOW_DIS_IS_FRAGMENT;
			keys->control.thoff = ip + 4 * (ip[0] & 0xf) - (const u8 *)data;
			return true;
		}
		l4 = ip + 4 * (ip[0] & 0xf);
	} else if (proto == htons(ETH_P_IPV6)) {
		if (ip + 40 > end)
			return false;
		keys->basic.ip_proto = ip[6];
		keys->control.addr_type = FLOW_DISSECTOR_KEY_IPV6_ADDRS;
		memcpy(&keys->addrs.v6addrs, ip + 8, 32);
		keys->tags.flow_label = (ip[1] & 0xf) << 16 | ip[2] << 8 | ip[3];
		l4 = ip + 40;
		while (keys->basic.ip_proto == IPPROTO_HOPOPTS ||
		       keys->basic.ip_proto == IPPROTO_ROUTING ||
		       keys->basic.ip_proto == IPPROTO_DSTOPTS ||
		       keys->basic.ip_proto == IPPROTO_FRAGMENT) {
			bool fragment = keys->basic.ip_proto == IPPROTO_FRAGMENT;

			if (l4 + 8 > end)
				return false;
			keys->basic.ip_proto = l4[0];
			l4 += fragment ? 8 : 8 + 8 * l4[1];
			if (fragment) {
				keys->control.flags |= FLOW_DIS_IS_FRAGMENT;
				keys->control.thoff = l4 - (const u8 *)data;
				return true;
			}
		}
	} else {
		return false;
	}
	switch (keys->basic.ip_proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
	case IPPROTO_ESP:	/* as in the kernel, where the SPI counts as ports */
		if (l4 + 4 > end)
			return false;
		memcpy(&keys->ports.ports, l4, 4);
	}
	keys->control.thoff = l4 - (const u8 *)data;
	return true;
}

bool skb_flow_dissect_flow_keys_basic(const struct net *net,
				      const struct sk_buff *skb,
				      struct flow_keys_basic *keys,
				      const void *data, __be16 proto,
				      int nhoff, int hlen, unsigned int flags)
{
	struct flow_keys all = {};
	bool good = __skb_flow_dissect(net, skb, &flow_keys_dissector, &all,
				       data, proto, nhoff, hlen, flags);

	memset(keys, 0, sizeof(*keys));
	keys->control.addr_type = all.control.addr_type;
	keys->control.thoff = all.control.thoff;
	keys->basic = all.basic;
	return good;
}

u32 skb_get_hash(struct sk_buff *skb)
{
	static const siphash_key_t key = { { 1, 2 } };
	const size_t from = offsetof(struct flow_keys, basic);
	struct flow_keys keys = {};

	if (!skb->l4_hash && !skb->sw_hash) {
		__skb_flow_dissect(NULL, skb, &flow_keys_dissector, &keys, NULL,
				   0, 0, 0, 0);
		skb->hash = (u32)siphash((u8 *)&keys + from,
					 sizeof(keys) - from, &key) ?: 1;
	}
	return skb->hash;
}

/*
 * As skb_segment_list(): a list of packets that GRO has made is split in place. The packet
 * itself becomes the segment @first, and its caller still frees it.
 */
static struct sk_buff *split_in_place(struct sk_buff *skb, struct sk_buff *first)
{
	memcpy(skb->cb, first->cb, sizeof(skb->cb));
	skb->len = first->len;
	skb->data_len = first->data_len;
	skb->tail = skb->data + skb_headlen(skb);
	skb->truesize = first->truesize;
	skb->shinfo = first->shinfo;
	skb->next = first->next;
	skb->users++;
	list_del(&first->alive);
	free(first->head);
	free(first);
	return skb;
}

/* The segments of a GSO packet, with all that a clone has. */
struct sk_buff *skb_gso_segment(struct sk_buff *skb, netdev_features_t f)
{
	u32 headers, payload, chunk, i = 0;
	struct sk_buff *first = NULL, **last = &first, *s;
	int network = ETH_HLEN;

	if (!skb_is_gso(skb))
		userspace_violation("a packet is split that is none of GSO");
	if (fails())
		return ERR_PTR(-ENOMEM);
	behind_tags(skb, &network);
	headers = network + (skb->data[network] >> 4 == 6 ? 40 : 20) +
		  (skb->shinfo.gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6) ? 20 : 8);
	if (headers >= skb->len)
		return ERR_PTR(-EINVAL);
	for (payload = skb->len - headers; payload; payload -= chunk, i++) {
		chunk = min_t(u32, payload, skb->shinfo.gso_size);
		s = world_skb(headers + chunk, 768 + ((headers + chunk + 255) & ~255U));
		memcpy(s->cb, skb->cb, sizeof(s->cb));
		/* The kernel keeps offsets and a checksum there while it cuts. */
		memset(s->cb + 32, 0xa5, sizeof(s->cb) - 32);
		memcpy(s->data, skb->data, min_t(u32, s->len, USERSPACE_HEAD));
		s->priority = skb->priority;
		s->mark = skb->mark;
		s->protocol = skb->protocol;
		s->vlan_tci = skb->vlan_tci;
		s->vlan_proto = skb->vlan_proto;
		s->vlan_present = skb->vlan_present;
		s->mac_len = skb->mac_len;
		s->network_offset = skb->network_offset;
		s->number = skb->number;
		s->leaf = skb->leaf;
		s->act = skb->act;
		s->act_class = skb->act_class;
		s->filtered = skb->filtered;
		s->handle = skb->handle;
		s->hash = skb->hash;
		s->l4_hash = skb->l4_hash;
		s->sw_hash = skb->sw_hash;
		s->inner_network_header = skb->inner_network_header;
		s->sender = skb->sender;
		s->sk = skb->sk ? &s->sender : NULL;
		*last = s;
		last = &s->next;
	}
	if (skb->shinfo.gso_type & SKB_GSO_FRAGLIST)
		return split_in_place(skb, first);
	return first;
}

/* ---- netlink ---- */

void userspace_extack(struct netlink_ext_ack *extack, const char *fmt, ...)
{
	va_list ap;

	if (!extack)
		return;
	va_start(ap, fmt);
	vsnprintf(extack->buf, sizeof(extack->buf), fmt, ap);
	va_end(ap);
	extack->_msg = extack->buf;
}

static const u8 nla_lengths[] = { [NLA_U8] = 1, [NLA_U32] = 4, [NLA_U64] = 8 };

/* As with NL_VALIDATE_STRICT. */
int nla_parse_nested(struct nlattr *tb[], int maxtype, const struct nlattr *nla,
		     const struct nla_policy *policy,
		     struct netlink_ext_ack *extack)
{
	const struct nla_policy *pt;
	const struct nlattr *a;
	int left, len;
	u32 type;

	if (!(nla->nla_type & NLA_F_NESTED)) {
		NL_SET_ERR_MSG_ATTR(extack, nla, "NLA_F_NESTED is missing");
		return -EINVAL;
	}
	memset(tb, 0, sizeof(*tb) * (maxtype + 1));
	a = nla_data(nla);
	for (left = nla_len(nla); left >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN &&
	     a->nla_len <= left;
	     left -= NLA_ALIGN(a->nla_len),
	     a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len))) {
		type = nla_type(a);
		if (!type || type > (u32)maxtype) {
			NL_SET_ERR_MSG_ATTR(extack, a, "Unknown attribute type");
			return -EINVAL;
		}
		pt = &policy[type];
		len = nla_len(a);
		if (pt->type < sizeof(nla_lengths) && nla_lengths[pt->type] &&
		    len != nla_lengths[pt->type]) {
			NL_SET_ERR_MSG_ATTR(extack, a, "invalid attribute length");
			return -EINVAL;
		}
		if (pt->type != NLA_UNSPEC && (a->nla_type & NLA_F_NESTED)) {
			NL_SET_ERR_MSG_ATTR(extack, a, "NLA_F_NESTED not expected");
			return -EINVAL;
		}
		switch (pt->type) {
		case NLA_UNSPEC:
			NL_SET_ERR_MSG_ATTR(extack, a, "Unsupported attribute");
			return -EINVAL;
		case NLA_BITFIELD32: {
			struct nla_bitfield32 bits;

			if (len != sizeof(bits))
				return -ERANGE;
			bits = nla_get_bitfield32(a);
			if ((bits.selector | bits.value) & ~pt->bitfield32_valid ||
			    bits.value & ~bits.selector)
				return -EINVAL;
			break;
		}
		case NLA_FLAG:
			if (len)
				return -ERANGE;
			break;
		}
		tb[type] = (struct nlattr *)a;
	}
	if (left > 0) {
		NL_SET_ERR_MSG(extack, "bytes leftover after parsing attributes");
		return -EINVAL;
	}
	return 0;
}

int nla_put(struct sk_buff *skb, int attr, int len, const void *data)
{
	struct nlattr *nla = (struct nlattr *)skb->tail;

	if (skb->end - skb->tail < NLA_ALIGN(NLA_HDRLEN + len))
		return -EMSGSIZE;
	memset(nla, 0, NLA_ALIGN(NLA_HDRLEN + len));
	nla->nla_type = attr;
	nla->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy(nla_data(nla), data, len);
	skb->tail += NLA_ALIGN(nla->nla_len);
	skb->len = skb->tail - skb->data;
	return 0;
}

struct nlattr *nla_nest_start(struct sk_buff *skb, int attr)
{
	struct nlattr *nest = (struct nlattr *)skb->tail;

	return nla_put(skb, attr | NLA_F_NESTED, 0, NULL) ? NULL : nest;
}

int nla_nest_end(struct sk_buff *skb, struct nlattr *nest)
{
	nest->nla_len = skb->tail - (u8 *)nest;
	return skb->len;
}

void nla_nest_cancel(struct sk_buff *skb, struct nlattr *nest)
{
	skb->tail = (u8 *)nest;
	skb->len = skb->tail - skb->data;
}

/* ---- filters ---- */

int tcf_block_get(struct tcf_block **block, struct tcf_proto **filters,
		  struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	*block = userspace_alloc(1, sizeof(**block), GFP_KERNEL);
	if (!*block)
		return -ENOMEM;
	*filters = NULL;
	if (sch == world->kind)
		world->filters = filters;
	return 0;
}

void tcf_block_put(struct tcf_block *block)
{
	kvfree(block);
}

int tcf_classify(struct sk_buff *skb, const struct tcf_block *block,
		 const struct tcf_proto *filters, struct tcf_result *res,
		 bool compat_mode)
{
	skb->filter_act = skb->act;
	/* If no filter matches, the kernel leaves classid as it was. A class shows users of it. */
	res->classid = (int)skb->act == TC_ACT_UNSPEC ? 2 : skb->act_class;
	res->class = 0;
	if ((int)skb->act == TC_ACT_CONSUMED) {
		world_retire(skb, &world->stolen);
		return TC_ACT_CONSUMED;
	}
	return (int)skb->act;
}

#ifndef USERSPACE_OLD
int tcf_classify_qdisc(struct sk_buff *skb, const struct tcf_proto *filters,
		       struct tcf_result *res, bool compat_mode)
{
	int act = tcf_classify(skb, NULL, filters, res, compat_mode);

	return act == TC_ACT_REDIRECT ? TC_ACT_SHOT : act;
}
#endif

/* ---- statistics ---- */

static int no_room(struct gnet_dump *d)
{
	return d->full && !--d->full;
}

int gnet_stats_copy_app(struct gnet_dump *d, void *st, int len)
{
	if (no_room(d))
		return -1;
	if (len > (int)sizeof(d->app))
		userspace_violation("statistics of %d bytes", len);
	memcpy(d->app, st, len);
	d->app_len = len;
	return 0;
}

int gnet_stats_copy_queue(struct gnet_dump *d, void *percpu,
			  struct gnet_stats_queue *q, u32 qlen)
{
	if (no_room(d))
		return -1;
	d->queue = *q;
	d->queue.qlen = qlen;
	return 0;
}

int gnet_stats_copy_basic(struct gnet_dump *d, void *percpu,
			  struct gnet_stats_basic_sync *b, bool running)
{
	if (no_room(d))
		return -1;
	d->basic.bytes = b->bytes;
	d->basic.packets = b->packets;
	return 0;
}

bool tc_qdisc_stats_dump(struct Qdisc *sch, unsigned long cl,
			 struct qdisc_walker *arg)
{
	if (arg->count >= arg->skip && arg->fn(sch, cl, arg) < 0) {
		arg->stop = 1;
		return false;
	}
	arg->count++;
	return true;
}

/* ---- disciplines ---- */

bool userspace_refuse_qdisc;

int register_qdisc(struct Qdisc_ops *ops)
{
	if (userspace_refuse_qdisc)
		return -EEXIST;
	world_ops = ops;
	return 0;
}

void unregister_qdisc(struct Qdisc_ops *ops)
{
	world_ops = NULL;
}

void qdisc_tree_reduce_backlog(struct Qdisc *sch, int n, int len)
{
	int drops = max_t(int, n, 0);
	bool notify;

	if (!world->locked)
		userspace_violation("qdisc_tree_reduce_backlog() without the lock");
	if (sch == world->kind) {
		if (!n && len == (int)world->over)
			world->over = 0;
		world->reduced_n += n;
		world->reduced_len += len;
		world->reduced_drops += drops;
	}
	for (; sch->above; sch = sch->above) {
		notify = !sch->q.qlen;
		/* A WARN_ON_ONCE() of cores before 2025. */
		if (notify && !n && len)
			userspace_violation("parents are told of 0 packets, %d bytes, of an empty %s",
					    len, sch->ops->id);
		if (notify && sch->above->ops->cl_ops->qlen_notify)
			sch->above->ops->cl_ops->qlen_notify(sch->above,
							     TC_H_MIN(sch->parent));
		sch->above->q.qlen -= n;
		sch->above->qstats.backlog -= len;
		sch->above->qstats.drops += drops;
	}
}

static void gso_skb_push(struct Qdisc *sch, struct sk_buff *skb)
{
	skb->next = sch->gso_skb.head;
	sch->gso_skb.head = skb;
	sch->gso_skb.qlen++;
}

struct sk_buff *qdisc_peek_dequeued(struct Qdisc *sch)
{
	struct sk_buff *skb = sch->gso_skb.head;

	if (!skb) {
		skb = sch->dequeue(sch);
		if (skb) {
			gso_skb_push(sch, skb);
			sch->qstats.backlog += qdisc_pkt_len(skb);
			sch->q.qlen++;
		}
	}
	return skb;
}

struct sk_buff *qdisc_dequeue_peeked(struct Qdisc *sch)
{
	struct sk_buff *skb = sch->gso_skb.head;

	if (!skb)
		return sch->dequeue(sch);
	sch->gso_skb.head = skb->next;
	sch->gso_skb.qlen--;
	skb->next = NULL;
	sch->qstats.backlog -= qdisc_pkt_len(skb);
	sch->q.qlen--;
	return skb;
}

void qdisc_reset(struct Qdisc *sch)
{
	bool purging = world->purging;
	struct sk_buff *skb;

	world->purging = true;
	if (sch->ops->reset)
		sch->ops->reset(sch);
	while ((skb = sch->gso_skb.head)) {
		sch->gso_skb.head = skb->next;
		kfree_skb(skb);
	}
	sch->gso_skb.qlen = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	world->purging = purging;
}
