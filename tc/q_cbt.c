// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the cbt queue discipline; see tc-cbt(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_cbt.h>

static const char cbt_help[] =
	"Usage: ... cbt [ limit PACKETS ] [ bandwidth RATE ] [ latency TIME ]\n"
	"               [ share_tcp B ] [ share_tagged B ] [ share_other B ]\n"
	"               [ packet_tcp BYTES ] [ packet_tagged BYTES ]\n"
	"               [ packet_other BYTES ]\n"
	"               [ min PACKETS ] [ max PACKETS ]\n"
	"               [ threshold_tagged PACKETS ] [ threshold_other PACKETS ]\n"
	"               [ red tcp|all ] [ probability P ] [ weight W ]\n"
	"               [ class_weight W ]\n"
	"               [ dscp none|LIST ] [ mark VALUE/MASK ] [ [no]gentle ]\n"
	"               [ [no]ecn ] [ [no]harddrop ] [ [no]drop ]\n"
	"               [ victim random|arrival ] [ seed NUMBER ]\n"
	"B is a part of 1; LIST is codepoints from 0 to 63, with commas between\n";

/* So that 1 is the greatest value of 32 bits. */
#define SCALE	((double)UINT32_MAX)

static const char *const cbt_red[] = { "tcp", "all", NULL };
static const char *const cbt_victim[] = { "random", "arrival", NULL };

#define SHARE(name, attr) \
	{ name, OPT_REAL, attr, 1, UINT32_MAX, .scale = SCALE }
#define SIZE(name, attr) \
	{ name, OPT_SIZE, attr, 1, UINT32_MAX }
#define THRESHOLD(name, attr) \
	{ name, OPT_REAL, attr, 0, CBT_MAX_THRESHOLD, .unit = "packets", \
	  .scale = CBT_UNIT }

static const struct plugin_option cbt_options[] = {
	{ "limit", OPT_PACKETS, TCA_CBT_LIMIT, 1, CBT_MAX_LIMIT },
	{ "bandwidth", OPT_RATE, TCA_CBT_BANDWIDTH, 1, INT64_MAX },
	{ "latency", OPT_TIME_US, TCA_CBT_LATENCY, 1, UINT32_MAX },
	SHARE("share_tcp", TCA_CBT_SHARE_TCP),
	SHARE("share_tagged", TCA_CBT_SHARE_TAGGED),
	SHARE("share_other", TCA_CBT_SHARE_OTHER),
	SIZE("packet_tcp", TCA_CBT_PACKET_TCP),
	SIZE("packet_tagged", TCA_CBT_PACKET_TAGGED),
	SIZE("packet_other", TCA_CBT_PACKET_OTHER),
	THRESHOLD("min", TCA_CBT_MIN_TH),
	THRESHOLD("max", TCA_CBT_MAX_TH),
	THRESHOLD("threshold_tagged", TCA_CBT_TAGGED_TH),
	THRESHOLD("threshold_other", TCA_CBT_OTHER_TH),
	{ "red", OPT_CHOICE, TCA_CBT_RED, .choices = cbt_red },
	{ "probability", OPT_REAL, TCA_CBT_PROBABILITY, 0, UINT32_MAX,
	  .scale = SCALE },
	{ "weight", OPT_REAL, TCA_CBT_WEIGHT, 1, UINT32_MAX, .scale = SCALE },
	{ "class_weight", OPT_REAL, TCA_CBT_CLASS_WEIGHT, 1, UINT32_MAX,
	  .scale = SCALE },
	{ "gentle", OPT_FLAG, TCA_CBT_GENTLE },
	{ "ecn", OPT_FLAG, TCA_CBT_ECN },
	{ "harddrop", OPT_FLAG, TCA_CBT_HARDDROP },
	{ "drop", OPT_FLAG, TCA_CBT_DROP },
	{ "victim", OPT_CHOICE, TCA_CBT_VICTIM, .choices = cbt_victim },
	{ "seed", OPT_NUMBER, TCA_CBT_SEED, 0, UINT32_MAX },
	{},
};

#define QDISC_FIELD(name) PLUGIN_FIELD(struct tc_cbt_qdisc_stats, name)
#define QDISC_REAL(name, by) \
	PLUGIN_FIELD_AS(struct tc_cbt_qdisc_stats, name, FIELD_REAL, \
			.scale = (by))
