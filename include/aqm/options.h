/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Netlink options, generated from the list in a qdisc's uapi header: the struct
 * of parameters, the netlink policy, the parser with its messages, and the
 * dump. See <uapi/linux/pkt_sched_aqm.h> for the format of a list.
 *
 *	struct kind_params {
 *		struct aqm_given	given;
 *
 *		TC_KIND_OPTIONS(AQM_PARAM, 0)
 *	};
 *	AQM_OPTIONS(kind_options, struct kind_params, TC_KIND_OPTIONS);
 *
 * <aqm/frame.h> applies the options after frame/options.c has read them. The datapath
 * holds the qdisc lock and reads parameters without further locking. Only a change
 * writes them, under RTNL and the tree lock, so a dump under RTNL needs no lock.
 *
 * The parameters are the values in force, with a mask of the options that were
 * given. A change starts with aqm_options_again(), which sets options that were
 * not given to their defaults, and derived options (TC_AQM_DERIVED) to 0. The
 * qdisc then computes the derived options. A dump contains all values in force
 * and the mask. A qdisc that is configured from a dump is the same, and derives
 * the same options. A value below the option's minimum is not in force and not
 * dumped: for example a seed that was not given, or an option that another
 * option replaces.
 *
 * aqm_changed(p, TCA_...) tells if the last message gave an option, and
 * aqm_given(p, TCA_...) if any message did.
 */
#ifndef _AQM_OPTIONS_H
#define _AQM_OPTIONS_H

#include <linux/module.h>
#include <linux/stringify.h>
#include <net/netlink.h>
#include <net/sch_generic.h>
#include <uapi/linux/pkt_sched_aqm.h>

#define AQM_MAX_ATTRIBUTE	39	/* at most 63: a bit each in struct aqm_given */
#define AQM_MAX_XSTATS		512	/* bytes, on the stack of a dump */

/**
 * struct aqm_given - masks of given options, one bit per attribute
 * @ever: options given since the qdisc was created, except options that were set
 *	back to their derived value
 * @now: options given in the last message
 */
struct aqm_given {
	u64	ever;
	u64	now;
};

#define aqm_given(params, attr)		((params)->given.ever >> (attr) & 1)
#define aqm_changed(params, attr)	((params)->given.now >> (attr) & 1)

/**
 * struct aqm_option - one option
 * @message: error message that states the range
 * @least: minimum, in the unit of the attribute
 * @greatest: maximum, in the unit of the attribute
 * @value: default, or TC_AQM_DERIVED
 * @offset: offset in the parameters, bytes
 * @size: size in the parameters and in the attribute, bytes; 0: no such option
 */
struct aqm_option {
	const char	*message;
	u64		least;
	u64		greatest;
	u64		value;
	u16		offset;
	u16		size;
};

/**
 * struct aqm_options - the options of a qdisc
 * @options: array, indexed by attribute
 * @policy: array, indexed by attribute
 * @last: the highest attribute
 * @size: size of the parameters, bytes
 */
struct aqm_options {
	const struct aqm_option	*options;
	const struct nla_policy	*policy;
	u16			last;
	u16			size;
};

/* The C type and the netlink policy of each type of option. */
#define AQM_FLAG_TYPE		bool
#define AQM_CHOICE_TYPE		u8
#define AQM_NUMBER_TYPE		u32
#define AQM_PACKETS_TYPE	u32
#define AQM_PACKETS_Q8_TYPE	u32
#define AQM_BYTES_TYPE		u32
#define AQM_LENGTH_TYPE		u32
#define AQM_TIME_TYPE		u32
#define AQM_FRACTION_TYPE	u32
#define AQM_RATE_TYPE		u64
#define AQM_CODEPOINTS_TYPE	u64
#define AQM_MASKED_TYPE		struct nla_bitfield32

