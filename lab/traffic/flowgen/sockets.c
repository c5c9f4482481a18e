// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets in namespaces, for all kinds of flows.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sys/epoll.h>

#include "../clock.h"
#include "flowgen.h"

#define MAX_NAMESPACES	64

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

/*
 * The kernel's struct tcp_info has grown: here is where tcpi_ecn_mode is, in the
 * lowest bits. A kernel without it has no AccECN.
 */
#define ECN_MODE_OFFSET	(offsetof(struct tcp_info, tcpi_snd_wnd) + 48)

enum ecn_mode ecn_mode(int fd)
{
	uint32_t info[128] = { 0 };
	socklen_t len = sizeof(info);

	if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
		return ECN_NONE;
	if (len > ECN_MODE_OFFSET)
		return info[ECN_MODE_OFFSET / sizeof(*info)] & 3;
	return ((struct tcp_info *)info)->tcpi_options & TCPI_OPT_ECN ?
		       ECN_RFC3168 : ECN_NONE;
}