#define AVERAGE_SCALE	(0x1p32 * CBT_UNIT)

static const struct plugin_field cbt_qdisc_fields[] = {
	QDISC_REAL(avg, AVERAGE_SCALE),
	QDISC_REAL(avg_tcp, AVERAGE_SCALE),
	QDISC_REAL(avg_tagged, AVERAGE_SCALE),
	QDISC_REAL(avg_other, AVERAGE_SCALE),
	QDISC_REAL(probability, SCALE),
	PLUGIN_NEWLINE,
	QDISC_FIELD(tcp),
	QDISC_FIELD(tagged),
	QDISC_FIELD(other),
	QDISC_FIELD(tagged_drop),
	QDISC_FIELD(other_drop),
	QDISC_FIELD(early_drop),
	QDISC_FIELD(early_mark),
	PLUGIN_NEWLINE,
	QDISC_FIELD(forced_drop),
	QDISC_FIELD(forced_mark),
	QDISC_FIELD(spared),
	QDISC_FIELD(full_drop),
	QDISC_FIELD(victims),
	QDISC_FIELD(drop_change),
	QDISC_FIELD(dropped_bytes),
	{},
};

#define CLASS_FIELD(name) PLUGIN_FIELD(struct tc_cbt_class_stats, name)
#define CLASS_REAL(name, by) \
	PLUGIN_FIELD_AS(struct tc_cbt_class_stats, name, FIELD_REAL, \
			.scale = (by))

static const struct plugin_field cbt_class_fields[] = {
	CLASS_REAL(avg, AVERAGE_SCALE),
	CLASS_REAL(threshold, CBT_UNIT),
	CLASS_FIELD(arrivals),
	CLASS_FIELD(threshold_drop),
	CLASS_FIELD(early_drop),
	CLASS_FIELD(random_drop),
	CLASS_FIELD(mark),
	{},
};

/* "none", or numbers with commas between them. */
static bool cbt_parse_dscp(__u64 *set, const char *arg)
{
	unsigned long codepoint;
	char *end;

	*set = 0;
	if (!strcmp(arg, "none"))
		return true;
	for (;; arg = end + 1) {
		if (*arg < '0' || *arg > '9')
			return false;
		codepoint = strtoul(arg, &end, 10);
		if (codepoint > 63)
			return false;
		*set |= 1ULL << codepoint;
		if (!*end)
			return true;
		if (*end != ',')
			return false;
	}
}

/* VALUE/MASK, in decimal or hexadecimal; without a mask, all bits. */
static bool cbt_parse_mark(__u32 *value, __u32 *mask, const char *arg)
{
	unsigned long long v, m = UINT32_MAX;
	char *end;

	if (*arg < '0' || *arg > '9')
		return false;
	v = strtoull(arg, &end, 0);
	if (*end == '/' && end[1] >= '0' && end[1] <= '9')
		m = strtoull(end + 1, &end, 0);
	*value = v;
	*mask = m;
	return !*end && v <= UINT32_MAX && m <= UINT32_MAX;
}

static int cbt_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;
	__u64 seen = 0, set;
	__u32 value, mask;
	int found;

	(void)dev;
	opts = addattr_nest(n, PLUGIN_MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	while (argc > 0) {
		if (!strcmp(*argv, "help")) {
			fputs(cbt_help, stderr);
			return -1;
		}
		if (!strcmp(*argv, "dscp")) {
			if (argc < 2 || !cbt_parse_dscp(&set, argv[1])) {
				fprintf(stderr, "cbt: \"dscp %s\" is not possible; allowed: none, or numbers from 0 to 63 with commas between\n",
					argc < 2 ? "" : argv[1]);
				return -1;
			}
			addattr_l(n, PLUGIN_MAX_MSG, TCA_CBT_DSCP, &set,
				  sizeof(set));
			argc -= 2;
			argv += 2;
			continue;
		}
		if (!strcmp(*argv, "mark")) {
			if (argc < 2 ||
			    !cbt_parse_mark(&value, &mask, argv[1])) {
				fprintf(stderr, "cbt: \"mark %s\" is not possible; allowed: VALUE or VALUE/MASK, each 0 to 0xffffffff\n",
					argc < 2 ? "" : argv[1]);
				return -1;
			}
			addattr_l(n, PLUGIN_MAX_MSG, TCA_CBT_MARK, &value,
				  sizeof(value));
			addattr_l(n, PLUGIN_MAX_MSG, TCA_CBT_MARK_MASK, &mask,
				  sizeof(mask));
			argc -= 2;
			argv += 2;
			continue;
		}
		found = plugin_parse_one(qu->id, cbt_options, &seen, &argc,
					 &argv, n);
		if (found < 0)
			return -1;
		if (!found) {
			fprintf(stderr, "%s: what is \"%s\"?\n%s", qu->id,
				*argv, cbt_help);
			return -1;
		}
	}
	addattr_nest_end(n, opts);
	return 0;
}

