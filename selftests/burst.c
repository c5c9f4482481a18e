// SPDX-License-Identifier: GPL-2.0
/*
 * Send a burst of packets through a device's queue discipline, and print how
 * many were sent: "offered N". The shell tests need exact counts.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/types.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_PACKET	65535
#define MAX_PRIORITIES	8
#define MAX_WORDS	32
#define HASHED		77	/* lib.sh's filter computes a hash for this mark */

static const char usage[] =
	"usage: burst [OPTION]... DEV COUNT\n"
	"       burst -    read such arguments from stdin, line by line\n"
	"  -f N  use N flows in turn (default 1)\n"
	"  -l N  bytes of a packet, with Ethernet header (default 1000)\n"
	"  -6    use IPv6\n"
	"  -v N  put VLAN tag N into the packets\n"
	"  -g N  send GSO packets: TCP with N segments of 1000 bytes\n"
	"  -m N  set the packets' mark (77: only of every second packet of a flow,\n"
	"        see gate_hashes in lib.sh)\n"
	"  -e    send ECN-capable packets, ECT(0)\n"
	"  -p N  set skb->priority; may be repeated to use several in turn\n";

struct burst {
	unsigned int	flows;
	unsigned int	len;
	unsigned int	vlan;
	unsigned int	segments;
	unsigned int	ecn;
	bool		v6;
};

/* Copy @len bytes from @src to @p, and return the end. */
static unsigned char *put(unsigned char *p, const void *src, size_t len)
{
	memcpy(p, src, len);
	return p + len;
}

static unsigned char *put16(unsigned char *p, unsigned int value)
{
	*p++ = value >> 8;
	*p++ = value;
	return p;
}

static __be16 ip_checksum(const void *data, size_t len)
{
	const __u8 *p = data;
	__u32 sum = 0;

	for (; len > 1; len -= 2, p += 2)
		sum += p[0] << 8 | p[1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Build a packet of a flow. *l4 is set to the offset of its transport header. */
static size_t build(const struct burst *b, unsigned int flow,
		    unsigned char *buf, size_t *l4)
{
	static const unsigned char mac[12] = { 2, 0, 0, 0, 0, 2,
					       2, 0, 0, 0, 0, 1 };
	size_t ip_len = b->v6 ? sizeof(struct ip6_hdr) : sizeof(struct iphdr);
	size_t l2 = sizeof(mac) + 2 + (b->vlan ? 4 : 0);
	int proto = b->segments ? IPPROTO_TCP : IPPROTO_UDP;
	unsigned char *p = put(buf, mac, sizeof(mac));
	size_t payload;
	size_t total;

	*l4 = l2 + ip_len;
	total = b->len;
	if (b->segments)
		total = *l4 + sizeof(struct tcphdr) + b->segments * 1000;
	if (total > MAX_PACKET)
		errx(1, "a packet of %zu bytes is too large", total);
	if (total < *l4 + sizeof(struct udphdr))
		total = *l4 + sizeof(struct udphdr);
	payload = total - *l4;

	if (b->vlan) {
		p = put16(p, ETH_P_8021Q);
		p = put16(p, b->vlan);
	}
	p = put16(p, b->v6 ? ETH_P_IPV6 : ETH_P_IP);
	if (b->v6) {
		struct ip6_hdr ip6 = {
			.ip6_flow = htonl(6 << 28 | b->ecn << 20),
			.ip6_plen = htons(payload),
			.ip6_nxt = proto,
			.ip6_hlim = 64,
		};

		inet_pton(AF_INET6, "fd00::1", &ip6.ip6_src);
		inet_pton(AF_INET6, "fd00::2", &ip6.ip6_dst);
		p = put(p, &ip6, sizeof(ip6));
	} else {
		struct iphdr ip = {
			.version = 4, .ihl = 5, .ttl = 64, .tos = b->ecn,
			.tot_len = htons(total - l2),
			.protocol = proto,
			.saddr = htonl(0x0a010001),
			.daddr = htonl(0x0a020001),
		};

		ip.check = ip_checksum(&ip, sizeof(ip));
		p = put(p, &ip, sizeof(ip));
	}
	if (b->segments) {
		struct tcphdr tcp = {
			.source = htons(10000 + flow), .dest = htons(9),
			.doff = 5, .ack = 1, .window = htons(1000),
		};

		p = put(p, &tcp, sizeof(tcp));
	} else {
		struct udphdr udp = {
			.source = htons(10000 + flow), .dest = htons(9),
			.len = htons(payload),
		};

		p = put(p, &udp, sizeof(udp));
	}
	memset(p, 0, buf + total - p);
	return total;
}

static unsigned int to_number(const char *arg)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 0);
	if (errno || end == arg || *end || value > 0xffffffff)
		errx(1, "\"%s\": not a whole number", arg);
	return value;
}

