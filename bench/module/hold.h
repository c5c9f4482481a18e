/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time how long the tree lock is held. ../holds.py includes this before a file of the
 * frame, in a copy of it. /sys/module/sch_aqm/parameters/holds then has the cycles of
 * the last holds, oldest first. Write to it to forget them.
 */
#include <linux/module.h>
#include <net/sch_generic.h>

#define HOLDS	64U

static u64 hold_since;
static u64 hold_cycles[HOLDS];
static u32 hold_count;

static u64 hold_now(void)
{
	return __builtin_ia32_rdtsc();
}

static int holds_get(char *buffer, const struct kernel_param *param)
{
	int len = 0;

	for (u32 i = 0; i < min(hold_count, HOLDS); i++)
		len += sysfs_emit_at(buffer, len, "%llu ", hold_cycles[i]);
	return len + sysfs_emit_at(buffer, len, "\n");
}

static int holds_set(const char *text, const struct kernel_param *param)
{
	hold_count = 0;
	return 0;
}

static const struct kernel_param_ops holds_ops = { .set = holds_set, .get = holds_get };

module_param_cb(holds, &holds_ops, NULL, 0600);

#define sch_tree_lock(sch) do {						\
	(sch_tree_lock)(sch);						\
	hold_since = hold_now();					\
} while (0)

#define sch_tree_unlock(sch) do {					\
	if (hold_count < HOLDS)						\
		hold_cycles[hold_count++] = hold_now() - hold_since;	\
	(sch_tree_unlock)(sch);						\
} while (0)
