// SPDX-License-Identifier: GPL-2.0
/*
 * For the lab: tc before 6.17 knows no dualpi2, and prints bad JSON for it. This
 * plugin takes and shows all its options by the names of tc-dualpi2(8).
 *
 *	[limit PACKETS] [memlimit BYTES] [target TIME] [tupdate TIME] [alpha HZ]
 *	[beta HZ] [max_rtt TIME [typical_rtt TIME]] [step_thresh TIME|PACKETSpkt]
 *	[min_qlen_step PACKETS] [coupling_factor NUMBER] [classic_protection PERCENT]
 *	[drop_on_overload|overflow] [drop_enqueue|drop_dequeue] [l4s_ect|any_ect]
 *	[split_gso|no_split_gso]
 *
 * A TIME without a unit is in us. max_rtt and typical_rtt stand for target, tupdate,
 * alpha and beta by the formulas of RFC 9332, appendix A.1.
 */

#include "../tc_abi.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))
#define ROOM		1024	/* of a message, bytes */
#define PER_HZ		256	/* unit of alpha and beta */
#define TYPICAL		6	/* max_rtt over typical_rtt, if one of them is missing */

/* Attributes, TCA_DUALPI2_... of kernels that have dualpi2. */
enum {
	LIMIT = 1, MEMORY, TARGET, TUPDATE, ALPHA, BETA, STEP_PACKETS, STEP_US, MIN_QLEN,
	COUPLING, OVERLOAD, EARLY, PROTECTION, ECN_MASK, SPLIT_GSO, ATTRIBUTES,
	MAX_RTT = ATTRIBUTES, TYPICAL_RTT, VALUES,
};

enum type { COUNT, TIME, HZ, STEP, WORD };

/* An option: its type, and for a WORD its value. */
static const struct option {
	const char *name;
	int attribute;
	enum type type;
	unsigned int value;
} options[] = {
	{ "limit", LIMIT, COUNT, 0 },
	{ "memlimit", MEMORY, COUNT, 0 },
	{ "target", TARGET, TIME, 0 },
	{ "tupdate", TUPDATE, TIME, 0 },
	{ "alpha", ALPHA, HZ, 0 },
	{ "beta", BETA, HZ, 0 },
	{ "max_rtt", MAX_RTT, TIME, 0 },
	{ "typical_rtt", TYPICAL_RTT, TIME, 0 },
	{ "step_thresh", STEP_US, STEP, 0 },
	{ "min_qlen_step", MIN_QLEN, COUNT, 0 },
	{ "coupling_factor", COUPLING, COUNT, 0 },
	{ "classic_protection", PROTECTION, COUNT, 0 },
	{ "drop_on_overload", OVERLOAD, WORD, 1 },
	{ "overflow", OVERLOAD, WORD, 0 },
	{ "drop_enqueue", EARLY, WORD, 1 },
	{ "drop_dequeue", EARLY, WORD, 0 },
	{ "l4s_ect", ECN_MASK, WORD, 1 },
	{ "any_ect", ECN_MASK, WORD, 3 },
	{ "split_gso", SPLIT_GSO, WORD, 1 },
	{ "no_split_gso", SPLIT_GSO, WORD, 0 },
};

#define OPTIONS ARRAY_SIZE(options)

/* Values by attribute, and which were given. */
struct given {
	__u32 value[VALUES];
	bool is[VALUES];
};

static void give(struct given *g, int attribute, double value)
{
	g->value[attribute] = value;
	g->is[attribute] = true;
}

/* Read the value of an option. Returns false if the text is wrong. */
static bool read_value(struct given *g, const struct option *o, const char *text)
{
	static const struct {
		const char *name;
		double us;
	} units[] = { { "", 1 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 } };
	double value;
	size_t i;
	char *end;

	if (!text)
		return false;
	value = strtod(text, &end);
	if (end == text || value < 0 || value > (o->type == HZ ? 8e6 : 4e9))
		return false;
	if (o->type == STEP && !strcmp(end, "pkt")) {
		give(g, STEP_PACKETS, value);
		return true;
	}
	if (o->type == COUNT || o->type == HZ) {
		give(g, o->attribute, o->type == HZ ? value * PER_HZ : value);
		return !*end;
	}
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(end, units[i].name)) {
			give(g, o->attribute, value * units[i].us);
			return true;
		}
	}
	return false;
}

