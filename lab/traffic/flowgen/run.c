// SPDX-License-Identifier: GPL-2.0
/*
 * The run: one epoll instance for all flows and one timerfd for all times.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "../clock.h"
#include "flowgen.h"

#define LINGER_STEP_NS	(100 * NSEC_PER_MSEC)
#define LINGER_QUIET	10	/* steps without a datagram, after which none is left */
#define LINGER_MOST	1000	/* steps: 100 s drain the longest default queue at 1 Mb/s */
#define LINGER_END	36000	/* steps: one hour */

static void flow_stop(struct flow *f)
{
	if (f->phase != FLOW_DONE && f->kind->stop)
		f->kind->stop(f);
}

static void instant_run(const struct instant *in)
{
	struct flow *f = in->flow;

	switch (in->what) {
	case INSTANT_START:
		f->kind->start(f);
		f->phase = FLOW_RUNNING;
		break;
	case INSTANT_TICK:
		if (f->phase == FLOW_RUNNING)
			f->kind->tick(f);
		break;
	case INSTANT_STOP:
		flow_stop(f);
		break;
	}
}

int64_t realtime_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec - mono_ns();
}

static void progress_write(int64_t at_ns)
{
	unsigned int i;

	run.realtime_ns = realtime_offset_ns();

	for (i = 0; i < run.nr_flows; i++) {
		struct flow *f = &run.flows[i];

		if (f->phase == FLOW_RUNNING)
			f->kind->received(f);
		fprintf(run.progress, "%.3f,%u,%llu\n",
			(double)at_ns / NSEC_PER_SEC, f->id,
			(unsigned long long)f->bytes);
		if (run.tcp && f->phase == FLOW_RUNNING)
			flow_tcp_row(f, at_ns);
	}
}

static void timer_arm(int64_t at_ns)
{
	struct itimerspec when = {
		.it_value = ns_to_timespec(run.epoch_ns + at_ns),
	};

	if (timerfd_settime(run.timer_fd, TFD_TIMER_ABSTIME, &when, NULL))
		err(1, "timerfd_settime");
}

static void dispatch(const struct epoll_event *ev)
{
	struct flow *f = &run.flows[ev->data.u64 >> 2];
	enum flow_end end = ev->data.u64 & 3;
	uint64_t expirations;

	switch (end) {
	case END_LISTEN:
		f->kind->listen_event(f, ev->events);
		break;
	case END_SINK:
		f->kind->sink_event(f, ev->events);
		break;
	case END_SOURCE:
		f->kind->source_event(f, ev->events);
		break;
	case END_TIMER:
		if (read(run.timer_fd, &expirations, sizeof(expirations)) < 0 &&
		    errno != EAGAIN)
			err(1, "timerfd");
		break;
	}
}

/* Handle events until @at_ns, or until one requests a tick before that. */
static void serve_until(int64_t at_ns)
{
	struct epoll_event events[64];
	int i, ready;

	timer_arm(at_ns);
	do {
		bool timer = false;

		ready = epoll_wait(run.epoll_fd, events, ARRAY_SIZE(events), -1);
		if (ready < 0 && errno != EINTR)
			err(1, "epoll_wait");
		for (i = 0; i < ready; i++) {
			dispatch(&events[i]);
			timer |= (events[i].data.u64 & 3) == END_TIMER;
		}
		if (timer || (run.nr_instants && run.instants[0].at_ns < at_ns))
			break;
	} while (!interrupted);
}

void run_flows(void)
{
	int64_t next_sample = 0;
	int64_t now, next;

	for (;;) {
		now = mono_ns() - run.epoch_ns;
		while (run.nr_instants && run.instants[0].at_ns <= now) {
			struct instant in = instant_take();

			instant_run(&in);
		}
		/* A late sample gets the time at which it was really taken. */
		if (next_sample <= now) {
			progress_write(now);
			next_sample += (now - next_sample) / run.interval_ns *
				       run.interval_ns + run.interval_ns;
		}
		if (now >= run.duration_ns || interrupted)
			return;
		next = next_sample < run.duration_ns ? next_sample :
						       run.duration_ns;
		if (run.nr_instants && run.instants[0].at_ns < next)
			next = run.instants[0].at_ns;
		serve_until(next);
	}
}

/* Return how many packets have come to all sinks' namespaces, of any kind. */
static uint64_t packets_arrived(void)
{
	unsigned long long packets;
	uint64_t sum = 0;
	char line[512];
	unsigned int i;
	FILE *dev;

	for (i = 0; i < run.nr_flows; i++) {
		const char *netns = run.flows[i].sink_netns;

		/* Flows of a group follow each other. */
		if (i && !strcmp(netns, run.flows[i - 1].sink_netns))
			continue;
		enter(netns);
		dev = fopen("/proc/thread-self/net/dev", "r");
		if (!dev)
			err(1, "/proc/thread-self/net/dev");
		while (fgets(line, sizeof(line), dev))
			if (sscanf(line, " %*[^:]: %*u %llu", &packets) == 1)
				sum += packets;
		fclose(dev);
	}
	return sum;
}

/* Read what has come, and return the payload bytes received. */
static uint64_t bytes_received(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < run.nr_flows; i++)
		if (run.flows[i].phase == FLOW_RUNNING)
			sum += run.flows[i].kind->received(&run.flows[i]);
	return sum;
}

static bool datagrams_missing(void)
{
	unsigned int i;

	for (i = 0; i < run.nr_flows; i++)
		if (run.flows[i].phase == FLOW_RUNNING && run.flows[i].kind->missing &&
		    run.flows[i].kind->missing(&run.flows[i]))
			return true;
	return false;
}

/*
 * The sources are silent; wait until datagrams that are still queued somewhere
 * have arrived, or are known to be lost. Other packets may be before them in a
 * queue, so with --quiet-ms we wait until nothing comes any more.
 */
static void datagrams_arrive(void)
{
	uint64_t before, now = 0;
	int quiet = 0, steps = 0;
	int64_t quiet_ns = 0;

	/* Nothing is sent any more but answers, which no tick sends. */
	run.nr_instants = 0;

	while (quiet < LINGER_QUIET && steps++ < LINGER_MOST && !interrupted) {
		serve_until(mono_ns() - run.epoch_ns + LINGER_STEP_NS);
		before = now;
		now = bytes_received();
		quiet = now == before ? quiet + 1 : 0;
	}
	now = 0;
	while (quiet_ns < run.quiet_ns && datagrams_missing() && !interrupted) {
		if (steps++ > LINGER_END)
			errx(1, "packets still come %d s after the end, so lost datagrams are unknown",
			     LINGER_END / 10);
		serve_until(mono_ns() - run.epoch_ns + LINGER_STEP_NS);
		bytes_received();
		before = now;
		now = packets_arrived();
		quiet_ns = now == before ? quiet_ns + LINGER_STEP_NS : 0;
	}
}

void flows_finish(void)
{
	bool under_way = false;
	unsigned int i;

	for (i = 0; i < run.nr_flows; i++) {
		flow_stop(&run.flows[i]);
		under_way |= run.flows[i].phase == FLOW_RUNNING;
	}
	if (under_way)
		datagrams_arrive();
	for (i = 0; i < run.nr_flows; i++)
		if (run.flows[i].phase != FLOW_DONE && run.flows[i].kind->finish)
			run.flows[i].kind->finish(&run.flows[i]);
}
