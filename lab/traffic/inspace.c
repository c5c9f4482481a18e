// SPDX-License-Identifier: GPL-2.0
/*
 * inspace - set up and read many network namespaces, in one process.
 *
 * A program for each setting (sysctl, ethtool, cat, each below `ip netns exec`) would take a third
 * of a short run, and each process that ends changes the kernel's random numbers.
 *
 * Each line of standard input is an order; NETNS "-" is the namespace of inspace itself:
 *
 *	NETNS write PATH VALUE...	write the rest of the line to a file. Without the file do
 *					nothing: a setting that this kernel lacks is a feature that
 *					it lacks.
 *	NETNS read PATTERN		print the files that match a shell's pattern, each after
 *					a line "> NETNS PATH"
 *	NETNS offload DEV NAME on|off	switch tso, gso or gro of a device
 *
 * An order that fails ends the program with status 1; standard error has the order and the reason.
 */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <glob.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "clock.h"

#define MAX_LINE 65536

static char shown[MAX_LINE];	/* the order, for messages */

/* Features of a device by the pattern of their names, for each offload. */
static const struct {
	const char *name;
	const char *pattern;
} offloads[] = {
	{ "tso", "tx-tcp*-segmentation" },
	{ "gso", "tx-generic-segmentation" },
	{ "gro", "rx-gro" },
};

#define MAX_FEATURES 256
#define WORDS ((MAX_FEATURES + 31) / 32)

/* Enter @netns, unless it is the one that we are in. */
static void enter(const char *netns)
{
	static char current[256] = "-";
	static int own = -1;
	int fd;

	if (own < 0)
		own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		err(1, "/proc/thread-self/ns/net");
	if (!strcmp(netns, current))
		return;
	fd = strcmp(netns, "-") ? netns_open(netns) : own;
	netns_enter(fd);
	if (fd != own)
		close(fd);
	snprintf(current, sizeof(current), "%s", netns);
}

static void write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || write(fd, value, strlen(value)) < 0 || close(fd))
		err(1, "%s", shown);
}

static void read_file(const char *path)
{
	static char buffer[MAX_LINE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		err(1, "%s", path);
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, got, stdout) != (size_t)got)
			err(1, "%s", path);
	if (got < 0)
		err(1, "%s", path);
	close(fd);
}

static void read_files(const char *netns, const char *pattern)
{
	glob_t found;
	size_t i;
	int ret;

	ret = glob(pattern, 0, NULL, &found);
	if (ret && ret != GLOB_NOMATCH)
		err(1, "%s", shown);
	for (i = 0; !ret && i < found.gl_pathc; i++) {
		printf("> %s %s\n", netns, found.gl_pathv[i]);
		read_file(found.gl_pathv[i]);
	}
	globfree(&found);
}

static void ethtool(const char *dev, void *command)
{
	struct ifreq request = { .ifr_data = command };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (strlen(dev) >= sizeof(request.ifr_name))
		errx(2, "%s: the device's name is too long", shown);
	strcpy(request.ifr_name, dev);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		err(1, "%s", shown);
	close(fd);
}

static void switch_offload(const char *dev, const char *name, bool on)
{
	static struct {
		struct ethtool_gstrings head;
		char names[MAX_FEATURES][ETH_GSTRING_LEN];
	} list;
	struct {
		struct ethtool_sset_info head;
		__u32 count;
	} set = { .head = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1 << ETH_SS_FEATURES } };
	struct {
		struct ethtool_sfeatures head;
		struct ethtool_set_features_block words[WORDS];
	} features = { .head = { .cmd = ETHTOOL_SFEATURES } };
	const char *pattern = NULL;
	unsigned int i;

	for (i = 0; i < sizeof(offloads) / sizeof(*offloads); i++)
		if (!strcmp(name, offloads[i].name))
			pattern = offloads[i].pattern;
	if (!pattern)
		errx(2, "%s: no such offload", shown);
	ethtool(dev, &set);
	if (set.count > MAX_FEATURES)
		errx(1, "%s: the kernel has more than %d features", shown, MAX_FEATURES);
	list.head = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = set.count,
	};
	ethtool(dev, &list);
	for (i = 0; i < set.count; i++) {
		if (fnmatch(pattern, list.names[i], 0))
			continue;
		features.words[i / 32].valid |= 1U << i % 32;
		features.words[i / 32].requested |= (__u32)on << i % 32;
	}
	features.head.size = (set.count + 31) / 32;
	ethtool(dev, &features);
}

static void obey(char *line)
{
	char *netns = strsep(&line, " "), *verb = strsep(&line, " "), *object = strsep(&line, " ");
	char *name;

	if (!object)
		errx(2, "%s: not an order", shown);
	enter(netns);
	if (!strcmp(verb, "write") && line) {
		write_file(object, line);
	} else if (!strcmp(verb, "read") && !line) {
		read_files(netns, object);
	} else if (!strcmp(verb, "offload") && line) {
		name = strsep(&line, " ");
		if (!line || (strcmp(line, "on") && strcmp(line, "off")))
			errx(2, "%s: neither on nor off", shown);
		switch_offload(object, name, !strcmp(line, "on"));
	} else {
		errx(2, "%s: not an order", shown);
	}
}

int main(void)
{
	static char line[MAX_LINE];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		strcpy(shown, line);
		obey(line);
	}
	if (fflush(stdout))
		err(1, "output");
	return 0;
}
