// SPDX-License-Identifier: GPL-2.0
/*
 * qsample - read one queue discipline's counters at fixed times.
 *
 * Each sample is one RTM_GETQDISC for this qdisc, at absolute times of
 * CLOCK_MONOTONIC. We sleep in between, so that virtual time can pass. Samples
 * come at different places of their intervals, because the kernel's timers, by which
 * TCP sends again, end at multiples of a tick, as intervals do: the queue at
 * these times is longer than at others. The
 * content of TCA_STATS_APP is logged unchanged; readers of the log know its
 * layout.
 *
 * Log (CSV with a header line):
 *   time_s        seconds after the epoch
 *   packets,bytes backlog of the discipline
 *   dropped,overlimits,requeues,sent_packets,sent_bytes   counters since `add`
 *   xstats        the raw TCA_STATS_APP, hex
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "capture.h"
#include "clock.h"

#define LOG_BUFFER	(1024 * 1024)
#define REPLY_BYTES	16384
#define XSTATS_BYTES	8192

struct sample {
	char kind[16];
	uint64_t sent_bytes;
	uint64_t sent_packets;
	struct gnet_stats_queue queue;
	unsigned int xstats_len;
	unsigned char xstats[XSTATS_BYTES];
};

static struct {
	struct nl_sock *sock;
	unsigned int ifindex;
	uint32_t parent;
	FILE *log;
} q;

static struct capture captures[CAPTURES];
static unsigned int nr_captures;

/* NETNS=FILE */
static void parse_capture(char *text)
{
	char *path = strchr(text, '=');

	if (!path)
		errx(2, "--capture: \"%s\" is not NETNS=FILE", text);
	if (nr_captures == CAPTURES)
		errx(2, "--capture: more than %d", CAPTURES);
	*path++ = '\0';
	captures[nr_captures++] =
		(struct capture){ .netns = text, .path = path };
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC, to less than what a system call takes. */
static int64_t realtime_offset(void)
{
	struct timespec ts;
	int64_t before = mono_ns();

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec -
	       (before + mono_ns()) / 2;
}

static atomic_int interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* "root", "MAJ:" or "MAJ:MIN", hexadecimal as tc writes them. */
static uint32_t parse_parent(const char *text)
{
	unsigned int major, minor = 0;
	char colon, extra;
	int got;

	if (!strcmp(text, "root"))
		return TC_H_ROOT;
	got = sscanf(text, "%x%c%x%c", &major, &colon, &minor, &extra);
	if ((got != 2 && got != 3) || colon != ':' || major > 0xffff ||
	    minor > 0xffff)
		errx(2, "--parent: \"%s\" is neither root nor MAJOR:MINOR",
		     text);
	return TC_H_MAKE(major << 16, minor);
}

static void stats_parse(struct nlattr *nested, struct sample *s)
{
	struct gnet_stats_basic basic = { 0 };
	struct nlattr *tb[TCA_STATS_MAX + 1];
	struct nlattr *attr;

	if (nla_parse_nested(tb, TCA_STATS_MAX, nested, NULL))
		errx(1, "cannot parse TCA_STATS2");
	attr = tb[TCA_STATS_BASIC];
	if (attr) {
		nla_memcpy(&basic, attr, sizeof(basic));
		s->sent_bytes = basic.bytes;
		s->sent_packets = basic.packets;
	}
	/* Present only if 32 bits are not enough. */
	if (tb[TCA_STATS_PKT64])
		s->sent_packets = nla_get_u64(tb[TCA_STATS_PKT64]);
	if (tb[TCA_STATS_QUEUE])
		nla_memcpy(&s->queue, tb[TCA_STATS_QUEUE], sizeof(s->queue));
	attr = tb[TCA_STATS_APP];
	if (attr)
		s->xstats_len = nla_memcpy(s->xstats, attr, sizeof(s->xstats));
}

static int on_reply(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct sample *s = arg;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWQDISC)
		return NL_SKIP;
	if (nlmsg_parse(nlmsg_hdr(msg), sizeof(struct tcmsg), tb, TCA_MAX,
			NULL))
		errx(1, "cannot parse the kernel's answer");
	if (tb[TCA_KIND])
		nla_strlcpy(s->kind, tb[TCA_KIND], sizeof(s->kind));
	if (tb[TCA_STATS2])
		stats_parse(tb[TCA_STATS2], s);
	return NL_STOP;
}

static void sample_take(struct sample *s)
{
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = q.ifindex,
		.tcm_parent = q.parent,
	};
	int ret;

	memset(s, 0, sizeof(*s));
	nl_socket_modify_cb(q.sock, NL_CB_VALID, NL_CB_CUSTOM, on_reply, s);
	/* The reply is a notification. The sender gets it only with ECHO. */
	ret = nl_send_simple(q.sock, RTM_GETQDISC, NLM_F_ECHO, &tcm,
			     sizeof(tcm));
	if (ret >= 0)
		ret = nl_recvmsgs_default(q.sock);
	if (ret < 0)
		errx(1, "no answer about the qdisc: %s", nl_geterror(ret));
	if (!*s->kind)
		errx(1, "no such qdisc");
}

static void header_write(void)
{
	fputs("time_s,packets,bytes,dropped,overlimits,requeues,sent_packets,sent_bytes,xstats\n",
	      q.log);
}

