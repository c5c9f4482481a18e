// SPDX-License-Identifier: GPL-2.0
/*
 * Web traffic: a client thinks, requests a number of bytes from its server,
 * receives them, and thinks again. The flow file has all think times and sizes
 * (requests=THINK_NS:BYTES,...). With every_ns, request k is due at
 * start + k * every_ns + its think time, or when the request before it is
 * complete, whichever is later. Its completion time counts from the due time.
 *
 * The server is the flow's source, because its data cross the bottleneck. The
 * client is the sink. Each request has a new connection; with keep=1 all share
 * one. Completion time counts from the client's connect(), or from the request
 * on an existing connection, to the arrival of the last byte.
 *
 * Log: --requests  start_s,flow,request,bytes,completion_s, one row per request.
 * The completion time is empty if the request failed or the run ended first.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>

#include "../clock.h"
#include "web.h"

#define REQUEST_BYTES	300	/* about the size of an HTTP request */

static const struct flow_key web_keys[] = {
	FLOW_KEY("requests", KEY_LONG_TEXT, struct web, session, true,
		 "THINK_NS:BYTES,... for each request in order"),
	FLOW_KEY("keep", KEY_UINT, struct web, keep, false,
		 "1: one connection for all requests"),
	FLOW_KEY("every_ns", KEY_NS, struct web, every_ns, false,
		 "time between two requests, ns (0: only think times)"),
};

struct flow_log requests_log = {
	.option = "requests",
	.header = "start_s,flow,request,bytes,completion_s",
};

/* Read a session, "NS:BYTES,...", into an array. Returns its length. */
unsigned int requests_parse(const struct flow *f, const char *session, struct request **requests)
{
	const char *at = session;
	unsigned int nr = 1, i;
	char *end;

	for (i = 0; at[i]; i++)
		nr += at[i] == ',';
	*requests = calloc(nr, sizeof(**requests));
	if (!*requests)
		err(1, "memory for flow %u", f->id);
	for (i = 0; i < nr; i++) {
		struct request *r = &(*requests)[i];

		r->think_ns = strtoll(at, &end, 10);
		if (*end != ':' || r->think_ns < 0)
			goto bad;
		at = end + 1;
		r->bytes = strtoull(at, &end, 10);
		if ((*end && *end != ',') || end == at || !r->bytes)
			goto bad;
		at = end + 1;
	}
	return nr;
bad:
	errx(2, "flow %u: requests: number %u is not THINK_NS:BYTES", f->id,
	     i + 1);
}

