// SPDX-License-Identifier: GPL-2.0
/*
 * init: the first process of a lab guest.
 *
 * Carries out the plan that labkit wrote, one NUL-terminated word after the
 * other, so that no byte of an argument is ever quoted or parsed:
 *
 *	mkdir DIR			also the parents; existing ones are fine
 *	mount TYPE DIR OPTIONS		a fresh file system
 *	bind FROM TO			FROM becomes visible at TO, writable
 *	link TARGET PATH		a symbolic link; an existing one is fine
 *	lock DIR			DIR's mount becomes read-only
 *	detach DIR			unmount
 *	env NAME=VALUE			the command's environment, nothing else is in it
 *	cwd DIR
 *	deadline SECONDS		by the guest's clock; then the command is stuck
 *	leaks				ask kmemleak once the command is over
 *	loopback			bring lo up
 *	arg WORD			the command, word by word
 *	report DIR			where stdout, stderr and status go
 *
 * The command's output goes through pipes into two files of the report
 * directory, written through, so that whoever started the guest can follow it.
 * As process 1 it turns the machine off at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KMEMLEAK "/sys/kernel/debug/kmemleak"
#define PIPE_BYTES 65536

struct plan {
	char **argv;
	char **env;
	size_t args;
	size_t envs;
	const char *cwd;
	const char *report;
	unsigned int deadline;	/* seconds of guest time, 0: none */
	int leaks;
};

/* One stream of the command: pipe end read here, file that receives it. */
struct stream {
	int from;
	int to;
};

static struct plan plan = { .cwd = "/" };

static void finish(void)
{
	sync();
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	exit(0);
}

/* The console is the log; the missing status file tells the rest. */
__attribute__((format(printf, 1, 2))) static void die(const char *format, ...)
{
	char text[1024];
	va_list ap;
	int fd;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	dprintf(fd < 0 ? STDERR_FILENO : fd, "lab init: %s\n", text);
	finish();
}

static void make_dirs(const char *dir)
{
	char path[PATH_MAX];
	char *slash;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		die("path too long: %s", dir);
	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		die("mkdir %s: %m", path);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo: %m");
	close(fd);
}

static char **append(char **list, size_t *count, char *word)
{
	list = realloc(list, (*count + 2) * sizeof(*list));
	if (!list)
		die("out of memory");
	list[(*count)++] = word;
	list[*count] = NULL;
	return list;
}

static char *load(const char *path, size_t *size)
{
	struct stat st;
	char *text;
	size_t got;
	FILE *file;

	file = fopen(path, "re");
	if (!file || fstat(fileno(file), &st))
		die("%s: %m", path);
	text = malloc(st.st_size + 1);
	if (!text)
		die("out of memory");
	got = fread(text, 1, st.st_size, file);
	if (got != (size_t)st.st_size)
		die("%s: short read", path);
	fclose(file);
	text[got] = '\0';
	*size = got;
	return text;
}

/* The next word of the plan. */
static char *word(char **at, const char *end)
{
	char *here = *at;

	if (here >= end)
		die("the plan ends in mid-sentence");
	*at = here + strlen(here) + 1;
	return here;
}

