/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the kernel that a queue discipline uses, for user space.
 *
 * The compiler includes this header before every source file (-include). Other
 * <linux/...> and <net/...> headers come from the system, from
 * selftests/unit/shim, or are empty files that the Makefile writes. If a module
 * calls a new kernel function, add it here, or in qdisc_api.c if it is not inline.
 *
 * -DUSERSPACE_OLD builds as for a kernel without any symbol that Kbuild probes
 * for, except the first drop reasons.
 */
#ifndef USERSPACE_KERNEL_H
#define USERSPACE_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An error ends the operation: see world.h. */
void userspace_warn(const char *fmt, ...);
void userspace_violation(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
#define SHIM_TRAP(what)		userspace_violation("%s", what)

#include <asm/types.h>
#include <asm/byteorder.h>

#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/prandom.h>

#ifndef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#endif
#undef noinline
#define noinline		__attribute__((__noinline__))
#define __init
#define __exit
#define __rcu
#define __force
#define __user
#define __read_mostly
#define __maybe_unused		__attribute__((__unused__))
#define ____cacheline_aligned	__attribute__((__aligned__(64)))
#define __aligned(n)		__attribute__((__aligned__(n)))
#define prefetch(x)		__builtin_prefetch(x)

#ifndef USEC_PER_SEC
#define USEC_PER_SEC		1000000L
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_USEC		1000L
#endif
#define SZ_64K			0x10000
#define SZ_1M			0x100000
#define SZ_32M			0x2000000

#ifndef __same_type
#define __same_type(a, b)	__builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#endif
#ifndef sizeof_field
#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#endif
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)

#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)

#define MAX_ERRNO		4095
static inline bool IS_ERR(const void *p)
{
	return (unsigned long)p >= (unsigned long)-MAX_ERRNO;
}
static inline bool IS_ERR_OR_NULL(const void *p)
{
	return !p || IS_ERR(p);
}
static inline void *ERR_PTR(long e) { return (void *)e; }

#define htons(x)		__cpu_to_be16(x)

#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/pkt_cls.h>

/* Kernel only: a filter sent the packet on; it is not to be freed. */
#define TC_ACT_CONSUMED		(TC_ACT_VALUE_MAX + 1)

/* ---- modules ---- */

struct module;
#define THIS_MODULE		NULL
#define EXPORT_SYMBOL_GPL(x)	_Static_assert(sizeof(&(x)), "exported")
#ifdef USERSPACE_INNER	/* for its types alone */
#define module_init(fn)		struct userspace_no_init
#define module_exit(fn)		struct userspace_no_exit
#else
#define module_init(fn)		int userspace_module_init(void) { return fn(); }
#define module_exit(fn)		void userspace_module_exit(void) { fn(); }
#endif
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_LICENSE(x)
#define MODULE_VERSION(x)
#define MODULE_INFO(tag, info) _Static_assert(true, info)
#define MODULE_ALIAS(x)
#define MODULE_ALIAS_NET_SCH(x)	struct userspace_no_alias

int userspace_module_init(void);
void userspace_module_exit(void);

/* ---- memory; every allocation may fail and is counted ---- */

typedef unsigned int gfp_t;
#define GFP_KERNEL		1u
#define GFP_KERNEL_ACCOUNT	3u
#define GFP_ATOMIC		4u
#define __GFP_ZERO		16u
#define __GFP_NOWARN		32u

void *userspace_alloc(size_t n, size_t size, gfp_t gfp);
void kvfree(const void *p);
void *kmemdup(const void *from, size_t n, gfp_t gfp);
#define kfree(p)		kvfree(p)
#define kmalloc(n, gfp)			userspace_alloc(1, n, gfp)
#define kcalloc(n, s, gfp)		userspace_alloc(n, s, (gfp) | __GFP_ZERO)
#define kmalloc_array(n, s, gfp)	userspace_alloc(n, s, gfp)
#define kvmalloc(n, gfp)		kmalloc(n, gfp)
#define kvcalloc(n, s, gfp)		kcalloc(n, s, gfp)
#define kvmalloc_array(n, s, gfp)	kmalloc_array(n, s, gfp)

/* ---- time and chance, both the test's ---- */

u64 ktime_get_ns(void);

u64 get_random_u64(void);
static inline u32 get_random_u32(void) { return get_random_u64() >> 32; }
void get_random_bytes(void *to, size_t n);

