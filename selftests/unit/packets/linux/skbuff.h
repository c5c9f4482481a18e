/* SPDX-License-Identifier: GPL-2.0 */
/* A packet for <aqm/flow_queues.h>: a link and a length. */
#ifndef SHIM_LINUX_SKBUFF_H
#define SHIM_LINUX_SKBUFF_H

struct sk_buff {
	struct sk_buff	*next;
	unsigned int	len;
};

static inline void skb_mark_not_on_list(struct sk_buff *skb)
{
	skb->next = NULL;
}

#endif
