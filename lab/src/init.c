// SPDX-License-Identifier: GPL-2.0
/*
 * init: the first process of a lab guest.
 *
 * Executes the instructions that labkit wrote. Each word ends with NUL, so no
 * argument needs quoting. An empty verb ends the list:
 *
 *	mkdir DIR			with its parents; may exist
 *	sockets FAMILY COUNT		set aside memory for TCP sockets; FAMILY is 4 or 6
 *	even COUNT			make directories until their number is COUNT
 *	until MILLISECONDS		wait for this time since boot, by the guest's clock
 *	mount TYPE DIR OPTIONS		mount a new file system
 *	bind FROM TO			make FROM visible at TO, writable
 *	link TARGET PATH		make a symbolic link; may exist
 *	lock DIR			make DIR's mount read-only
 *	root DIR			make DIR the root
 *	detach DIR			unmount
 *	env NAME=VALUE			add to the command's environment, empty at first
 *	cwd DIR
 *	terminal DEVICE ROWS COLUMNS	give the command this terminal instead of files
 *	deadline SECONDS		guest time after which the command counts as stuck
 *	leaks				ask kmemleak after the command
 *	loopback			bring lo up
 *	entropy SEED			make the kernel's random numbers follow from a number
 *	send DIR			with `window`: pass the files of DIR to the host at the end
 *	window ADDRESS BYTES		physical memory that the host reads after the end: send()
 *	tsc				the command reads the kernel's clock with rdtsc, if the
 *					kernel can do that: see lab/kernels
 *	arg WORD			add a word to the command
 *	report DIR			directory for stdout, stderr and status
 *
 * The command's output goes through pipes into two files of the report
 * directory, so that the lab can follow it. With a terminal these files contain
 * only messages of init. As process 1, init turns the machine off at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/random.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KMEMLEAK "/sys/kernel/debug/kmemleak"
#define PIPE_BYTES 65536
#define MAX_WORDS 3
#define MAX_SENT 16	/* directories */
#define ENTROPY_WORDS 8	/* of 64 bits */
#define KILL_SECONDS 10	/* of guest time, until a killed process must have ended */
#define PR_TSC_VIRTUAL 3	/* an edit of lab/kernels; other kernels refuse it */
#define SOCKETS_PER_SLAB 8	/* at most; what a slab holds in any of our kernels */

struct orders {
	char **argv;
	char **env;
	size_t args;
	size_t envs;
	const char *cwd;
	const char *report;
	const char *terminal;		/* NULL: none */
	struct winsize size;
	unsigned int deadline;	/* seconds of guest time, 0: none */
	int leaks;
};

/* One stream of the command: the pipe that we read and the file that we write. */
struct stream {
	int from;
	int to;
};

/* Physical memory that the host can read, and what is in it. */
struct window {
	off_t address;
	size_t bytes;
	size_t used;
	char *at;
	const char *dirs[MAX_SENT];
	size_t nr_dirs;
};

static struct orders orders = { .cwd = "/" };
static struct window window;
static unsigned long dirs_made;

static void finish(void)
{
	sync();
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	exit(0);
}

/* The console is the log. The missing status file shows that we failed. */
static int console(void)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? STDERR_FILENO : fd;
}

#define die(...) do {						\
	dprintf(console(), "lab init: " __VA_ARGS__);		\
	finish();						\
} while (0)

static void make_dirs(const char *dir)
{
	char path[PATH_MAX];
	char *slash;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		die("path too long: %s", dir);
	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		dirs_made += !mkdir(path, 0755);
		*slash = '/';
	}
	if (!mkdir(path, 0755))
		dirs_made++;
	else if (errno != EEXIST)
		die("mkdir %s: %m", path);
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

/* One function per instruction. w holds its arguments. */

static void do_mkdir(char **w)
{
	make_dirs(w[0]);
}

/*
 * The fq qdisc sorts its flows by the addresses of their sockets, and forgets
 * idle flows that it meets on the way. So the addresses must not depend on how
 * much memory the paths of this run took. We make the sockets' slabs before the
 * first path is looked up. A slab stays while one of its sockets is open.
 */
static void do_sockets(char **w)
{
	int family = *w[0] == '6' ? AF_INET6 : AF_INET;
	unsigned long count = strtoul(w[1], NULL, 10), i;
	struct rlimit before, enough = { count + 64, count + 64 };
	int *fds = calloc(count, sizeof(*fds));

	if (!fds || getrlimit(RLIMIT_NOFILE, &before) ||
	    setrlimit(RLIMIT_NOFILE, &enough))
		die("room for %lu sockets: %m", count);
	for (i = 0; i < count; i++) {
		fds[i] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0)
			die("socket %lu of %lu: %m", i, count);
	}
	for (i = 0; i < count; i++)
		if (i % SOCKETS_PER_SLAB)
			close(fds[i]);
	free(fds);
	setrlimit(RLIMIT_NOFILE, &before);
}