/* ---- hashes ---- */

typedef struct {
	u64 key[2];
} siphash_key_t, hsiphash_key_t;

u64 siphash(const void *data, size_t len, const siphash_key_t *key);
/* The kernel's takes fewer rounds. */
static inline u32 hsiphash(const void *data, size_t len,
			   const hsiphash_key_t *key)
{
	return (u32)siphash(data, len, key);
}
static inline u32 hsiphash_1u32(u32 a, const hsiphash_key_t *key)
{
	return hsiphash(&a, sizeof(a), key);
}
static inline u32 hsiphash_2u32(u32 a, u32 b, const hsiphash_key_t *key)
{
	const u32 words[] = { a, b };

	return hsiphash(words, sizeof(words), key);
}
static inline u32 hsiphash_4u32(u32 a, u32 b, u32 c, u32 d,
				const hsiphash_key_t *key)
{
	const u32 words[] = { a, b, c, d };

	return hsiphash(words, sizeof(words), key);
}
u32 jhash(const void *data, u32 len, u32 initval);
static inline u32 jhash2(const u32 *k, u32 words, u32 initval)
{
	return jhash(k, 4 * words, initval);
}
static inline u32 jhash_3words(u32 a, u32 b, u32 c, u32 initval)
{
	const u32 words[] = { a, b, c };

	return jhash2(words, 3, initval);
}

/* ---- locks: one for the tree, held also around enqueue and dequeue ---- */

void userspace_lock(void);
void userspace_assert_locked(void);
void userspace_unlock(void);
#define ASSERT_RTNL()		do { } while (0)
#define rtnl_lock()		do { } while (0)
#define DEFINE_MUTEX(x)		struct mutex x
struct mutex { bool locked; };
#define mutex_lock(x)		((x)->locked = true)
#define mutex_unlock(x)		((x)->locked = false)
#define rtnl_trylock()		true
#define rtnl_unlock()		do { } while (0)
#define rcu_dereference_bh(p)	(p)
#define rtnl_dereference(p)	(p)
#define hash_for_each(table, i, obj, member) \
	for ((i) = 0; (i) < (int)ARRAY_SIZE(table); (i)++) \
		if (((obj) = (table)[i]))
#define hash_for_each_possible_rcu(table, obj, member, key, held) \
	for (int userspace_i = 0; userspace_i < (int)ARRAY_SIZE(table); userspace_i++) \
		if (((obj) = (table)[userspace_i]))
#define netdev_warn(dev, ...)	userspace_warn(__VA_ARGS__)
#define lockdep_assert_held(x)	userspace_assert_locked()

/* ---- work, done after an operation, when it is due ---- */

#define HZ			1000
#define jiffies			((unsigned long)(ktime_get_ns() / (NSEC_PER_SEC / HZ)))
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define nsecs_to_jiffies(ns)	((ns) / (NSEC_PER_SEC / HZ))

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct work;
	u64 due;	/* ns */
};

#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(w, f)	((w)->work.func = (f))
#define INIT_DEFERRABLE_WORK(w, f)	INIT_DELAYED_WORK(w, f)
void schedule_delayed_work(struct delayed_work *work, unsigned long delay);
void cancel_delayed_work_sync(struct delayed_work *work);

#define PAGE_SHIFT		12
unsigned long totalram_pages(void);

/* ---- devices ---- */

typedef u64 netdev_features_t;
#define NETIF_F_GSO_MASK	0xff00ULL

struct net_device {
	char		name[16];
	unsigned int	mtu;
	unsigned short	hard_header_len;
	unsigned int	flags;
	unsigned int	tx_queue_len;
	unsigned int	gso_max_size;
	u32		speed;	/* Mb/s, told by ethtool */
	struct {
		void	*parent;	/* the hardware; NULL: none */
	} dev;
	struct Qdisc	*qdisc;
	struct Qdisc	*qdisc_hash[2];	/* all but the root */
};

struct netdev_queue {
	struct net_device	*dev;
	struct Qdisc		*qdisc;
};

#define SPEED_UNKNOWN		-1
struct ethtool_link_settings_base {
	u32	speed;
	u8	duplex;
};
struct ethtool_link_ksettings {
	struct ethtool_link_settings_base base;
};

