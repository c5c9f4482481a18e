// SPDX-License-Identifier: GPL-2.0
/*
 * A small tc that exports only the functions of OpenWrt's tc to its plugins (see
 * the list in OpenWrt's patch that reduces dynamic symbols), and none for JSON:
 *
 *	small_tc DIR KIND WORD...	parse the words, print the options
 *	small_tc DIR KIND =FILE		print the statistics in FILE
 *
 * Tests also use it to run plugins with sanitizers.
 */
#include "tc_abi.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool show_stats;

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	assert(NLMSG_ALIGN(n->nlmsg_len) + RTA_SPACE(alen) <= (size_t)maxlen);
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(alen);
	if (alen)
		memcpy(RTA_DATA(a), data, alen);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return 0;
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	addattr_l(n, maxlen, type, NULL, 0);
	return a;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	nest->rta_len = (char *)n + n->nlmsg_len - (char *)nest;
	return n->nlmsg_len;
}

int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags)
{
	memset(tb, 0, sizeof(*tb) * (max + 1));
	for (; RTA_OK(rta, len); rta = RTA_NEXT(rta, len))
		if ((rta->rta_type & ~flags) <= max)
			tb[rta->rta_type & ~flags] = rta;
	return 0;
}

int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len)
{
	return parse_rtattr_flags(tb, max, rta, len, 0);
}

int get_u32(__u32 *val, const char *arg, int base)
{
	char *end;

	*val = strtoul(arg, &end, base);
	return *end ? -1 : 0;
}

int matches(const char *prefix, const char *string)
{
	return strncmp(prefix, string, strlen(prefix));
}

void print_nl(void)
{
	putchar('\n');
}

void print_tm(void)
{
}

static int statistics(const struct qdisc_util *qu, const char *path)
{
	static char buf[4096] __attribute__((aligned(8)));
	struct rtattr *a = (void *)buf;
	FILE *f = fopen(path, "r");

	assert(f);
	a->rta_len = RTA_LENGTH(fread(RTA_DATA(a), 1, 2048, f));
	fclose(f);
	return qu->print_xstats(qu, stdout, a);
}

int main(int argc, char **argv)
{
	static union {
		struct nlmsghdr n;
		char space[32768];
	} msg;
	const struct qdisc_util *qu;
	char path[4096];
	void *plugin;

	assert(argc > 2);
	snprintf(path, sizeof(path), "%s/q_%s.so", argv[1], argv[2]);
	plugin = dlopen(path, RTLD_LAZY);
	snprintf(path, sizeof(path), "%s_qdisc_util", argv[2]);
	qu = plugin ? dlsym(plugin, path) : NULL;
	if (!qu) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (argc > 3 && *argv[3] == '=')
		return statistics(qu, argv[3] + 1);
	msg.n.nlmsg_len = NLMSG_HDRLEN;
	if (qu->parse_qopt(qu, argc - 3, argv + 3, &msg.n, "lo"))
		return 1;
	return qu->print_qopt(qu, stdout, NLMSG_DATA(&msg.n));
}
