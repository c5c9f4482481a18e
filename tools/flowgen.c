// SPDX-License-Identifier: GPL-2.0
/*
 * flowgen - sources and sinks for many flows, in one process.
 *
 * Written for virtual time, where a system call is the most expensive thing a
 * program can do: the sink asks to be woken per SO_RCVLOWAT bytes and throws
 * them away uncopied (MSG_TRUNC), the source sends the same pages over and over
 * (sendfile), one epoll instance serves all flows, one timerfd all instants.
 *
 * A process handles both ends of every flow; each socket is made inside the
 * namespace its end lives in and stays there.
 *
 * The flow file has one flow a line, KEY=VALUE separated by blanks; see
 * `flow_keys` below, or `flowgen --help`. A kind of flow is a `struct
 * flow_kind`: bulk TCP is in this file, udp in flowgen_udp.c, web in
 * flowgen_web.c.
 *
 * Logs (CSV with a header line; times in seconds from the epoch):
 *   --progress  time_s,flow,bytes          bytes received in order so far
 *   --ends      one row a flow when it stops or the run ends; see ends_columns
 *   --datagrams, --delays   written by flowgen_udp.c
 *   --requests              written by flowgen_web.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "clock.h"
#include "flowgen.h"

#define MAX_NAMESPACES	64
#define LOG_BUFFER	(1024 * 1024)

#define LINGER_STEP_NS	(100 * NSEC_PER_MSEC)
#define LINGER_QUIET	10	/* steps without a datagram: nothing is left */
#define LINGER_MOST	100	/* steps */

/* One thing to do at an instant; ties keep the order of the file. */
enum instant_what { INSTANT_START, INSTANT_TICK, INSTANT_STOP };

struct instant {
	int64_t at_ns;
	struct flow *flow;
	enum instant_what what;
};

struct flowgen run;

static atomic_int interrupted;
char discarded[READ_CHUNK];

struct flow_log log_datagrams = {
	.option = "--datagrams", .header = "time_s,flow,sent,received",
};

struct flow_log log_delays = {
	.option = "--delays", .header = "sent_s,flow,delay_ms",
};

struct flow_log log_requests = {
	.option = "--requests",
	.header = "start_s,flow,request,bytes,completion_s",
};

static void on_signal(int sig)
{
	interrupted = sig;
}

/* ---- flow file ------------------------------------------------------ */

enum key_type { KEY_UINT, KEY_NS, KEY_TEXT, KEY_LONG_TEXT };

struct flow_key {
	const char *name;
	enum key_type type;
	size_t offset;
	size_t size;
	bool required;
	const char *help;
};

#define TEXT_KEY(_name, _field, _required, _help) \
	{ _name, KEY_TEXT, offsetof(struct flow, _field), \
	  sizeof(((struct flow *)0)->_field), _required, _help }
#define UINT_KEY(_name, _field, _required, _help) \
	{ _name, KEY_UINT, offsetof(struct flow, _field), \
	  sizeof(unsigned int), _required, _help }
#define NS_KEY(_name, _field, _help) \
	{ _name, KEY_NS, offsetof(struct flow, _field), \
	  sizeof(int64_t), false, _help }

