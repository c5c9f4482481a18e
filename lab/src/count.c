// SPDX-License-Identifier: GPL-2.0
/*
 * count: QEMU says at its end how many instructions its guest executed.
 *
 * Preloaded into QEMU with -icount. It writes the file "instructions" into the working directory.
 * A QEMU that exports no icount_get_raw() writes none, and neither does one that was killed.
 */
#include <inttypes.h>
#include <stdio.h>

int64_t icount_get_raw(void) __attribute__((weak));

__attribute__((destructor)) static void count(void)
{
	FILE *file = icount_get_raw ? fopen("instructions", "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%" PRId64 "\n", icount_get_raw());
	fclose(file);
}
