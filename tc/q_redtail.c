// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the redtail queue discipline; see tc-redtail(8).
 */

#include "tc_plugin.h"
#include <linux/pkt_sched_redtail.h>

#define Q32	4294967295.0	/* 1 in a Q0.32 attribute */

static const char redtail_help[] =
	"Usage: ... redtail [ bandwidth RATE ] [ limit LENGTH ]\n"
	"                   [ min1 LENGTH ] [ max1 LENGTH ]\n"
	"                   [ min2 LENGTH ] [ max2 LENGTH ]\n"
	"                   [ share_min SHARE ] [ share_max SHARE ]\n"
	"                   [ avpkt BYTES ] [ weight WEIGHT ]\n"
	"                   [ probability PROB ] [ [no]adaptive ]\n"
	"                   [ [no]ecn ] [ [no]harddrop ] [ [no]nodrop ]\n"
	"                   [ packets NUMBER ] [ age TIME ] [ tau TIME ]\n"
	"                   [ flows NUMBER ] [ key { addresses | flow } ]\n"
	"                   [ [no]dynamic ] [ low PROB ] [ high PROB ]\n"
	"                   [ gamma NUMBER ] [ seed NUMBER ]\n"
	"LENGTH: bytes, or, with bandwidth, a time\n";

static const char *const redtail_keys[] = { "addresses", "flow", NULL };

static const struct plugin_option redtail_options[] = {
	{ "bandwidth", OPT_RATE, TCA_REDTAIL_BANDWIDTH, REDTAIL_MIN_BANDWIDTH,
	  REDTAIL_MAX_BANDWIDTH },
	{ "limit", OPT_SIZE, TCA_REDTAIL_LIMIT, 0, REDTAIL_MAX_LIMIT },
	{ "min1", OPT_SIZE, TCA_REDTAIL_MIN1, 0, REDTAIL_MAX_LIMIT },
	{ "max1", OPT_SIZE, TCA_REDTAIL_MAX1, 0, REDTAIL_MAX_LIMIT },
	{ "min2", OPT_SIZE, TCA_REDTAIL_MIN2, 0, REDTAIL_MAX_LIMIT },
	{ "max2", OPT_SIZE, TCA_REDTAIL_MAX2, 0, REDTAIL_MAX_LIMIT },
	{ "share_min", OPT_REAL, TCA_REDTAIL_SHARE_MIN, 0, UINT32_MAX,
	  .scale = Q32 },
	{ "share_max", OPT_REAL, TCA_REDTAIL_SHARE_MAX, 1, UINT32_MAX,
	  .scale = Q32 },
	{ "avpkt", OPT_SIZE, TCA_REDTAIL_AVPKT, REDTAIL_MIN_AVPKT,
	  REDTAIL_MAX_AVPKT },
	{ "weight", OPT_REAL, TCA_REDTAIL_WEIGHT, 0, UINT32_MAX,
	  .scale = Q32 },
	{ "probability", OPT_REAL, TCA_REDTAIL_PROBABILITY, 1, UINT32_MAX,
	  .scale = Q32 },
	{ "adaptive", OPT_FLAG, TCA_REDTAIL_ADAPTIVE },
	{ "ecn", OPT_FLAG, TCA_REDTAIL_ECN },
	{ "harddrop", OPT_FLAG, TCA_REDTAIL_HARDDROP },
	{ "nodrop", OPT_FLAG, TCA_REDTAIL_NODROP },
	{ "packets", OPT_PACKETS, TCA_REDTAIL_PACKETS, 0, UINT32_MAX },
	{ "age", OPT_TIME_US, TCA_REDTAIL_AGE, 0, UINT32_MAX },
	{ "tau", OPT_TIME_US, TCA_REDTAIL_TAU, 1, UINT32_MAX },
	{ "flows", OPT_NUMBER, TCA_REDTAIL_FLOWS, 1, REDTAIL_MAX_FLOWS,
	  .unit = "flows" },
	{ "key", OPT_CHOICE, TCA_REDTAIL_KEY, .choices = redtail_keys },
	{ "dynamic", OPT_FLAG, TCA_REDTAIL_DYNAMIC },
	{ "low", OPT_REAL, TCA_REDTAIL_LOW, 0, UINT32_MAX, .scale = Q32 },
	{ "high", OPT_REAL, TCA_REDTAIL_HIGH, 0, UINT32_MAX, .scale = Q32 },
	{ "gamma", OPT_REAL, TCA_REDTAIL_GAMMA, 1, UINT32_MAX, .scale = Q32 },
	{ "seed", OPT_NUMBER, TCA_REDTAIL_SEED, 0, UINT32_MAX },
	{},
};

#define QDISC_FIELD(name) PLUGIN_FIELD(struct tc_redtail_qdisc_stats, name)
#define QDISC_SIGNED(name) \
	PLUGIN_FIELD_AS(struct tc_redtail_qdisc_stats, name, FIELD_SIGNED)
#define QDISC_REAL(name) \
	PLUGIN_FIELD_AS(struct tc_redtail_qdisc_stats, name, FIELD_REAL, \
			.scale = Q32)
