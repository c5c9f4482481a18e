// SPDX-License-Identifier: GPL-2.0
/*
 * lab_oops: fails on request, so that the lab's tests can check that each kind of
 * kernel failure is detected. Never installed.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "oops, panic, warn, spin, leak, overflow, shift, locks, hang");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static int shift = 40;

static void null_store(void)
{
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	*nowhere = 1;
}

static void leak(void)
{
	int *lost;
	int i;

	/* Leak several, because a stale pointer on a stack or in a register hides one. */
	for (i = 0; i < 32; i++) {
		lost = kmalloc(3000 + i, GFP_KERNEL);
		if (lost)
			*lost = i;
	}
}

static void overflow(void)
{
	char *buffer = kmalloc(24, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(buffer);
	if (buffer)
		buffer[24] = 1;
	kfree(buffer);
}

static void both_orders(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void hang(void)
{
	mutex_lock(&first);
	mutex_lock(&first);
}

static void bad_shift(void)
{
	pr_info("lab_oops: %d\n", 1 << READ_ONCE(shift));
}

static void spin(void)
{
	preempt_disable();
	for (;;)
		barrier();
}

static int __init lab_oops_init(void)
{
	static const struct {
		const char *name;
		void (*go_wrong)(void);
	} faults[] = {
		{ "oops", null_store },
		{ "spin", spin },
		{ "leak", leak },
		{ "overflow", overflow },
		{ "shift", bad_shift },
		{ "locks", both_orders },
		{ "hang", hang },
	};
	int i;

	if (!strcmp(fault, "panic"))
		panic("lab_oops was asked to");
	if (!strcmp(fault, "warn"))
		WARN(1, "lab_oops was asked to\n");
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (!strcmp(fault, faults[i].name))
			faults[i].go_wrong();
	return 0;
}

static void __exit lab_oops_exit(void)
{
}

module_init(lab_oops_init);
module_exit(lab_oops_exit);
MODULE_DESCRIPTION("Fails on request");
MODULE_LICENSE("GPL");
