// SPDX-License-Identifier: GPL-2.0
/*
 * Unresponsive UDP at a constant rate: datagram k leaves at start + k * gap,
 * plus a share of the jitter that is a hash of the flow's seed and k.
 *
 * To save system calls, each tick hands the kernel all datagrams that are due
 * until the next tick but one, with their departure times (SO_TXTIME). The
 * source's device must have `fq`, which sends each datagram at its time.
 * `delay_ns` adds a propagation delay in the same way.
 *
 * The sink is also read at the ticks. The kernel's time stamps make delays exact
 * even if datagrams are read late.
 *
 * Logs, both by the time of sending:
 *   --datagrams  time_s,flow,sent,received   per interval that begins at time_s
 *   --delays     sent_s,flow,delay_ms        of every log_every-th datagram
 *                                            sent, if it arrived
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "../clock.h"
#include "flowgen.h"

#define BATCH		128	/* datagrams per system call */
#define TICK_LEAST_NS	(10 * NSEC_PER_MSEC)
#define TICK_MOST_NS	(100 * NSEC_PER_MSEC)
#define TICK_DATAGRAMS	16
#define SIZE_MOST	65000	/* bytes of payload */
#define DELAY_UNIT_NS	100	/* unit of a logged delay: 32 bits hold 429 s */
#define DELAY_MOST_NS	((int64_t)(UINT32_MAX - 1) * DELAY_UNIT_NS)
#define EARLY_NS	NSEC_PER_MSEC	/* clock error above which we report an error */
#define OVERHEAD	2304	/* bytes that the kernel may charge in addition to the payload */

/* Header of a datagram, in the machine's byte order. */
struct datagram {
	uint64_t sequence;
	uint32_t flow;
	uint32_t reserved;
};

/*
 * @gap_ns: time between two datagrams; each is delayed by up to @jitter_ns
 * @delay_ns: propagation delay before the first hop
 * @seed: seed of the jitter
 * @size: payload bytes of a datagram
 * @log_every: log the delay of every n-th datagram
 * @tick_ns: time between two services of the source and the sink
 * @sent, @received: datagrams
 * @overflows: datagrams that overflowed the sink's socket
 * @delay: delay of datagram k in DELAY_UNIT_NS, plus one; 0: did not arrive
 * @room: number of entries of @delay
 */
struct udp {
	int64_t gap_ns;
	int64_t jitter_ns;
	int64_t delay_ns;
	unsigned int seed;
	unsigned int size;
	unsigned int log_every;
	int64_t tick_ns;
	uint64_t sent;
	uint64_t received;
	uint32_t overflows;
	uint32_t *delay;
	uint64_t room;
};

static const struct flow_key udp_keys[] = {
	FLOW_KEY("gap_ns", KEY_NS, struct udp, gap_ns, true,
		 "time between two datagrams, ns"),
	FLOW_KEY("jitter_ns", KEY_NS, struct udp, jitter_ns, false,
		 "maximum random delay of a datagram, at most gap_ns"),
	FLOW_KEY("seed", KEY_UINT, struct udp, seed, false, "seed of the jitter"),
	FLOW_KEY("size", KEY_UINT, struct udp, size, true,
		 "payload bytes of a datagram"),
	FLOW_KEY("delay_ns", KEY_NS, struct udp, delay_ns, false,
		 "propagation delay before the first hop, ns"),
	FLOW_KEY("log_every", KEY_UINT, struct udp, log_every, false,
		 "log the delay of every n-th (default 1)"),
};

enum { LOG_DATAGRAMS, LOG_DELAYS };

static struct flow_log udp_logs[] = {
	[LOG_DATAGRAMS] = {
		.option = "datagrams", .header = "time_s,flow,sent,received",
	},
	[LOG_DELAYS] = {
		.option = "delays", .header = "sent_s,flow,delay_ms",
	},
};

