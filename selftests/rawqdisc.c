// SPDX-License-Identifier: GPL-2.0
/*
 * Add or change a root qdisc with exactly the given attributes, without tc, and
 * print the kernel's answer. tc's plugins check values before they send them, so
 * this program is needed to test the kernel's own checks.
 *
 * Exit status: 0 accepted, 1 refused ("EINVAL: the kernel's message"), 2 the
 * request could not be sent.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <err.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOL_NETLINK
#define SOL_NETLINK	270
#endif

static const char usage[] =
	"usage: rawqdisc [-c] [-o] [-p] DEV KIND [ATTRIBUTE:BYTES:VALUE]...\n"
	"  -c  change the qdisc (default: add)\n"
	"  -o  old style: send the options without NLA_F_NESTED\n"
	"  -p  replace the qdisc (create or change)\n"
	"  -n  send no options attribute\n";

struct request {
	struct nlmsghdr	n;
	struct tcmsg	t;
	char		attrs[4096];
};

static struct nlattr *put(struct request *r, int type, const void *data,
			  size_t len)
{
	struct nlattr *a = (void *)((char *)r + NLMSG_ALIGN(r->n.nlmsg_len));

	if (NLMSG_ALIGN(r->n.nlmsg_len) + NLA_HDRLEN + len > sizeof(*r))
		errx(2, "too many attributes");
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	r->n.nlmsg_len = NLMSG_ALIGN(r->n.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

/* Append the attribute ATTRIBUTE:BYTES:VALUE, with the value in host order. */
static void put_option(struct request *r, const char *arg)
{
	unsigned long long value;
	unsigned int type, bytes;
	char data[256] = {};
	char rest;

	if (sscanf(arg, "%u:%u:%lli%c", &type, &bytes, (long long *)&value,
		   &rest) != 3 || bytes > sizeof(data))
		errx(2, "\"%s\" is not ATTRIBUTE:BYTES:VALUE", arg);
	/* Put the value's bytes first. On big endian this needs a shift. */
	if (*(const char *)&(const int){ 1 } == 0 && bytes < sizeof(value))
		value <<= 8 * (sizeof(value) - bytes);
	memcpy(data, &value, sizeof(value));
	put(r, type, data, bytes);
}

static const char *extack_text(const struct nlmsghdr *n)
{
	const struct nlmsgerr *e = NLMSG_DATA(n);
	size_t skip = sizeof(*e);
	const struct nlattr *a;

	if (!(n->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	if (!(n->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - NLMSG_HDRLEN;
	a = (const void *)((const char *)e + NLMSG_ALIGN(skip));
	while ((const char *)a + NLA_HDRLEN < (const char *)n + n->nlmsg_len) {
		if (a->nla_type == NLMSGERR_ATTR_MSG)
			return (const char *)a + NLA_HDRLEN;
		a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
	}
	return "";
}

int main(int argc, char **argv)
{
	int flags = NLM_F_CREATE | NLM_F_EXCL, nest_flag = NLA_F_NESTED;
	struct request r = {
		.n.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
		.n.nlmsg_type = RTM_NEWQDISC,
		.t.tcm_family = AF_UNSPEC,
		.t.tcm_handle = 1 << 16,
		.t.tcm_parent = TC_H_ROOT,
	};
	const struct nlmsgerr *e;
	struct nlattr *options;
	bool no_options = false;
	char answer[8192];
	int one = 1, opt;
	int fd;

	while ((opt = getopt(argc, argv, "copn")) != -1) {
		switch (opt) {
		case 'c':
			flags = 0;
			break;
		case 'o':
			nest_flag = 0;
			break;
		case 'p':
			flags = NLM_F_CREATE | NLM_F_REPLACE;
			break;
		case 'n':
			no_options = true;
			break;
		default:
			errx(2, "%s", usage);
		}
	}
	if (argc - optind < 2)
		errx(2, "%s", usage);
	r.n.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	r.t.tcm_ifindex = if_nametoindex(argv[optind]);
	if (!r.t.tcm_ifindex)
		err(2, "%s", argv[optind]);
	put(&r, TCA_KIND, argv[optind + 1], strlen(argv[optind + 1]) + 1);
	if (!no_options) {
		options = put(&r, TCA_OPTIONS | nest_flag, NULL, 0);
		for (optind += 2; optind < argc; optind++)
			put_option(&r, argv[optind]);
		options->nla_len = (char *)&r + r.n.nlmsg_len - (char *)options;
	}

	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (fd < 0 ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one)) ||
	    send(fd, &r, r.n.nlmsg_len, 0) < 0 ||
	    recv(fd, answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(*e)))
		err(2, "netlink");
	e = NLMSG_DATA((struct nlmsghdr *)answer);
	if (!e->error) {
		puts("accepted");
		return 0;
	}
	printf("%s: %s\n", strerrorname_np(-e->error),
	       extack_text((struct nlmsghdr *)answer));
	return 1;
}
