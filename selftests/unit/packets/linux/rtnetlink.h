/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_RTNETLINK_H
#define SHIM_LINUX_RTNETLINK_H

#include <linux/skbuff.h>

/* The tests own their packets. */
#define rtnl_kfree_skbs(head, tail)	((void)(head), (void)(tail))

#endif
