// SPDX-License-Identifier: GPL-2.0
/*
 * Drive a queue discipline on a gate device, one operation at a time.
 *
 *	qdrive [-c] [-h HANDLE] DEV < trace > log
 *
 * A trace has one operation per line:
 *
 *	e [flow=N] [len=BYTES] [proto=udp|tcp] [tos=N] [mark=N] [prio=N]
 *	  [sport=N] [dport=N] [v6=1] [vlan=ID] [gso=BYTES]
 *		send one packet of BYTES on the wire. Packets are numbered from 0
 *		in the order of the e lines; a packet's number is its last 4 bytes.
 *		flow gives the source address 10.1.hi.lo or fd00:1::N and, unless
 *		set, the source port. gso makes it a GSO packet with that segment
 *		size.
 *	d N	let N packets leave
 *	t NS	let NS nanoseconds pass
 *	c CMD	run a shell command
 *
 * After each operation it prints one JSON object: i, the operation's number
 * from 0; t, CLOCK_MONOTONIC before it, in ns; rc, errno of a send or status of a
 * command; out, the [number, tos] of packets that left; and the discipline's
 * qlen, backlog, drops, overlimits, bytes, packets, xstats (hex). With -c also
 * its classes, each [minor, qlen, backlog, drops, xstats].
 * -h samples the discipline with this handle instead of the root.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4	/* headers older than 6.2 */
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

#define MAX_LEN		(sizeof(struct ethhdr) + 4 + 65535)

struct packet {
	unsigned int flow, len, tos, mark, prio, sport, dport, vlan, gso;
	bool tcp, v6;
};

struct drive {
	const char *dev;
	int ifindex;
	uint32_t handle;	/* handle of the sampled discipline; 0: the root */
	uint32_t sampled;	/* last reported handle */
	bool classes;
	int tx, rx;
	struct nl_sock *nl;
	uint32_t packets;	/* number of the next packet */
};