#define CLASS_FIELD(name) PLUGIN_FIELD(struct tc_redtail_class_stats, name)
#define CLASS_REAL(name) \
	PLUGIN_FIELD_AS(struct tc_redtail_class_stats, name, FIELD_REAL, \
			.scale = Q32)

static const struct plugin_field redtail_qdisc_fields[] = {
	QDISC_FIELD(limit),
	QDISC_FIELD(min1),
	QDISC_FIELD(max1),
	QDISC_FIELD(min2),
	QDISC_FIELD(max2),
	QDISC_REAL(share_min),
	QDISC_REAL(share_max),
	QDISC_REAL(weight),
	PLUGIN_NEWLINE,
	QDISC_FIELD(backlog_short),
	QDISC_FIELD(qlen_short),
	QDISC_FIELD(sent_short),
	QDISC_REAL(loss_short),
	QDISC_REAL(share),
	QDISC_SIGNED(credit),
	PLUGIN_NEWLINE,
	QDISC_FIELD(backlog_long),
	QDISC_FIELD(qlen_long),
	QDISC_FIELD(sent_long),
	QDISC_REAL(loss_long),
	QDISC_FIELD(avg),
	QDISC_REAL(max_p),
	PLUGIN_NEWLINE,
	QDISC_FIELD(early_drop),
	QDISC_FIELD(early_mark),
	QDISC_FIELD(forced_drop),
	QDISC_FIELD(forced_mark),
	QDISC_FIELD(overflow_short),
	QDISC_FIELD(overflow_long),
	QDISC_FIELD(drop_change),
	QDISC_FIELD(marked),
	PLUGIN_NEWLINE,
	QDISC_FIELD(max_p_raised),
	QDISC_FIELD(max_p_lowered),
	QDISC_FIELD(min2_raised),
	QDISC_FIELD(min2_lowered),
	QDISC_FIELD(flows_new),
	QDISC_FIELD(flows_long),
	QDISC_FIELD(flows_evicted),
	{},
};

static const struct plugin_field redtail_class_fields[] = {
	CLASS_FIELD(sent),
	CLASS_FIELD(arrived),
	CLASS_REAL(share),
	CLASS_REAL(loss),
	CLASS_FIELD(min),
	CLASS_FIELD(max),
	CLASS_FIELD(avg),
	CLASS_REAL(max_p),
	CLASS_FIELD(marked),
	{},
};

static const struct plugin_option *redtail_length(const char *name)
{
	const struct plugin_option *o;
	bool on;

	o = plugin_find(redtail_options, name, &on);
	return o && o->type == OPT_SIZE && o->attr != TCA_REDTAIL_AVPKT ?
	       o : NULL;
}

/*
 * Replace each length that is given as a time by the bytes that the bandwidth,
 * wherever it stands, sends in it. @words takes the texts.
 */
static int redtail_times_to_bytes(const char *kind, int argc, char **argv,
				  char (*words)[24])
{
	const struct plugin_option *bandwidth = redtail_options, *o;
	__u64 rate = 0, bytes, ns;
	int i;

	for (i = 0; i + 1 < argc; i++)
		if (!strcmp(argv[i], bandwidth->name))
			plugin_value(&rate, argv[i + 1], bandwidth);

	for (i = 0; i + 1 < argc; i++) {
		o = redtail_length(argv[i]);
		if (!o || plugin_value(&bytes, argv[i + 1], o) ||
		    !plugin_measure(&ns, argv[i + 1], plugin_times_ns, 1))
			continue;
		if (!rate) {
			fprintf(stderr,
				"%s: \"%s %s\" is a time: give the bandwidth too\n",
				kind, argv[i], argv[i + 1]);
			return -1;
		}
		snprintf(words[i], sizeof(words[i]), "%.0f", ns / 1e9 * rate);
		argv[i + 1] = words[i];
	}
	return 0;
}

static int redtail_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			     struct nlmsghdr *n, const char *dev)
{
	char words[argc + 1][24];
	char *copy[argc + 1];

	(void)dev;
	memcpy(copy, argv, argc * sizeof(*argv));
	copy[argc] = NULL;
	if (redtail_times_to_bytes(qu->id, argc, copy, words))
		return -1;
	return plugin_parse(qu->id, redtail_options, redtail_help, argc, copy,
			    n);
}

static int redtail_print_opt(const struct qdisc_util *qu, FILE *f,
			     struct rtattr *opt)
{
	(void)qu;
	return plugin_print(redtail_options, TCA_REDTAIL_MAX, f, opt);
}

static int redtail_print_xstats(const struct qdisc_util *qu, FILE *f,
				struct rtattr *xstats)
{
	struct tc_redtail_xstats st;

	(void)qu;
	if (!xstats)
		return 0;
	plugin_copy_xstats(&st, sizeof(st), xstats);
	switch (st.type) {
	case TCA_REDTAIL_XSTATS_QDISC:
		plugin_print_fields(f, redtail_qdisc_fields, &st.qdisc);
		break;
	case TCA_REDTAIL_XSTATS_CLASS:
		plugin_print_fields(f, redtail_class_fields, &st.cls);
		break;
	}
	return 0;
}

QDISC_UTIL(redtail) = {
	.id		= "redtail",
	.parse_qopt	= redtail_parse_opt,
	.print_qopt	= redtail_print_opt,
	.print_xstats	= redtail_print_xstats,
};