int __ethtool_get_link_ksettings(struct net_device *dev,
				 struct ethtool_link_ksettings *link);
#ifndef USERSPACE_OLD
#define netif_get_link_ksettings __ethtool_get_link_ksettings
#endif

#define NOTIFY_DONE		0
#define NETDEV_UP		1
#define NETDEV_CHANGE		4
#define NETDEV_CHANGEMTU	7

struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event,
			     void *info);
	struct notifier_block *next;
};
struct netdev_notifier_info {
	struct net_device *dev;
};
static inline struct net_device *
netdev_notifier_info_to_dev(const struct netdev_notifier_info *info)
{
	return info->dev;
}
int register_netdevice_notifier(struct notifier_block *nb);
int unregister_netdevice_notifier(struct notifier_block *nb);

/* ---- packets ---- */

struct skb_shared_info {
	u16	gso_size;
	u16	gso_segs;
	u32	gso_type;
};

#define SKB_GSO_TCPV4		1
#define SKB_GSO_TCPV6		16
#define SKB_GSO_FRAGLIST	0x40000

#define USERSPACE_HEAD		96	/* bytes of a packet that exist */
#define NET_IP_ALIGN		2
#define USERSPACE_MSG		8192	/* bytes of a netlink message */

/* State of a packet. Its holder says which leaf has it. */
enum userspace_where {
	USERSPACE_ARRIVING, USERSPACE_HELD, USERSPACE_OUT, USERSPACE_GONE,
};

struct sock {
	u16	sk_protocol;
};
static inline bool sk_fullsock(const struct sock *sk) { return true; }

struct sk_buff {
	struct sk_buff	*next;
	struct sk_buff	*prev;
	char		cb[48] __aligned(8);
	unsigned int	len;
	unsigned int	data_len;
	unsigned int	truesize;
	u32		priority;
	u32		mark;
	u32		hash;
	bool		l4_hash, sw_hash;
	__be16		protocol;
	u16		vlan_tci;
	__be16		vlan_proto;
	bool		vlan_present;
	u16		mac_len;
	u16		network_offset;
	u16		inner_network_header;
	struct sock	*sk;
	struct net_device *dev;
	struct skb_shared_info shinfo;
	u8		*head;
	u8		*data;
	u8		*tail;
	u8		*end;
	/* the harness's own */
	struct list_head alive;
	enum userspace_where where;
	u32		number;
	u32		leaf;		/* 0: the kind; else a sibling of that level */
	u32		act;		/* what the filters say */
	u32		act_class;
	bool		filtered;	/* a filter is attached when it arrives */
	u32		handle;		/* the discipline's handle at that time */
	struct sock	sender;		/* sk, if there is one */
	int		filter_act;	/* verdict of the filters; TC_ACT_OK at first */
	bool		lost;
	u32		users;		/* beside the one that every packet has */
};

struct sk_buff_head {
	struct sk_buff	*next;
	struct sk_buff	*prev;
	u32		qlen;
};

static inline void __skb_queue_head_init(struct sk_buff_head *list)
{
	list->next = (struct sk_buff *)list;
	list->prev = (struct sk_buff *)list;
	list->qlen = 0;
}
static inline struct sk_buff *skb_peek(const struct sk_buff_head *list)
{
	return list->next == (struct sk_buff *)list ? NULL : list->next;
}
static inline struct sk_buff *skb_peek_tail(const struct sk_buff_head *list)
{
	return list->prev == (struct sk_buff *)list ? NULL : list->prev;
}
static inline void __skb_queue_tail(struct sk_buff_head *list,
				    struct sk_buff *skb)
{
	skb->next = (struct sk_buff *)list;
	skb->prev = list->prev;
	list->prev->next = skb;
	list->prev = skb;
	list->qlen++;
}
static inline void __skb_unlink(struct sk_buff *skb, struct sk_buff_head *list)
{
	list->qlen--;
	skb->next->prev = skb->prev;
	skb->prev->next = skb->next;
	skb->next = NULL;
	skb->prev = NULL;
}
static inline struct sk_buff *__skb_dequeue(struct sk_buff_head *list)
{
	struct sk_buff *skb = skb_peek(list);

	if (skb)
		__skb_unlink(skb, list);
	return skb;
}
#define skb_queue_walk(queue, skb)					\
	for ((skb) = (queue)->next; (skb) != (struct sk_buff *)(queue);	\
	     (skb) = (skb)->next)