#define AQM_FLAG_POLICY		{ .type = NLA_U8 }
#define AQM_CHOICE_POLICY	{ .type = NLA_U8 }
#define AQM_NUMBER_POLICY	{ .type = NLA_U32 }
#define AQM_PACKETS_POLICY	{ .type = NLA_U32 }
#define AQM_PACKETS_Q8_POLICY	{ .type = NLA_U32 }
#define AQM_BYTES_POLICY	{ .type = NLA_U32 }
#define AQM_LENGTH_POLICY	{ .type = NLA_U32 }
#define AQM_TIME_POLICY		{ .type = NLA_U32 }
#define AQM_FRACTION_POLICY	{ .type = NLA_U32 }
#define AQM_RATE_POLICY		{ .type = NLA_U64 }
#define AQM_CODEPOINTS_POLICY	{ .type = NLA_U64 }
#define AQM_MASKED_POLICY	NLA_POLICY_BITFIELD32(U32_MAX)

/* The unit of each type, for error messages. */
#define AQM_FLAG_UNIT		""
#define AQM_CHOICE_UNIT		""
#define AQM_NUMBER_UNIT		""
#define AQM_PACKETS_UNIT	" packets"
#define AQM_PACKETS_Q8_UNIT	" times 1/256 packet"
#define AQM_BYTES_UNIT		" bytes"
#define AQM_LENGTH_UNIT		" bytes"
#define AQM_TIME_UNIT		" us"
#define AQM_FRACTION_UNIT	" times 2^-32"
#define AQM_RATE_UNIT		" bytes/s"
#define AQM_CODEPOINTS_UNIT	""
#define AQM_MASKED_UNIT		""

#define AQM_PARAM(x, attr, name, type, ...) \
	AQM_##type##_TYPE name;

/* Initialize a struct whose members have the names of the options. */
#define AQM_TAKE(from, attr, name, ...) \
	.name = (from)->name,

#define AQM_POLICY_ENTRY(x, attr, name, type, ...) \
	[attr] = AQM_##type##_POLICY,

#define AQM_RANGE_TEXT(name, type, least, greatest) \
	#name " must be " __stringify(least) " to " __stringify(greatest) \
	AQM_##type##_UNIT

#define AQM_OPTION_ENTRY(strct, attr, param, type, unit, lo, hi, dflt, help) \
	[attr] = { \
		.message = __builtin_choose_expr((dflt) == TC_AQM_DERIVED, \
			AQM_RANGE_TEXT(param, type, lo, hi) \
			", or 0: auto", \
			AQM_RANGE_TEXT(param, type, lo, hi)), \
		.least = lo, \
		.greatest = hi, \
		.value = dflt, \
		.offset = offsetof(strct, param), \
		.size = sizeof_field(strct, param), \
	},

/**
 * AQM_OPTIONS() - define the struct aqm_options of a qdisc
 * @name: name of the variable
 * @params: type of the parameters; begins with struct aqm_given given
 * @list: the list of options
 */
#define AQM_OPTIONS(name, params, list) \
static_assert(offsetof(params, given) == 0); \
static const struct aqm_option name##_list[] = { \
	list(AQM_OPTION_ENTRY, params) \
}; \
static const struct nla_policy name##_policy[] = { \
	[TC_AQM_PAD] = { .type = NLA_FLAG }, \
	[TC_AQM_GIVEN] = { .type = NLA_U64 }, \
	[TC_AQM_ASSUMED] = { .type = NLA_U64 }, \
	list(AQM_POLICY_ENTRY, 0) \
}; \
static_assert(ARRAY_SIZE(name##_list) <= AQM_MAX_ATTRIBUTE + 1); \
static const struct aqm_options name = { \
	.options = name##_list, \
	.policy = name##_policy, \
	.last = ARRAY_SIZE(name##_list) - 1, \
	.size = sizeof(params), \
}

/* Check that a struct of statistics has no padding and fits. */
#define AQM_STAT_SIZE(x, type, ...)	+ sizeof(type)
#define AQM_STATS_ARE_WHOLE(strct, list) \
	static_assert(sizeof(strct) == (0 list(AQM_STAT_SIZE, 0)) && \
		      sizeof(strct) % 8 == 0 && \
		      sizeof(strct) <= AQM_MAX_XSTATS - 8)

void aqm_set_message(struct netlink_ext_ack *extack, const char *message);

#endif /* _AQM_OPTIONS_H */
