/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of sch_aqm have of each other. */
#ifndef _AQM_INTERNAL_H
#define _AQM_INTERNAL_H

#include <linux/workqueue.h>
#include <net/netlink.h>
#include <net/sch_generic.h>
#include <aqm/options.h>

struct link_rate;

/* options.c */
void aqm_options_again(const struct aqm_options *set, struct aqm_given *given);
int aqm_options_read(const struct aqm_options *set, struct aqm_given *given,
		     struct nlattr *opt, struct netlink_ext_ack *extack);
int aqm_options_dump(struct sk_buff *skb, const struct aqm_options *set,
		     const struct aqm_given *params, u64 kept, u64 assumed);

/* configure.c */
bool aqm_is_measured(const struct link_rate *lr);
struct aqm_given *aqm_copy(struct Qdisc *sch);
int aqm_apply_at(struct Qdisc *sch, struct aqm_given *given, u64 rate, bool measured);

/* link_rate.c */
bool aqm_rtnl_trylock(struct delayed_work *work);
void link_rate_init(struct Qdisc *sch);
u32 aqm_source(struct Qdisc *sch);

/* old_parents.c */
bool old_parents_settle(const struct Qdisc *sch);
void old_parents_init(struct Qdisc *sch, struct netlink_ext_ack *extack);

#endif /* _AQM_INTERNAL_H */
