// SPDX-License-Identifier: GPL-2.0
/*
 * For the lab: tc before 6.17 knows no dualpi2, and prints bad JSON for it.
 * This one takes its limit and target and shows none of its options.
 */

#include "../tc_abi.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT	1	/* TCA_DUALPI2_LIMIT, packets */
#define TARGET	3	/* TCA_DUALPI2_TARGET, us */
#define ROOM	1024	/* of a message, bytes */

static int parse(const struct qdisc_util *qu, int argc, char **argv,
		 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *nest = addattr_nest(n, ROOM, TCA_OPTIONS | NLA_F_NESTED);
	__u32 value;
	char *end;

	(void)qu;
	(void)dev;
	for (; argc > 0; argc -= 2, argv += 2) {
		int limit = !strcmp(argv[0], "limit");

		if (argc < 2 || (!limit && strcmp(argv[0], "target")))
			goto bad;
		value = strtoul(argv[1], &end, 10);
		if (*end || !value)
			goto bad;
		addattr_l(n, ROOM, limit ? LIMIT : TARGET, &value, sizeof(value));
	}
	addattr_nest_end(n, nest);
	return 0;
bad:
	fprintf(stderr, "dualpi2: this plugin knows limit PACKETS and target US, not \"%s\"\n",
		argv[0]);
	return -1;
}

static int print(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	(void)f;
	(void)opt;
	return 0;
}

struct qdisc_util dualpi2_qdisc_util = {
	.id = "dualpi2",
	.parse_qopt = parse,
	.print_qopt = print,
};