static const struct flow_key flow_keys[] = {
	UINT_KEY("id", id, true, "number of the flow, used in the logs"),
	TEXT_KEY("group", group, false, "name of the group it is counted in"),
	TEXT_KEY("source_netns", source_netns, false, "namespace of the source"),
	TEXT_KEY("sink_netns", sink_netns, false, "namespace of the sink"),
	TEXT_KEY("source", source_host, true, "address of the source"),
	TEXT_KEY("sink", sink_host, true, "address of the sink"),
	UINT_KEY("source_port", source_port, false, "0: any"),
	UINT_KEY("sink_port", sink_port, true, "port of the sink"),
	NS_KEY("start_ns", start_ns, "when it starts, ns after the epoch"),
	NS_KEY("stop_ns", stop_ns, "when it stops, ns after the epoch (0: end of run)"),
	TEXT_KEY("cc", cc, false, "congestion control"),
	UINT_KEY("sndbuf", sndbuf, false, "SO_SNDBUF, bytes"),
	UINT_KEY("rcvbuf", rcvbuf, false, "SO_RCVBUF, bytes"),
	UINT_KEY("clamp", clamp, false, "TCP_WINDOW_CLAMP, bytes"),
	UINT_KEY("lowat", lowat, false, "SO_RCVLOWAT, bytes"),
	UINT_KEY("notsent", notsent, false, "TCP_NOTSENT_LOWAT, bytes"),
	UINT_KEY("nodelay", nodelay, false, "1: TCP_NODELAY"),
	UINT_KEY("tos", tos, false, "TOS or traffic class byte"),
	NS_KEY("gap_ns", gap_ns, "udp: between two datagrams, ns"),
	NS_KEY("jitter_ns", jitter_ns, "udp: a datagram is late by up to this, at most a gap"),
	UINT_KEY("seed", seed, false, "udp: of the jitter"),
	UINT_KEY("size", size, false, "udp: payload bytes of a datagram"),
	NS_KEY("delay_ns", delay_ns, "udp: propagation before the first hop, ns"),
	UINT_KEY("log_every", log_every, false, "udp: log the delay of every n-th (default 1)"),
	{ "requests", KEY_LONG_TEXT, offsetof(struct flow, requests), 0, false,
	  "web: THINK_NS:BYTES,... in this order" },
	UINT_KEY("keep", keep, false, "web: 1: one connection for all requests"),
};

static const struct flow_kind *flow_kind_find(const char *name);

static void flow_set(struct flow *f, const char *where, const char *key,
		     const char *value, uint64_t *seen)
{
	unsigned int i;
	char *at;

	if (!strcmp(key, "kind")) {
		f->kind = flow_kind_find(value);
		if (!f->kind)
			errx(2, "%s: no such kind of flow: %s", where, value);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(flow_keys); i++) {
		const struct flow_key *k = &flow_keys[i];

		if (strcmp(k->name, key))
			continue;
		at = (char *)f + k->offset;
		*seen |= 1ULL << i;
		switch (k->type) {
		case KEY_UINT:
			*(unsigned int *)at = parse_number(key, value, 0,
							   UINT32_MAX);
			break;
		case KEY_NS:
			*(int64_t *)at = parse_number(key, value, 0, INT64_MAX);
			break;
		case KEY_TEXT:
			if (strlen(value) >= k->size)
				errx(2, "%s: %s is too long: %s", where, key,
				     value);
			strcpy(at, value);
			break;
		case KEY_LONG_TEXT:
			*(char **)at = strdup(value);
			if (!*(char **)at)
				err(1, "memory for %s", key);
			break;
		}
		return;
	}
	errx(2, "%s: unknown key \"%s\"; `flowgen --help` lists them", where,
	     key);
}

static void address_parse(struct address *a, const char *host,
			  unsigned int port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;

	if (port > 65535)
		errx(2, "port %u is above 65535", port);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		a->len = sizeof(*in);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		a->len = sizeof(*in6);
	} else {
		errx(2, "not an IPv4 or IPv6 address: %s", host);
	}
}

static void flow_parse(struct flow *f, const char *where, char *line)
{
	char *save, *word, *equals;
	uint64_t seen = 0;
	unsigned int i;

	*f = (struct flow){
		.kind = flow_kind_find("bulk"),
		.group = "all",
		.log_every = 1,
		.listen_fd = -1,
		.sink_fd = -1,
		.source_fd = -1,
	};
	for (word = strtok_r(line, " \t\n", &save); word;
	     word = strtok_r(NULL, " \t\n", &save)) {
		equals = strchr(word, '=');
		if (!equals)
			errx(2, "%s: \"%s\" is not KEY=VALUE", where, word);
		*equals = '\0';
		flow_set(f, where, word, equals + 1, &seen);
	}
	for (i = 0; i < ARRAY_SIZE(flow_keys); i++)
		if (flow_keys[i].required && !(seen & (1ULL << i)))
			errx(2, "%s: %s is missing", where, flow_keys[i].name);
	address_parse(&f->source_addr, f->source_host, f->source_port);
	address_parse(&f->sink_addr, f->sink_host, f->sink_port);
	if (f->source_addr.sa.ss_family != f->sink_addr.sa.ss_family)
		errx(2, "%s: source and sink are of different families", where);
}

