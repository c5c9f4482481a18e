// SPDX-License-Identifier: GPL-2.0
/*
 * The timetable: actions by time.
 */
#define _GNU_SOURCE
#include "../clock.h"
#include "flowgen.h"

/* A binary heap with the earliest action at its root. */
static bool instant_before(const struct instant *a, const struct instant *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	if (a->flow != b->flow)
		return a->flow < b->flow;
	return a->what < b->what;
}

static void instant_swap(unsigned int i, unsigned int j)
{
	struct instant t = run.instants[i];

	run.instants[i] = run.instants[j];
	run.instants[j] = t;
}

static void instant_add(struct flow *f, int64_t at_ns, enum instant_what what)
{
	unsigned int i = run.nr_instants++;

	run.instants[i] = (struct instant){
		.at_ns = at_ns, .flow = f, .what = what,
	};
	while (i && instant_before(&run.instants[i],
				   &run.instants[(i - 1) / 2])) {
		instant_swap(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

struct instant instant_take(void)
{
	struct instant first = run.instants[0];
	unsigned int i = 0, child;

	run.instants[0] = run.instants[--run.nr_instants];
	for (;;) {
		child = 2 * i + 1;
		if (child >= run.nr_instants)
			break;
		if (child + 1 < run.nr_instants &&
		    instant_before(&run.instants[child + 1],
				   &run.instants[child]))
			child++;
		if (!instant_before(&run.instants[child], &run.instants[i]))
			break;
		instant_swap(i, child);
		i = child;
	}
	return first;
}

/* Request the kind's tick(). A flow has at most one pending tick. */
void flow_tick_at(struct flow *f, int64_t at_ns)
{
	instant_add(f, at_ns, INSTANT_TICK);
}

void instants_make(void)
{
	unsigned int i;

	/* Each flow has at most a start, a stop and a tick pending. */
	run.instants = calloc(3 * run.nr_flows, sizeof(*run.instants));
	if (!run.instants)
		err(1, "memory for the timetable");
	for (i = 0; i < run.nr_flows; i++) {
		struct flow *f = &run.flows[i];

		instant_add(f, f->start_ns, INSTANT_START);
		if (f->stop_ns)
			instant_add(f, f->stop_ns, INSTANT_STOP);
	}
}
