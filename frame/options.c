// SPDX-License-Identifier: GPL-2.0
/* Read and dump the options of a qdisc by its list. See <aqm/options.h>. */
#include <net/netlink.h>
#include <aqm/options.h>
#include "internal.h"

/* Set an error message that is not a literal. The string must stay allocated. */
void aqm_set_message(struct netlink_ext_ack *extack, const char *message)
{
#ifdef NL_SET_ERR_MSG_FMT
	NL_SET_ERR_MSG_FMT(extack, "%s", message);
#else
	if (extack)
		extack->_msg = message;
#endif
}
EXPORT_SYMBOL_GPL(aqm_set_message);

/* Load an option. Attributes are aligned to 4 bytes only. */
static u64 aqm_option_load(const void *from, u16 size)
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

static void aqm_option_store(void *to, u16 size, u64 value)
{
	switch (size) {
	case sizeof(u8):
		*(u8 *)to = value;
		break;
	case sizeof(u32):
		*(u32 *)to = value;
		break;
	default:
		memcpy(to, &value, sizeof(value));
	}
}

/* Set an option to its default, or to 0 if it is derived. */
static void aqm_option_forget(const struct aqm_option *o,
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
void aqm_options_again(const struct aqm_options *set,
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
static void aqm_options_keep(const struct aqm_options *set,
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
int aqm_options_read(const struct aqm_options *set,
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

static int aqm_option_put(struct sk_buff *skb, int attr, u16 size,
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
int aqm_options_dump(struct sk_buff *skb,
		     const struct aqm_options *set,
		     const struct aqm_given *params, u64 kept,
		     u64 assumed)
{
	const struct aqm_option *o;
	struct nlattr *opts;
	const void *param;
	u16 i;

	opts = nla_nest_start(skb, TCA_OPTIONS);
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
