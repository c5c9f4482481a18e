// SPDX-License-Identifier: GPL-2.0
/*
 * Run two_region and persistent_queue in a closed loop with a toy TCP. The thesis
 * claims that the queue stays near the target for any number of flows (figure 6-2).
 * Target and Bmax are the defaults for a buffer of 100 ms.
 *
 * The unit of time is one packet on the link. N flows with round-trip times of 60
 * to 140 ms add a packet per round trip to their windows, and halve them at a mark,
 * at most once per round trip. There is no slow start: the windows start at the
 * size that fills the link and the target.
 */
#include <math.h>

#include <linux/kernel.h>
#include <aqm/2regionred/persistent_queue.h>
#include <aqm/2regionred/two_region.h>

#include "unit.h"

#define MBIT	125000ULL	/* bytes/s */
#define RTT	100000U		/* us, canonical */
#define SIZE	1500U		/* bytes */
#define MEMORY	33554432U	/* bytes */

struct flow {
	double window;
	u32 flying;
	u32 round;		/* packet times */
	u64 deaf_until;		/* a mark has been answered, packet times */
};

/* Packets on their way back, by the packet time at which they arrive. */
struct packet {
	u32 flow, next;
	bool marked;
};

struct loop {
	struct two_region_params p;
	struct two_region_vars v;
	struct two_region_stats st;
	struct persistent_queue_params pp;
	struct persistent_queue pq;
	struct flow *flows;
	struct packet *packets;
	u32 *fifo, *wheel, *free;
	u32 n, slots, limit, head, qlen, unused;
	u64 slot_ns, max_drops;
};

/* What was measured: queue and estimate, packets. */
struct result {
	double mean, sd, estimate, idle;
	u32 longest, entered, target, bflat;
};

#define NONE	U32_MAX

static void start(struct loop *l, u64 bandwidth, u32 n, bool old)
{
	u32 i, capacity;
	u64 n_1dpr;

	l->p = (struct two_region_params) {
		.pipe = two_region_pipe(bandwidth, RTT, SIZE),
		.rtt = RTT,
		.gentle = true,
	};
	n_1dpr = two_region_n_1dpr(l->p.pipe);
	l->p.bmin = two_region_bmin(l->p.pipe, two_region_flows(n_1dpr));
	l->p.bflat = two_region_bflat(l->p.bmin, n_1dpr);
	l->p.target = two_region_target(l->p.bflat, n_1dpr);
	l->p.bmax = two_region_bmax(l->p.pipe, l->p.target);
	if (old) {
		l->p.target = l->p.bflat;
		l->p.bmax = max_t(u32, l->p.pipe >> 33, 2 * l->p.target);
	}
	l->limit = two_region_limit(l->p.pipe, l->p.bmax);
	if (!old) {
		l->limit = min(l->limit, two_region_most(bandwidth, SIZE, MEMORY));
		two_region_squeeze(&l->p, l->limit);
	}
	persistent_queue_set(&l->pp, PERSISTENT_QUEUE_ABSMIN, RTT * 1000ULL,
			     l->p.pipe >> 32);
	persistent_queue_init(&l->pq);
	two_region_init(&l->v, unit_random() | 1);
	l->st = (struct two_region_stats) {};
	l->n = n;
	l->slot_ns = SIZE * 1000000000ULL / bandwidth;
	l->slots = 200000000 / l->slot_ns + 2;
	capacity = 4 * l->limit + 4 * (l->p.pipe >> 32) + 4 * n;
	l->flows = calloc(n, sizeof(*l->flows));
	l->packets = calloc(capacity, sizeof(*l->packets));
	l->free = calloc(capacity, sizeof(*l->free));
	l->fifo = calloc(l->limit + 1, sizeof(*l->fifo));
	l->wheel = malloc(l->slots * sizeof(*l->wheel));
	for (i = 0; i < capacity; i++)
		l->free[i] = i;
	l->unused = capacity;
	for (i = 0; i < l->slots; i++)
		l->wheel[i] = NONE;
	for (i = 0; i < n; i++) {
		double share = ((l->p.pipe >> 32) + l->p.target) / (double)n;

		l->flows[i].window = fmax(1, share * (0.67 + unit_below(667) / 1000.));
		l->flows[i].round = (60000000 + unit_below(80000000)) / l->slot_ns;
	}
	l->head = 0;
	l->qlen = 0;
}

static void finish(struct loop *l)
{
	free(l->flows);
	free(l->packets);
	free(l->free);
	free(l->fifo);
	free(l->wheel);
}

static void put_back(struct loop *l, u32 packet, u64 slot)
{
	l->packets[packet].next = l->wheel[slot % l->slots];
	l->wheel[slot % l->slots] = packet;
}

