// SPDX-License-Identifier: GPL-2.0
/*
 * conduct - start the programs of a run, each at a fixed time, and wait for them.
 *
 * In virtual time, every program that starts takes random numbers from the kernel,
 * and every fork and exit mixes the time into them. So the list of programs is
 * complete before the first one starts, and nothing else runs in the guest. Before
 * each program, the kernel seeds its random number generator again, from a pool
 * that no reader changes.
 *
 *	conduct [--first NS --turn NS] LIST REPORT
 *
 * The file LIST has the commands, in NUL-terminated words:
 *
 *	run|start[@NS]|exec[@NS]|last NAME INPUT OUT WORD... ""
 *
 * `run` waits for the program and reports its output only if it fails. `start`
 * continues at once and writes the output to the file OUT. INPUT is the
 * program's standard input. A WORD "@EPOCH" is replaced by the start of the run's
 * time, one turn after the start of the last program. With @NS a program starts at
 * this time after the epoch and has no turn; such commands follow those with a turn.
 *
 * `exec` is for a program that does not know when the run ends. It writes to
 * OUT.stdout and OUT.stderr, and is ended with its children when no other
 * program runs. In the lab's own kernel, it and its children read the kernel's clock
 * with rdtsc.
 *
 * `last` commands come at the end of the list. They run one after the other when
 * all other programs have ended with success, and write to OUT.
 *
 * With --first and --turn (times of CLOCK_MONOTONIC), the first program starts at
 * --first and each further one --turn later. Without them programs start at
 * once, and the epoch is 200 ms later.
 *
 * The file REPORT has the outcome. For each `exec` that ended with success before
 * it was stopped: "ended", the number of its command (from 0), and the time after the
 * epoch. After a failure: the number of the command, its status, and its output on
 * the following lines; -1 and the signal after an interruption. Then conduct stops the other
 * programs. It exits with 0 whenever the report is complete.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/random.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "clock.h"

#define LIST_BYTES	(16 * 1024 * 1024)
#define MAX_COMMANDS	4096
#define MAX_WORDS	256
#define SETTLE_NS	(200 * NSEC_PER_MSEC)
#define POLL_NS		(10 * NSEC_PER_MSEC)
#define POLLS		100		/* until a program that ignores SIGTERM is killed */
#define EPOCH		"@EPOCH"
#define PR_TSC_VIRTUAL	3		/* an edit of lab/kernels; other kernels refuse it */

struct command {
	bool wait;
	bool last;
	bool exec;
	int64_t at_ns;		/* after the epoch; -1: at its turn */
	char *name;
	char *input;
	char *out;
	char *words[MAX_WORDS + 1];
	int output_fd;
	pid_t pid;
};

static struct command commands[MAX_COMMANDS];
static unsigned int nr_commands;
static atomic_int interrupted;
static unsigned int nr_turns;
static int64_t first_ns, turn_ns, epoch_ns;
static char epoch[32];
static int report_fd;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* Read "run", "last", "start", "exec", "start@NS" or "exec@NS". */
static void read_verb(struct command *c, const char *verb)
{
	const char *known = strncmp(verb, "exec", 4) ? "start" : "exec";
	size_t length = strlen(known);

	c->last = !strcmp(verb, "last");
	c->wait = c->last || !strcmp(verb, "run");
	c->exec = length == 4;
	c->at_ns = -1;
	if (c->last)
		return;
	if (c > commands && c[-1].last)
		errx(2, "'%s' comes after 'last'", verb);
	if (!strncmp(verb, known, length) && verb[length] == '@') {
		c->at_ns = parse_number("@", verb + length + 1, 0, INT64_MAX / 2);
		return;
	}
	if (!c->wait && strcmp(verb, known))
		errx(2, "'%s' given, needs 'run', 'start', 'exec' or 'last'", verb);
	if (nr_turns++ != (unsigned int)(c - commands))
		errx(2, "'%s' comes after a command without a turn", verb);
}

