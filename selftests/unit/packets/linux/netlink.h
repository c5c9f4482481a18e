/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_NETLINK_H
#define SHIM_LINUX_NETLINK_H

struct netlink_ext_ack;

#define NL_SET_ERR_MSG_MOD(extack, message)	((void)(extack), (void)(message))

#endif