static void flows_read(const char *path)
{
	unsigned int line_nr = 0, room = 0;
	char *line = NULL, *text;
	size_t line_room = 0;
	char where[300];
	FILE *in;

	in = fopen(path, "r");
	if (!in)
		err(2, "%s", path);
	while (getline(&line, &line_room, in) >= 0) {
		line_nr++;
		text = line + strspn(line, " \t\n");
		if (!*text || *text == '#')
			continue;
		if (run.nr_flows == room) {
			room = room ? 2 * room : 128;
			run.flows = reallocarray(run.flows, room,
						 sizeof(*run.flows));
			if (!run.flows)
				err(1, "memory for flows");
		}
		snprintf(where, sizeof(where), "%s:%u", path, line_nr);
		flow_parse(&run.flows[run.nr_flows++], where, text);
	}
	free(line);
	fclose(in);
	if (!run.nr_flows)
		errx(2, "%s has no flows", path);
}

/* ---- sockets -------------------------------------------------------- */

void enter(const char *name)
{
	static struct { char name[64]; int fd; } cache[MAX_NAMESPACES];
	static const char *current = "";
	static unsigned int used;
	unsigned int i;

	if (!strcmp(name, current))
		return;
	if (!*name)
		errx(2, "a flow without a namespace follows one with one");
	for (i = 0; i < used; i++)
		if (!strcmp(cache[i].name, name))
			break;
	if (i == used) {
		if (used == MAX_NAMESPACES)
			errx(2, "more than %d namespaces", MAX_NAMESPACES);
		strcpy(cache[i].name, name);
		cache[i].fd = netns_open(name);
		used++;
	}
	netns_enter(cache[i].fd);
	current = cache[i].name;
}

void set_option(int fd, int level, int option, const char *name,
		unsigned int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		err(1, "%s %u", name, value);
}

void set_congestion_control(int fd, const char *name)
{
	if (*name && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
				strlen(name)))
		err(1, "congestion control %s (see net.ipv4.tcp_available_congestion_control)",
		    name);
}

static void watch_with(int operation, int fd, struct flow *f,
		       enum flow_end end, uint32_t events)
{
	struct epoll_event ev = {
		.events = events,
		.data.u64 = ((uint64_t)(f ? f - run.flows : 0) << 2) | end,
	};

	if (epoll_ctl(run.epoll_fd, operation, fd, &ev))
		err(1, "epoll_ctl");
}

void watch(int fd, struct flow *f, enum flow_end end, uint32_t events)
{
	watch_with(EPOLL_CTL_ADD, fd, f, end, events);
}

void watch_again(int fd, struct flow *f, enum flow_end end, uint32_t events)
{
	watch_with(EPOLL_CTL_MOD, fd, f, end, events);
}

void forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

bool tcp_info(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return fd >= 0 && !getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len);
}

/* ---- logs ----------------------------------------------------------- */

static FILE *log_open(const char *path, const char *const *columns,
		      unsigned int nr_columns)
{
	FILE *out = fopen(path, "w");
	unsigned int i;

	if (!out)
		err(2, "%s", path);
	setvbuf(out, NULL, _IOFBF, LOG_BUFFER);
	for (i = 0; i < nr_columns; i++)
		fprintf(out, "%s%c", columns[i], i + 1 < nr_columns ? ',' : '\n');
	return out;
}

static void log_close(FILE *out, const char *path)
{
	if (ferror(out) || fclose(out))
		err(1, "%s", path);
}

FILE *flow_log(struct flow_log *log)
{
	if (!log->path)
		errx(2, "a flow of this kind needs %s FILE", log->option);
	if (!log->file)
		log->file = log_open(log->path, &log->header, 1);
	return log->file;
}

static const char *const progress_columns[] = { "time_s", "flow", "bytes" };
static const char *const ends_columns[] = {
	"flow", "group", "kind", "start_s", "end_s", "bytes", "bytes_sent",
	"bytes_retransmitted", "retransmits", "rtt_ms", "min_rtt_ms", "cwnd",
	"mss", "delivered_ce", "error",
};

/* The flow's row in --ends; @info is all zero for what is not TCP. */
void flow_end_row(struct flow *f, const struct tcp_info *info)
{
	int64_t now = mono_ns() - run.epoch_ns;

	fprintf(run.ends,
		"%u,%s,%s,%.6f,%.6f,%llu,%llu,%llu,%u,%.3f,%.3f,%u,%u,%u,%d\n",
		f->id, f->group, f->kind->name,
		(double)f->start_ns / NSEC_PER_SEC, (double)now / NSEC_PER_SEC,
		(unsigned long long)f->bytes,
		(unsigned long long)f->bytes_sent,
		(unsigned long long)f->bytes_again, f->again,
		info->tcpi_rtt / 1e3, info->tcpi_min_rtt / 1e3,
		info->tcpi_snd_cwnd, info->tcpi_snd_mss,
		info->tcpi_delivered_ce, f->source_error);
}