static inline struct skb_shared_info *skb_shinfo(const struct sk_buff *skb)
{
	return (struct skb_shared_info *)&skb->shinfo;
}
static inline bool skb_is_gso(const struct sk_buff *skb)
{
	return skb->shinfo.gso_size;
}
static inline unsigned int skb_headlen(const struct sk_buff *skb)
{
	return skb->len - skb->data_len;
}
static inline void skb_mark_not_on_list(struct sk_buff *skb)
{
	skb->next = NULL;
}
#define skb_list_walk_safe(first, skb, next_skb)			\
	for ((skb) = (first), (next_skb) = (skb) ? (skb)->next : NULL; (skb);	\
	     (skb) = (next_skb), (next_skb) = (skb) ? (skb)->next : NULL)

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb->network_offset;
}
static inline void skb_set_network_header(struct sk_buff *skb, int offset)
{
	skb->network_offset = offset;
}
static inline u8 *skb_network_header(const struct sk_buff *skb)
{
	return skb->data + skb->network_offset;
}
static inline u8 *skb_tail_pointer(const struct sk_buff *skb)
{
	return skb->tail;
}
static inline struct iphdr *ip_hdr(const struct sk_buff *skb)
{
	return (struct iphdr *)skb_network_header(skb);
}

static inline bool ip_is_fragment(const struct iphdr *iph)
{
	return iph->frag_off & htons(0x3fff);	/* more to come, or an offset */
}
static inline struct ipv6hdr *ipv6_hdr(const struct sk_buff *skb)
{
	return (struct ipv6hdr *)skb_network_header(skb);
}
static inline void *skb_header_pointer(const struct sk_buff *skb, int offset,
				       int len, void *buf)
{
	if (offset < 0 || offset + len > (int)skb->len)
		return NULL;
	if (skb->data + offset + len <= skb->tail)
		return skb->data + offset;
	memset(buf, 0, len);
	return buf;
}
static inline bool skb_vlan_tag_present(const struct sk_buff *skb)
{
	return skb->vlan_present;
}
static inline u16 skb_vlan_tag_get_id(const struct sk_buff *skb)
{
	return skb->vlan_tci & 0xfff;
}
#define VLAN_HLEN	4
#define VLAN_MAX_DEPTH	8
struct vlan_hdr {
	__be16	h_vlan_TCI;
	__be16	h_vlan_encapsulated_proto;
};
static inline bool eth_type_vlan(__be16 type)
{
	return type == htons(ETH_P_8021Q) || type == htons(ETH_P_8021AD);
}
__be16 skb_protocol(const struct sk_buff *skb, bool skip_vlan);
int INET_ECN_set_ce(struct sk_buff *skb);
u32 skb_get_hash(struct sk_buff *skb);
struct sk_buff *skb_gso_segment(struct sk_buff *skb, netdev_features_t f);
static inline netdev_features_t netif_skb_features(struct sk_buff *skb)
{
	return ~0ULL;
}

/* ---- the flow dissector ---- */

#define FLOW_DISSECTOR_F_STOP_AT_ENCAP		8u
#define FLOW_DISSECTOR_KEY_IPV4_ADDRS		2
#define FLOW_DISSECTOR_KEY_IPV6_ADDRS		3
#define FLOW_DISSECTOR_KEY_TIPC			12
#define FLOW_DIS_IS_FRAGMENT			BIT(0)

struct flow_dissector_key_basic {
	__be16	n_proto;
	u8	ip_proto;
	u8	padding;
};
struct flow_keys {
	struct {
		u16	thoff;
		u16	addr_type;
		u32	flags;
	} control;
	struct flow_dissector_key_basic basic;
	struct {
		u32	flow_label;
	} tags;
	struct {
		u16	vlan_id:12, vlan_dei:1, vlan_priority:3;
		__be16	vlan_tpid;
	} vlan, cvlan;
	struct {
		__be32	keyid;
	} keyid;
	union {
		__be32	ports;
		struct {
			__be16	src, dst;
		};
	} ports;
	u32	icmp;
	union {
		struct {
			__be32	src, dst;
		} v4addrs;
		struct {
			struct in6_addr src, dst;
		} v6addrs;
		struct {
			__be32	key;
		} tipckey;
	} addrs;
};
struct flow_keys_basic {
	struct {
		u16	thoff;
		u16	addr_type;
		u32	flags;
	} control;
	struct flow_dissector_key_basic basic;
};

