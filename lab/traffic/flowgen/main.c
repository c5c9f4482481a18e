// SPDX-License-Identifier: GPL-2.0
/*
 * flowgen - sources and sinks for many flows, in one process.
 *
 * One process handles both ends of every flow. Each socket is created inside
 * the namespace of its end.
 *
 * The flow file has one flow per line, KEY=VALUE separated by blanks; `flowgen
 * --help` lists the keys. Each kind of flow is a `struct flow_kind` in a separate
 * file, with its keys and logs.
 *
 * Logs (CSV with a header line; times in seconds since the epoch):
 *   --progress  time_s,flow,bytes          bytes received in order so far
 *   --ends      one row per flow when it stops or the run ends; see logs.c
 *   --tcp       the state of each TCP connection every interval; see logs.c
 * and the logs of the kinds.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "../clock.h"
#include "flowgen.h"

#define MAX_OPTIONS	32

struct flowgen run;
atomic_int interrupted;
char discarded[READ_CHUNK];

const struct flow_kind *const flow_kinds[] = {
	&flow_kind_bulk, &flow_kind_udp, &flow_kind_web,
	&flow_kind_query, &flow_kind_video,
};

const unsigned int nr_flow_kinds = ARRAY_SIZE(flow_kinds);

static void on_signal(int sig)
{
	interrupted = sig;
}

static void help_print(FILE *out)
{
	unsigned int i, j;

	fputs("usage: flowgen --flows FILE --progress FILE --ends FILE --duration-ms MS\n"
	      "               [--interval-ms MS] [--epoch-ns NS] [--quiet-ms MS]\n"
	      "               [--tcp FILE]", out);
	for (i = 0; i < nr_flow_kinds; i++)
		for (j = 0; j < flow_kinds[i]->nr_logs; j++)
			fprintf(out, " [--%s FILE]",
				flow_kinds[i]->logs[j].option);
	fputs("\n\n"
	      "Run the flows of FILE from the epoch (a time of CLOCK_MONOTONIC, default now)\n"
	      "for MS, and log each flow's bytes every interval (default 100 ms). Datagrams that\n"
	      "are missing are lost if no packet comes to a sink for --quiet-ms after the end.\n\n"
	      "The flow file has one flow per line, KEY=VALUE separated by blanks:\n", out);
	flow_keys_print(out);
}

/*
 * Options of the command line. Logs of the kinds store their own file names.
 * @flows, @progress, @ends, @tcp: file names; @tcp may be NULL
 */
struct command {
	const char *flows;
	const char *progress;
	const char *ends;
	const char *tcp;
};

static void command_parse(struct command *command, int argc, char **argv)
{
	enum { OPTION_LOG = 0x100 };
	struct option options[MAX_OPTIONS] = {
		{ "flows", required_argument, NULL, 'f' },
		{ "progress", required_argument, NULL, 'p' },
		{ "ends", required_argument, NULL, 'e' },
		{ "duration-ms", required_argument, NULL, 'd' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "epoch-ns", required_argument, NULL, 'z' },
		{ "quiet-ms", required_argument, NULL, 'q' },
		{ "tcp", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
	};
	struct flow_log *logs[MAX_OPTIONS];
	unsigned int i, j, nr = 0, nr_logs = 0;
	int option;

	while (options[nr].name)
		nr++;
	for (i = 0; i < nr_flow_kinds; i++) {
		for (j = 0; j < flow_kinds[i]->nr_logs; j++) {
			logs[nr_logs] = &flow_kinds[i]->logs[j];
			/* The last entry stays empty and marks the end. */
			if (nr + 1 == MAX_OPTIONS)
				errx(1, "MAX_OPTIONS is too small");
			options[nr++] = (struct option){
				logs[nr_logs]->option, required_argument, NULL,
				OPTION_LOG + nr_logs,
			};
			nr_logs++;
		}
	}
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			command->flows = optarg;
			break;
		case 'p':
			command->progress = optarg;
			break;
		case 'e':
			command->ends = optarg;
			break;
		case 'd':
			run.duration_ns = NSEC_PER_MSEC *
				parse_number("--duration-ms", optarg, 1,
					     100000000);
			break;
		case 'i':
			run.interval_ns = NSEC_PER_MSEC *
				parse_number("--interval-ms", optarg, 1,
					     100000000);
			break;
		case 'z':
			run.epoch_ns = parse_number("--epoch-ns", optarg, 1,
						    INT64_MAX);
			break;
		case 'q':
			run.quiet_ns = NSEC_PER_MSEC *
				parse_number("--quiet-ms", optarg, 1, 100000000);
			break;
		case 't':
			command->tcp = optarg;
			break;
		case 'h':
			help_print(stdout);
			exit(0);
		default:
			if (option < OPTION_LOG) {
				help_print(stderr);
				exit(2);
			}
			logs[option - OPTION_LOG]->path = optarg;
		}
	}
	if (!command->flows || !command->progress || !command->ends ||
	    !run.duration_ns) {
		help_print(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct command command = { 0 };
	struct rlimit files;
	unsigned int i;

	run.interval_ns = 100 * NSEC_PER_MSEC;
	command_parse(&command, argc, argv);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	flows_read(command.flows);
	/* Two sockets per flow. Only root may raise the hard limit. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		struct rlimit more = { .rlim_cur = 65536, .rlim_max = 65536 };

		files.rlim_cur = files.rlim_max;
		if (files.rlim_max >= more.rlim_max ||
		    setrlimit(RLIMIT_NOFILE, &more))
			setrlimit(RLIMIT_NOFILE, &files);
	}
	run.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	run.timer_fd = timerfd_create(CLOCK_MONOTONIC,
				      TFD_NONBLOCK | TFD_CLOEXEC);
	if (run.epoll_fd < 0 || run.timer_fd < 0)
		err(1, "epoll or timerfd");
	run.payload_fd = memfd_create("payload", MFD_CLOEXEC);
	if (run.payload_fd < 0 || ftruncate(run.payload_fd, WRITE_CHUNK))
		err(1, "memfd");
	watch(run.timer_fd, NULL, END_TIMER, EPOLLIN);
	logs_open(command.progress, command.ends, command.tcp);
	instants_make();
	for (i = 0; i < run.nr_flows; i++)
		run.flows[i].kind->open(&run.flows[i]);
	if (!run.epoch_ns)
		run.epoch_ns = mono_ns();
	run.realtime_ns = realtime_offset_ns();

	run_flows();
	flows_finish();
	logs_close();
	return interrupted ? 128 + interrupted : 0;
}
