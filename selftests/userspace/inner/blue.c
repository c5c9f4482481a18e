// SPDX-License-Identifier: GPL-2.0
#include <sch_blue.c>
#include "plain_fifo.h"

void userspace_inner(struct Qdisc *sch, bool deep)
{
	inner_plain_fifo(sch);
}
