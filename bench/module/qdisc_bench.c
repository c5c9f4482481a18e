// SPDX-License-Identifier: GPL-2.0
/*
 * Drive the root qdisc of a device, and measure what it costs.
 *
 * Write "DEV FLOWS SIZE TOTAL IN OUT FILL KEEP WARM HOLD PARETO" (struct job)
 * to /sys/module/qdisc_bench/parameters/run, and read the result there. With
 * "trace " before it, the run is marked for ../trace.c. With "time ROWS PACE COLD "
 * before it, each row of so many steps is timed as a whole.
 *
 * The module calls enqueue and dequeue as the core does, under the root lock,
 * and frees dropped packets after it. The device's queue must be stopped (a
 * gate device without credit), so that nobody else dequeues.
 *
 * Packets are created once and reused. The module holds a reference to each,
 * so freeing one takes a constant few instructions, and does not depend on the
 * allocator. The cost of really freeing a packet is a separate measurement:
 * write "free TOTAL".
 *
 * The measured time contains enqueues, dequeues and freeing drops, in batches
 * with interrupts off. It does not contain the preparation of a packet, its
 * flow hash (it already has one, as packets from a NIC or a socket), and its
 * length. The unit is get_cycles(), which is one instruction with QEMU's
 * -icount shift=0. Without get_cycles() it is ns of the raw clock. In user mode
 * it is the processor's counter, which is wall time.
 *
 * Write "unregister DEV" to take away the kind of a device's root qdisc. Then a module
 * can register the same kind, and is timed as a module.
 */
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched/task_stack.h>
#include <linux/skbuff.h>
#include <linux/sort.h>
#include <linux/tcp.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#define BATCH		64U
#define HEADERS		(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))
#define LINEAR		1536U	/* the rest of a larger packet is in pages */
#define SHORT		256U	/* bytes of a packet in a timed row, so that many fit */
#define MSS		1448U
#define PAUSES		8U	/* before the measurement */
#define SEED		1U

/**
 * struct job - parameters of a run
 * @dev: name of the device
 * @flows: number of TCP flows from which arrivals are drawn
 * @size: bytes of a packet with its Ethernet header
 * @total: packets to offer during the measurement
 * @in: arrivals in a row, at most %BATCH
 * @out: departures in a row after them, at most %BATCH
 * @fill: packets offered before the measurement
 * @keep: no departures unless more packets than this are queued
 * @warm: packets offered after @fill, in the measured pattern
 * @hold: maximum number of packets in the qdisc
 * @pareto: flow k or a later one has 1/(k + 1) of the arrivals; otherwise all
 *	flows have the same rate
 * @traced: set the marks for ../trace.c
 * @rows: steps that are timed together; 0: each step alone
 * @pace: time between two rows, ns
 * @cold: KiB that are read before each row
 */
struct job {
	char	dev[IFNAMSIZ];
	u32	flows;
	u32	size;
	u32	total;
	u32	in;
	u32	out;
	u32	fill;
	u32	keep;
	u32	warm;
	u32	hold;
	u32	pareto;
	bool	traced;
	u32	rows;
	u32	pace;
	u32	cold;
};

/**
 * struct bench - a run
 * @job: parameters of the run
 * @dev: device
 * @q: its root qdisc
 * @pool: packets, each with our reference; a packet with more is in the qdisc
 * @packets: number of @pool
 * @next: index in @pool where the search for a free packet starts
 * @page: content of a large packet
 * @arrivals: packets prepared for the next batch of arrivals
 * @departures: packets of the last batch of departures
 * @random: state of the generator that draws flows
 * @keep: no departures unless more packets than this are queued
 * @offered: packets enqueued, including dropped ones
 * @sent: packets dequeued
 * @tenths: time of each tenth of the total
 * @row_in: packets prepared for the arrivals of a row
 * @row_out: packets of its departures
 * @row_times: time of each row
 * @row_count: number of @row_times
 * @other: memory that is read so that the caches hold something else
 */