/*
 * Each new inode of a tmpfs takes a random number. The number of directories
 * depends on the checkout's path, so we make directories until it is the same
 * in every guest.
 */
static void do_even(char **w)
{
	unsigned long count = strtoul(w[0], NULL, 10);
	char path[64];

	make_dirs("/run/even");
	while (dirs_made < count) {
		snprintf(path, sizeof(path), "/run/even/%lu", dirs_made);
		make_dirs(path);
	}
}

/* The steps before took a time that depends on paths. Now all guests have the same time. */
static void do_until(char **w)
{
	long ms = strtol(w[0], NULL, 10);
	struct timespec when = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static void do_mount(char **w)
{
	if (mount(w[0], w[1], w[0], 0, w[2]) && errno != EBUSY)
		die("mount %s on %s: %m", w[0], w[1]);
}

static void do_bind(char **w)
{
	if (mount(w[0], w[1], NULL, MS_BIND, NULL))
		die("bind %s to %s: %m", w[0], w[1]);
}

static void do_link(char **w)
{
	if (symlink(w[0], w[1]) && errno != EEXIST)
		die("link %s: %m", w[1]);
}

static void do_lock(char **w)
{
	if (mount(NULL, w[0], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		die("lock %s: %m", w[0]);
}

static void do_root(char **w)
{
	if (chdir(w[0]) || chroot("."))
		die("root %s: %m", w[0]);
}

static void do_detach(char **w)
{
	if (umount2(w[0], MNT_DETACH))
		die("detach %s: %m", w[0]);
}

static void do_loopback(char **w)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)w;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo: %m");
	close(fd);
}

static void do_tsc(char **w)
{
	(void)w;
	prctl(PR_SET_TSC, PR_TSC_VIRTUAL);
}

/* All later random numbers follow from the seed and from what the kernel did until now. */
static void do_entropy(char **w)
{
	struct {
		int entropy_count;
		int buf_size;
		uint64_t buf[ENTROPY_WORDS];
	} pool = { ENTROPY_WORDS * 64, sizeof(pool.buf), {} };
	uint64_t state = strtoull(w[0], NULL, 10);
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	size_t i;

	for (i = 0; i < ENTROPY_WORDS; i++) {
		uint64_t z = (state += 0x9e3779b97f4a7c15);	/* splitmix64 */

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		pool.buf[i] = z ^ (z >> 31);
	}
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool))
		die("entropy: %m");
	close(fd);
}

static void do_send(char **w)
{
	if (window.nr_dirs == MAX_SENT)
		die("more than %d directories to send", MAX_SENT);
	window.dirs[window.nr_dirs++] = w[0];
}

static void do_window(char **w)
{
	window.address = strtoull(w[0], NULL, 0);
	window.bytes = strtoull(w[1], NULL, 0);
}

static void do_env(char **w)
{
	orders.env = append(orders.env, &orders.envs, w[0]);
}

static void do_arg(char **w)
{
	orders.argv = append(orders.argv, &orders.args, w[0]);
}

static void do_cwd(char **w)
{
	orders.cwd = w[0];
}

static void do_report(char **w)
{
	orders.report = w[0];
}

static void do_terminal(char **w)
{
	orders.terminal = w[0];
	orders.size.ws_row = strtoul(w[1], NULL, 10);
	orders.size.ws_col = strtoul(w[2], NULL, 10);
}

static void do_deadline(char **w)
{
	orders.deadline = strtoul(w[0], NULL, 10);
}

static void do_leaks(char **w)
{
	(void)w;
	orders.leaks = 1;
}

static const struct {
	const char *name;
	size_t words;
	void (*act)(char **words);
} verbs[] = {
	{ "mkdir", 1, do_mkdir },
	{ "sockets", 2, do_sockets },
	{ "even", 1, do_even },
	{ "until", 1, do_until },
	{ "mount", 3, do_mount },
	{ "bind", 2, do_bind },
	{ "link", 2, do_link },
	{ "lock", 1, do_lock },
	{ "root", 1, do_root },
	{ "detach", 1, do_detach },
	{ "loopback", 0, do_loopback },
	{ "entropy", 1, do_entropy },
	{ "send", 1, do_send },
	{ "window", 2, do_window },
	{ "tsc", 0, do_tsc },
	{ "env", 1, do_env },
	{ "arg", 1, do_arg },
	{ "cwd", 1, do_cwd },
	{ "report", 1, do_report },
	{ "terminal", 3, do_terminal },
	{ "deadline", 1, do_deadline },
	{ "leaks", 0, do_leaks },
	{}
};

/* Return the next word of the instructions. */
static char *next_word(char **at, const char *end)
{
	char *here = *at;

	if (here >= end)
		die("the orders end in mid-sentence");
	*at = here + strlen(here) + 1;
	return here;
}