struct net;
struct flow_dissector {
	char none;
};
extern struct flow_dissector flow_keys_dissector;
bool __skb_flow_dissect(const struct net *net, const struct sk_buff *skb,
			struct flow_dissector *dissector, void *container,
			const void *data, __be16 proto, int nhoff, int hlen,
			unsigned int flags);
bool skb_flow_dissect_flow_keys_basic(const struct net *net,
				      const struct sk_buff *skb,
				      struct flow_keys_basic *keys,
				      const void *data, __be16 proto,
				      int nhoff, int hlen, unsigned int flags);

/* ---- netlink ---- */

struct netlink_ext_ack {
	const char *_msg;
	char buf[256];
	const struct nlattr *bad_attr;
};
#define NL_SET_ERR_MSG(extack, msg) \
	do { if (extack) (extack)->_msg = (msg); } while (0)
#define NL_SET_ERR_MSG_MOD(extack, msg) NL_SET_ERR_MSG(extack, msg)
#define NL_SET_BAD_ATTR(extack, attr) \
	do { if (extack) (extack)->bad_attr = (attr); } while (0)
#define NL_SET_ERR_MSG_ATTR(extack, attr, msg) \
	do { NL_SET_ERR_MSG(extack, msg); NL_SET_BAD_ATTR(extack, attr); } while (0)
