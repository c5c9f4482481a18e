/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of libmnl by which ip and tc read the kernel's error messages. Distributions have no
 * static libmnl, and without it ip and tc would say "Error" only.
 */
#ifndef LAB_LIBMNL_H
#define LAB_LIBMNL_H

#include <linux/netlink.h>
#include <stdint.h>

#define MNL_CB_ERROR	-1
#define MNL_CB_OK	1

enum mnl_attr_data_type { MNL_TYPE_U32 = 3, MNL_TYPE_NUL_STRING = 10 };

typedef int (*mnl_attr_cb_t)(const struct nlattr *attr, void *data);

static inline uint16_t mnl_attr_get_type(const struct nlattr *attr)
{
	return attr->nla_type & NLA_TYPE_MASK;
}

static inline int mnl_attr_type_valid(const struct nlattr *attr, uint16_t max)
{
	return mnl_attr_get_type(attr) <= max ? 1 : -1;
}

static inline const char *mnl_attr_get_str(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static inline uint32_t mnl_attr_get_u32(const struct nlattr *attr)
{
	return *(const uint32_t *)mnl_attr_get_str(attr);
}

static inline int mnl_attr_validate(const struct nlattr *attr, enum mnl_attr_data_type type)
{
	int size = attr->nla_len - NLA_HDRLEN;

	if (type == MNL_TYPE_U32)
		return size == sizeof(uint32_t) ? 0 : -1;
	if (type == MNL_TYPE_NUL_STRING)
		return size > 0 && !mnl_attr_get_str(attr)[size - 1] ? 0 : -1;
	return 0;
}

static inline void *mnl_nlmsg_get_payload(const struct nlmsghdr *nlh)
{
	return (char *)nlh + NLMSG_HDRLEN;
}

static inline uint32_t mnl_nlmsg_get_payload_len(const struct nlmsghdr *nlh)
{
	return nlh->nlmsg_len - NLMSG_HDRLEN;
}

static inline int mnl_attr_parse(const struct nlmsghdr *nlh, unsigned int offset, mnl_attr_cb_t cb,
				 void *data)
{
	const char *at = (const char *)mnl_nlmsg_get_payload(nlh) + NLMSG_ALIGN(offset);
	const char *end = (const char *)nlh + nlh->nlmsg_len;
	int ret = MNL_CB_OK;

	while (ret > 0 && at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const struct nlattr *)at;

		if (attr->nla_len < NLA_HDRLEN || at + attr->nla_len > end)
			break;
		ret = cb(attr, data);
		at += NLA_ALIGN(attr->nla_len);
	}
	return ret;
}

#endif
