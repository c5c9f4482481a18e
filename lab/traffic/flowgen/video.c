// SPDX-License-Identifier: GPL-2.0
/*
 * Video whose rate follows the player's buffer: BBA-0 of Huang et al., "A buffer-based approach
 * to rate adaptation", SIGCOMM 2014. The player asks for a segment, on one connection, and for
 * the next one as soon as it has come. If the buffer has no room for a segment, it waits until
 * there is room. It plays from the first segment on, and stalls while its buffer is empty.
 *
 * The rate depends on the buffer when a segment is asked for. Up to the reservoir it is the
 * lowest. From the cushion's end on it is the highest. Between them it is a line, f. The rate
 * changes only if f has passed the next higher or lower rate of the ladder. With a buffer of
 * 240 s the paper has a reservoir of 90 s and a cushion that ends at 216 s: 3/8 and 9/10 of the
 * buffer. The cushion ends earlier here if a buffer that full would have no room for a segment.
 *
 * Log: --requests, as for web traffic. Bytes and the segment's length give the rate.
 */
#define _GNU_SOURCE
#include "../clock.h"
#include "web.h"

#define RUNGS		32	/* most rates of a ladder */

/*
 * @web: requests, with the segments so far
 * @ladder: RATE,... in bit/s, rising; @rates, @nr_rates: the same as numbers
 * @segment_ns, @buffer_ns: length of a segment, and most that the buffer holds
 * @held_ns: video in the buffer at @at_ns, after the epoch
 * @rung: of the last segment that was asked for
 */
struct video {
	struct web web;
	char *ladder;
	uint64_t rates[RUNGS];
	unsigned int nr_rates;
	int64_t segment_ns;
	int64_t buffer_ns;
	int64_t held_ns;
	int64_t at_ns;
	unsigned int rung;
};

static const struct flow_key video_keys[] = {
	FLOW_KEY("ladder", KEY_LONG_TEXT, struct video, ladder, true,
		 "RATE,... in bit/s, from the lowest to the highest"),
	FLOW_KEY("segment_ns", KEY_NS, struct video, segment_ns, true, "length of a segment, ns"),
	FLOW_KEY("buffer_ns", KEY_NS, struct video, buffer_ns, true,
		 "most that the player's buffer holds, ns"),
};

static void video_parse(const struct flow *f, struct video *v)
{
	const char *at = v->ladder;
	uint64_t before = 0;
	char *end;

	do {
		if (v->nr_rates == RUNGS)
			errx(2, "flow %u: ladder: more than %d rates", f->id, RUNGS);
		v->rates[v->nr_rates] = strtoull(at, &end, 10);
		if (end == at || (*end && *end != ',') || v->rates[v->nr_rates] <= before)
			errx(2, "flow %u: ladder: number %u is no rate above the one before",
			     f->id, v->nr_rates + 1);
		before = v->rates[v->nr_rates++];
		at = end + 1;
	} while (*end);
	if (!v->segment_ns || v->buffer_ns < 2 * v->segment_ns)
		errx(2, "flow %u: buffer_ns: needs two segments or more", f->id);
}

/* The rung for a buffer that holds @held_ns. */
static unsigned int video_rung(const struct video *v, int64_t held_ns)
{
	int64_t reservoir = v->buffer_ns / 8 * 3, full = v->buffer_ns / 10 * 9;
	unsigned int top = v->nr_rates - 1, up, down, i;
	double rate;

	if (full > v->buffer_ns - v->segment_ns)
		full = v->buffer_ns - v->segment_ns;
	if (held_ns <= reservoir)
		return 0;
	if (held_ns >= full)
		return top;
	rate = v->rates[0] + (double)(v->rates[top] - v->rates[0]) * (held_ns - reservoir) /
			     (full - reservoir);
	up = v->rung < top ? v->rung + 1 : top;
	down = v->rung ? v->rung - 1 : 0;
	if (rate >= v->rates[up]) {
		for (i = top; v->rates[i] >= rate && i; i--)
			;
		return i;
	}
	if (rate <= v->rates[down]) {
		for (i = 0; v->rates[i] <= rate && i < top; i++)
			;
		return i;
	}
	return v->rung;
}

/* Add the next request. */
static void video_choose(struct flow *f)
{
	struct video *v = f->state;
	struct web *w = &v->web;
	int64_t wait_ns = v->held_ns + v->segment_ns - v->buffer_ns;

	if (wait_ns < 0)
		wait_ns = 0;
	if (w->next == w->nr) {
		w->nr = w->nr ? 2 * w->nr : 64;
		w->requests = reallocarray(w->requests, w->nr, sizeof(*w->requests));
		if (!w->requests)
			err(1, "memory for flow %u", f->id);
	}
	v->rung = video_rung(v, v->held_ns - wait_ns);
	w->requests[w->next].think_ns = wait_ns;
	w->requests[w->next].bytes = (double)v->rates[v->rung] * v->segment_ns / NSEC_PER_SEC / 8;
	if (!w->requests[w->next].bytes)
		w->requests[w->next].bytes = 1;
}

/* A segment has come, or its request failed. */
static void video_done(struct flow *f, bool complete, int64_t now_ns)
{
	struct video *v = f->state;

	v->held_ns -= now_ns - v->at_ns;
	if (v->held_ns < 0)
		v->held_ns = 0;
	if (complete)
		v->held_ns += v->segment_ns;
	v->at_ns = now_ns;
	video_choose(f);
}

static void video_open(struct flow *f)
{
	struct video *v = f->state;

	video_parse(f, v);
	free(v->ladder);
	v->web.keep = 1;
	v->web.done = video_done;
	video_choose(f);
	web_listen(f);
}

const struct flow_kind flow_kind_video = {
	.name = "video",
	.state_size = sizeof(struct video),
	.keys = video_keys,
	.nr_keys = ARRAY_SIZE(video_keys),
	.open = video_open,
	.start = web_think,
	.tick = web_tick,
	.stop = web_stop,
	.listen_event = web_listen_event,
	.source_event = web_source_event,
	.sink_event = web_sink_event,
	.received = web_received,
};