/* A flow sends what its window allows; a lost packet counts as a mark. */
static void send(struct loop *l, u32 i, u64 slot)
{
	struct flow *f = &l->flows[i];

	while (f->flying + 1 <= f->window && l->unused) {
		u32 k = l->free[--l->unused];
		struct packet *packet = &l->packets[k];
		u64 now = slot * l->slot_ns + 1000000000;

		f->flying++;
		packet->flow = i;
		persistent_queue_arrival(&l->pq, &l->pp, l->qlen, 1, now);
		packet->marked = two_region_arrival(&l->p, &l->v, &l->st, l->pq.estimate,
						    1, now) != TWO_REGION_QUIET;
		if (l->qlen == l->limit) {
			packet->marked = true;
			put_back(l, k, slot + f->round);
			continue;
		}
		l->fifo[(l->head + l->qlen++) % (l->limit + 1)] = k;
	}
}

static void receive(struct loop *l, u64 slot)
{
	u32 k = l->wheel[slot % l->slots];

	l->wheel[slot % l->slots] = NONE;
	while (k != NONE) {
		struct packet *packet = &l->packets[k];
		struct flow *f = &l->flows[packet->flow];
		u32 next = packet->next;

		f->flying--;
		l->free[l->unused++] = k;
		if (!packet->marked) {
			f->window += 1 / f->window;
		} else if (slot >= f->deaf_until) {
			f->window = fmax(f->window / 2, 1);
			f->deaf_until = slot + f->round;
		}
		send(l, packet->flow, slot);
		k = next;
	}
}

/* Run for @seconds and measure the second half. */
static struct result run(u64 bandwidth, u32 n, bool old, u32 seconds)
{
	struct result r = {};
	struct loop l = {};
	u64 slot, end, measured = 0;
	double sum = 0, squares = 0, estimates = 0;
	u32 i;

	start(&l, bandwidth, n, old);
	end = seconds * 1000000000ULL / l.slot_ns;
	for (slot = 0; slot < end; slot++) {
		/* The flows start one by one within the first 100 ms. */
		for (i = slot * n / (l.slots / 2); i < (slot + 1) * n / (l.slots / 2) && i < n; i++)
			send(&l, i, slot);
		receive(&l, slot);
		if (l.qlen) {
			u32 k = l.fifo[l.head];

			l.head = (l.head + 1) % (l.limit + 1);
			l.qlen--;
			persistent_queue_departure(&l.pq, &l.pp, l.qlen, 1,
						   slot * l.slot_ns + 1000000000);
			put_back(&l, k, slot + l.flows[l.packets[k].flow].round);
		} else if (slot > end / 2) {
			r.idle++;
		}
		if (slot == end / 2)
			r.entered = l.st.entered[TWO_REGION_HIGH];
		if (slot <= end / 2)
			continue;
		sum += l.qlen;
		squares += (double)l.qlen * l.qlen;
		estimates += l.pq.estimate / 4294967296.;
		r.longest = max(r.longest, l.qlen);
		measured++;
	}
	r.mean = sum / measured;
	r.sd = sqrt(fmax(0, squares / measured - r.mean * r.mean));
	r.estimate = estimates / measured;
	r.idle /= measured;
	r.entered = l.st.entered[TWO_REGION_HIGH] - r.entered;
	printf("# %s%4u Mb/s, %4u flows: q %.0f (sd %.0f, at most %u), estimate %.0f, target %u, idle %.3f, phase III entered %u times\n",
	       old ? "Bflat and DB / 2: " : "", (u32)(bandwidth / MBIT), n, r.mean, r.sd,
	       r.longest, r.estimate, l.p.target, r.idle, r.entered);
	r.target = l.p.target;
	r.bflat = l.p.bflat;
	finish(&l);
	return r;
}

/*
 * Each run takes 60 s. "Near the target" means between Bflat, where the controller
 * starts, and twice the target. "Regardless of N" means that the queue with the most
 * flows is within half of the queue with the fewest, from 1.3 to 13 N_1DPR.
 */
static void the_queue_stands_near_the_target_regardless_of_n(u32 mbit, const u32 *flows)
{
	double least = INFINITY, most = 0;
	bool near = true, busy = true;

	for (; *flows; flows++) {
		struct result r = run(mbit * MBIT, *flows, false, 60);

		near &= r.estimate >= 0.9 * r.bflat && r.estimate <= 2. * r.target;
		busy &= r.idle < 0.001;
		least = fmin(least, r.mean);
		most = fmax(most, r.mean);
	}
	unit_ok(near, "%u Mb/s: the persistent queue stands near the target", mbit);
	unit_ok(most < 1.5 * least, "%u Mb/s: the queue is the same for few flows and many (%.0f to %.0f)",
		mbit, least, most);
	unit_ok(busy, "%u Mb/s: the link is never idle", mbit);
}

static const struct {
	u32 mbit, flows[5];
} links[] = {
	{ 10, { 10, 20 } },
	{ 100, { 30, 100 } },
	{ 155, { 40, 200 } },
	{ 622, { 100, 500 } },
	{ 1000, { 100, 300, 600, 1000 } },
};

/* With a second argument: what target Bflat and Bmax DB / 2 make of the same. */
UNIT_TESTS
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(links); i++) {
		the_queue_stands_near_the_target_regardless_of_n(links[i].mbit, links[i].flows);
		for (k = 0; unit_more && links[i].flows[k]; k++)
			run(links[i].mbit * MBIT, links[i].flows[k], true, 60);
	}
}