/* splitmix64 (Steele, Lea and Flood 2014): the k-th number of a seeded stream. */
static uint64_t udp_random(uint64_t seed, uint64_t k)
{
	uint64_t z = (seed << 32) + (k + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Return the time at which datagram @k is sent, never before datagram @k - 1. */
static int64_t udp_instant(const struct flow *f, uint64_t k)
{
	const struct udp *u = f->state;
	int64_t late_ns = 0;

	if (u->jitter_ns)
		/* 24 bits leave room for gaps of many minutes. */
		late_ns = (udp_random(u->seed, k) >> 40) * u->jitter_ns >> 24;
	return f->start_ns + (int64_t)k * u->gap_ns + late_ns;
}

static int udp_socket(const struct flow *f, const struct address *address,
		      const char *host)
{
	int fd = socket(address->sa.ss_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	if (bind(fd, (struct sockaddr *)&address->sa, address->len))
		err(1, "flow %u: bind %s", f->id, host);
	return fd;
}

static void udp_open(struct flow *f)
{
	struct sock_txtime txtime = { .clockid = CLOCK_MONOTONIC };
	bool v6 = f->sink_addr.sa.ss_family == AF_INET6;
	struct udp *u = f->state;
	int64_t held;

	if (!u->log_every)
		u->log_every = 1;
	if (u->gap_ns < 1 || u->jitter_ns > u->gap_ns ||
	    u->size < sizeof(struct datagram) || u->size > SIZE_MOST)
		errx(2, "flow %u: gap_ns from 1; jitter_ns to gap_ns; size %zu to %d",
		     f->id, sizeof(struct datagram), SIZE_MOST);
	u->tick_ns = TICK_DATAGRAMS * u->gap_ns;
	if (u->tick_ns < TICK_LEAST_NS)
		u->tick_ns = TICK_LEAST_NS;
	if (u->tick_ns > TICK_MOST_NS)
		u->tick_ns = TICK_MOST_NS;
	flow_log(&udp_logs[LOG_DATAGRAMS]);
	flow_log(&udp_logs[LOG_DELAYS]);

	enter(f->sink_netns);
	f->sink_fd = udp_socket(f, &f->sink_addr, f->sink_host);
	set_option(f->sink_fd, SOL_SOCKET, SO_TIMESTAMPNS, "SO_TIMESTAMPNS", 1);
	set_option(f->sink_fd, SOL_SOCKET, SO_RXQ_OVFL, "SO_RXQ_OVFL", 1);
	/* On a busy machine a tick may be late, and a queue may drain fast. */
	held = (8 * u->tick_ns / u->gap_ns + 1024) * (u->size + OVERHEAD);
	set_option(f->sink_fd, SOL_SOCKET, SO_RCVBUFFORCE, "SO_RCVBUFFORCE",
		   held < INT32_MAX / 2 ? held : INT32_MAX / 2);

	enter(f->source_netns);
	f->source_fd = udp_socket(f, &f->source_addr, f->source_host);
	if (connect(f->source_fd, (struct sockaddr *)&f->sink_addr.sa,
		    f->sink_addr.len))
		err(1, "flow %u: connect to %s", f->id, f->sink_host);
	if (setsockopt(f->source_fd, SOL_SOCKET, SO_TXTIME, &txtime,
		       sizeof(txtime)))
		err(1, "SO_TXTIME");
	if (f->tos && v6)
		set_option(f->source_fd, IPPROTO_IPV6, IPV6_TCLASS,
			   "IPV6_TCLASS", f->tos);
	else if (f->tos)
		set_option(f->source_fd, IPPROTO_IP, IP_TOS, "IP_TOS", f->tos);
	held = ((u->delay_ns + 4 * u->tick_ns) / u->gap_ns + 64) *
	       (u->size + OVERHEAD);
	set_option(f->source_fd, SOL_SOCKET, SO_SNDBUFFORCE, "SO_SNDBUFFORCE",
		   held < INT32_MAX / 2 ? held : INT32_MAX / 2);
}

/* Hand the kernel all datagrams that are due before @until_ns. */
static void udp_send(struct flow *f, int64_t until_ns)
{
	static union {
		char room[CMSG_SPACE(sizeof(uint64_t))];
		struct cmsghdr align;
	} control[BATCH];
	static struct datagram head[BATCH];
	static struct mmsghdr messages[BATCH];
	static struct iovec parts[BATCH][2];
	static char payload[SIZE_MOST];
	struct udp *u = f->state;
	uint64_t leaves;
	struct cmsghdr *c;
	int n, done, got;

	do {
		for (n = 0; n < BATCH; n++) {
			uint64_t k = u->sent + n;

			if (udp_instant(f, k) >= until_ns)
				break;
			head[n] = (struct datagram){
				.sequence = k, .flow = f->id,
			};
			parts[n][0] = (struct iovec){
				&head[n], sizeof(head[n]),
			};
			parts[n][1] = (struct iovec){
				payload, u->size - sizeof(head[n]),
			};
			messages[n].msg_hdr = (struct msghdr){
				.msg_iov = parts[n],
				.msg_iovlen = 2,
				.msg_control = control[n].room,
				.msg_controllen = sizeof(control[n].room),
			};
			leaves = run.epoch_ns + udp_instant(f, k) + u->delay_ns;
			c = CMSG_FIRSTHDR(&messages[n].msg_hdr);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_TXTIME;
			c->cmsg_len = CMSG_LEN(sizeof(leaves));
			memcpy(CMSG_DATA(c), &leaves, sizeof(leaves));
		}
		for (done = 0; done < n; done += got) {
			got = sendmmsg(f->source_fd, messages + done, n - done,
				       0);
			if (got < 0)
				err(1, "flow %u: sendmmsg", f->id);
		}
		u->sent += n;
	} while (n == BATCH);
}

static void udp_arrived(struct flow *f, const struct datagram *d,
			int64_t at_ns)
{
	struct udp *u = f->state;
	int64_t delay_ns;
	uint64_t room;

	if (d->flow != f->id || d->sequence >= u->sent)
		errx(1, "flow %u: received a datagram that it did not send", f->id);
	delay_ns = at_ns - udp_instant(f, d->sequence);
	if (delay_ns < u->delay_ns - EARLY_NS)
		errx(1, "flow %u: a datagram left before its time: does its device have fq?",
		     f->id);
	if (delay_ns < 0)
		delay_ns = 0;
	if (delay_ns >= DELAY_MOST_NS)
		errx(1, "flow %u: a datagram came after %lld s, the log holds %lld s", f->id,
		     (long long)(delay_ns / NSEC_PER_SEC),
		     (long long)(DELAY_MOST_NS / NSEC_PER_SEC));
	if (d->sequence >= u->room) {
		room = 2 * (d->sequence + 1024);
		u->delay = reallocarray(u->delay, room, sizeof(*u->delay));
		if (!u->delay)
			err(1, "memory for the delays of flow %u", f->id);
		memset(u->delay + u->room, 0,
		       (room - u->room) * sizeof(*u->delay));
		u->room = room;
	}
	u->delay[d->sequence] = (delay_ns + DELAY_UNIT_NS / 2) /
				DELAY_UNIT_NS + 1;
	u->received++;
	f->bytes += u->size;
}

static uint64_t udp_received(struct flow *f)
{
	static union {
		char room[CMSG_SPACE(sizeof(struct timespec)) +
			  CMSG_SPACE(sizeof(uint32_t))];
		struct cmsghdr align;
	} control[BATCH];
	static struct datagram head[BATCH];
	static struct mmsghdr messages[BATCH];
	static struct iovec parts[BATCH];
	struct udp *u = f->state;
	struct cmsghdr *c;
	int i, got;

	do {
		for (i = 0; i < BATCH; i++) {
			parts[i] = (struct iovec){ &head[i], sizeof(head[i]) };
			messages[i].msg_hdr = (struct msghdr){
				.msg_iov = &parts[i],
				.msg_iovlen = 1,
				.msg_control = control[i].room,
				.msg_controllen = sizeof(control[i].room),
			};
		}
		got = recvmmsg(f->sink_fd, messages, BATCH, MSG_DONTWAIT, NULL);
		if (got < 0 && errno != EAGAIN)
			err(1, "flow %u: recvmmsg", f->id);
		for (i = 0; i < got; i++) {
			struct msghdr *m = &messages[i].msg_hdr;
			struct timespec at = { 0 };

			for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
				if (c->cmsg_type == SCM_TIMESTAMPNS)
					memcpy(&at, CMSG_DATA(c), sizeof(at));
				else if (c->cmsg_type == SO_RXQ_OVFL)
					memcpy(&u->overflows, CMSG_DATA(c),
					       sizeof(u->overflows));
			}
			if (u->overflows)
				errx(1, "flow %u: the sink's socket had no room for %u datagrams",
				     f->id, u->overflows);
			udp_arrived(f, &head[i],
				    at.tv_sec * NSEC_PER_SEC + at.tv_nsec -
				    run.realtime_ns - run.epoch_ns);
		}
	} while (got == BATCH);
	return f->bytes;
}

static bool udp_missing(struct flow *f)
{
	const struct udp *u = f->state;

	return u->received < u->sent;
}

static void udp_tick(struct flow *f)
{
	int64_t end_ns = f->stop_ns && f->stop_ns < run.duration_ns ?
			 f->stop_ns : run.duration_ns;
	int64_t now = mono_ns() - run.epoch_ns;
	struct udp *u = f->state;
	int64_t until_ns = now + 2 * u->tick_ns;

	udp_send(f, until_ns < end_ns ? until_ns : end_ns);
	udp_received(f);
	/* Continue after the end to serve the sink. */
	flow_tick_at(f, now + u->tick_ns);
}

static void udp_finish(struct flow *f)
{
	static const struct tcp_info none;
	struct udp *u = f->state;
	uint64_t k = 0, sent, received;
	int64_t from_ns;

	while (k < u->sent) {
		from_ns = udp_instant(f, k) / run.interval_ns * run.interval_ns;
		sent = 0;
		received = 0;
		for (; k < u->sent &&
		     udp_instant(f, k) < from_ns + run.interval_ns; k++) {
			bool arrived = k < u->room && u->delay[k];

			sent++;
			received += arrived;
			if (arrived && k % u->log_every == 0)
				fprintf(udp_logs[LOG_DELAYS].file, "%.6f,%u,%.4f\n",
					(double)udp_instant(f, k) /
					NSEC_PER_SEC, f->id,
					(double)(u->delay[k] - 1) *
					DELAY_UNIT_NS / NSEC_PER_MSEC);
		}
		fprintf(udp_logs[LOG_DATAGRAMS].file, "%.3f,%u,%llu,%llu\n",
			(double)from_ns / NSEC_PER_SEC, f->id,
			(unsigned long long)sent,
			(unsigned long long)received);
	}
	f->bytes_sent = u->sent * u->size;
	flow_end_row(f, &none);
	forget(&f->source_fd);
	forget(&f->sink_fd);
	free(u->delay);
	free(u);
}

const struct flow_kind flow_kind_udp = {
	.name = "udp",
	.state_size = sizeof(struct udp),
	.keys = udp_keys,
	.nr_keys = ARRAY_SIZE(udp_keys),
	.logs = udp_logs,
	.nr_logs = ARRAY_SIZE(udp_logs),
	.open = udp_open,
	.start = udp_tick,
	.tick = udp_tick,
	.finish = udp_finish,
	.received = udp_received,
	.missing = udp_missing,
};