/* ---- bulk TCP ------------------------------------------------------- */

static void bulk_open(struct flow *f)
{
	int family = f->sink_addr.sa.ss_family;

	enter(f->sink_netns);
	f->listen_fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			      IPPROTO_TCP);
	if (f->listen_fd < 0)
		err(1, "socket");
	set_option(f->listen_fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", 1);
	if (f->rcvbuf)
		set_option(f->listen_fd, SOL_SOCKET, SO_RCVBUFFORCE, "SO_RCVBUF",
			   f->rcvbuf);
	if (f->clamp)
		set_option(f->listen_fd, IPPROTO_TCP, TCP_WINDOW_CLAMP,
			   "TCP_WINDOW_CLAMP", f->clamp);
	if (bind(f->listen_fd, (struct sockaddr *)&f->sink_addr.sa,
		 f->sink_addr.len))
		err(1, "bind %s port %u", f->sink_host, f->sink_port);
	if (listen(f->listen_fd, 1))
		err(1, "listen");
	watch(f->listen_fd, f, END_LISTEN, EPOLLIN);

	enter(f->source_netns);
	f->source_fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			      IPPROTO_TCP);
	if (f->source_fd < 0)
		err(1, "socket");
	set_option(f->source_fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", 1);
	if (f->sndbuf)
		set_option(f->source_fd, SOL_SOCKET, SO_SNDBUFFORCE, "SO_SNDBUF",
			   f->sndbuf);
	if (f->notsent)
		set_option(f->source_fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
			   "TCP_NOTSENT_LOWAT", f->notsent);
	if (f->nodelay)
		set_option(f->source_fd, IPPROTO_TCP, TCP_NODELAY,
			   "TCP_NODELAY", 1);
	set_congestion_control(f->source_fd, f->cc);
	if (bind(f->source_fd, (struct sockaddr *)&f->source_addr.sa,
		 f->source_addr.len))
		err(1, "bind %s port %u", f->source_host, f->source_port);
}

static void bulk_start(struct flow *f)
{
	if (connect(f->source_fd, (struct sockaddr *)&f->sink_addr.sa,
		    f->sink_addr.len) && errno != EINPROGRESS)
		err(1, "connect to %s port %u", f->sink_host, f->sink_port);
	watch(f->source_fd, f, END_SOURCE, EPOLLOUT | EPOLLET);
}

static void bulk_source_event(struct flow *f, uint32_t events)
{
	socklen_t len = sizeof(f->source_error);
	off_t from_start;
	ssize_t sent;

	if (events & (EPOLLERR | EPOLLHUP)) {
		getsockopt(f->source_fd, SOL_SOCKET, SO_ERROR,
			   &f->source_error, &len);
		warnx("flow %u: %s", f->id, strerror(f->source_error));
		epoll_ctl(run.epoll_fd, EPOLL_CTL_DEL, f->source_fd, NULL);
		return;
	}
	/*
	 * More than the socket takes, however far its window has opened: only
	 * then the next edge comes, when half of what it may hold unsent has
	 * gone. (By level, a socket that is writable but refused memory would
	 * be tried again and again, and in virtual time nothing would ever
	 * change.)
	 */
	do {
		from_start = 0;
		sent = sendfile(f->source_fd, run.payload_fd, &from_start,
				WRITE_CHUNK);
	} while (sent == WRITE_CHUNK);
	if (sent < 0 && errno != EAGAIN)
		warn("flow %u: sendfile", f->id);
}