struct bench {
	struct job	job;
	struct net_device *dev;
	struct Qdisc	*q;
	struct sk_buff	**pool;
	u32		packets;
	u32		next;
	struct page	*page;
	struct sk_buff	*arrivals[BATCH];
	struct sk_buff	*departures[BATCH];
	u64		random;
	u32		keep;
	u64		offered;
	u64		sent;
	u64		tenths[10];
	struct sk_buff	**row_in;
	struct sk_buff	**row_out;
	u32		*row_times;
	u32		row_count;
	char		*other;
};

/* Marks for ../trace.c: no-ops whose displacement is the mark. */
#define MARK_ARM	1
#define MARK_ENQUEUE	2
#define MARK_DEQUEUE	3
#define MARK_RELEASE	4
#define MARK_QUEUED	5
#define MARK_DROPPED	6
#define MARK_DONE	7
#define MARK_PACKET	8
#define MARK_STACK	9
#define MARK_QDISC	10
#define MARK_PERCPU	11
#define MARK_SHOWN	12
#define MARK_REPORT	13

static __always_inline void mark(const u32 which)
{
#ifdef CONFIG_X86
	/* nopl 0x5ab10c00 + which(%rax) */
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0"
		     : : "i" (0x5ab10c00 + which) : "memory");
#endif
}

/* Protected by the lock of the module's parameters. */
static struct bench bench;
static char result[1024] = "none";

static u64 now(void)
{
#ifdef CONFIG_UML_X86
	return __builtin_ia32_rdtsc();
#else
	cycles_t cycles = get_cycles();

	return cycles ?: ktime_get_raw_ns();
#endif
}

/* The same for a row. No step may begin before it, or end after it. */
static __always_inline u64 now_in_order(void)
{
	u64 at;

#ifdef CONFIG_X86
	asm volatile("lfence" : : : "memory");
#endif
	at = now();
#ifdef CONFIG_X86
	asm volatile("lfence" : : : "memory");
#endif
	return at;
}

static struct sk_buff *make_packet(struct bench *b)
{
	u32 rest = b->job.size > LINEAR ? b->job.size - HEADERS : 0;
	u32 linear = b->job.rows && !rest ? SHORT : LINEAR;
	struct sk_buff *skb;
	struct tcphdr *tcp;
	struct iphdr *ip;

	skb = alloc_skb(linear, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reset_mac_header(skb);
	skb_put_zero(skb, min(b->job.size - rest, linear));
	skb->protocol = htons(ETH_P_IP);
	eth_hdr(skb)->h_proto = skb->protocol;
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, ETH_HLEN + sizeof(*ip));
	skb->dev = b->dev;

	ip = ip_hdr(skb);
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(b->job.size - ETH_HLEN);
	tcp = tcp_hdr(skb);
	tcp->doff = sizeof(*tcp) / 4;
	tcp->dest = htons(80);
	tcp->ack = 1;

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);

	if (!rest)
		return skb;
	skb_shinfo(skb)->gso_size = MSS;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(rest, MSS);
	while (rest) {
		u32 part = min_t(u32, rest, PAGE_SIZE << 3);

		get_page(b->page);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, b->page, 0,
				part, part);
		rest -= part;
	}
	return skb;
}

/* Draw the flow of the next arrival. */
static u32 draw_flow(struct bench *b)
{
	u32 random;

	b->random = b->random * 6364136223846793005ULL + 1442695040888963407ULL;
	random = b->random >> 32;
	if (b->job.pareto)
		return (U32_MAX / max(random, 1U) - 1) % b->job.flows;
	return reciprocal_scale(random, b->job.flows);
}

/* Take a free packet and prepare it as the next arrival. */
static struct sk_buff *next_arrival(struct bench *b)
{
	struct sk_buff *skb = NULL;
	u32 flow = draw_flow(b);
	u32 segs;

