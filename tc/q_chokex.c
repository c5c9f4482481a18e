// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the chokex queue discipline; see tc-chokex(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_chokex.h>

static const char chokex_help[] =
	"Usage: ... chokex [ limit PACKETS ] [ min PACKETS ] [ max PACKETS ]\n"
	"                  [ probability P ] [ weight W ]\n"
	"                  [ bandwidth RATE ] [ avpkt BYTES ]\n"
	"                  [ candidates M | adaptive K ] [ [no]gentle ]\n"
	"                  [ [no]ecn ] [ [no]harddrop ] [ [no]drop ]\n"
	"                  [ seed NUMBER ]\n";

/* So that 1 is the greatest value of 32 bits. */
#define SCALE	((double)UINT32_MAX)

static const struct plugin_option chokex_options[] = {
	{ "limit", OPT_PACKETS, TCA_CHOKEX_LIMIT, 1, CHOKEX_MAX_LIMIT },
	{ "min", OPT_PACKETS, TCA_CHOKEX_MIN_TH, 0, INT32_MAX },
	{ "max", OPT_PACKETS, TCA_CHOKEX_MAX_TH, 0, INT32_MAX },
	{ "probability", OPT_REAL, TCA_CHOKEX_PROBABILITY, 0, UINT32_MAX,
	  .scale = SCALE },
	{ "weight", OPT_REAL, TCA_CHOKEX_WEIGHT, 1, UINT32_MAX,
	  .scale = SCALE },
	{ "bandwidth", OPT_RATE, TCA_CHOKEX_BANDWIDTH, 1, INT64_MAX },
	{ "avpkt", OPT_SIZE, TCA_CHOKEX_AVPKT, 1, UINT32_MAX },
	{ "candidates", OPT_NUMBER, TCA_CHOKEX_CANDIDATES, 1,
	  CHOKEX_MAX_CANDIDATES, .unit = "packets" },
	{ "adaptive", OPT_NUMBER, TCA_CHOKEX_ADAPTIVE, 1, CHOKEX_MAX_REGIONS,
	  .unit = "regions" },
	{ "gentle", OPT_FLAG, TCA_CHOKEX_GENTLE },
	{ "ecn", OPT_FLAG, TCA_CHOKEX_ECN },
	{ "harddrop", OPT_FLAG, TCA_CHOKEX_HARDDROP },
	{ "drop", OPT_FLAG, TCA_CHOKEX_DROP },
	{ "seed", OPT_NUMBER, TCA_CHOKEX_SEED, 0, UINT32_MAX },
	{},
};

#define FIELD(name) PLUGIN_FIELD(struct tc_chokex_qdisc_stats, name)
#define REAL(name, by) \
	PLUGIN_FIELD_AS(struct tc_chokex_qdisc_stats, name, FIELD_REAL, \
			.scale = (by))

static const struct plugin_field chokex_fields[] = {
	REAL(avg, 0x1p32),
	REAL(probability, SCALE),
	FIELD(candidates),
	FIELD(count),
	FIELD(ptime),
	PLUGIN_NEWLINE,
	FIELD(drawn),
	FIELD(matched),
	FIELD(victims),
	FIELD(early_drop),
	FIELD(early_mark),
	FIELD(forced_drop),
	FIELD(forced_mark),
	PLUGIN_NEWLINE,
	FIELD(spared),
	FIELD(drop_limit),
	FIELD(drop_change),
	FIELD(dropped_bytes),
	{},
};

static int chokex_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			    struct nlmsghdr *n, const char *dev)
{
	(void)dev;
	return plugin_parse(qu->id, chokex_options, chokex_help, argc, argv, n);
}

static int chokex_print_opt(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *opt)
{
	(void)qu;
	return plugin_print(chokex_options, TCA_CHOKEX_MAX, f, opt);
}

static int chokex_print_xstats(const struct qdisc_util *qu, FILE *f,
			       struct rtattr *xstats)
{
	struct tc_chokex_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	if (st.type == TCA_CHOKEX_XSTATS_QDISC)
		plugin_print_fields(f, chokex_fields, &st.qdisc);
	return 0;
}

QDISC_UTIL(chokex) = {
	.id		= "chokex",
	.parse_qopt	= chokex_parse_opt,
	.print_qopt	= chokex_print_opt,
	.print_xstats	= chokex_print_xstats,
};
