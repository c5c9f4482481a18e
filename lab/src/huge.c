// SPDX-License-Identifier: GPL-2.0
/*
 * huge: put a lab kernel's memory into huge pages, if the host allows it.
 *
 * Linked into the user-mode kernel, whose memory is an unnamed file in a
 * tmpfs. By default a mounted tmpfs has no huge pages. So we answer this one
 * open() from a private tmpfs, which is mounted nowhere and disappears with its
 * last file. This needs root or a user namespace. Without them it is an anonymous
 * file, since no directory may allow execution, and without that the file stays
 * where the kernel wanted it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_own(const char *path, const char *format, unsigned int id)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char text[32];
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, snprintf(text, sizeof(text), format, id)) > 0;
	close(fd);
	return done;
}

/* Become root in a new user namespace. */
static bool enter_own(void)
{
	unsigned int uid = geteuid(), gid = getegid();

	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) &&
	       write_own("/proc/self/setgroups", "deny", 0) &&
	       write_own("/proc/self/uid_map", "0 %u 1", uid) &&
	       write_own("/proc/self/gid_map", "0 %u 1", gid);
}

/* Runs in a process that shares memory and descriptors with the kernel, in new namespaces. */
static int make_file(void *made)
{
	int tmpfs, mount;

	tmpfs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (tmpfs < 0 && enter_own())
		tmpfs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (tmpfs < 0)
		return 1;
	if (!fsconfig(tmpfs, FSCONFIG_SET_STRING, "huge", "always", 0) &&
	    !fsconfig(tmpfs, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		mount = fsmount(tmpfs, FSMOUNT_CLOEXEC, 0);
		*(int *)made = openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
		close(mount);
	}
	close(tmpfs);
	return 0;
}

int open64(const char *path, int flags, ...)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	int made = -1;
	va_list rest;
	mode_t mode;
	pid_t maker;

	va_start(rest, flags);
	mode = va_arg(rest, mode_t);
	va_end(rest);
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		maker = clone(make_file, stack + sizeof(stack),
			      CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &made);
		if (maker > 0)
			waitpid(maker, NULL, 0);
		if (made < 0)
			made = memfd_create("lab", MFD_CLOEXEC);
	}
	return made >= 0 ? made : openat64(AT_FDCWD, path, flags, mode);
}
