/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capture the packets of a namespace into a pcapng file.
 *
 * The kernel copies packets into a ring, which is read only at the end. So nobody
 * wakes up during the run, no clock is read except by the kernel's packet path, and
 * in virtual time a run with a capture has the bytes of a run without.
 */
#ifndef AQM_TOOLS_CAPTURE_H
#define AQM_TOOLS_CAPTURE_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "clock.h"

#define CAPTURES	64
#define CAPTURE_SNAP	128	/* bytes of a packet: all headers */
#define CAPTURE_FRAME	256	/* bytes in the ring, with the kernel's header */
#define CAPTURE_BLOCK	65536
#define CAPTURE_DEVICES	128

/*
 * @netns: name of a namespace
 * @path: file to write
 * @ring: @frames of CAPTURE_FRAME bytes
 */
struct capture {
	const char *netns;
	const char *path;
	int fd;
	unsigned char *ring;
	size_t frames;
};

/* Start a capture in the namespace that @c names. @bytes: size of the ring. */
static void capture_start(struct capture *c, size_t bytes)
{
	struct tpacket_req ring = {
		.tp_block_size = CAPTURE_BLOCK,
		.tp_block_nr = bytes / CAPTURE_BLOCK,
		.tp_frame_size = CAPTURE_FRAME,
		.tp_frame_nr = bytes / CAPTURE_BLOCK *
			       (CAPTURE_BLOCK / CAPTURE_FRAME),
	};
	int version = TPACKET_V2;

	netns_enter(netns_open(c->netns));
	/* Bound to no device, it gets the packets of all. */
	c->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	if (c->fd < 0 ||
	    setsockopt(c->fd, SOL_PACKET, PACKET_VERSION, &version,
		       sizeof(version)) ||
	    setsockopt(c->fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
		err(1, "capture of %s in %zu bytes", c->netns, bytes);
	c->frames = ring.tp_frame_nr;
	c->ring = mmap(NULL, c->frames * CAPTURE_FRAME, PROT_READ | PROT_WRITE,
		       MAP_SHARED, c->fd, 0);
	if (c->ring == MAP_FAILED)
		err(1, "memory for the capture of %s", c->netns);
}

static void capture_put(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

/* Write a block of pcapng. @size: bytes of @body, a multiple of 4. */
static void capture_block(FILE *out, uint32_t type, const void *body,
			  uint32_t size)
{
	capture_put(out, type);
	capture_put(out, size + 12);
	fwrite(body, size, 1, out);
	capture_put(out, size + 12);
}

/* Write the block of a device: Ethernet, its name, and times in nanoseconds. */
static void capture_device(FILE *out, int ifindex)
{
	struct {
		uint16_t linktype, reserved;
		uint32_t snap;
		uint16_t name_code, name_len;
		char name[IF_NAMESIZE];
		uint16_t resolution_code, resolution_len;
		uint8_t resolution[4];
		uint32_t end;
	} body = {
		.linktype = 1,
		.snap = CAPTURE_SNAP,
		.name_code = 2,
		.name_len = IF_NAMESIZE,
		.resolution_code = 9,
		.resolution_len = 1,
		.resolution = { 9 },
	};

	if (!if_indextoname(ifindex, body.name))
		snprintf(body.name, sizeof(body.name), "if%d", ifindex);
	capture_block(out, 1, &body, sizeof(body));
}

/* Write a packet. @device: number of its block; @at_ns: after the epoch. */
static void capture_packet(FILE *out, uint32_t device, int64_t at_ns,
			   const struct tpacket2_hdr *h)
{
	const struct sockaddr_ll *sll =
		(const void *)((const char *)h + TPACKET_ALIGN(sizeof(*h)));
	struct {
		uint32_t device, high, low, captured, length;
		uint8_t data[CAPTURE_SNAP];
		uint16_t flags_code, flags_len;
		uint32_t flags, end;
	} body = {
		.device = device,
		.high = (uint64_t)at_ns >> 32,
		.low = (uint32_t)at_ns,
		.captured = h->tp_snaplen < CAPTURE_SNAP ? h->tp_snaplen :
							   CAPTURE_SNAP,
		.length = h->tp_len,
	};
	/* inbound or outbound */
	uint32_t tail[] = { 2 | 4 << 16,
			    sll->sll_pkttype == PACKET_OUTGOING ? 2 : 1, 0 };
	uint32_t data = (body.captured + 3) / 4 * 4;

	memcpy(body.data, (const char *)h + h->tp_mac, body.captured);
	memcpy(body.data + data, tail, sizeof(tail));
	capture_block(out, 6, &body, 20 + data + sizeof(tail));
}

/*
 * Write the packets from the epoch on. @epoch_real: the epoch on CLOCK_REALTIME, which
 * is time 0; @duration: time of the last packet, ns.
 */
static void capture_finish(const struct capture *c, int64_t epoch_real,
			   int64_t duration)
{
	/* Byte order, version 1.0, unknown length. */
	static const uint32_t head[] = { 0x1a2b3c4d, 1, ~0u, ~0u };
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);
	int devices[CAPTURE_DEVICES];
	unsigned int used = 0, i;
	FILE *out;
	size_t at;

	netns_enter(netns_open(c->netns));
	if (getsockopt(c->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		err(1, "statistics of the capture of %s", c->netns);
	if (stats.tp_drops)
		errx(1, "the capture of %s has room for %zu packets, and %u more came: choose a shorter run, or more memory with --set memory=",
		     c->netns, c->frames, stats.tp_drops);
	out = fopen(c->path, "w");
	if (!out)
		err(1, "%s", c->path);
	capture_block(out, 0x0a0d0d0a, head, sizeof(head));
	for (at = 0; at < c->frames; at++) {
		const struct tpacket2_hdr *h =
			(const void *)(c->ring + at * CAPTURE_FRAME);
		const struct sockaddr_ll *sll = (const void *)
			((const char *)h + TPACKET_ALIGN(sizeof(*h)));
		int64_t at_ns = h->tp_sec * NSEC_PER_SEC + h->tp_nsec -
				epoch_real;

		if (!(h->tp_status & TP_STATUS_USER))
			break;
		if (at_ns < 0 || at_ns > duration)
			continue;
		for (i = 0; i < used; i++)
			if (devices[i] == sll->sll_ifindex)
				break;
		if (i == used) {
			if (used == CAPTURE_DEVICES)
				errx(1, "%s has more than %d devices", c->netns,
				     CAPTURE_DEVICES);
			devices[used++] = sll->sll_ifindex;
			capture_device(out, sll->sll_ifindex);
		}
		capture_packet(out, i, at_ns, h);
	}
	if (ferror(out) || fclose(out))
		err(1, "%s", c->path);
}

#endif /* AQM_TOOLS_CAPTURE_H */
