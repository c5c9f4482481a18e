// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for the cbt queue discipline; see tc-cbt(8).
 */

#include "plugin.h"
#include <linux/pkt_sched_cbt.h>

/* The names that RFCs give to codepoints; the first of a codepoint is shown. */
static const struct {
	const char	*name;
	unsigned char	codepoint;
} codepoints[] = {
	{ "cs0", 0 }, { "df", 0 }, { "be", 0 }, { "le", 1 }, { "cs1", 8 },
	{ "af11", 10 }, { "af12", 12 }, { "af13", 14 }, { "cs2", 16 },
	{ "af21", 18 }, { "af22", 20 }, { "af23", 22 }, { "cs3", 24 },
	{ "af31", 26 }, { "af32", 28 }, { "af33", 30 }, { "cs4", 32 },
	{ "af41", 34 }, { "af42", 36 }, { "af43", 38 }, { "cs5", 40 },
	{ "va", 44 }, { "ef", 46 }, { "cs6", 48 }, { "cs7", 56 }, {},
};

static bool one_codepoint(__u64 *codepoint, const char *word)
{
	char *end;
	int i;

	if (plugin_whole(codepoint, word, &end))
		return !*end && *codepoint < 64;
	for (i = 0; codepoints[i].name; i++) {
		*codepoint = codepoints[i].codepoint;
		if (!strcasecmp(codepoints[i].name, word))
			return true;
	}
	return false;
}

/* "none", or codepoints with commas between them. */
static bool parse_codepoints(__u64 *set, const char *arg,
			     const struct plugin_option *o,
			     const struct plugin_line *line)
{
	char word[8];
	__u64 one;
	size_t len;

	(void)o;
	(void)line;
	*set = 0;
	if (!strcmp(arg, "none"))
		return true;
	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, arg);
		if (len >= sizeof(word) || !one_codepoint(&one, word))
			return false;
		*set |= 1ULL << one;
		if (!arg[len])
			return true;
	}
}

static void text_codepoints(char *buf, const struct plugin_option *o, __u64 set)
{
	const char *gap = "";
	int i, name;

	(void)o;
	snprintf(buf, PLUGIN_TEXT, "%s", set ? "" : "none");
	for (i = 0; i < 64; i++) {
		if (!(set >> i & 1))
			continue;
		for (name = 0; codepoints[name].name; name++)
			if (codepoints[name].codepoint == i)
				break;
		if (codepoints[name].name)
			buf += sprintf(buf, "%s%s", gap, codepoints[name].name);
		else
			buf += sprintf(buf, "%s%d", gap, i);
		gap = ",";
	}
}

static void json_codepoints(const struct plugin_option *o, __u64 set)
{
	int i;

	open_json_array(PRINT_JSON, o->name);
	for (i = 0; i < 64; i++)
		if (set >> i & 1)
			print_color_u64(PRINT_JSON, COLOR_UNUSED, NULL, NULL,
					i);
	close_json_array(PRINT_JSON, NULL);
}

static void allowed_codepoints(char *buf, const struct plugin_option *o)
{
	(void)o;
	snprintf(buf, PLUGIN_TEXT, "none, or names (ef, af41, cs1) and numbers from 0 to 63 with commas between");
}

static const struct plugin_type plugin_type_CODEPOINTS = {
	.size		= sizeof(__u64),
	.word		= "LIST",
	.parse		= parse_codepoints,
	.text		= text_codepoints,
	.json		= json_codepoints,
	.allowed	= allowed_codepoints,
};

/* VALUE/MASK, in decimal or hexadecimal; without a mask, all bits. */
static bool parse_masked(__u64 *value, const char *arg,
			 const struct plugin_option *o,
			 const struct plugin_line *line)
{
	struct nla_bitfield32 masked;
	__u64 v, mask = UINT32_MAX;
	char *end;

	(void)o;
	(void)line;
	if (!plugin_whole(&v, arg, &end))
		return false;
	if (*end == '/' && !plugin_whole(&mask, end + 1, &end))
		return false;
	/* The kernel, too, refuses a value with bits that do not count. */
	if (*end || mask > UINT32_MAX || v & ~mask)
		return false;
	masked.value = v;
	masked.selector = mask;
	memcpy(value, &masked, sizeof(masked));
	return true;
}

static void text_masked(char *buf, const struct plugin_option *o, __u64 value)
{
	struct nla_bitfield32 masked;

	(void)o;
	memcpy(&masked, &value, sizeof(masked));
	snprintf(buf, PLUGIN_TEXT, "%#x/%#x", masked.value, masked.selector);
}

static void json_masked(const struct plugin_option *o, __u64 value)
{
	struct nla_bitfield32 masked;

	memcpy(&masked, &value, sizeof(masked));
	print_color_u64(PRINT_JSON, COLOR_UNUSED, o->name, NULL, masked.value);
	print_color_u64(PRINT_JSON, COLOR_UNUSED, "mark_mask", NULL,
			masked.selector);
}

static void allowed_masked(char *buf, const struct plugin_option *o)
{
	(void)o;
	snprintf(buf, PLUGIN_TEXT, "VALUE or VALUE/MASK, each 0 to 0xffffffff, no bit of the value outside the mask");
}

static const struct plugin_type plugin_type_MASKED = {
	.size		= sizeof(struct nla_bitfield32),
	.word		= "VALUE/MASK",
	.parse		= parse_masked,
	.text		= text_masked,
	.json		= json_masked,
	.allowed	= allowed_masked,
};

PLUGIN_OPTIONS(TC_CBT_OPTIONS);
PLUGIN_STATS(qdisc_stats, struct tc_cbt_qdisc_stats, TC_CBT_QDISC_STATS);
PLUGIN_STATS(class_stats, struct tc_cbt_class_stats, TC_CBT_CLASS_STATS);

PLUGIN(cbt) = {
	.util		= PLUGIN_UTIL("cbt"),
	.options	= plugin_options,
	.qdisc		= qdisc_stats,
	.cls		= class_stats,
};