static void sample_write(const struct sample *s, int64_t at_ns)
{
	unsigned int i;

	fprintf(q.log, "%.6f,%u,%u,%u,%u,%u,%llu,%llu",
		(double)at_ns / NSEC_PER_SEC, s->queue.qlen, s->queue.backlog,
		s->queue.drops, s->queue.overlimits, s->queue.requeues,
		(unsigned long long)s->sent_packets,
		(unsigned long long)s->sent_bytes);
	fputc(',', q.log);
	for (i = 0; i < s->xstats_len; i++)
		fprintf(q.log, "%02x", s->xstats[i]);
	fputc('\n', q.log);
}

/* Return false if a signal ended the wait. */
static bool sleep_until(int64_t at_ns)
{
	struct timespec when = ns_to_timespec(at_ns);
	int ret;

	do {
		ret = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when,
				      NULL);
	} while (ret == EINTR && !interrupted);
	return !interrupted;
}

/*
 * Ten samples in a row come at ten evenly spaced places of their intervals, the first of them at
 * its beginning. So with the default interval there is a sample at each multiple of 100 ms, and at
 * whole milliseconds only.
 */
static int64_t place_of(int64_t n, int64_t interval)
{
	return n * 3 % 10 * interval / 10;
}

static void run_samples(int64_t epoch, int64_t interval, int64_t duration)
{
	struct sample s;
	int64_t n, at, now;

	for (n = 0; n * interval <= duration; n++) {
		at = n * interval + place_of(n, interval);
		if (at > duration)
			at = duration;
		if (!sleep_until(epoch + at))
			return;
		/* If whole samples are late, skip them instead of catching up. */
		now = mono_ns() - epoch;
		if (now >= at + interval)
			n = now / interval;
		sample_take(&s);
		sample_write(&s, now);
	}
}

static void help_print(FILE *out)
{
	fputs("usage: qsample --dev NAME --out FILE --duration-ms MS [--parent root|MAJ:MIN]\n"
	      "               [--netns NAME] [--interval-ms MS] [--epoch-ns NS]\n"
	      "               [--capture NETNS=FILE]... [--capture-mb MB]\n\n"
	      "Log the counters of the qdisc below --parent (default root) of a device, from\n"
	      "the epoch (a time of CLOCK_MONOTONIC, default now) for MS, once in each interval\n"
	      "(default 10 ms), and at the end.\n\n"
	      "--capture writes the headers of all packets of a namespace to a pcapng file,\n"
	      "with times after the epoch. All captures together take MB (default 256) of memory.\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "parent", required_argument, NULL, 'p' },
		{ "netns", required_argument, NULL, 'n' },
		{ "out", required_argument, NULL, 'o' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "duration-ms", required_argument, NULL, 't' },
		{ "epoch-ns", required_argument, NULL, 'z' },
		{ "capture", required_argument, NULL, 'c' },
		{ "capture-mb", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *dev = NULL, *netns = NULL, *out = NULL;
	int64_t interval = 10, duration = 0, epoch = 0, megabytes = 256;
	int64_t offset;
	struct sigaction action = { .sa_handler = on_signal };
	struct sample first;
	unsigned int i;
	int option;

	q.parent = TC_H_ROOT;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			dev = optarg;
			break;
		case 'p':
			q.parent = parse_parent(optarg);
			break;
		case 'n':
			netns = optarg;
			break;
		case 'o':
			out = optarg;
			break;
		case 'i':
			interval = parse_number("--interval-ms", optarg, 1,
						100000000);
			break;
		case 't':
			duration = parse_number("--duration-ms", optarg, 1,
						100000000);
			break;
		case 'z':
			epoch = parse_number("--epoch-ns", optarg, 1,
					     INT64_MAX);
			break;
		case 'c':
			parse_capture(optarg);
			break;
		case 'm':
			megabytes = parse_number("--capture-mb", optarg, 1,
						 100000);
			break;
		case 'h':
			help_print(stdout);
			return 0;
		default:
			help_print(stderr);
			return 2;
		}
	}
	if (!dev || !out || !duration) {
		help_print(stderr);
		return 2;
	}

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* End sleeps exactly, without the default slack of 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	for (i = 0; i < nr_captures; i++)
		capture_start(&captures[i],
			      (size_t)(megabytes << 20) / nr_captures);
	if (netns)
		netns_enter(netns_open(netns));
	q.ifindex = if_nametoindex(dev);
	if (!q.ifindex)
		errx(2, "no such device: %s", dev);
	q.sock = nl_socket_alloc();
	if (!q.sock || nl_connect(q.sock, NETLINK_ROUTE))
		errx(1, "cannot open a netlink socket");
	/* One reply is enough: ask for no ACK message. */
	nl_socket_disable_auto_ack(q.sock);
	nl_socket_disable_seq_check(q.sock);
	/* Do not peek for the length of each message. */
	nl_socket_disable_msg_peek(q.sock);
	nl_socket_set_msg_buf_size(q.sock, REPLY_BYTES);
	sample_take(&first);
	q.log = fopen(out, "w");
	if (!q.log)
		err(2, "%s", out);
	setvbuf(q.log, NULL, _IOFBF, LOG_BUFFER);
	header_write();
	if (!epoch)
		epoch = mono_ns();
	offset = nr_captures ? realtime_offset() : 0;
	run_samples(epoch, interval * NSEC_PER_MSEC, duration * NSEC_PER_MSEC);
	for (i = 0; i < nr_captures; i++)
		capture_finish(&captures[i], epoch + offset,
			       duration * NSEC_PER_MSEC);
	nl_socket_free(q.sock);
	if (ferror(q.log) || fclose(q.log))
		err(1, "%s", out);
	return interrupted ? 128 + interrupted : 0;
}
