// SPDX-License-Identifier: GPL-2.0
/*
 * leash: a preloaded process dies with whoever started it, however that ends.
 *
 * A lab that is killed outright cannot clean up; this way there is nothing
 * left to clean.
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