	for (u32 looked = 0; looked < b->packets; looked++) {
		skb = b->pool[b->next];
		if (++b->next == b->packets)
			b->next = 0;
		if (refcount_read(&skb->users) == 1)
			break;
		skb = NULL;
	}
	if (!skb)
		return NULL;

	skb_get(skb);
	skb->next = NULL;
	skb->prev = NULL;
	skb->tstamp = 0;
	memset(skb->cb, 0, sizeof(skb->cb));
	/* Each flow has its own hosts, for qdiscs that share among hosts. */
	ip_hdr(skb)->saddr = htonl(0x0a000000 + flow);
	ip_hdr(skb)->daddr = htonl(0x64000000 + flow);
	ip_hdr(skb)->tos = 0;
	tcp_hdr(skb)->source = htons(1024 + (flow & 0x3fff));
	ip_send_check(ip_hdr(skb));
	__skb_set_sw_hash(skb, jhash_1word(flow, SEED), true);

	segs = max_t(u32, 1, skb_shinfo(skb)->gso_segs);
	qdisc_skb_cb(skb)->pkt_len = b->job.size + (segs - 1) * HEADERS;
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = segs;
#endif
	return skb;
}

/*
 * Carry out @in arrivals and @out departures, and return their time. @traced is
 * constant, so that the copy whose time counts contains no marks.
 */
static __always_inline u64 run_step(struct bench *b, u32 in, u32 out,
				    const bool traced)
{
	struct sk_buff *to_free = NULL;
	struct sk_buff *late = NULL;
	struct Qdisc *q = b->q;
	u32 got = 0;
	u64 start;
	u64 took;

	local_irq_disable();
	start = now();
	spin_lock(qdisc_lock(q));
	for (u32 i = 0; i < in; i++) {
		u32 before = q->qstats.drops;

		if (traced)
			mark(MARK_ENQUEUE);
		q->enqueue(b->arrivals[i], q, &to_free);
		if (traced && q->qstats.drops == before)
			mark(MARK_QUEUED);
		else if (traced)
			mark(MARK_DROPPED);
	}
	while (got < out && q->q.qlen > b->keep) {
		struct sk_buff *skb;

		if (traced)
			mark(MARK_DEQUEUE);
		skb = q->dequeue(q);
		if (traced)
			mark(MARK_DONE);
		if (!skb)
			break;
		b->departures[got++] = skb;
	}
#ifdef TCQ_F_DEQUEUE_DROPS
	if (q->flags & TCQ_F_DEQUEUE_DROPS) {
		late = q->to_free;
		q->to_free = NULL;
	}
#endif
	spin_unlock(qdisc_lock(q));
	if (unlikely(to_free || late)) {
		if (traced)
			mark(MARK_RELEASE);
		kfree_skb_list(to_free);
		if (late)
			kfree_skb_list(late);
		if (traced)
			mark(MARK_DONE);
	}
	took = now() - start;
	local_irq_enable();

	b->offered += in;
	b->sent += got;
	for (u32 i = 0; i < got; i++)
		consume_skb(b->departures[i]);
	return took;
}

static noinline u64 step(struct bench *b, u32 in, u32 out)
{
	return run_step(b, in, out, false);
}

static noinline u64 step_traced(struct bench *b, u32 in, u32 out)
{
	return run_step(b, in, out, true);
}