static void prepare(const char *path)
{
	size_t size;
	char *at = load(path, &size);
	const char *end = at + size;

	while (at < end) {
		const char *verb = word(&at, end);

		if (!strcmp(verb, "leaks")) {
			plan.leaks = 1;
		} else if (!strcmp(verb, "loopback")) {
			loopback_up();
		} else if (!strcmp(verb, "mount")) {
			const char *type = word(&at, end);
			const char *dir = word(&at, end);
			const char *options = word(&at, end);

			if (mount(type, dir, type, 0, options) && errno != EBUSY)
				die("mount %s on %s: %m", type, dir);
		} else if (!strcmp(verb, "link")) {
			const char *target = word(&at, end);
			const char *where = word(&at, end);

			if (symlink(target, where) && errno != EEXIST)
				die("link %s: %m", where);
		} else if (!strcmp(verb, "bind")) {
			const char *from = word(&at, end);
			const char *to = word(&at, end);

			if (mount(from, to, NULL, MS_BIND, NULL))
				die("bind %s to %s: %m", from, to);
		} else {
			char *what = word(&at, end);

			if (!strcmp(verb, "mkdir"))
				make_dirs(what);
			else if (!strcmp(verb, "lock")) {
				if (mount(NULL, what, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
					die("lock %s: %m", what);
			} else if (!strcmp(verb, "detach")) {
				if (umount2(what, MNT_DETACH))
					die("detach %s: %m", what);
			} else if (!strcmp(verb, "env"))
				plan.env = append(plan.env, &plan.envs, what);
			else if (!strcmp(verb, "arg"))
				plan.argv = append(plan.argv, &plan.args, what);
			else if (!strcmp(verb, "cwd"))
				plan.cwd = what;
			else if (!strcmp(verb, "report"))
				plan.report = what;
			else if (!strcmp(verb, "deadline"))
				plan.deadline = strtoul(what, NULL, 10);
			else
				die("the plan says '%s'", verb);
		}
	}
	if (!plan.args || !plan.report)
		die("the plan has no command or no report");
}

static int report_file(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", plan.report, name);
	/* Written through: the reader on the other side sees the host's file. */
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_DSYNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die("%s: %m", path);
	return fd;
}

static void start_stream(struct stream *stream, const char *name, int *child_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe: %m");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	stream->from = ends[0];
	stream->to = report_file(name);
	*child_end = ends[1];
}

/* Move what is there; returns 0 once the other end is closed. */
static int pump(struct stream *stream)
{
	static char buffer[PIPE_BYTES];
	ssize_t got;

	while ((got = read(stream->from, buffer, sizeof(buffer))) > 0) {
		ssize_t done = 0;

		while (done < got) {
			ssize_t n = write(stream->to, buffer + done, got - done);

			if (n < 0)
				die("output: %m");
			done += n;
		}
	}
	return got < 0;
}

static pid_t start_command(int out, int err, const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %m");
	if (pid)
		return pid;
	setsid();
	sigprocmask(SIG_UNBLOCK, mask, NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (chdir(plan.cwd)) {
		dprintf(STDERR_FILENO, "lab: %s: %s\n", plan.cwd, strerror(errno));
		_exit(126);
	}
	environ = plan.env;
	execvp(plan.argv[0], plan.argv);
	dprintf(STDERR_FILENO, "lab: %s: %s\n", plan.argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Run the command to its end, passing on what it says.
 *
 * Return: its wait status, or -1 when its time ran out.
 */
static int run_command(void)
{
	struct stream streams[2];
	struct pollfd fds[3];
	int ends[2];
	sigset_t mask;
	int status;
	pid_t pid;
	int i;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	start_stream(&streams[0], "stdout", &ends[0]);
	start_stream(&streams[1], "stderr", &ends[1]);
	pid = start_command(ends[0], ends[1], &mask);
	close(ends[0]);
	close(ends[1]);
	for (i = 0; i < 2; i++)
		fds[i] = (struct pollfd){ .fd = streams[i].from, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = signalfd(-1, &mask, SFD_CLOEXEC), .events = POLLIN };
	if (plan.deadline)
		alarm(plan.deadline);

	for (;;) {
		struct signalfd_siginfo info;
		int one, over = 0;
		pid_t gone;

		poll(fds, 3, -1);
		for (i = 0; i < 2; i++)
			if (fds[i].revents && !pump(&streams[i]))
				fds[i].fd = -1;
		if (!fds[2].revents)
			continue;
		if (read(fds[2].fd, &info, sizeof(info)) != sizeof(info))
			die("signalfd: %m");
		if (info.ssi_signo == SIGALRM)
			return -1;
		while ((gone = waitpid(-1, &one, WNOHANG)) > 0) {
			if (gone == pid) {
				status = one;
				over = 1;
			}
		}
		if (!over)
			continue;
		/* Whatever still holds the pipes runs on unheard. */
		for (i = 0; i < 2; i++)
			if (fds[i].fd >= 0)
				pump(&streams[i]);
		return status;
	}
}

/* Ends every other process: they would keep sockets and qdiscs alive. */
static void kill_rest(void)
{
	if (getpid() != 1)
		return;
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void kmemleak(const char *order)
{
	int fd = open(KMEMLEAK, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, order, strlen(order)) < 0)
		die("kmemleak %s: %m", order);
	close(fd);
}

/*
 * kmemleak names an object only when it was unreachable in two scans and is
 * older than five seconds; hence two scans, six seconds apart.
 */
static long find_leaks(void)
{
	static char text[PIPE_BYTES];
	long total = 0;
	ssize_t got;
	int from, to;

	kill_rest();
	kmemleak("scan");
	sleep(6);
	kmemleak("scan");
	from = open(KMEMLEAK, O_RDONLY | O_CLOEXEC);
	to = report_file("leaks");
	while ((got = read(from, text, sizeof(text))) > 0) {
		total += got;
		if (write(to, text, got) != got)
			die("leaks: %m");
	}
	close(from);
	close(to);
	return total;
}

static void write_status(int status, long leaks)
{
	char text[512], taint[32] = "0";
	struct timespec now;
	int fd, len;
	FILE *file;

	file = fopen("/proc/sys/kernel/tainted", "re");
	if (file) {
		if (fscanf(file, "%31s", taint) != 1)
			die("taint: %m");
		fclose(file);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(text, sizeof(text), "end %s %d\ntaint %s\nleaks %ld\nclock %lld.%09ld\n",
		       status < 0 ? "stuck" : WIFEXITED(status) ? "exit" : "signal",
		       status < 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
		       taint, leaks, (long long)now.tv_sec, now.tv_nsec);
	sync();
	fd = report_file("status");
	if (write(fd, text, len) != len)
		die("status: %m");
	close(fd);
}

int main(int argc, char **argv)
{
	const char *job = getenv("labjob");
	char path[PATH_MAX];
	long leaks = 0;
	int status, fd;

	if (argc > 1 && !job)
		job = argv[1];
	if (!job)
		die("no labjob");
	snprintf(path, sizeof(path), "%s/plan", job);
	prepare(path);

	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		die("/dev/null: %m");
	dup2(fd, STDIN_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	status = run_command();
	if (plan.leaks && !access(KMEMLEAK, F_OK))
		leaks = find_leaks();
	kill_rest();
	write_status(status, leaks);
	finish();
}
