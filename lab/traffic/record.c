// SPDX-License-Identifier: GPL-2.0
/*
 * record - run a program, and log queues and interfaces of all network namespaces.
 *
 *	record [--interval-ms MS] DIR COMMAND [ARGUMENT]...
 *
 * For programs that make their own networks, such as Mininet. Once in each interval (default
 * 100 ms) record looks for namespaces: the names in /run/netns, and those of processes. It asks
 * for all links and qdiscs of each, and keeps no namespace alive in between. A namespace
 * without a name is called as Mininet calls its host ("mininet:h1" in the command line), else by
 * its first process: "pid-123". The namespace of record itself is "-".
 *
 * Logs in DIR (CSV with a header line); time_s is the time since the start of COMMAND:
 *   interfaces.csv  time_s,namespace,device,rx_bytes,tx_bytes
 *   queues.csv      time_s,namespace,device,handle,parent,kind,sent_bytes,sent_packets,dropped,
 *                   packets,bytes: the last two are the backlog
 *
 * Loopback devices and the kind noqueue are left out. record ends with the status of COMMAND.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "clock.h"

#define NAMES		"/run/netns"
#define REPLY_BYTES	65536
#define MAX_SPACES	4096
#define QUEUE_COLUMNS \
	"time_s,namespace,device,handle,parent,kind,sent_bytes,sent_packets,dropped,packets,bytes\n"
#define MAX_DEVICES	4096

struct device {
	int index;
	char name[IFNAMSIZ];
};

/* A network namespace: its inode, its name, and the last round in which it was there. */
struct space {
	ino_t inode;
	char name[64];
	int64_t round;
};

static struct space spaces[MAX_SPACES];
static unsigned int nr_spaces;
static int own_fd;

/* What the callbacks of one namespace need. */
static struct {
	const char *space;
	int64_t round;
	double time_s;
	FILE *links;
	FILE *queues;
	struct device devices[MAX_DEVICES];
	unsigned int nr_devices;
} now;

static const char *device_name(int index)
{
	unsigned int i;

	for (i = 0; i < now.nr_devices; i++)
		if (now.devices[i].index == index)
			return now.devices[i].name;
	return NULL;
}

static int on_link(struct nl_msg *msg, void *arg)
{
	struct ifinfomsg *info = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *tb[IFLA_MAX + 1];
	struct rtnl_link_stats64 stats = { 0 };
	struct device *device;

	(void)arg;
	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWLINK || info->ifi_flags & IFF_LOOPBACK)
		return NL_SKIP;
	if (nlmsg_parse(nlmsg_hdr(msg), sizeof(*info), tb, IFLA_MAX, NULL) || !tb[IFLA_IFNAME])
		errx(1, "cannot parse the kernel's answer about links");
	if (now.nr_devices == MAX_DEVICES)
		errx(1, "%s has more than %d devices", now.space, MAX_DEVICES);
	device = &now.devices[now.nr_devices++];
	device->index = info->ifi_index;
	nla_strlcpy(device->name, tb[IFLA_IFNAME], sizeof(device->name));
	if (tb[IFLA_STATS64])
		nla_memcpy(&stats, tb[IFLA_STATS64], sizeof(stats));
	fprintf(now.links, "%.6f,%s,%s,%llu,%llu\n", now.time_s, now.space, device->name,
		(unsigned long long)stats.rx_bytes, (unsigned long long)stats.tx_bytes);
	return NL_OK;
}

/* Write a handle as tc does. */
static void handle_write(uint32_t handle)
{
	if (handle == TC_H_ROOT)
		fputs("root,", now.queues);
	else if (TC_H_MIN(handle))
		fprintf(now.queues, "%x:%x,", TC_H_MAJ(handle) >> 16, TC_H_MIN(handle));
	else
		fprintf(now.queues, "%x:,", TC_H_MAJ(handle) >> 16);
}

