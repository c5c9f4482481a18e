// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload into tc. It answers requests about disciplines instead of
 * the kernel, so that tests need no root and no module. The environment has:
 *
 *	TC_STATE	file for the request of "tc qdisc add"; "tc qdisc show" shows
 *			this discipline
 *	TC_STATS	file with its TCA_STATS_APP; none if unset
 *	TC_CLASS	if set, "tc class show" shows the discipline as a class
 *	TC_SPEED	speed of every device, Mbit/s
 *
 * All other requests go to the real kernel.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

static char answer[65536] __attribute__((aligned(8)));
static size_t left;		/* bytes of the answer that tc has not yet read */

static size_t file(const char *variable, char *to, size_t size)
{
	const char *path = getenv(variable);
	FILE *f = path ? fopen(path, "r") : NULL;
	size_t n = f ? fread(to, 1, size, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static struct rtattr *append(struct nlmsghdr *n, int type, const void *data,
			     size_t len)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

/* Write a dump with the discipline or class, and its end, to the answer. */
static void dump(const struct nlmsghdr *request, __u32 pid)
{
	int classes = request->nlmsg_type == RTM_GETTCLASS;
	struct nlmsghdr *n = (void *)answer, *end;
	static char stats[4096], state[32768];
	const struct nlmsghdr *added = (void *)state;
	size_t len = file("TC_STATS", stats, sizeof(stats));
	struct rtattr *nest, *a;
	struct tcmsg *t = NLMSG_DATA(n);
	int rest;

	memset(answer, 0, sizeof(answer));
	n->nlmsg_len = NLMSG_LENGTH(sizeof(*t));
	if (file("TC_STATE", state, sizeof(state)) &&
	    classes == !!getenv("TC_CLASS")) {
		n->nlmsg_type = classes ? RTM_NEWTCLASS : RTM_NEWQDISC;
		n->nlmsg_flags = NLM_F_MULTI;
		t->tcm_ifindex = 1;
		t->tcm_handle = classes ? 0x10001 : 0x10000;
		t->tcm_parent = TC_H_ROOT;
		rest = added->nlmsg_len - NLMSG_LENGTH(sizeof(*t));
		a = (void *)(state + NLMSG_LENGTH(sizeof(*t)));
		for (; RTA_OK(a, rest); a = RTA_NEXT(a, rest))
			if (!classes || a->rta_type == TCA_KIND)
				append(n, a->rta_type, RTA_DATA(a),
				       RTA_PAYLOAD(a));
		nest = append(n, TCA_STATS2, NULL, 0);
		if (len)
			append(n, TCA_STATS_APP, stats, len);
		nest->rta_len = (char *)n + n->nlmsg_len - (char *)nest;
		end = (void *)(answer + NLMSG_ALIGN(n->nlmsg_len));
		n->nlmsg_seq = request->nlmsg_seq;
		n->nlmsg_pid = pid;
	} else {
		end = n;
	}
	end->nlmsg_len = NLMSG_LENGTH(sizeof(int));
	end->nlmsg_type = NLMSG_DONE;
	end->nlmsg_flags = NLM_F_MULTI;
	end->nlmsg_seq = request->nlmsg_seq;
	end->nlmsg_pid = pid;
	left = (char *)end - answer + NLMSG_ALIGN(end->nlmsg_len);
}

static void acknowledge(const struct nlmsghdr *request, __u32 pid)
{
	struct nlmsghdr *n = (void *)answer;
	const char *path = getenv("TC_STATE");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fwrite(request, 1, request->nlmsg_len, f);
		fclose(f);
	}
	memset(answer, 0, sizeof(answer));
	n->nlmsg_len = NLMSG_LENGTH(sizeof(struct nlmsgerr));
	n->nlmsg_type = NLMSG_ERROR;
	n->nlmsg_seq = request->nlmsg_seq;
	n->nlmsg_pid = pid;
	left = n->nlmsg_len;
}

static int is_ours(int fd, const struct nlmsghdr *request)
{
	struct sockaddr_nl self = {};
	socklen_t len = sizeof(self);

	if (getsockname(fd, (struct sockaddr *)&self, &len) ||
	    self.nl_family != AF_NETLINK)
		return 0;
	switch (request->nlmsg_type) {
	case RTM_GETQDISC:
	case RTM_GETTCLASS:
		dump(request, self.nl_pid);
		return 1;
	case RTM_NEWQDISC:
		acknowledge(request, self.nl_pid);
		return 1;
	}
	return 0;
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode) =
		dlsym(RTLD_NEXT, "fopen");
	static char speed[32];
	size_t len = strlen(path);

	if (!getenv("TC_SPEED") || strncmp(path, "/sys/class/net/", 15) ||
	    strcmp(path + len - 6, "/speed"))
		return real(path, mode);
	snprintf(speed, sizeof(speed), "%s\n", getenv("TC_SPEED"));
	return fmemopen(speed, strlen(speed), "r");
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) =
		dlsym(RTLD_NEXT, "send");

	return is_ours(fd, buf) ? (ssize_t)len : real(fd, buf, len, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) =
		dlsym(RTLD_NEXT, "sendmsg");

	if (!is_ours(fd, msg->msg_iov->iov_base))
		return real(fd, msg, flags);
	return msg->msg_iov->iov_len;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) =
		dlsym(RTLD_NEXT, "recvmsg");
	struct sockaddr_nl *from = msg->msg_name;
	size_t len = left;

	if (!left)
		return real(fd, msg, flags);
	if (from)
		*from = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
	msg->msg_flags = 0;
	if (msg->msg_iov->iov_len < len) {
		msg->msg_flags = MSG_TRUNC;
		memcpy(msg->msg_iov->iov_base, answer, msg->msg_iov->iov_len);
	} else {
		memcpy(msg->msg_iov->iov_base, answer, len);
	}
	if (!(flags & MSG_PEEK))
		left = 0;
	return len;
}