static char *next_word(char **at, const char *end)
{
	char *word = *at;

	if (word >= end)
		errx(2, "the list of commands ends within a command");
	*at += strlen(word) + 1;
	return word;
}

static void read_commands(const char *path)
{
	char *text = malloc(LIST_BYTES + 1), *at = text, *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got;

	if (!text || fd < 0)
		err(1, "%s", path);
	while ((got = read(fd, text + size, LIST_BYTES - size)) > 0 ||
	       (got < 0 && errno == EINTR))
		size += got > 0 ? got : 0;
	if (got < 0)
		err(1, "%s", path);
	close(fd);
	if (size == LIST_BYTES)
		errx(2, "the list of commands is longer than %d bytes", LIST_BYTES);
	end = text + size;
	*end = '\0';
	while (at < end) {
		struct command *c = &commands[nr_commands++];
		unsigned int n = 0;
		char *word;

		if (nr_commands > MAX_COMMANDS)
			errx(2, "more than %d commands", MAX_COMMANDS);
		read_verb(c, next_word(&at, end));
		c->name = next_word(&at, end);
		c->input = next_word(&at, end);
		c->out = next_word(&at, end);
		while (*(word = next_word(&at, end))) {
			if (n == MAX_WORDS)
				errx(2, "%s: more than %d words", c->name, MAX_WORDS);
			c->words[n++] = word;
		}
		if (!n)
			errx(2, "%s: no program", c->name);
	}
}

/* Return an unnamed file that contains @text, at its beginning. */
static int file_of(const char *text)
{
	size_t left = strlen(text);
	int fd = memfd_create("conduct", MFD_CLOEXEC);

	if (fd < 0)
		err(1, "memfd");
	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0)
			err(1, "memfd");
		text += n;
		left -= n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Wait for the time at which @c starts. In virtual time, seed the random numbers again. */
static void await_time(const struct command *c, int64_t at_ns)
{
	struct timespec when = ns_to_timespec(at_ns);
	int64_t late = mono_ns() - at_ns;
	static int random_fd = -1;

	if (turn_ns && late >= 0)
		errx(1, "%s comes %.6f s after its turn has begun", c->name,
		     (double)late / NSEC_PER_SEC);
	if (turn_ns && random_fd < 0)
		random_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) &&
	       !interrupted)
		;
	if (turn_ns && (random_fd < 0 || ioctl(random_fd, RNDRESEEDCRNG)))
		err(2, "/dev/urandom (needs root)");
}

