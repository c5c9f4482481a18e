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
 * <aqm/kind.h> applies the options after this code has read them. The datapath
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

/* Set an error message that is not a literal. The string must stay allocated. */
static inline void aqm_set_message(struct netlink_ext_ack *extack,
				   const char *message)
{
#ifdef NL_SET_ERR_MSG_FMT
	NL_SET_ERR_MSG_FMT(extack, "%s", message);
#else
	if (extack)
		extack->_msg = message;
#endif
}

/* Load an option. Attributes are aligned to 4 bytes only. */
static inline u64 aqm_option_load(const void *from, u16 size)
{
	u64 value;

	switch (size) {
	case sizeof(u8):
		return *(const u8 *)from;
	case sizeof(u32):
		return *(const u32 *)from;
	default:
		memcpy(&value, from, sizeof(value));
		return value;
	}
}

static inline void aqm_option_store(void *to, u16 size, u64 value)
{
	switch (size) {
	case sizeof(u8):
		*(u8 *)to = value;
		break;
	case sizeof(u32):
		*(u32 *)to = value;
		break;
	default:
		/* The compiler takes the parameters for their first member. */
		OPTIMIZER_HIDE_VAR(to);
		memcpy(to, &value, sizeof(value));
	}
}

/* Set an option to its default, or to 0 if it is derived. */
static inline void aqm_option_forget(const struct aqm_option *o,
				     struct aqm_given *given)
{
	aqm_option_store((void *)given + o->offset, o->size,
			 o->value == TC_AQM_DERIVED ? 0 : o->value);
}

/**
 * aqm_options_again() - set each parameter that was not given to its default
 * @set: the options
 * @given: the parameters; derived ones are set to 0
 */
static inline void aqm_options_again(const struct aqm_options *set,
				     struct aqm_given *given)
{
	u16 i;

	for (i = 0; i <= set->last; i++)
		if (set->options[i].size && !(given->ever >> i & 1))
			aqm_option_forget(&set->options[i], given);
}

/*
 * Forget all given options that are not in @mask. Forgotten options count as
 * changed if they are derived.
 */
static inline void aqm_options_keep(const struct aqm_options *set,
				    struct aqm_given *given, u64 mask)
{
	u16 i;

	for (i = 0; i <= set->last; i++)
		if (set->options[i].value == TC_AQM_DERIVED)
			given->now |= given->ever & ~mask & BIT_ULL(i);
	given->ever &= mask;
	aqm_options_again(set, given);
}

/**
 * aqm_options_read() - read the options of a message into the parameters
 * @set: the options
 * @given: present parameters or defaults; unspecified after an error
 * @opt: TCA_OPTIONS; NULL: no option
 * @extack: gets the option and its range in case of an error
 *
 * Return: 0 or an error
 */
static inline int aqm_options_read(const struct aqm_options *set,
				   struct aqm_given *given, struct nlattr *opt,
				   struct netlink_ext_ack *extack)
{
	struct nlattr *tb[AQM_MAX_ATTRIBUTE + 1];
	const struct aqm_option *o;
	u64 mask = U64_MAX;
	u64 value;
	int err;
	u16 i;

	given->now = 0;
	if (!opt)
		return 0;
	err = nla_parse_nested(tb, set->last, opt, set->policy, extack);
	if (err < 0)
		return err;

	if (tb[TC_AQM_GIVEN]) {
		mask = nla_get_u64(tb[TC_AQM_GIVEN]);
		aqm_options_keep(set, given, mask);
	}
	for (i = 0; i <= set->last; i++) {
		o = &set->options[i];
		if (!o->size || !tb[i] || !(mask >> i & 1))
			continue;
		value = aqm_option_load(nla_data(tb[i]), o->size);
		given->now |= BIT_ULL(i);
		given->ever |= BIT_ULL(i);
		if (o->value == TC_AQM_DERIVED && !value) {
			given->ever &= ~BIT_ULL(i);
		} else if (value < o->least || value > o->greatest) {
			aqm_set_message(extack, o->message);
			NL_SET_BAD_ATTR(extack, tb[i]);
			return -EINVAL;
		}
		aqm_option_store((void *)given + o->offset, o->size, value);
	}
	return 0;
}

static inline int aqm_option_put(struct sk_buff *skb, int attr, u16 size,
				 const void *param)
{
	u64 value = aqm_option_load(param, size);

	switch (size) {
	case sizeof(u8):
		return nla_put_u8(skb, attr, value);
	case sizeof(u32):
		return nla_put_u32(skb, attr, value);
	default:
		return nla_put_u64_64bit(skb, attr, value, TC_AQM_PAD);
	}
}

/**
 * aqm_options_dump() - dump the options in force
 * @skb: gets TCA_OPTIONS
 * @set: the options
 * @params: the parameters; under RTNL, because only a change writes them
 * @kept: mask of derived options that a copy must treat as given
 * @assumed: mask of derived options whose value is a guess
 *
 * Return: the result of nla_nest_end(), or -EMSGSIZE
 */
static inline int aqm_options_dump(struct sk_buff *skb,
				   const struct aqm_options *set,
				   const struct aqm_given *params, u64 kept,
				   u64 assumed)
{
	const struct aqm_option *o;
	struct nlattr *opts;
	const void *param;
	u16 i;

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	for (i = 0; i <= set->last; i++) {
		o = &set->options[i];
		param = (const void *)params + o->offset;
		if (!o->size || aqm_option_load(param, o->size) < o->least)
			continue;
		if (aqm_option_put(skb, i, o->size, param))
			goto too_long;
	}
	if (nla_put_u64_64bit(skb, TC_AQM_GIVEN, params->ever | kept,
			      TC_AQM_PAD))
		goto too_long;
	if (assumed &&
	    nla_put_u64_64bit(skb, TC_AQM_ASSUMED, assumed, TC_AQM_PAD))
		goto too_long;
	return nla_nest_end(skb, opts);

too_long:
	nla_nest_cancel(skb, opts);
	return -EMSGSIZE;
}

#endif /* _AQM_OPTIONS_H */