/* Derive what is not given from the round-trip times, in us. */
static void derive(struct given *g)
{
	double most = g->value[MAX_RTT], typical = g->value[TYPICAL_RTT], update;

	if (!g->is[MAX_RTT] && !g->is[TYPICAL_RTT])
		return;
	if (!g->is[MAX_RTT])
		most = TYPICAL * typical;
	if (!g->is[TYPICAL_RTT])
		typical = most / TYPICAL;
	update = typical < most / 3 ? typical : most / 3;
	if (!g->is[TARGET])
		give(g, TARGET, typical);
	if (!g->is[TUPDATE])
		give(g, TUPDATE, update);
	if (!g->is[ALPHA])
		give(g, ALPHA, PER_HZ * 0.1 * update * 1e6 / (most * most));
	if (!g->is[BETA])
		give(g, BETA, PER_HZ * 0.3 * 1e6 / most);
}

static const struct option *find(const char *name)
{
	size_t i;

	for (i = 0; i < OPTIONS; i++)
		if (!strcmp(name, options[i].name))
			return &options[i];
	return NULL;
}

static void refuse(const char *name)
{
	size_t i;

	fprintf(stderr, "dualpi2: \"%s\" is no option, or its value is wrong. Options:", name);
	for (i = 0; i < OPTIONS; i++)
		fprintf(stderr, " %s", options[i].name);
	fprintf(stderr, "\n");
}

static int parse(const struct qdisc_util *qu, int argc, char **argv,
		 struct nlmsghdr *n, const char *dev)
{
	struct given g = { 0 };
	struct rtattr *nest;
	int i;

	(void)qu;
	(void)dev;
	for (; argc > 0; argc--, argv++) {
		const struct option *o = find(*argv);

		if (o && o->type == WORD) {
			give(&g, o->attribute, o->value);
			continue;
		}
		if (!o || !read_value(&g, o, argc > 1 ? argv[1] : NULL)) {
			refuse(*argv);
			return -1;
		}
		argc--;
		argv++;
	}
	if ((g.is[MAX_RTT] && !g.value[MAX_RTT]) || (g.is[TYPICAL_RTT] && !g.value[TYPICAL_RTT])) {
		refuse(g.is[MAX_RTT] ? "max_rtt" : "typical_rtt");
		return -1;
	}
	derive(&g);
	nest = addattr_nest(n, ROOM, TCA_OPTIONS | NLA_F_NESTED);
	for (i = LIMIT; i < ATTRIBUTES; i++) {
		bool byte = i == COUPLING || i == OVERLOAD || i == EARLY || i == PROTECTION ||
			    i == ECN_MASK || i == SPLIT_GSO;

		if (!g.is[i])
			continue;
		if (byte && g.value[i] > 255) {
			refuse(i == COUPLING ? "coupling_factor" : "classic_protection");
			return -1;
		}
		/* The low bytes come first: this runs on the machine that the lab runs on. */
		addattr_l(n, ROOM, i, &g.value[i], byte ? 1 : sizeof(g.value[i]));
	}
	addattr_nest_end(n, nest);
	return 0;
}

static int print(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[ATTRIBUTES + 1];
	char text[64];
	size_t i;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr_flags(tb, ATTRIBUTES, RTA_DATA(opt), RTA_PAYLOAD(opt), NLA_F_NESTED);
	for (i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i];
		int attribute = o->attribute;
		unsigned long long value = 0;
		struct rtattr *at;

		if (o->type == STEP && tb[STEP_PACKETS])
			attribute = STEP_PACKETS;
		at = attribute < ATTRIBUTES ? tb[attribute] : NULL;
		if (!at)
			continue;
		memcpy(&value, RTA_DATA(at), RTA_PAYLOAD(at) < 8 ? RTA_PAYLOAD(at) : 8);
		if (o->type == WORD && value == o->value) {
			snprintf(text, sizeof(text), " %s", o->name);
			print_color_bool(PRINT_ANY, COLOR_UNUSED, o->name, text, true);
		} else if (o->type == HZ) {
			snprintf(text, sizeof(text), " %s %%f", o->name);
			print_color_float(PRINT_ANY, COLOR_UNUSED, o->name, text,
					  (double)value / PER_HZ);
		} else if (o->type != WORD) {
			snprintf(text, sizeof(text), attribute == STEP_PACKETS ?
				 " %s %%llupkt" : o->type == COUNT ? " %s %%llu" : " %s %%lluus",
				 o->name);
			print_color_u64(PRINT_ANY, COLOR_UNUSED, o->name, text, value);
		}
	}
	return 0;
}

struct qdisc_util dualpi2_qdisc_util = {
	.id = "dualpi2",
	.parse_qopt = parse,
	.print_qopt = print,
};