void userspace_extack(struct netlink_ext_ack *extack, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define NL_SET_ERR_MSG_FMT(extack, ...)	userspace_extack(extack, __VA_ARGS__)

/* Only the types and checks that a list of options can ask for. */
enum {
	NLA_UNSPEC, NLA_U8, NLA_U32, NLA_U64, NLA_FLAG, NLA_BITFIELD32,
};
struct nla_policy {
	u8	type;
	u32	bitfield32_valid;
};
#define NLA_POLICY_BITFIELD32(valid) \
	{ .type = NLA_BITFIELD32, .bitfield32_valid = (valid) }

static inline int nla_type(const struct nlattr *nla)
{
	return nla->nla_type & NLA_TYPE_MASK;
}
static inline void *nla_data(const struct nlattr *nla)
{
	return (char *)nla + NLA_HDRLEN;
}
static inline int nla_len(const struct nlattr *nla)
{
	return nla->nla_len - NLA_HDRLEN;
}
int nla_parse_nested(struct nlattr *tb[], int maxtype, const struct nlattr *nla,
		     const struct nla_policy *policy,
		     struct netlink_ext_ack *extack);
#define USERSPACE_NLA_GET(name, type)					\
static inline type nla_get_##name(const struct nlattr *nla)		\
{									\
	type value;							\
	memcpy(&value, nla_data(nla), sizeof(value));			\
	return value;							\
}									\
static inline int nla_put_##name(struct sk_buff *skb, int attr, type value) \
{									\
	return nla_put(skb, attr, sizeof(value), &value);		\
}
int nla_put(struct sk_buff *skb, int attr, int len, const void *data);
USERSPACE_NLA_GET(u8, u8)
USERSPACE_NLA_GET(u32, u32)
USERSPACE_NLA_GET(u64, u64)
USERSPACE_NLA_GET(bitfield, struct nla_bitfield32)
#define nla_get_bitfield32(nla)	nla_get_bitfield(nla)
static inline int nla_put_u64_64bit(struct sk_buff *skb, int attr, u64 value,
				    int padattr)
{
	return nla_put_u64(skb, attr, value);
}
struct nlattr *nla_nest_start(struct sk_buff *skb, int attr);
int nla_nest_end(struct sk_buff *skb, struct nlattr *nest);
void nla_nest_cancel(struct sk_buff *skb, struct nlattr *nest);

/* ---- filters: a packet brings what they say of it ---- */

struct tcf_proto {
	int dummy;
};
struct tcf_block {
	int dummy;
};
struct tcf_result {
	unsigned long	class;
	u32		classid;
};
struct Qdisc;
int tcf_block_get(struct tcf_block **block, struct tcf_proto **filters,
		  struct Qdisc *sch, struct netlink_ext_ack *extack);
void tcf_block_put(struct tcf_block *block);
int tcf_classify(struct sk_buff *skb, const struct tcf_block *block,
		 const struct tcf_proto *filters, struct tcf_result *res,
		 bool compat_mode);

/* ---- statistics ---- */

struct gnet_dump {
	struct gnet_stats_basic	basic;
	struct gnet_stats_queue	queue;
	u32			app_len;
	u8			app[512];
	u32			full;	/* number of the copy that has no room; 0: none */
};
struct gnet_stats_basic_sync {
	u64	bytes;
	u64	packets;
};
static inline void gnet_stats_basic_sync_init(struct gnet_stats_basic_sync *b)
{
	b->bytes = 0;
	b->packets = 0;
}
int gnet_stats_copy_app(struct gnet_dump *d, void *st, int len);
int gnet_stats_copy_queue(struct gnet_dump *d, void *percpu,
			  struct gnet_stats_queue *q, u32 qlen);
int gnet_stats_copy_basic(struct gnet_dump *d, void *percpu,
			  struct gnet_stats_basic_sync *b, bool running);

/* ---- disciplines ---- */

#define NET_XMIT_SUCCESS	0x00
#define NET_XMIT_DROP		0x01
#define NET_XMIT_CN		0x02
#define __NET_XMIT_STOLEN	0x00010000
#define __NET_XMIT_BYPASS	0x00020000
#define net_xmit_drop_count(e)	((e) & __NET_XMIT_STOLEN ? 0 : 1)

#ifndef USERSPACE_OLD
#define QDISC_PKT_LEN_MAX	(1 << 20)
#endif

#define TCQ_F_CAN_BYPASS	4
#define TCQ_F_NOPARENT		0x40
#ifndef USERSPACE_OLD
#define TCQ_F_DEQUEUE_DROPS	0x400
#endif

struct qdisc_skb_head {
	struct sk_buff	*head;
	struct sk_buff	*tail;
	u32		qlen;
};

struct qdisc_walker {
	int	stop;
	int	skip;
	int	count;
	int	(*fn)(struct Qdisc *sch, unsigned long cl,
		      struct qdisc_walker *w);
};

struct Qdisc_class_ops {
	unsigned int	flags;
	int		(*graft)(struct Qdisc *sch, unsigned long cl,
				 struct Qdisc *new, struct Qdisc **old,
				 struct netlink_ext_ack *extack);
	struct Qdisc *	(*leaf)(struct Qdisc *sch, unsigned long cl);
	void		(*qlen_notify)(struct Qdisc *sch, unsigned long cl);
	unsigned long	(*find)(struct Qdisc *sch, u32 classid);
	void		(*walk)(struct Qdisc *sch, struct qdisc_walker *arg);
	struct tcf_block *(*tcf_block)(struct Qdisc *sch, unsigned long arg,
				       struct netlink_ext_ack *extack);
	unsigned long	(*bind_tcf)(struct Qdisc *sch, unsigned long parent,
				    u32 classid);
	void		(*unbind_tcf)(struct Qdisc *sch, unsigned long cl);
	int		(*dump)(struct Qdisc *sch, unsigned long cl,
				struct sk_buff *skb, struct tcmsg *tcm);
	int		(*dump_stats)(struct Qdisc *sch, unsigned long cl,
				      struct gnet_dump *d);
};

struct Qdisc_ops {
	const struct Qdisc_class_ops *cl_ops;
	char		id[16];
	int		priv_size;
	unsigned int	static_flags;
	int		(*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				   struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	struct sk_buff *(*peek)(struct Qdisc *sch);
	int		(*init)(struct Qdisc *sch, struct nlattr *arg,
				struct netlink_ext_ack *extack);
	void		(*reset)(struct Qdisc *sch);
	void		(*destroy)(struct Qdisc *sch);
	int		(*change)(struct Qdisc *sch, struct nlattr *arg,
				  struct netlink_ext_ack *extack);
	void		(*attach)(struct Qdisc *sch);
	int		(*change_tx_queue_len)(struct Qdisc *sch,
					       unsigned int new_len);
	int		(*dump)(struct Qdisc *sch, struct sk_buff *skb);
	int		(*dump_stats)(struct Qdisc *sch, struct gnet_dump *d);
	struct module	*owner;
};

struct qdisc_size_table {
	struct tc_sizespec	szopts;
	u16			data[];
};

struct Qdisc {
	struct qdisc_size_table	*stab;
	int		(*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				   struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	unsigned int	flags;
	u32		limit;
	const struct Qdisc_ops *ops;
	u32		handle;
	u32		parent;
	struct Qdisc	*above;		/* who parent names; the harness's */
	struct netdev_queue *dev_queue;
	struct sk_buff	*to_free;
	struct qdisc_skb_head gso_skb;
	struct qdisc_skb_head skb_bad_txq;	/* always empty here */
	struct qdisc_skb_head q;
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue qstats;
	int		owner;
	long		privdata[] __aligned(64);
};

struct qdisc_skb_cb {
	unsigned int	pkt_len;
#ifndef USERSPACE_OLD
	u16		pkt_segs;
#else
	u16		slave_dev_queue_mapping;
#endif
	u16		tc_classid;
#define QDISC_CB_PRIV_LEN	20
	unsigned char	data[QDISC_CB_PRIV_LEN];
};

struct tc_skb_cb {
	struct qdisc_skb_cb qdisc_cb;
	int		drop_reason;
	u16		zone;
	u16		mru;
};

static inline struct tc_skb_cb *tc_skb_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct tc_skb_cb) > sizeof(skb->cb));
	return (struct tc_skb_cb *)skb->cb;
}