/* Carry out a row of steps, and return their time without freeing drops. */
static noinline u64 run_row(struct bench *b, u32 rows, u32 in, u32 out)
{
	struct sk_buff *to_free = NULL;
	struct sk_buff *late = NULL;
	struct Qdisc *q = b->q;
	u32 came = 0;
	u32 got = 0;
	u64 start;
	u64 took;

	local_irq_disable();
	start = now_in_order();
	for (u32 row = 0; row < rows; row++) {
		spin_lock(qdisc_lock(q));
		for (u32 i = 0; i < in; i++)
			q->enqueue(b->row_in[came++], q, &to_free);
		for (u32 i = 0; i < out && q->q.qlen > b->keep; i++) {
			struct sk_buff *skb = q->dequeue(q);

			if (!skb)
				break;
			b->row_out[got++] = skb;
		}
#ifdef TCQ_F_DEQUEUE_DROPS
		if (q->flags & TCQ_F_DEQUEUE_DROPS && q->to_free) {
			struct sk_buff *last = q->to_free;

			while (last->next)
				last = last->next;
			last->next = late;
			late = q->to_free;
			q->to_free = NULL;
		}
#endif
		spin_unlock(qdisc_lock(q));
	}
	took = now_in_order() - start;
	local_irq_enable();

	b->offered += came;
	b->sent += got;
	for (u32 i = 0; i < got; i++)
		consume_skb(b->row_out[i]);
	kfree_skb_list(to_free);
	kfree_skb_list(late);
	if (b->job.pace)
		ndelay(b->job.pace);
	return took;
}

/* Offer @total packets in rows of @job.rows steps. */
static int offer_rows(struct bench *b, u32 total, bool timed)
{
	const struct job *job = &b->job;

	for (u32 done = 0; done < total; done += job->rows * job->in) {
		u64 took;

		for (u32 i = 0; i < job->rows * job->in; i++) {
			b->row_in[i] = next_arrival(b);
			if (!b->row_in[i])
				return -ENOBUFS;
		}
		if (timed)
			for (size_t at = 0; at < (size_t)job->cold << 10; at += L1_CACHE_BYTES)
				(void)READ_ONCE(b->other[at]);
		took = run_row(b, job->rows, job->in, job->out);
		if (timed)
			b->row_times[b->row_count++] = min_t(u64, took, U32_MAX);
		if (!(b->row_count & 15))
			cond_resched();
	}
	return 0;
}

/* Show memory to ../trace.c, with interrupts off, because they read other memory. */
static void show(u32 what, const void *from, size_t size)
{
	const char *at = from;

	local_irq_disable();
	if (what == MARK_PACKET)
		mark(MARK_PACKET);
	else
		mark(MARK_STACK);
	for (size_t i = 0; i < size; i += L1_CACHE_BYTES)
		(void)READ_ONCE(at[i]);
	(void)READ_ONCE(at[size - 1]);
	mark(MARK_SHOWN);
	local_irq_enable();
}

/* Start ../trace.c, and show the lines that do not belong to the discipline. */
static void begin_trace(const struct bench *b)
{
	const char *first = (const char *)b->q;
	const char *private = (const char *)qdisc_priv(b->q);
	const char *last = private + b->q->ops->priv_size - 1;
#ifdef CONFIG_SMP
	const char *cpu = (const char *)per_cpu_offset(0);
#endif

	mark(MARK_ARM);
	msleep(20);
	for (u32 i = 0; i < b->packets; i++) {
		const struct sk_buff *skb = b->pool[i];

		show(MARK_PACKET, skb, sizeof(*skb));
		show(MARK_PACKET, skb->head, skb_end_offset(skb) +
		     sizeof(struct skb_shared_info));
		cond_resched();
	}
	show(MARK_STACK, task_stack_page(current), THREAD_SIZE);
	local_irq_disable();
	mark(MARK_QDISC);
	(void)READ_ONCE(*first);
	(void)READ_ONCE(*private);
	(void)READ_ONCE(*last);
#ifdef CONFIG_SMP
	mark(MARK_PERCPU);
	(void)READ_ONCE(*cpu);
#endif
	mark(MARK_SHOWN);
	local_irq_enable();
}

/* Offer @total packets in batches of @in arrivals and @out departures. */
static int offer(struct bench *b, u32 total, u32 in, u32 out, bool timed)
{
	u32 done = 0;

	while (done < total) {
		u32 row = min(in, total - done);
		u64 took;

		for (u32 i = 0; i < row; i++) {
			b->arrivals[i] = next_arrival(b);
			if (!b->arrivals[i])
				return -ENOBUFS;
		}
		if (timed && b->job.traced)
			took = step_traced(b, row, out);
		else
			took = step(b, row, out);
		if (timed)
			b->tenths[div_u64((u64)done * 10, total)] += took;
		done += row;
		if (!(done & 0xfff))
			cond_resched();
	}
	return 0;
}