static int packet_socket(int ifindex, int protocol)
{
	struct sockaddr_ll ll = {
		.sll_family	= AF_PACKET,
		.sll_protocol	= htons(protocol),
		.sll_ifindex	= ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(protocol));
	int size = 256 << 20;

	if (fd < 0 || bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		err(1, "packet socket");
	/* Packets that wait in the discipline, or that left and were not yet
	 * read, must not exceed a socket's limit.
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		err(1, "socket buffers");
	return fd;
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

/* Ones' complement sum of network-order 16-bit words. */
static uint32_t sum16(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (; len > 1; p += 2, len -= 2)
		sum += p[0] << 8 | p[1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static int send_packet(struct drive *d, const struct packet *p)
{
	static uint8_t buf[sizeof(struct virtio_net_hdr) + MAX_LEN];
	struct virtio_net_hdr *vh = (struct virtio_net_hdr *)buf;
	uint8_t *eth = buf + sizeof(*vh), *ip, *l4, *end;
	unsigned int l4_header = p->tcp ? 20 : 8;
	unsigned int ip_header = p->v6 ? 40 : 20;
	unsigned int l4_len, headers, prio = p->prio;
	uint32_t number = htonl(d->packets++);

	headers = 14 + (p->vlan ? 4 : 0) + ip_header + l4_header;
	if (p->len < headers + 4 || p->len > MAX_LEN)
		errx(1, "packet length %u: %u to %zu allowed", p->len,
		     headers + 4, MAX_LEN);
	memset(buf, 0, sizeof(*vh) + p->len);
	eth[0] = 2;
	eth[6] = 2;
	eth[11] = 1;
	ip = eth + 14;
	if (p->vlan) {
		put16(eth + 12, ETH_P_8021Q);
		put16(eth + 14, p->vlan);
		ip += 4;
	}
	put16(ip - 2, p->v6 ? ETH_P_IPV6 : ETH_P_IP);
	l4 = ip + ip_header;
	end = eth + p->len;
	l4_len = end - l4;
	if (p->v6) {
		ip[0] = 0x60 | p->tos >> 4;
		ip[1] = p->tos << 4;
		put16(ip + 4, l4_len);
		ip[6] = p->tcp ? IPPROTO_TCP : IPPROTO_UDP;
		ip[7] = 64;
		put16(ip + 8, 0xfd00);
		put16(ip + 10, 1);
		put16(ip + 20, p->flow >> 16);
		put16(ip + 22, p->flow);
		put16(ip + 24, 0xfd00);
		put16(ip + 26, 2);
		ip[39] = 1;
	} else {
		ip[0] = 0x45;
		ip[1] = p->tos;
		put16(ip + 2, end - ip);
		ip[8] = 64;
		ip[9] = p->tcp ? IPPROTO_TCP : IPPROTO_UDP;
		ip[12] = 10;
		ip[13] = 1;
		put16(ip + 14, p->flow);
		ip[16] = 10;
		ip[17] = 2;
		ip[19] = 1;
		put16(ip + 10, ~fold(sum16(ip, 20)));
	}
	put16(l4, p->sport);
	put16(l4 + 2, p->dport);
	if (p->tcp) {
		l4[12] = 5 << 4;
		l4[13] = 0x10;	/* ACK */
		put16(l4 + 14, 65535);
	} else {
		put16(l4 + 4, l4_len);
	}
	memcpy(end - 4, &number, 4);

	if (p->gso) {
		uint32_t pseudo = sum16(ip + (p->v6 ? 8 : 12), p->v6 ? 32 : 8);

		vh->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		vh->gso_type = !p->tcp ? VIRTIO_NET_HDR_GSO_UDP_L4 :
			       p->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 :
				       VIRTIO_NET_HDR_GSO_TCPV4;
		vh->hdr_len = headers;
		vh->gso_size = p->gso;
		vh->csum_start = l4 - eth;
		vh->csum_offset = p->tcp ? 16 : 6;
		pseudo += (p->tcp ? IPPROTO_TCP : IPPROTO_UDP) + l4_len;
		put16(l4 + vh->csum_offset, fold(pseudo));
	}

	if (setsockopt(d->tx, SOL_SOCKET, SO_MARK, &p->mark, sizeof(p->mark)) ||
	    setsockopt(d->tx, SOL_SOCKET, SO_PRIORITY, &prio, sizeof(prio)))
		err(1, "mark or priority");
	if (send(d->tx, buf, sizeof(*vh) + p->len, 0) < 0)
		return errno;
	return 0;
}

static int enqueue(struct drive *d, char *args)
{
	struct packet p = { .len = 1514, .dport = 5001 };
	char *word, *save, *value;

	for (word = strtok_r(args, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		unsigned int n;

		value = strchr(word, '=');
		if (!value)
			errx(1, "'%s': NAME=VALUE expected", word);
		*value++ = 0;
		n = strtoul(value, NULL, 0);
		if (!strcmp(word, "flow"))
			p.flow = n;
		else if (!strcmp(word, "len"))
			p.len = n;
		else if (!strcmp(word, "proto"))
			p.tcp = !strcmp(value, "tcp");
		else if (!strcmp(word, "tos"))
			p.tos = n;
		else if (!strcmp(word, "mark"))
			p.mark = n;
		else if (!strcmp(word, "prio"))
			p.prio = n;
		else if (!strcmp(word, "sport"))
			p.sport = n;
		else if (!strcmp(word, "dport"))
			p.dport = n;
		else if (!strcmp(word, "v6"))
			p.v6 = n;
		else if (!strcmp(word, "vlan"))
			p.vlan = n;
		else if (!strcmp(word, "gso"))
			p.gso = n;
		else
			errx(1, "'%s': no such field of a packet", word);
	}
	if (!p.sport)
		p.sport = 1024 + p.flow % 60000;
	return send_packet(d, &p);
}

/* Statistics of one qdisc or class. */
struct sample {
	uint32_t handle, parent;
	struct gnet_stats_queue queue;
	struct gnet_stats_basic basic;
	char xstats[2 * 512 + 1];
};

static bool parse_sample(struct nlmsghdr *n, struct sample *s)
{
	struct nlattr *tb[TCA_MAX + 1], *st[TCA_STATS_MAX + 1];
	struct tcmsg *t = nlmsg_data(n);
	int i;

	memset(s, 0, sizeof(*s));
	s->handle = t->tcm_handle;
	s->parent = t->tcm_parent;
	if (nlmsg_parse(n, sizeof(*t), tb, TCA_MAX, NULL) || !tb[TCA_STATS2] ||
	    nla_parse_nested(st, TCA_STATS_MAX, tb[TCA_STATS2], NULL))
		return false;
	if (st[TCA_STATS_QUEUE])
		nla_memcpy(&s->queue, st[TCA_STATS_QUEUE], sizeof(s->queue));
	if (st[TCA_STATS_BASIC])
		nla_memcpy(&s->basic, st[TCA_STATS_BASIC], sizeof(s->basic));
	if (st[TCA_STATS_APP]) {
		uint8_t *p = nla_data(st[TCA_STATS_APP]);

		for (i = 0; i < nla_len(st[TCA_STATS_APP]) && i < 512; i++)
			sprintf(s->xstats + 2 * i, "%02x", p[i]);
	}
	return true;
}

struct query {
	struct drive *d;
	struct sample s;
	bool found;
	int classes;
};

static int on_qdisc(struct nl_msg *msg, void *arg)
{
	struct query *q = arg;

	q->found = parse_sample(nlmsg_hdr(msg), &q->s);
	return NL_OK;
}

static int on_class(struct nl_msg *msg, void *arg)
{
	struct query *q = arg;
	struct sample s;

	if (!parse_sample(nlmsg_hdr(msg), &s) ||
	    TC_H_MAJ(s.handle) != TC_H_MAJ(q->d->sampled))
		return NL_OK;
	printf("%s[%u,%u,%u,%u,\"%s\"]", q->classes++ ? "," : "",
	       TC_H_MIN(s.handle), s.queue.qlen, s.queue.backlog,
	       s.queue.drops, s.xstats);
	return NL_OK;
}

static void ask(struct drive *d, int type, int flags, const struct tcmsg *t,
		nl_recvmsg_msg_cb_t cb, struct query *q)
{
	int rc;

	nl_socket_modify_cb(d->nl, NL_CB_VALID, NL_CB_CUSTOM, cb, q);
	rc = nl_send_simple(d->nl, type, flags, (void *)t, sizeof(*t));
	if (rc >= 0)
		rc = nl_recvmsgs_default(d->nl);
	if (rc < 0)
		errx(1, "netlink: %s", nl_geterror(rc));
}

static void print_sample(struct drive *d)
{
	struct tcmsg t = {
		.tcm_family	= AF_UNSPEC,
		.tcm_ifindex	= d->ifindex,
		.tcm_handle	= d->handle,
		.tcm_parent	= d->handle ? 0 : TC_H_ROOT,
	};
	struct query q = { .d = d };

	ask(d, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, &t, on_qdisc, &q);
	if (!q.found)
		errx(1, "%s: no statistics", d->dev);
	d->sampled = q.s.handle;
	printf(",\"qlen\":%u,\"backlog\":%u,\"drops\":%u,\"overlimits\":%u",
	       q.s.queue.qlen, q.s.queue.backlog, q.s.queue.drops,
	       q.s.queue.overlimits);
	printf(",\"bytes\":%" PRIu64 ",\"packets\":%u,\"xstats\":\"%s\"",
	       (uint64_t)q.s.basic.bytes, q.s.basic.packets, q.s.xstats);
	if (d->classes) {
		struct tcmsg all = {
			.tcm_family	= AF_UNSPEC,
			.tcm_ifindex	= d->ifindex,
		};

		printf(",\"classes\":[");
		ask(d, RTM_GETTCLASS, NLM_F_REQUEST | NLM_F_DUMP, &all,
		    on_class, &q);
		putchar(']');
	}
}

static unsigned int gate_credit(struct drive *d, const char *write_this)
{
	char path[128];
	unsigned int left = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/gate/credit", d->dev);
	f = fopen(path, write_this ? "w" : "r");
	if (!f)
		err(1, "%s", path);
	if (write_this ? fputs(write_this, f) < 0 : fscanf(f, "%u", &left) != 1)
		err(1, "%s", path);
	if (fclose(f))
		err(1, "%s", path);
	return left;
}

/* Withdraw credit that found no packet to send. */
static void let_leave(struct drive *d, const char *count)
{
	struct tcmsg t = {
		.tcm_family	= AF_UNSPEC,
		.tcm_ifindex	= d->ifindex,
		.tcm_parent	= TC_H_ROOT,
	};
	unsigned int left, before = UINT32_MAX;
	struct query q = { .d = d };

	gate_credit(d, count);
	/* The core sends only a limited number of packets at once; later softirqs send the rest. */
	while ((left = gate_credit(d, NULL)) && left != before) {
		ask(d, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, &t, on_qdisc, &q);
		if (!q.s.queue.qlen)
			break;
		before = left;
		usleep(1000);
	}
	gate_credit(d, "0");
}

static void print_departures(struct drive *d)
{
	static uint8_t buf[MAX_LEN];
	struct sockaddr_ll from;
	socklen_t from_len = sizeof(from);
	bool first = true;
	ssize_t len;

	printf(",\"out\":[");
	while ((len = recvfrom(d->rx, buf, sizeof(buf), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &from_len)) > 0) {
		const uint8_t *ip = buf + 14;
		uint32_t number;

		if (from.sll_pkttype != PACKET_OUTGOING)
			continue;
		while (ip[-2] == 0x81 && ip[-1] == 0)
			ip += 4;
		memcpy(&number, buf + len - 4, 4);
		printf("%s[%u,%u]", first ? "" : ",", ntohl(number),
		       ip[0] >> 4 == 6 ? (ip[0] << 4 | ip[1] >> 4) & 0xff : ip[1]);
		first = false;
	}
	if (len < 0 && errno != EAGAIN)
		err(1, "recv");
	putchar(']');
}

static int run(const char *command)
{
	int status;

	fflush(stdout);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A device that went down leaves an error on its sockets. Reading clears it. */
static void clear_error(int fd)
{
	socklen_t len = sizeof(int);
	int error;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		err(1, "SO_ERROR");
	if (error && error != ENETDOWN)
		errx(1, "%s", strerror(error));
}

static int operate(struct drive *d, char *line)
{
	char *args = line + 1 + strspn(line + 1, " ");
	struct timespec ts;
	uint64_t ns;
	int status;

	switch (line[0]) {
	case 'e':
		return enqueue(d, args);
	case 'd':
		let_leave(d, args);
		return 0;
	case 't':
		ns = strtoull(args, NULL, 0);
		ts.tv_sec = ns / 1000000000;
		ts.tv_nsec = ns % 1000000000;
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	case 'c':
		status = run(args);
		clear_error(d->tx);
		clear_error(d->rx);
		return status;
	}
	errx(1, "'%s': e, d, t or c expected", line);
}

/*
 * After boot, sleeps end only at a tick until the first tick has enabled high
 * resolution timers. Sleep repeatedly until a short sleep is short.
 */
static void await_fine_timers(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct timespec before, after;
	int tries = 100;

	if (prctl(PR_SET_TIMERSLACK, 1UL))
		err(1, "timer slack");
	do {
		clock_gettime(CLOCK_MONOTONIC, &before);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		clock_gettime(CLOCK_MONOTONIC, &after);
	} while ((after.tv_sec - before.tv_sec) * 1000000000LL +
		 after.tv_nsec - before.tv_nsec > 2 * nap.tv_nsec && --tries);
	if (!tries)
		errx(1, "no high resolution timers");
}

static void drive(struct drive *d)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int i = 0;

	while ((len = getline(&line, &size, stdin)) > 0) {
		struct timespec ts;
		int rc;

		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#')
			continue;
		clock_gettime(CLOCK_MONOTONIC, &ts);
		rc = operate(d, line);
		printf("{\"i\":%d,\"t\":%lld,\"rc\":%d", i++,
		       ts.tv_sec * 1000000000LL + ts.tv_nsec, rc);
		print_departures(d);
		print_sample(d);
		puts("}");
	}
	free(line);
}

int main(int argc, char **argv)
{
	struct drive d = {};
	int opt, on = 1;

	while ((opt = getopt(argc, argv, "ch:")) != -1) {
		if (opt == 'c')
			d.classes = true;
		else if (opt == 'h')
			d.handle = strtoul(optarg, NULL, 16) << 16;
		else
			return 1;
	}
	if (optind + 1 != argc)
		errx(1, "usage: qdrive [-c] [-h HANDLE] DEV < trace");
	d.dev = argv[optind];
	d.ifindex = if_nametoindex(d.dev);
	if (!d.ifindex)
		err(1, "%s", d.dev);
	d.tx = packet_socket(d.ifindex, 0);
	if (setsockopt(d.tx, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		err(1, "PACKET_VNET_HDR");
	d.rx = packet_socket(d.ifindex, ETH_P_ALL);
	d.nl = nl_socket_alloc();
	if (!d.nl || nl_connect(d.nl, NETLINK_ROUTE))
		errx(1, "netlink socket");
	nl_socket_disable_auto_ack(d.nl);
	nl_socket_disable_seq_check(d.nl);
	await_fine_timers();
	drive(&d);
	nl_socket_free(d.nl);
	return 0;
}
