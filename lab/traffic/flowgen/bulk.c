// SPDX-License-Identifier: GPL-2.0
/*
 * Bulk TCP: send as fast as possible from the flow's start to its stop.
 *
 * System calls dominate the cost in virtual time. So the sink wakes up once per
 * SO_RCVLOWAT bytes and discards them without copying (MSG_TRUNC), and the
 * source sends the same pages again and again (sendfile).
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>

#include "../clock.h"
#include "flowgen.h"

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
	/* A congestion control that needs ECN must be at both ends to get it. */
	set_congestion_control(f->listen_fd, f->cc);
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
	if (f->mss)
		set_option(f->source_fd, IPPROTO_TCP, TCP_MAXSEG, "TCP_MAXSEG", f->mss);
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
	 * Write until the socket accepts no more. Only then the next edge
	 * comes, when half of its unsent data has gone. (With level triggers, a
	 * writable socket without memory would be tried forever, because
	 * virtual time would not advance.)
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

/* From the sink's TCP, so it is exact even if data are unread. */
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
	flow_count(f, &info);
	flow_count_segs(f);
	flow_end_row(f, &info);
	/* Reset the connection, so that buffered data stop loading the link. */
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
