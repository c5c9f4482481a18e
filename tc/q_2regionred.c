// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the 2regionred queue discipline; see tc-2regionred(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_2regionred.h>

static const char tworr_help[] =
	"Usage: ... 2regionred [ bandwidth RATE ] [ rtt TIME ] [ avpkt BYTES ]\n"
	"                      [ flows NUMBER ] [ limit PACKETS ]\n"
	"                      [ bmin PACKETS ] [ bflat PACKETS ]\n"
	"                      [ target PACKETS ] [ bmax PACKETS ]\n"
	"                      [ n_1dpr NUMBER ]\n"
	"                      [ estimator absmin | ewma | ewma-drain ]\n"
	"                      [ [no]gentle ] [ [no]literal ] [ [no]ecn ]\n"
	"                      [ [no]nodrop ] [ [no]harddrop ] [ seed NUMBER ]\n"
	"limit, bmin, bflat, target, bmax, n_1dpr: 0 derives them from the others\n";

static const char *const tworr_estimators[] = {
	"absmin", "ewma", "ewma-drain", NULL
};

static const struct plugin_option tworr_options[] = {
	{ "bandwidth", OPT_RATE, TCA_2REGIONRED_BANDWIDTH, 1,
	  TC_2REGIONRED_MAX_BANDWIDTH },
	{ "rtt", OPT_TIME_US, TCA_2REGIONRED_RTT, TC_2REGIONRED_MIN_RTT,
	  TC_2REGIONRED_MAX_RTT },
	{ "avpkt", OPT_SIZE, TCA_2REGIONRED_AVPKT, TC_2REGIONRED_MIN_AVPKT,
	  TC_2REGIONRED_MAX_AVPKT },
	{ "flows", OPT_NUMBER, TCA_2REGIONRED_FLOWS, 1,
	  TC_2REGIONRED_MAX_FLOWS, .unit = "flows" },
	{ "limit", OPT_PACKETS, TCA_2REGIONRED_LIMIT, 0,
	  TC_2REGIONRED_MAX_PACKETS },
	{ "bmin", OPT_PACKETS, TCA_2REGIONRED_BMIN, 0,
	  TC_2REGIONRED_MAX_PACKETS },
	{ "bflat", OPT_PACKETS, TCA_2REGIONRED_BFLAT, 0,
	  TC_2REGIONRED_MAX_PACKETS },
	{ "target", OPT_PACKETS, TCA_2REGIONRED_TARGET, 0,
	  TC_2REGIONRED_MAX_PACKETS },
	{ "bmax", OPT_PACKETS, TCA_2REGIONRED_BMAX, 0,
	  TC_2REGIONRED_MAX_PACKETS },
	{ "n_1dpr", OPT_NUMBER, TCA_2REGIONRED_N_1DPR, 0,
	  TC_2REGIONRED_MAX_PACKETS, .unit = "flows" },
	{ "estimator", OPT_CHOICE, TCA_2REGIONRED_ESTIMATOR,
	  .choices = tworr_estimators },
	{ "gentle", OPT_FLAG, TCA_2REGIONRED_GENTLE },
	{ "literal", OPT_FLAG, TCA_2REGIONRED_LITERAL },
	{ "ecn", OPT_FLAG, TCA_2REGIONRED_ECN },
	{ "nodrop", OPT_FLAG, TCA_2REGIONRED_NODROP },
	{ "harddrop", OPT_FLAG, TCA_2REGIONRED_HARDDROP },
	{ "seed", OPT_NUMBER, TCA_2REGIONRED_SEED, 0, UINT32_MAX },
	{},
};

#define FIELD(name)	PLUGIN_FIELD(struct tc_2regionred_qdisc_stats, name)
#define PACKETS(name)	PLUGIN_FIELD_AS(struct tc_2regionred_qdisc_stats, \
					name, FIELD_REAL, .scale = 0x1p32)

static const struct plugin_field tworr_fields[] = {
	PACKETS(q_est),
	FIELD(phase),
	PACKETS(ppd),
	PACKETS(window),
	FIELD(hold_off),
	FIELD(updates),
	FIELD(negative),
	PLUGIN_NEWLINE,
	PACKETS(pipe),
	FIELD(limit),
	FIELD(bmin),
	FIELD(bflat),
	FIELD(target),
	FIELD(bmax),
	FIELD(n_1dpr),
	PLUGIN_NEWLINE,
	FIELD(entered_quiet),
	FIELD(entered_low),
	FIELD(entered_high),
	FIELD(entered_max),
	PLUGIN_NEWLINE,
	FIELD(dropped_low),
	FIELD(dropped_high),
	FIELD(dropped_max),
	FIELD(dropped_limit),
	FIELD(dropped_change),
	PLUGIN_NEWLINE,
	FIELD(marked_low),
	FIELD(marked_high),
	FIELD(marked_max),
	FIELD(spared),
	{},
};

static int tworr_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			   struct nlmsghdr *n, const char *dev)
{
	(void)dev;
	return plugin_parse(qu->id, tworr_options, tworr_help, argc, argv, n);
}

static int tworr_print_opt(const struct qdisc_util *qu, FILE *f,
			   struct rtattr *opt)
{
	(void)qu;
	return plugin_print(tworr_options, TCA_2REGIONRED_MAX, f, opt);
}

static int tworr_print_xstats(const struct qdisc_util *qu, FILE *f,
			      struct rtattr *xstats)
{
	struct tc_2regionred_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	if (st.type == TCA_2REGIONRED_XSTATS_QDISC)
		plugin_print_fields(f, tworr_fields, &st.qdisc);
	return 0;
}

QDISC_UTIL_AS(tworegionred, "2regionred") = {
	.id		= "2regionred",
	.parse_qopt	= tworr_parse_opt,
	.print_qopt	= tworr_print_opt,
	.print_xstats	= tworr_print_xstats,
};