static int on_qdisc(struct nl_msg *msg, void *arg)
{
	struct tcmsg *info = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1] = { NULL };
	struct gnet_stats_basic basic = { 0 };
	struct gnet_stats_queue queue = { 0 };
	unsigned long long packets;
	const char *device, *kind;

	(void)arg;
	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWQDISC)
		return NL_SKIP;
	if (nlmsg_parse(nlmsg_hdr(msg), sizeof(*info), tb, TCA_MAX, NULL) || !tb[TCA_KIND])
		errx(1, "cannot parse the kernel's answer about qdiscs");
	kind = nla_get_string(tb[TCA_KIND]);
	device = device_name(info->tcm_ifindex);
	if (!device || !strcmp(kind, "noqueue"))
		return NL_SKIP;
	if (tb[TCA_STATS2] && nla_parse_nested(stats, TCA_STATS_MAX, tb[TCA_STATS2], NULL))
		errx(1, "cannot parse TCA_STATS2");
	if (stats[TCA_STATS_BASIC])
		nla_memcpy(&basic, stats[TCA_STATS_BASIC], sizeof(basic));
	if (stats[TCA_STATS_QUEUE])
		nla_memcpy(&queue, stats[TCA_STATS_QUEUE], sizeof(queue));
	/* Present only if 32 bits are not enough. */
	packets = stats[TCA_STATS_PKT64] ? nla_get_u64(stats[TCA_STATS_PKT64]) : basic.packets;
	fprintf(now.queues, "%.6f,%s,%s,", now.time_s, now.space, device);
	handle_write(info->tcm_handle);
	handle_write(info->tcm_parent);
	fprintf(now.queues, "%s,%llu,%llu,%u,%u,%u\n", kind, (unsigned long long)basic.bytes,
		packets, queue.drops, queue.qlen, queue.backlog);
	return NL_OK;
}

static void dump(struct nl_sock *sock, int type, void *header, size_t size,
		 nl_recvmsg_msg_cb_t callback)
{
	int ret;

	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, callback, NULL);
	ret = nl_send_simple(sock, type, NLM_F_DUMP, header, size);
	if (ret >= 0)
		ret = nl_recvmsgs_default(sock);
	/* A device that came or went meanwhile interrupts a dump; the next one is whole. */
	if (ret < 0 && ret != -NLE_DUMP_INTR)
		errx(1, "%s: %s", now.space, nl_geterror(ret));
}

static void sample(const struct space *space, int fd)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct tcmsg qdisc = { .tcm_family = AF_UNSPEC };
	struct nl_sock *sock = nl_socket_alloc();

	netns_enter(fd);
	if (!sock || nl_connect(sock, NETLINK_ROUTE))
		errx(1, "cannot open a netlink socket");
	netns_enter(own_fd);
	nl_socket_disable_auto_ack(sock);
	nl_socket_disable_msg_peek(sock);
	nl_socket_set_msg_buf_size(sock, REPLY_BYTES);
	now.space = space->name;
	now.nr_devices = 0;
	dump(sock, RTM_GETLINK, &link, sizeof(link), on_link);
	dump(sock, RTM_GETQDISC, &qdisc, sizeof(qdisc), on_qdisc);
	nl_socket_free(sock);
}

static struct space *space_of(ino_t inode)
{
	unsigned int i, free = nr_spaces;

	for (i = 0; i < nr_spaces; i++) {
		if (spaces[i].inode == inode)
			return &spaces[i];
		if (spaces[i].round < now.round - 1)
			free = i;	/* it has ended */
	}
	if (free == MAX_SPACES)
		errx(1, "more than %d namespaces", MAX_SPACES);
	if (free == nr_spaces)
		nr_spaces++;
	spaces[free] = (struct space){ .inode = inode, .round = -1 };
	return &spaces[free];
}