static void cbt_print_dscp(FILE *f, __u64 set)
{
	const char *gap = "";
	int i;

	if (is_json_context()) {
		open_json_array(PRINT_JSON, "dscp");
		for (i = 0; i < 64; i++)
			if (set >> i & 1)
				print_color_u64(PRINT_JSON, COLOR_UNUSED, NULL,
						NULL, i);
		close_json_array(PRINT_JSON, NULL);
		return;
	}
	fputs(set ? "dscp " : "dscp none", f);
	for (i = 0; i < 64; i++) {
		if (!(set >> i & 1))
			continue;
		fprintf(f, "%s%d", gap, i);
		gap = ",";
	}
	fputc(' ', f);
}

static void cbt_print_mark(FILE *f, __u32 value, __u32 mask)
{
	if (is_json_context()) {
		print_color_u64(PRINT_JSON, COLOR_UNUSED, "mark", NULL, value);
		print_color_u64(PRINT_JSON, COLOR_UNUSED, "mark_mask", NULL,
				mask);
		return;
	}
	fprintf(f, "mark %#x/%#x ", value, mask);
}

static int cbt_print_opt(const struct qdisc_util *qu, FILE *f,
			 struct rtattr *opt)
{
	struct rtattr *tb[TCA_CBT_MAX + 1];
	__u32 value, mask;
	__u64 set;

	(void)qu;
	if (plugin_print(cbt_options, TCA_CBT_MAX, f, opt))
		return -1;
	if (!opt ||
	    parse_rtattr_flags(tb, TCA_CBT_MAX, RTA_DATA(opt),
			       RTA_PAYLOAD(opt), NLA_F_NESTED))
		return opt ? -1 : 0;
	if (tb[TCA_CBT_DSCP] && RTA_PAYLOAD(tb[TCA_CBT_DSCP]) >= sizeof(set)) {
		memcpy(&set, RTA_DATA(tb[TCA_CBT_DSCP]), sizeof(set));
		cbt_print_dscp(f, set);
	}
	if (tb[TCA_CBT_MARK] && tb[TCA_CBT_MARK_MASK] &&
	    RTA_PAYLOAD(tb[TCA_CBT_MARK]) >= sizeof(value) &&
	    RTA_PAYLOAD(tb[TCA_CBT_MARK_MASK]) >= sizeof(mask)) {
		memcpy(&value, RTA_DATA(tb[TCA_CBT_MARK]), sizeof(value));
		memcpy(&mask, RTA_DATA(tb[TCA_CBT_MARK_MASK]), sizeof(mask));
		cbt_print_mark(f, value, mask);
	}
	return 0;
}

static int cbt_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	static const char *const names[CBT_CLASSES] = {
		[CBT_TCP] = "tcp", [CBT_TAGGED] = "tagged",
		[CBT_OTHER] = "other",
	};
	struct tc_cbt_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	switch (st.type) {
	case TCA_CBT_XSTATS_QDISC:
		plugin_print_fields(f, cbt_qdisc_fields, &st.qdisc);
		break;
	case TCA_CBT_XSTATS_CLASS:
		if (st.cls.class_id > CBT_ALL && st.cls.class_id < CBT_CLASSES) {
			if (is_json_context())
				print_color_string(PRINT_JSON, COLOR_UNUSED,
						   "name", NULL,
						   names[st.cls.class_id]);
			else
				fprintf(f, "  %s", names[st.cls.class_id]);
		}
		plugin_print_fields(f, cbt_class_fields, &st.cls);
		break;
	}
	return 0;
}

QDISC_UTIL(cbt) = {
	.id		= "cbt",
	.parse_qopt	= cbt_parse_opt,
	.print_qopt	= cbt_print_opt,
	.print_xstats	= cbt_print_xstats,
};