static int output_open(const char *path, const char *suffix)
{
	char name[PATH_MAX];
	int fd;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	fd = open(*name ? name : "/dev/null",
		  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void epoch_set(int64_t at_ns)
{
	epoch_ns = at_ns;
	snprintf(epoch, sizeof(epoch), "%lld", (long long)at_ns);
}

static void begin(struct command *c)
{
	int in = file_of(c->input), out = STDOUT_FILENO, error = STDERR_FILENO;
	sigset_t ends, before;
	pid_t self = getpid();
	unsigned int i;

	if (c->last) {
		out = output_open(c->out, "");
		c->output_fd = file_of("");
		error = c->output_fd;
	} else if (c->wait) {
		c->output_fd = file_of("");
		out = c->output_fd;
		error = out;
	} else if (c->exec) {
		out = output_open(c->out, ".stdout");
		error = output_open(c->out, ".stderr");
	} else {
		out = output_open(c->out, "");
	}
	for (i = 0; c->words[i]; i++)
		if (!strcmp(c->words[i], EPOCH))
			c->words[i] = epoch;
	/* A child must not miss a signal that arrives before its exec. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	c->pid = fork();
	if (c->pid < 0)
		err(1, "fork");
	if (!c->pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (c->exec) {
			setpgid(0, 0);
			prctl(PR_SET_TSC, PR_TSC_VIRTUAL);
		}
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (getppid() != self)
			_exit(1);
		if (c->at_ns >= 0)
			await_time(c, epoch_ns + c->at_ns);
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(error, STDERR_FILENO);
		execvp(c->words[0], c->words);
		fprintf(stderr, "%s: %s\n", c->words[0], strerror(errno));
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(in);
	if (!c->wait || c->last)
		close(out);
	if (c->exec)
		close(error);
}

/* Report the failed command and its status. */
static void report_failure(const struct command *c, int status)
{
	char buffer[4096];
	ssize_t got;

	dprintf(report_fd, "%td %d\n", c - commands,
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (!c->wait)
		return;
	lseek(c->output_fd, 0, SEEK_SET);
	while ((got = read(c->output_fd, buffer, sizeof(buffer))) > 0)
		if (write(report_fd, buffer, got) != got)
			err(1, "report");
}

/* Send @sig to all programs that run. Return false if there is none. */
static bool signal_all(int sig)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr_commands; i++) {
		struct command *c = &commands[i];

		if (c->pid && waitpid(c->pid, NULL, WNOHANG) == c->pid)
			c->pid = 0;
		if (!c->pid)
			continue;
		count++;
		/* An exec may not be the leader of its group yet. */
		if (sig && (!c->exec || kill(-c->pid, sig)))
			kill(c->pid, sig);
	}
	return count;
}

static void end_all(void)
{
	struct timespec nap = { .tv_nsec = POLL_NS };
	int polls = POLLS;

	if (!signal_all(SIGTERM))
		return;
	while (signal_all(0) && polls--)
		nanosleep(&nap, NULL);
	while (signal_all(SIGKILL))
		nanosleep(&nap, NULL);
}

/* Wait until the program of @awaited has ended. Return false if a program failed. */
static bool await(struct command *awaited)
{
	while (awaited->pid && !interrupted) {
		int status;
		pid_t pid = waitpid(-1, &status, 0);
		unsigned int i;

		if (pid < 0 && errno == EINTR)
			continue;
		for (i = 0; i < nr_commands && commands[i].pid != pid; i++)
			;
		if (i == nr_commands)
			continue;
		commands[i].pid = 0;
		if (status) {
			report_failure(&commands[i], status);
			return false;
		}
		if (commands[i].exec)
			dprintf(report_fd, "ended %u %lld\n", i,
				(long long)(mono_ns() - epoch_ns));
		if (commands[i].wait)
			close(commands[i].output_fd);
	}
	return !interrupted;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	unsigned int i, lasts;
	bool good = true;

	argv++;
	argc--;
	if (argc > 4 && !strcmp(argv[0], "--first") && !strcmp(argv[2], "--turn")) {
		first_ns = parse_number("--first", argv[1], 1, INT64_MAX / 2);
		turn_ns = parse_number("--turn", argv[3], 1, INT64_MAX / 2 / MAX_COMMANDS);
		argv += 4;
		argc -= 4;
	}
	if (argc != 2 || argv[0][0] == '-')
		errx(2, "usage: conduct [--first NS --turn NS] LIST REPORT");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	read_commands(argv[0]);
	report_fd = output_open(argv[1], "");
	epoch_set(first_ns + nr_turns * turn_ns);
	for (i = 0; i < nr_commands && !commands[i].last && good && !interrupted; i++) {
		if (turn_ns && commands[i].at_ns < 0)
			await_time(&commands[i], first_ns + i * turn_ns);
		else if (!commands[i].wait && (!i || commands[i - 1].wait))
			epoch_set(mono_ns() + SETTLE_NS);
		begin(&commands[i]);
		if (commands[i].wait)
			good = await(&commands[i]);
	}
	lasts = i;
	for (i = 0; i < lasts && good && !interrupted; i++)
		if (commands[i].pid && !commands[i].exec)
			good = await(&commands[i]);
	end_all();
	for (i = lasts; i < nr_commands && good && !interrupted; i++) {
		begin(&commands[i]);
		good = await(&commands[i]);
	}
	if (interrupted)
		dprintf(report_fd, "-1 %d\n", interrupted);
	end_all();
	if (close(report_fd))
		err(1, "%s", argv[1]);
	return 0;
}