static void prepare(const char *path)
{
	size_t size;
	char *at = load(path, &size);
	const char *end = at + size;
	size_t i, n;

	while (at < end) {
		const char *name = next_word(&at, end);
		char *words[MAX_WORDS];

		if (!*name)
			break;
		for (i = 0; verbs[i].name; i++)
			if (!strcmp(name, verbs[i].name))
				break;
		if (!verbs[i].name)
			die("the orders say '%s'", name);
		for (n = 0; n < verbs[i].words; n++)
			words[n] = next_word(&at, end);
		verbs[i].act(words);
	}
	if (!orders.args || !orders.report)
		die("the orders name no command or no report");
}

static int report_file(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", orders.report, name);
	/* Written without caching, because the lab reads the host's file. */
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

/* Copy available data. Return 0 after the other end was closed. */
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
	int in;

	if (pid < 0)
		die("fork: %m");
	if (pid)
		return pid;
	setsid();
	sigprocmask(SIG_UNBLOCK, mask, NULL);
	if (orders.terminal) {
		/* A session gets Ctrl-C from the first terminal that it opens. */
		in = open(orders.terminal, O_RDWR);
		if (in < 0 || ioctl(in, TIOCSWINSZ, &orders.size)) {
			dprintf(err, "lab: %s: %s\n", orders.terminal, strerror(errno));
			_exit(126);
		}
		/* Earlier input would wait in the device until the next key. */
		close(report_file("terminal"));
		dup2(in, STDIN_FILENO);
		out = in;
		err = in;
	}
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (chdir(orders.cwd)) {
		dprintf(STDERR_FILENO, "lab: %s: %s\n", orders.cwd, strerror(errno));
		_exit(126);
	}
	environ = orders.env;
	execvp(orders.argv[0], orders.argv);
	dprintf(STDERR_FILENO, "lab: %s: %s\n", orders.argv[0], strerror(errno));
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
	if (orders.deadline)
		alarm(orders.deadline);

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

static volatile sig_atomic_t hangs;	/* a process could not be killed */

static void note_hang(int sig)
{
	(void)sig;
	hangs = 1;
}

/*
 * End every other process: they would keep sockets and qdiscs alive. A process
 * that waits in the kernel for a lock cannot be killed.
 */
static void kill_rest(void)
{
	struct sigaction action = { .sa_handler = note_hang };	/* interrupts waitpid() */
	sigset_t mask;

	if (getpid() != 1)
		return;
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	kill(-1, SIGKILL);
	alarm(KILL_SECONDS);
	while (waitpid(-1, NULL, 0) > 0)
		;
	alarm(0);
}

static void tell_kmemleak(const char *order)
{
	int fd = open(KMEMLEAK, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, order, strlen(order)) < 0)
		die("kmemleak %s: %m", order);
	close(fd);
}

/*
 * kmemleak names an object only when it was unreachable in two scans and is
 * older than five seconds. So we scan twice, six seconds apart.
 */
static long find_leaks(void)
{
	static char text[PIPE_BYTES];
	long total = 0;
	ssize_t got;
	int from, to;

	kill_rest();
	tell_kmemleak("scan");
	sleep(6);
	tell_kmemleak("scan");
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

static void put(const void *data, size_t bytes)
{
	if (bytes > window.bytes - window.used)
		die("the results need more than %zu bytes", window.bytes);
	memcpy(window.at + window.used, data, bytes);
	window.used += bytes;
}

static int put_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char length[32];
	size_t size;
	char *text;

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	text = load(path, &size);
	put(path, strlen(path) + 1);
	put(length, snprintf(length, sizeof(length), "%zu", size) + 1);
	put(text, size);
	free(text);
	return 0;
}

/*
 * Pass files to a host of which we see no directory. A device would answer after
 * a time that depends on the host. So we write them to memory that the kernel does
 * not use, and the host reads it when the machine is off:
 *
 *	64 bits		bytes that follow; written last, 0 before
 *	then per file	its path, a NUL, its size in decimal, a NUL, its content
 */
static void send_files(void)
{
	uint64_t total;
	size_t i;
	int fd;

	if (!window.bytes)
		return;
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		die("/dev/mem: %m");
	window.at = mmap(NULL, window.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 window.address);
	if (window.at == MAP_FAILED)
		die("window of %zu bytes at %#llx: %m", window.bytes,
		    (unsigned long long)window.address);
	window.used = sizeof(total);
	for (i = 0; i < window.nr_dirs; i++)
		if (nftw(window.dirs[i], put_file, 16, FTW_PHYS))
			die("%s: %m", window.dirs[i]);
	total = window.used - sizeof(total);
	memcpy(window.at, &total, sizeof(total));
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
	snprintf(path, sizeof(path), "%s/orders", job);
	prepare(path);

	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		die("/dev/null: %m");
	dup2(fd, STDIN_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	status = run_command();
	if (orders.leaks && !access(KMEMLEAK, F_OK))
		leaks = find_leaks();
	kill_rest();
	write_status(hangs ? -1 : status, leaks);
	send_files();
	finish();
}