static void bulk_listen_event(struct flow *f, uint32_t events)
{
	(void)events;
	f->sink_fd = accept4(f->listen_fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (f->sink_fd < 0) {
		if (errno != EAGAIN)
			warn("flow %u: accept", f->id);
		return;
	}
	forget(&f->listen_fd);
	if (f->lowat)
		set_option(f->sink_fd, SOL_SOCKET, SO_RCVLOWAT, "SO_RCVLOWAT",
			   f->lowat);
	watch(f->sink_fd, f, END_SINK, EPOLLIN | EPOLLET);
}

static void bulk_sink_event(struct flow *f, uint32_t events)
{
	ssize_t got;

	(void)events;
	got = recv(f->sink_fd, discarded, sizeof(discarded), MSG_TRUNC);
	if (got == 0 || (got < 0 && errno != EAGAIN))
		epoll_ctl(run.epoll_fd, EPOLL_CTL_DEL, f->sink_fd, NULL);
}

/* From the sink's TCP: exact at any instant, whatever is still unread. */
static uint64_t bulk_received(struct flow *f)
{
	struct tcp_info info;

	if (tcp_info(f->sink_fd, &info))
		f->bytes = info.tcpi_bytes_received;
	return f->bytes;
}

static void bulk_stop(struct flow *f)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct tcp_info info;

	bulk_received(f);
	tcp_info(f->source_fd, &info);
	f->bytes_sent = info.tcpi_bytes_sent;
	f->bytes_again = info.tcpi_bytes_retrans;
	f->again = info.tcpi_total_retrans;
	flow_end_row(f, &info);
	/* A reset: what is still buffered must not go on loading the link. */
	if (f->source_fd >= 0)
		setsockopt(f->source_fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
	forget(&f->source_fd);
	forget(&f->sink_fd);
	forget(&f->listen_fd);
	f->phase = FLOW_DONE;
}

const struct flow_kind flow_kind_bulk = {
	.name = "bulk",
	.open = bulk_open,
	.start = bulk_start,
	.stop = bulk_stop,
	.listen_event = bulk_listen_event,
	.source_event = bulk_source_event,
	.sink_event = bulk_sink_event,
	.received = bulk_received,
};

/* ---- the run -------------------------------------------------------- */

static const struct flow_kind *const flow_kinds[] = {
	&flow_kind_bulk, &flow_kind_udp, &flow_kind_web,
};

static const struct flow_kind *flow_kind_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flow_kinds); i++)
		if (!strcmp(flow_kinds[i]->name, name))
			return flow_kinds[i];
	return NULL;
}

/* Instants are a binary heap, the earliest at its root. */
static bool instant_before(const struct instant *a, const struct instant *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	if (a->flow != b->flow)
		return a->flow < b->flow;
	return a->what < b->what;
}

static void instant_swap(unsigned int i, unsigned int j)
{
	struct instant t = run.instants[i];

	run.instants[i] = run.instants[j];
	run.instants[j] = t;
}