static void offer(int argc, char **argv)
{
	struct burst b = { .flows = 1, .len = 1000 };
	struct virtio_net_hdr vnet = {};
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
	};
	unsigned char buf[MAX_PACKET];
	struct iovec iov[2] = {
		{ &vnet, sizeof(vnet) },
		{ buf, 0 },
	};
	struct msghdr msg = { &to, sizeof(to), iov, 2 };
	unsigned int prio[MAX_PRIORITIES] = {}, prios = 0;
	unsigned int mark = 0, count, i;
	bool marked = false;
	int sndbuf = 1 << 30;
	int one = 1;
	size_t l4;
	int opt;
	int fd;

	optind = 1;
	while ((opt = getopt(argc, argv, "f:l:6v:g:m:ep:")) != -1) {
		switch (opt) {
		case 'f':
			b.flows = to_number(optarg);
			break;
		case 'l':
			b.len = to_number(optarg);
			break;
		case '6':
			b.v6 = true;
			break;
		case 'v':
			b.vlan = to_number(optarg);
			break;
		case 'g':
			b.segments = to_number(optarg);
			break;
		case 'm':
			mark = to_number(optarg);
			marked = true;
			break;
		case 'e':
			b.ecn = 2;
			break;
		case 'p':
			if (prios == MAX_PRIORITIES)
				errx(1, "more than %u priorities", prios);
			prio[prios++] = to_number(optarg);
			break;
		default:
			errx(1, "%s", usage);
		}
	}
	if (argc - optind != 2 || !b.flows)
		errx(1, "%s", usage);
	to.sll_ifindex = if_nametoindex(argv[optind]);
	if (!to.sll_ifindex)
		err(1, "%s", argv[optind]);
	count = to_number(argv[optind + 1]);
	if (b.v6)
		to.sll_protocol = htons(ETH_P_IPV6);
	if (b.vlan)
		to.sll_protocol = htons(ETH_P_8021Q);

	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0)
		err(1, "packet socket");
	/* Queued packets count against the socket's send buffer. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		err(1, "setsockopt");

	for (i = 0; i < count; i++) {
		if (!marked)
			mark = i / b.flows & 1 ? HASHED : 0;
		if ((!marked || !i) &&
		    setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)))
			err(1, "mark %u", mark);
		if (prios && setsockopt(fd, SOL_SOCKET, SO_PRIORITY,
					&prio[i % prios], sizeof(*prio)))
			err(1, "priority %u", prio[i % prios]);
		iov[1].iov_len = build(&b, i % b.flows, buf, &l4);
		if (b.segments) {
			vnet.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
			vnet.gso_type = b.v6 ? VIRTIO_NET_HDR_GSO_TCPV6 :
					       VIRTIO_NET_HDR_GSO_TCPV4;
			vnet.gso_size = 1000;
			vnet.hdr_len = l4 + sizeof(struct tcphdr);
			vnet.csum_start = l4;
			vnet.csum_offset = offsetof(struct tcphdr, check);
		}
		/* ENOBUFS: the discipline dropped this packet. */
		if (sendmsg(fd, &msg, 0) < 0 && errno != ENOBUFS)
			err(1, "packet %u", i);
	}
	close(fd);
	printf("offered %u\n", count);
}

int main(int argc, char **argv)
{
	char line[512];

	if (argc != 2 || strcmp(argv[1], "-")) {
		offer(argc, argv);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *words[MAX_WORDS + 1] = { argv[0] };
		char *word = strtok(line, "\n ");
		int n;

		for (n = 1; word && n < MAX_WORDS; n++) {
			words[n] = word;
			word = strtok(NULL, "\n ");
		}
		offer(n, words);
		fflush(stdout);
	}
	return 0;
}