#define qdisc_cb_private_validate(skb, sz) BUILD_BUG_ON((sz) > QDISC_CB_PRIV_LEN)

static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb)
{
	return (struct qdisc_skb_cb *)skb->cb;
}
static inline unsigned int qdisc_pkt_len(const struct sk_buff *skb)
{
	return qdisc_skb_cb(skb)->pkt_len;
}
static inline void *qdisc_priv(const struct Qdisc *sch)
{
	return (void *)sch->privdata;
}
static inline struct net_device *qdisc_dev(const struct Qdisc *sch)
{
	return sch->dev_queue->dev;
}
struct Qdisc *qdisc_root_bh(const struct Qdisc *sch);

/* What a packet of so many bytes takes of the machine. */
#define SKB_TRUESIZE(len)	((len) + 576)

static inline unsigned int psched_mtu(const struct net_device *dev)
{
	return READ_ONCE(dev->mtu) + dev->hard_header_len;
}
static inline void sch_tree_lock(struct Qdisc *sch) { userspace_lock(); }
static inline void sch_tree_unlock(struct Qdisc *sch) { userspace_unlock(); }

#ifndef USERSPACE_OLD
static inline void qdisc_qlen_inc(struct Qdisc *sch) { sch->q.qlen++; }
static inline void qdisc_qlen_dec(struct Qdisc *sch) { sch->q.qlen--; }
static inline void qstats_backlog_add(struct Qdisc *sch, u32 n)
{
	sch->qstats.backlog += n;
}
static inline void qstats_backlog_sub(struct Qdisc *sch, u32 n)
{
	sch->qstats.backlog -= n;
}
int tcf_classify_qdisc(struct sk_buff *skb, const struct tcf_proto *filters,
		       struct tcf_result *res, bool compat_mode);
enum qdisc_drop_reason {
	QDISC_DROP_UNSPEC, QDISC_DROP_GENERIC, QDISC_DROP_OVERLIMIT,
	QDISC_DROP_CONGESTED,
};
enum skb_drop_reason { SKB_DROP_REASON_NONE };
static inline void tcf_set_qdisc_drop_reason(const struct sk_buff *skb,
					     enum qdisc_drop_reason reason)
{
	tc_skb_cb(skb)->drop_reason = reason;
}
#else	/* as 6.14; before, no packet could be given a reason of a qdisc's */
#define HAVE_GNET_STATS_BASIC_SYNC
#define HAVE_SKB_DROP_REASON
#define HAVE_SKB_DROP_REASON_QDISC
#define HAVE_TCF_CLASSIFY_BLOCK
#define HAVE_TC_QDISC_STATS_DUMP
#define HAVE_TC_SKB_CB
#define HAVE_TCF_SET_DROP_REASON
enum skb_drop_reason {
	SKB_DROP_REASON_QDISC_DROP = 60,
	SKB_DROP_REASON_QDISC_OVERLIMIT = 70,
	SKB_DROP_REASON_QDISC_CONGESTED,
};
static inline void tcf_set_drop_reason(const struct sk_buff *skb,
				       enum skb_drop_reason reason)
{
	tc_skb_cb(skb)->drop_reason = reason;
}
#endif