static void instant_add(struct flow *f, int64_t at_ns, enum instant_what what)
{
	unsigned int i = run.nr_instants++;

	run.instants[i] = (struct instant){
		.at_ns = at_ns, .flow = f, .what = what,
	};
	while (i && instant_before(&run.instants[i],
				   &run.instants[(i - 1) / 2])) {
		instant_swap(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static struct instant instant_take(void)
{
	struct instant first = run.instants[0];
	unsigned int i = 0, child;

	run.instants[0] = run.instants[--run.nr_instants];
	for (;;) {
		child = 2 * i + 1;
		if (child >= run.nr_instants)
			break;
		if (child + 1 < run.nr_instants &&
		    instant_before(&run.instants[child + 1],
				   &run.instants[child]))
			child++;
		if (!instant_before(&run.instants[child], &run.instants[i]))
			break;
		instant_swap(i, child);
		i = child;
	}
	return first;
}

/* Ask for the kind's tick(); a flow waits for one at a time. */
void flow_tick_at(struct flow *f, int64_t at_ns)
{
	instant_add(f, at_ns, INSTANT_TICK);
}

static void instants_make(void)
{
	unsigned int i;

	/* A start, a stop and a tick at most are waited for. */
	run.instants = calloc(3 * run.nr_flows, sizeof(*run.instants));
	if (!run.instants)
		err(1, "memory for the timetable");
	for (i = 0; i < run.nr_flows; i++) {
		struct flow *f = &run.flows[i];

		instant_add(f, f->start_ns, INSTANT_START);
		if (f->stop_ns)
			instant_add(f, f->stop_ns, INSTANT_STOP);
	}
}

static void flow_stop(struct flow *f)
{
	if (f->phase != FLOW_DONE && f->kind->stop)
		f->kind->stop(f);
}

static void instant_run(const struct instant *in)
{
	struct flow *f = in->flow;

	switch (in->what) {
	case INSTANT_START:
		f->kind->start(f);
		f->phase = FLOW_RUNNING;
		break;
	case INSTANT_TICK:
		if (f->phase == FLOW_RUNNING)
			f->kind->tick(f);
		break;
	case INSTANT_STOP:
		flow_stop(f);
		break;
	}
}

static int64_t realtime_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec - mono_ns();
}

static void progress_write(int64_t at_ns)
{
	unsigned int i;

	run.realtime_ns = realtime_offset_ns();

	for (i = 0; i < run.nr_flows; i++) {
		struct flow *f = &run.flows[i];

		if (f->phase == FLOW_RUNNING)
			f->kind->received(f);
		fprintf(run.progress, "%.3f,%u,%llu\n",
			(double)at_ns / NSEC_PER_SEC, f->id,
			(unsigned long long)f->bytes);
	}
}

static void timer_arm(int64_t at_ns)
{
	struct itimerspec when = {
		.it_value = ns_to_timespec(run.epoch_ns + at_ns),
	};

	if (timerfd_settime(run.timer_fd, TFD_TIMER_ABSTIME, &when, NULL))
		err(1, "timerfd_settime");
}

static void dispatch(const struct epoll_event *ev)
{
	struct flow *f = &run.flows[ev->data.u64 >> 2];
	enum flow_end end = ev->data.u64 & 3;
	uint64_t expirations;

	switch (end) {
	case END_LISTEN:
		f->kind->listen_event(f, ev->events);
		break;
	case END_SINK:
		f->kind->sink_event(f, ev->events);
		break;
	case END_SOURCE:
		f->kind->source_event(f, ev->events);
		break;
	case END_TIMER:
		if (read(run.timer_fd, &expirations, sizeof(expirations)) < 0 &&
		    errno != EAGAIN)
			err(1, "timerfd");
		break;
	}
}

static void run_flows(void)
{
	int64_t next_sample = 0;
	struct epoll_event events[64];
	int64_t now, next;
	int i, ready;

	for (;;) {
		now = mono_ns() - run.epoch_ns;
		while (run.nr_instants && run.instants[0].at_ns <= now) {
			struct instant in = instant_take();

			instant_run(&in);
		}
		/* A late sample is stamped with when it was taken. */
		if (next_sample <= now) {
			progress_write(now);
			next_sample += (now - next_sample) / run.interval_ns *
				       run.interval_ns + run.interval_ns;
		}
		if (now >= run.duration_ns || interrupted)
			return;
		next = next_sample < run.duration_ns ? next_sample :
						       run.duration_ns;
		if (run.nr_instants && run.instants[0].at_ns < next)
			next = run.instants[0].at_ns;
		timer_arm(next);
		do {
			bool timer = false;

			ready = epoll_wait(run.epoll_fd, events,
					   ARRAY_SIZE(events), -1);
			if (ready < 0 && errno != EINTR)
				err(1, "epoll_wait");
			for (i = 0; i < ready; i++) {
				dispatch(&events[i]);
				timer |= (events[i].data.u64 & 3) == END_TIMER;
			}
			/* An event may have asked for an earlier tick. */
			if (timer || (run.nr_instants &&
				      run.instants[0].at_ns < next))
				break;
		} while (!interrupted);
	}
}

/*
 * The sources are silent; wait until datagrams that are still queued somewhere
 * have arrived, or are known to be lost.
 */
static void datagrams_arrive(void)
{
	const struct timespec step = { .tv_nsec = LINGER_STEP_NS };
	uint64_t before, now = 0;
	int quiet = 0, steps = 0;
	unsigned int i;

	while (quiet < LINGER_QUIET && steps++ < LINGER_MOST && !interrupted) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
		before = now;
		now = 0;
		for (i = 0; i < run.nr_flows; i++)
			if (run.flows[i].phase == FLOW_RUNNING)
				now += run.flows[i].kind->received(&run.flows[i]);
		quiet = now == before ? quiet + 1 : 0;
	}
}

static void flows_finish(void)
{
	bool under_way = false;
	unsigned int i;

	for (i = 0; i < run.nr_flows; i++) {
		flow_stop(&run.flows[i]);
		under_way |= run.flows[i].phase == FLOW_RUNNING;
	}
	if (under_way)
		datagrams_arrive();
	for (i = 0; i < run.nr_flows; i++)
		if (run.flows[i].phase != FLOW_DONE && run.flows[i].kind->finish)
			run.flows[i].kind->finish(&run.flows[i]);
}

static void help_print(FILE *out)
{
	unsigned int i;

	fputs("usage: flowgen --flows FILE --progress FILE --ends FILE --duration-ms MS\n"
	      "               [--interval-ms MS] [--epoch-ns NS]\n"
	      "               [--datagrams FILE --delays FILE] [--requests FILE]\n\n"
	      "Runs the flows of FILE from the epoch (an instant of CLOCK_MONOTONIC, default\n"
	      "now) for MS, and logs each flow's bytes every interval (default 100 ms).\n\n"
	      "The flow file has one flow a line, KEY=VALUE separated by blanks:\n"
	      "  kind         bulk (the default), udp or web\n", out);
	for (i = 0; i < ARRAY_SIZE(flow_keys); i++)
		fprintf(out, "  %-12s %s%s\n", flow_keys[i].name,
			flow_keys[i].help,
			flow_keys[i].required ? " (required)" : "");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "flows", required_argument, NULL, 'f' },
		{ "progress", required_argument, NULL, 'p' },
		{ "ends", required_argument, NULL, 'e' },
		{ "duration-ms", required_argument, NULL, 'd' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "epoch-ns", required_argument, NULL, 'z' },
		{ "datagrams", required_argument, NULL, 'g' },
		{ "delays", required_argument, NULL, 'y' },
		{ "requests", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct flow_log *const logs[] = {
		&log_datagrams, &log_delays, &log_requests,
	};
	const char *flows = NULL, *progress = NULL, *ends = NULL;
	struct sigaction action = { .sa_handler = on_signal };
	struct rlimit files;
	unsigned int i;
	int option;

	run.interval_ns = 100 * NSEC_PER_MSEC;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			flows = optarg;
			break;
		case 'p':
			progress = optarg;
			break;
		case 'e':
			ends = optarg;
			break;
		case 'd':
			run.duration_ns = NSEC_PER_MSEC *
				parse_number("--duration-ms", optarg, 1,
					     100000000);
			break;
		case 'i':
			run.interval_ns = NSEC_PER_MSEC *
				parse_number("--interval-ms", optarg, 1,
					     100000000);
			break;
		case 'z':
			run.epoch_ns = parse_number("--epoch-ns", optarg, 1,
						    INT64_MAX);
			break;
		case 'g':
			log_datagrams.path = optarg;
			break;
		case 'y':
			log_delays.path = optarg;
			break;
		case 'r':
			log_requests.path = optarg;
			break;
		case 'h':
			help_print(stdout);
			return 0;
		default:
			help_print(stderr);
			return 2;
		}
	}
	if (!flows || !progress || !ends || !run.duration_ns) {
		help_print(stderr);
		return 2;
	}

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	flows_read(flows);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	run.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	run.timer_fd = timerfd_create(CLOCK_MONOTONIC,
				      TFD_NONBLOCK | TFD_CLOEXEC);
	if (run.epoll_fd < 0 || run.timer_fd < 0)
		err(1, "epoll or timerfd");
	run.payload_fd = memfd_create("payload", MFD_CLOEXEC);
	if (run.payload_fd < 0 || ftruncate(run.payload_fd, WRITE_CHUNK))
		err(1, "memfd");
	watch(run.timer_fd, NULL, END_TIMER, EPOLLIN);
	run.progress = log_open(progress, progress_columns,
				ARRAY_SIZE(progress_columns));
	run.ends = log_open(ends, ends_columns, ARRAY_SIZE(ends_columns));
	instants_make();
	for (i = 0; i < run.nr_flows; i++)
		run.flows[i].kind->open(&run.flows[i]);
	if (!run.epoch_ns)
		run.epoch_ns = mono_ns();
	run.realtime_ns = realtime_offset_ns();

	run_flows();
	flows_finish();
	log_close(run.progress, progress);
	log_close(run.ends, ends);
	for (i = 0; i < ARRAY_SIZE(logs); i++)
		if (logs[i]->file)
			log_close(logs[i]->file, logs[i]->path);
	return interrupted ? 128 + interrupted : 0;
}
