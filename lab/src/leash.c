// SPDX-License-Identifier: GPL-2.0
/*
 * leash: a process dies with its parent.
 *
 * Linked into the user-mode kernel, and preloaded into QEMU.
 * A killed lab cannot clean up, so its guests must end without its help.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((constructor)) static void leash(void)
{
	const char *starter = getenv("LAB_STARTER");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The starter may have died before that took effect; its children's starter is another. */
	if (starter && getppid() != (pid_t)strtol(starter, NULL, 10))
		_exit(1);
	unsetenv("LAB_STARTER");
}