/* Open the log and the server. */
void web_listen(struct flow *f)
{
	int family = f->source_addr.sa.ss_family;

	flow_log(&requests_log);
	enter(f->source_netns);
	f->listen_fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			      IPPROTO_TCP);
	if (f->listen_fd < 0)
		err(1, "socket");
	set_option(f->listen_fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", 1);
	/* Sockets from accept() inherit the following options. */
	if (f->sndbuf)
		set_option(f->listen_fd, SOL_SOCKET, SO_SNDBUFFORCE,
			   "SO_SNDBUF", f->sndbuf);
	if (f->notsent)
		set_option(f->listen_fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
			   "TCP_NOTSENT_LOWAT", f->notsent);
	set_option(f->listen_fd, IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY", 1);
	set_congestion_control(f->listen_fd, f->cc);
	if (bind(f->listen_fd, (struct sockaddr *)&f->source_addr.sa,
		 f->source_addr.len))
		err(1, "bind %s port %u", f->source_host, f->source_port);
	if (listen(f->listen_fd, 8))
		err(1, "listen");
	watch(f->listen_fd, f, END_LISTEN, EPOLLIN);
}

static void web_open(struct flow *f)
{
	struct web *w = f->state;

	w->nr = requests_parse(f, w->session, &w->requests);
	web_listen(f);
}

static void web_connect(struct flow *f)
{
	struct address any_port = f->sink_addr;

	enter(f->sink_netns);
	f->sink_fd = socket(f->sink_addr.sa.ss_family,
			    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			    IPPROTO_TCP);
	if (f->sink_fd < 0)
		err(1, "socket");
	if (f->rcvbuf)
		set_option(f->sink_fd, SOL_SOCKET, SO_RCVBUFFORCE, "SO_RCVBUF",
			   f->rcvbuf);
	/* A congestion control that needs ECN must be at both ends to get it. */
	set_congestion_control(f->sink_fd, f->cc);
	set_option(f->sink_fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT,
		   "IP_BIND_ADDRESS_NO_PORT", 1);
	/* The port is at the same place for both families. */
	((struct sockaddr_in *)&any_port.sa)->sin_port = 0;
	if (bind(f->sink_fd, (struct sockaddr *)&any_port.sa, any_port.len))
		err(1, "bind %s", f->sink_host);
	if (connect(f->sink_fd, (struct sockaddr *)&f->source_addr.sa,
		    f->source_addr.len) && errno != EINPROGRESS)
		err(1, "connect to %s port %u", f->source_host, f->source_port);
	watch(f->sink_fd, f, END_SINK, EPOLLOUT);
}

/* Wake up when everything has arrived, or enough to be worth reading. */
static void web_set_lowat(struct flow *f)
{
	struct web *w = f->state;
	unsigned int lowat = f->lowat ? f->lowat : 1;

	if (w->to_get < lowat)
		lowat = w->to_get;
	if (lowat == w->lowat)
		return;
	set_option(f->sink_fd, SOL_SOCKET, SO_RCVLOWAT, "SO_RCVLOWAT", lowat);
	w->lowat = lowat;
}

static void web_ask(struct flow *f)
{
	static const char request[REQUEST_BYTES];
	struct web *w = f->state;

	w->asking = false;
	w->ask_left = REQUEST_BYTES;
	web_set_lowat(f);
	if (send(f->sink_fd, request, REQUEST_BYTES, MSG_NOSIGNAL) !=
	    REQUEST_BYTES)
		err(1, "flow %u: sending a request", f->id);
}

/* Due time of the next request, if every_ns is set. */
static int64_t web_due_ns(const struct flow *f)
{
	const struct web *w = f->state;

	return f->start_ns + w->next * w->every_ns +
	       w->requests[w->next].think_ns;
}

/* The think time has ended. */
void web_tick(struct flow *f)
{
	struct web *w = f->state;

	w->asked_ns = w->every_ns ? web_due_ns(f) : mono_ns() - run.epoch_ns;
	w->under_way = true;
	w->to_get = w->requests[w->next].bytes;
	if (f->sink_fd >= 0) {
		web_ask(f);
	} else {
		w->asking = true;
		w->lowat = 1;
		web_connect(f);
	}
}

void web_think(struct flow *f)
{
	struct web *w = f->state;

	/* A time in the past means now. */
	if (w->next < w->nr)
		flow_tick_at(f, w->every_ns ? web_due_ns(f) :
			     mono_ns() - run.epoch_ns +
			     w->requests[w->next].think_ns);
}

static void web_log(struct flow *f, bool complete)
{
	int64_t now_ns = mono_ns() - run.epoch_ns;
	struct web *w = f->state;
	double seconds = (double)(now_ns - w->asked_ns) / NSEC_PER_SEC;

	fprintf(requests_log.file, "%.6f,%u,%u,%llu,",
		(double)w->asked_ns / NSEC_PER_SEC, f->id, w->next,
		(unsigned long long)w->requests[w->next].bytes);
	if (complete)
		fprintf(requests_log.file, "%.6f", seconds);
	fputc('\n', requests_log.file);
	w->under_way = false;
	w->next++;
	if (w->done)
		w->done(f, complete, now_ns);
}

static void web_client_close(struct flow *f)
{
	struct web *w = f->state;

	/* The server may still have the previous connection. */
	if (!w->counted)
		flow_count_segs(f);
	w->counted = true;
	forget(&f->sink_fd);
}

/* The client gives up the current request and thinks about the next. */
static void web_failed(struct flow *f, int fd)
{
	socklen_t len = sizeof(f->source_error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &f->source_error, &len);
	warnx("flow %u: request failed: %s", f->id,
	      strerror(f->source_error));
	web_log(f, false);
	web_client_close(f);
	web_think(f);
}

void web_sink_event(struct flow *f, uint32_t events)
{
	struct web *w = f->state;
	ssize_t got;

	if (f->sink_fd < 0)
		return;
	if (events & EPOLLERR) {
		if (w->under_way)
			web_failed(f, f->sink_fd);
		else
			web_client_close(f);
		return;
	}
	if (w->asking && events & EPOLLOUT) {
		watch_again(f->sink_fd, f, END_SINK, EPOLLIN);
		web_ask(f);
		return;
	}
	got = recv(f->sink_fd, discarded, sizeof(discarded), MSG_TRUNC);
	if (got <= 0) {
		if (got < 0 && errno == EAGAIN)
			return;
		if (w->under_way)
			web_failed(f, f->sink_fd);
		else
			web_client_close(f);
		return;
	}
	if (!w->under_way || (uint64_t)got > w->to_get)
		errx(1, "flow %u: received more bytes than requested", f->id);
	f->bytes += got;
	w->to_get -= got;
	if (w->to_get) {
		web_set_lowat(f);
		return;
	}
	web_log(f, true);
	if (!w->keep)
		web_client_close(f);
	web_think(f);
}

/* The server's connection ended: add it to the counts. */
static void web_server_close(struct flow *f)
{
	struct tcp_info info;

	if (!tcp_info(f->source_fd, &info))
		return;
	flow_count(f, &info);
	forget(&f->source_fd);
}

void web_listen_event(struct flow *f, uint32_t events)
{
	struct web *w = f->state;

	(void)events;
	/* The client has a new connection, so the old one is finished. */
	web_server_close(f);
	f->source_fd = accept4(f->listen_fd, NULL, NULL,
			       SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (f->source_fd < 0) {
		if (errno != EAGAIN)
			warn("flow %u: accept", f->id);
		return;
	}
	w->to_send = 0;
	w->counted = false;
	w->ask_left = REQUEST_BYTES;
	watch(f->source_fd, f, END_SOURCE, EPOLLIN);
}

static void web_serve(struct flow *f)
{
	struct web *w = f->state;
	off_t from_start;
	ssize_t sent;

	while (w->to_send) {
		from_start = 0;
		sent = sendfile(f->source_fd, run.payload_fd, &from_start,
				w->to_send < WRITE_CHUNK ? w->to_send :
							   WRITE_CHUNK);
		if (sent < 0)
			return;
		w->to_send -= sent;
	}
}

void web_source_event(struct flow *f, uint32_t events)
{
	struct web *w = f->state;
	char request[REQUEST_BYTES];
	ssize_t got;

	if (f->source_fd < 0)
		return;
	if (events & EPOLLIN && !w->to_send) {
		got = recv(f->source_fd, request, sizeof(request), 0);
		if (!got || (got < 0 && errno != EAGAIN)) {
			web_server_close(f);
			return;
		}
		if (got > 0)
			w->ask_left -= got;
		/* A client that gave up has no current request. */
		if (w->ask_left || !w->under_way)
			return;
		w->ask_left = REQUEST_BYTES;
		w->to_send = w->requests[w->next].bytes;
		web_serve(f);
		if (w->to_send)
			watch_again(f->source_fd, f, END_SOURCE,
				    EPOLLOUT | EPOLLET);
		return;
	}
	if (events & (EPOLLERR | EPOLLHUP)) {
		web_server_close(f);
		return;
	}
	if (w->to_send) {
		web_serve(f);
		if (!w->to_send)
			watch_again(f->source_fd, f, END_SOURCE, EPOLLIN);
	}
}

/* Bytes that the client has read. At most SO_RCVLOWAT bytes are unread. */
uint64_t web_received(struct flow *f)
{
	return f->bytes;
}

void web_stop(struct flow *f)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct web *w = f->state;
	struct tcp_info info;

	if (w->under_way)
		web_log(f, false);
	tcp_info(f->source_fd, &info);
	if (f->source_fd >= 0)
		setsockopt(f->source_fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
	web_client_close(f);
	web_server_close(f);
	flow_end_row(f, &info);
	forget(&f->listen_fd);
	free(w->requests);
	free(w->session);
	free(w);
	f->phase = FLOW_DONE;
}

const struct flow_kind flow_kind_web = {
	.name = "web",
	.state_size = sizeof(struct web),
	.keys = web_keys,
	.nr_keys = ARRAY_SIZE(web_keys),
	.logs = &requests_log,
	.nr_logs = 1,
	.open = web_open,
	.start = web_think,
	.tick = web_tick,
	.stop = web_stop,
	.listen_event = web_listen_event,
	.source_event = web_source_event,
	.sink_event = web_sink_event,
	.received = web_received,
};