static inline void qdisc_qstats_backlog_inc(struct Qdisc *sch,
					    const struct sk_buff *skb)
{
	sch->qstats.backlog += qdisc_pkt_len(skb);
}
static inline void qdisc_qstats_backlog_dec(struct Qdisc *sch,
					    const struct sk_buff *skb)
{
	sch->qstats.backlog -= qdisc_pkt_len(skb);
}
static inline void qdisc_qstats_drop(struct Qdisc *sch) { sch->qstats.drops++; }
static inline void qdisc_qstats_overlimit(struct Qdisc *sch)
{
	sch->qstats.overlimits++;
}
static inline void _bstats_update(struct gnet_stats_basic_sync *b, u64 bytes,
				  u32 packets)
{
	b->bytes += bytes;
	b->packets += packets;
}
#define u64_stats_read(p)	(*(p))
static inline void bstats_update(struct gnet_stats_basic_sync *b,
				 const struct sk_buff *skb)
{
	_bstats_update(b, qdisc_pkt_len(skb),
		       skb_is_gso(skb) ? skb->shinfo.gso_segs : 1);
}
static inline void qdisc_bstats_update(struct Qdisc *sch,
				       const struct sk_buff *skb)
{
	bstats_update(&sch->bstats, skb);
}

extern bool userspace_refuse_qdisc;	/* register_qdisc() fails */
bool userspace_notifiers(void);
int register_qdisc(struct Qdisc_ops *ops);
void unregister_qdisc(struct Qdisc_ops *ops);
void qdisc_tree_reduce_backlog(struct Qdisc *sch, int n, int len);
struct sk_buff *qdisc_peek_dequeued(struct Qdisc *sch);
struct sk_buff *qdisc_dequeue_peeked(struct Qdisc *sch);
void qdisc_reset(struct Qdisc *sch);
bool tc_qdisc_stats_dump(struct Qdisc *sch, unsigned long cl,
			 struct qdisc_walker *arg);

void kfree_skb(struct sk_buff *skb);
#define kfree_skb_reason(skb, reason) kfree_skb(skb)
void consume_skb(struct sk_buff *skb);
void rtnl_kfree_skbs(struct sk_buff *head, struct sk_buff *tail);
void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free);
static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free)
{
	__qdisc_drop(skb, to_free);
	qdisc_qstats_drop(sch);
	return NET_XMIT_DROP;
}
#ifndef USERSPACE_OLD
void qdisc_dequeue_drop(struct Qdisc *sch, struct sk_buff *skb,
			enum qdisc_drop_reason reason);
static inline int qdisc_drop_reason(struct sk_buff *skb, struct Qdisc *sch,
				    struct sk_buff **to_free,
				    enum qdisc_drop_reason reason)
{
	tcf_set_qdisc_drop_reason(skb, reason);
	return qdisc_drop(skb, sch, to_free);
}
#endif

static inline void __qdisc_enqueue_tail(struct sk_buff *skb,
					struct qdisc_skb_head *qh)
{
	skb->next = NULL;
	if (qh->tail)
		qh->tail->next = skb;
	else
		qh->head = skb;
	qh->tail = skb;
	qh->qlen++;
}
static inline struct sk_buff *__qdisc_dequeue_head(struct qdisc_skb_head *qh)
{
	struct sk_buff *skb = qh->head;

	if (!skb)
		return NULL;
	qh->head = skb->next;
	if (!qh->head)
		qh->tail = NULL;
	skb->next = NULL;
	qh->qlen--;
	return skb;
}
static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	__qdisc_enqueue_tail(skb, &sch->q);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}
static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
	}
	return skb;
}
static inline struct sk_buff *qdisc_peek_head(struct Qdisc *sch)
{
	return sch->q.head;
}
static inline void __qdisc_reset_queue(struct qdisc_skb_head *qh)
{
	if (qh->qlen)
		rtnl_kfree_skbs(qh->head, qh->tail);
	qh->head = NULL;
	qh->tail = NULL;
	qh->qlen = 0;
}
static inline void qdisc_reset_queue(struct Qdisc *sch)
{
	__qdisc_reset_queue(&sch->q);
}

#endif /* USERSPACE_KERNEL_H */