static u32 drops(const struct Qdisc *q)
{
	u32 sum = q->qstats.drops;
	int cpu;

	if (qdisc_is_percpu_stats(q))
		for_each_possible_cpu(cpu)
			sum += per_cpu_ptr(q->cpu_qstats, cpu)->drops;
	return sum;
}

/* Dequeue until the discipline's count is 0. */
static void drain(struct bench *b)
{
	u32 left = b->q->q.qlen + b->packets;

	while (left-- && b->q->q.qlen)
		step(b, 0, 1);
}

static int make_pool(struct bench *b)
{
	b->pool = kvcalloc(b->packets, sizeof(*b->pool), GFP_KERNEL);
	b->page = alloc_pages(GFP_KERNEL | __GFP_COMP, 3);
	if (!b->pool || !b->page)
		return -ENOMEM;
	for (u32 i = 0; i < b->packets; i++) {
		b->pool[i] = make_packet(b);
		if (!b->pool[i])
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

static void free_pool(struct bench *b)
{
	for (u32 i = 0; b->pool && i < b->packets; i++)
		kfree_skb(b->pool[i]);
	kvfree(b->pool);
	if (b->page)
		__free_pages(b->page, 3);
}

/* Check that the queue is empty and stays so: nobody else sends. */
static int wait_idle(const struct bench *b)
{
	u32 before = drops(b->q);

	msleep(200);
	return b->q->q.qlen || drops(b->q) != before ? -EBUSY : 0;
}

static int make_rows(struct bench *b)
{
	const struct job *job = &b->job;
	u32 rows = DIV_ROUND_UP(job->total, job->rows * job->in);

	b->row_in = kvcalloc(job->rows * job->in, sizeof(*b->row_in), GFP_KERNEL);
	b->row_out = kvcalloc(job->rows * job->out + 1, sizeof(*b->row_out), GFP_KERNEL);
	b->row_times = kvcalloc(rows, sizeof(*b->row_times), GFP_KERNEL);
	b->other = job->cold ? vzalloc((size_t)job->cold << 10) : NULL;
	return b->row_in && b->row_out && b->row_times && (b->other || !job->cold) ? 0 : -ENOMEM;
}

static void free_rows(struct bench *b)
{
	kvfree(b->row_in);
	kvfree(b->row_out);
	kvfree(b->row_times);
	vfree(b->other);
}

static int compare_times(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Report the times of the shortest and the longest row, the quartiles, and of no step. */
static void report_rows(struct bench *b, u64 overhead, u32 lost)
{
	u32 last = b->row_count - 1;
	u32 *at = b->row_times;

	sort(at, b->row_count, sizeof(*at), compare_times, NULL);
	scnprintf(result, sizeof(result),
		  "rows %u %u %u %u %u\noverhead %llu\nper %u\noffered %llu\nsent %llu\nlost %u",
		  at[0], at[last / 4], at[last / 2], at[last * 3ULL / 4], at[last],
		  overhead, b->job.rows * b->job.in, b->offered, b->sent, lost);
}

/*
 * Offer the packets before the measurement in rows. In between a discipline can do the work
 * that it asked for, such as to let its tables grow, which needs RTNL.
 */
static int warm_rows(struct bench *b)
{
	int err = 0;

	for (u32 i = 0; i < PAUSES && !err; i++) {
		err = offer_rows(b, b->job.warm / PAUSES, false);
		rtnl_unlock();
		msleep(20);
		rtnl_lock();
		if (!err && rtnl_dereference(b->dev->qdisc) != b->q)
			err = -EBUSY;
	}
	return err;
}

/* Time rows of steps. */
static int measure_rows(struct bench *b)
{
	const struct job *job = &b->job;
	u64 overhead = U64_MAX;
	u32 lost;
	int err;

	err = make_rows(b);
	if (!err)
		err = make_pool(b);
	if (!err)
		err = wait_idle(b);
	if (err)
		return err;
	for (u32 i = 0; i < BATCH; i++)
		overhead = min(overhead, run_row(b, job->rows, 0, 0));
	b->keep = job->keep;
	b->random = SEED;
	err = offer(b, job->fill, BATCH, 0, false);
	if (!err)
		err = warm_rows(b);
	/* The qdisc may be gone. */
	if (err == -EBUSY)
		return err;
	lost = drops(b->q);
	if (!err)
		err = offer_rows(b, job->total, true);
	lost = drops(b->q) - lost;
	b->keep = 0;
	drain(b);
	if (!err)
		report_rows(b, overhead, lost);
	return err;
}

static int measure(struct bench *b)
{
	const struct job *job = &b->job;
	u64 overhead = U64_MAX;
	u64 sum = 0;
	u32 before;
	u32 lost;
	u32 held;
	int err;
	int len;

	err = make_pool(b);
	if (err)
		return err;
	err = wait_idle(b);
	if (err)
		return err;

	for (u32 i = 0; i < BATCH; i++)
		overhead = min(overhead, step(b, 0, 0));

	if (job->traced)
		begin_trace(b);
	b->keep = job->keep;
	b->random = SEED;
	before = drops(b->q);
	err = offer(b, job->fill, BATCH, 0, false);
	if (!err)
		err = offer(b, job->warm, job->in, job->out, false);
	lost = drops(b->q);
	if (!err)
		err = offer(b, job->total, job->in, job->out, true);
	lost = drops(b->q) - lost;
	if (job->traced)
		mark(MARK_REPORT);
	held = b->q->q.qlen;
	b->keep = 0;
	drain(b);
	if (err)
		return err;
	if (b->q->q.qlen) {
		scnprintf(result, sizeof(result),
			  "failed: dequeue returns nothing although %u packets are queued",
			  b->q->q.qlen);
		return -EUCLEAN;
	}

	/* Every packet must be free again: only our reference is left. */
	for (u32 i = 0; i < b->packets; i++)
		if (refcount_read(&b->pool[i]->users) != 1)
			return -EUCLEAN;

	overhead *= DIV_ROUND_UP(job->total, job->in);
	len = scnprintf(result, sizeof(result), "tenths");
	for (u32 i = 0; i < ARRAY_SIZE(b->tenths); i++) {
		len += scnprintf(result + len, sizeof(result) - len, " %llu",
				 b->tenths[i]);
		sum += b->tenths[i];
	}
	scnprintf(result + len, sizeof(result) - len,
		  "\ntime %llu\noverhead %llu\noffered %llu\nsent %llu\ndropped %u\nheld %u\nlost %u",
		  sum, overhead, b->offered, b->sent, drops(b->q) - before,
		  held, lost);
	return 0;
}

static int measure_qdisc(const struct job *job)
{
	struct bench *b = &bench;
	int err;

	if (!job->flows || !job->total || !job->in || job->in > BATCH ||
	    job->out > BATCH || job->size < HEADERS || job->size > 0xffff ||
	    (u64)job->flows > 1ULL << 30)
		return -EINVAL;

	memset(b, 0, sizeof(*b));
	b->job = *job;
	b->packets = job->hold + 2 * max(BATCH, job->rows * max(job->in, job->out));
	rtnl_lock();
	b->dev = __dev_get_by_name(&init_net, job->dev);
	if (b->dev)
		dev_hold(b->dev);
	if (!b->dev || !(b->dev->flags & IFF_UP)) {
		err = -ENETDOWN;
		goto out;
	}
	/* We hold rtnl, so the qdisc stays, except in warm_rows(). */
	b->q = rtnl_dereference(b->dev->qdisc);
	if (b->q->flags & TCQ_F_NOLOCK || b->q->dev_queue->dev != b->dev) {
		err = -EOPNOTSUPP;
		goto out;
	}
	err = job->rows ? measure_rows(b) : measure(b);
	free_rows(b);
	free_pool(b);
out:
	if (b->dev)
		dev_put(b->dev);
	rtnl_unlock();
	return err;
}

/* Measure the cost of freeing dropped packets from a list, as the core does. */
static int measure_free(u32 total)
{
	u64 sum = 0;

	for (u32 done = 0; done < total; done += BATCH) {
		struct sk_buff *list = NULL;
		u64 start;

		for (u32 i = 0; i < BATCH; i++) {
			struct sk_buff *skb = alloc_skb(LINEAR, GFP_KERNEL);

			if (!skb) {
				kfree_skb_list(list);
				return -ENOMEM;
			}
			skb->next = list;
			list = skb;
		}
		local_bh_disable();
		start = now();
		kfree_skb_list(list);
		sum += now() - start;
		local_bh_enable();
	}
	scnprintf(result, sizeof(result), "time %llu\noffered %u", sum,
		  DIV_ROUND_UP(total, BATCH) * BATCH);
	return 0;
}

/* Measure the time of a known number of instructions, two per turn. */
static int measure_loop(u32 total)
{
#ifdef CONFIG_X86
	u64 start;
	u64 took;

	local_irq_disable();
	start = now();
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (total) : : "cc");
	took = now() - start;
	local_irq_enable();
	scnprintf(result, sizeof(result), "time %llu", took);
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

/* Take away the kind of the root qdisc of a device. Instances of it stay. */
static int take_away(const char *name)
{
	struct net_device *dev;
	struct Qdisc_ops *ops = NULL;

	rtnl_lock();
	dev = __dev_get_by_name(&init_net, name);
	if (dev)
		ops = (struct Qdisc_ops *)rtnl_dereference(dev->qdisc)->ops;
	rtnl_unlock();
	if (!ops)
		return -ENODEV;
	unregister_qdisc(ops);
	strscpy(result, "unregistered", sizeof(result));
	return 0;
}

static int run_set(const char *text, const struct kernel_param *param)
{
	struct job job = { 0 };
	char dev[IFNAMSIZ];
	int used = 0;
	u32 total;

	strscpy(result, "failed", sizeof(result));
	if (sscanf(text, "free %u", &total) == 1)
		return measure_free(total);
	if (sscanf(text, "loop %u", &total) == 1)
		return total ? measure_loop(total) : -EINVAL;
	if (sscanf(text, "unregister %15s", dev) == 1)
		return take_away(dev);
	if (sscanf(text, "time %u %u %u %n", &job.rows, &job.pace, &job.cold, &used) == 3) {
		if (!job.rows || job.rows > 4096)
			return -EINVAL;
		text += used;
	} else if (str_has_prefix(text, "trace ")) {
		job.traced = true;
		text += strlen("trace ");
	}
	if (sscanf(text, "%15s %u %u %u %u %u %u %u %u %u %u", job.dev, &job.flows,
		   &job.size, &job.total, &job.in, &job.out, &job.fill,
		   &job.keep, &job.warm, &job.hold, &job.pareto) != 11)
		return -EINVAL;
	return measure_qdisc(&job);
}

static int run_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", result);
}

static const struct kernel_param_ops run_ops = {
	.set	= run_set,
	.get	= run_get,
};

module_param_cb(run, &run_ops, NULL, 0600);
MODULE_PARM_DESC(run, "write a job to run it, read its result");

static int __init qdisc_bench_init(void)
{
	return 0;
}

static void __exit qdisc_bench_exit(void)
{
}

module_init(qdisc_bench_init);
module_exit(qdisc_bench_exit);
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Measures the cost of a root qdisc per packet");
MODULE_LICENSE("GPL");