/* Sample a namespace, once in each round. The first name that it got stays. */
static void meet(const char *path, const char *name)
{
	struct space *space;
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;	/* it has just ended */
	if (fstat(fd, &st))
		err(1, "%s", path);
	space = space_of(st.st_ino);
	if (space->round < 0)
		strcpy(space->name, name);
	if (space->round < now.round) {
		space->round = now.round;
		sample(space, fd);
	}
	close(fd);
}

/* Name the namespace of a process: by what Mininet calls it, or by its number. */
static void process_name(const char *pid, char *name, size_t size)
{
	static const char mark[] = "mininet:";
	char path[64], words[4096] = "";
	size_t got, at;
	FILE *file;

	snprintf(name, size, "pid-%.20s", pid);
	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	file = fopen(path, "r");
	if (!file)
		return;
	got = fread(words, 1, sizeof(words) - 1, file);
	fclose(file);
	for (at = 0; at < got; at += strlen(words + at) + 1)
		if (!strncmp(words + at, mark, strlen(mark)))
			snprintf(name, size, "%.63s", words + at + strlen(mark));
}

static void look(void)
{
	char path[512], name[64];
	struct dirent *entry;
	DIR *dir;

	meet("/proc/self/ns/net", "-");
	dir = opendir(NAMES);
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), NAMES "/%s", entry->d_name);
		snprintf(name, sizeof(name), "%.63s", entry->d_name);
		meet(path, name);
	}
	if (dir)
		closedir(dir);
	dir = opendir("/proc");
	if (!dir)
		err(1, "/proc");
	while ((entry = readdir(dir))) {
		if (*entry->d_name < '1' || *entry->d_name > '9')
			continue;
		process_name(entry->d_name, name, sizeof(name));
		snprintf(path, sizeof(path), "/proc/%s/ns/net", entry->d_name);
		meet(path, name);
	}
	closedir(dir);
}

static FILE *log_open(const char *dir, const char *name, const char *header)
{
	char path[4096];
	FILE *log;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		errx(2, "%s: the name is too long", dir);
	log = fopen(path, "w");
	if (!log)
		err(2, "%s", path);
	fputs(header, log);
	return log;
}

/* Return whether the child has ended by @at_ns; then @status is its exit status. */
static bool ended_by(pid_t child, int64_t at_ns, const sigset_t *chld, int *status)
{
	struct timespec left;
	int64_t ns;

	for (;;) {
		if (waitpid(child, status, WNOHANG) == child)
			return true;
		ns = at_ns - mono_ns();
		if (ns <= 0)
			return false;
		left = ns_to_timespec(ns);
		sigtimedwait(chld, NULL, &left);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "interval-ms", required_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 },
	};
	int64_t interval = 100, begin, n;
	sigset_t chld;
	int option, status;
	pid_t child;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) == 'i')
		interval = parse_number("--interval-ms", optarg, 1, 100000000);
	if (option != -1 || argc - optind < 2) {
		fputs("usage: record [--interval-ms MS] DIR COMMAND [ARGUMENT]...\n", stderr);
		return 2;
	}
	now.links = log_open(argv[optind], "interfaces.csv",
			     "time_s,namespace,device,rx_bytes,tx_bytes\n");
	now.queues = log_open(argv[optind], "queues.csv",
			      QUEUE_COLUMNS);
	own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own_fd < 0)
		err(1, "/proc/self/ns/net");
	prctl(PR_SET_TIMERSLACK, 1);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	begin = mono_ns();
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		sigprocmask(SIG_UNBLOCK, &chld, NULL);
		prctl(PR_SET_TIMERSLACK, 0);
		execvp(argv[optind + 1], argv + optind + 1);
		err(127, "%s", argv[optind + 1]);
	}
	for (n = 1; !ended_by(child, begin + n * interval * NSEC_PER_MSEC, &chld, &status); n++) {
		now.round = n;
		now.time_s = (double)n * (double)interval / 1000;
		look();
	}
	if (ferror(now.links) | fclose(now.links) | ferror(now.queues) | fclose(now.queues))
		err(1, "%s", argv[optind]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
