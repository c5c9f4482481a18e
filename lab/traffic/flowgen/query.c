// SPDX-License-Identifier: GPL-2.0
/*
 * Questions and answers over UDP, like DNS: a client sends a question, and its server
 * answers with a number of bytes. The flow file has all times and sizes
 * (requests=GAP_NS:BYTES,...): question k leaves GAP_NS after question k - 1,
 * whether that one was answered or not. Nothing is sent again.
 *
 * The server is the flow's source, because answers cross the bottleneck. Questions go
 * the other way.
 *
 * Log: --requests, as for web traffic. The completion time is empty if a question or
 * its answer was lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include "../clock.h"
#include "flowgen.h"

#define QUESTION_BYTES	40	/* payload, about the size of a question of DNS */
#define ANSWER_MOST	1400	/* one packet */

struct question {
	uint32_t number;
	uint32_t bytes;
};

/*
 * @session: the questions as in the flow file
 * @requests, @nr: the whole session; @next: number of the next question
 * @due_ns: when it leaves, after the epoch
 * @asked_ns: when each question left; @took_ns: until its answer came, 0: not yet
 */
struct query {
	char *session;
	struct request *requests;
	unsigned int nr;
	unsigned int next;
	int64_t due_ns;
	int64_t *asked_ns;
	int64_t *took_ns;
};

static const struct flow_key query_keys[] = {
	FLOW_KEY("requests", KEY_LONG_TEXT, struct query, session, true,
		 "GAP_NS:BYTES,... for each question in order"),
};

static int query_socket(const struct flow *f, const char *netns,
			const struct address *from, const struct address *to)
{
	bool v6 = from->sa.ss_family == AF_INET6;
	int fd;

	enter(netns);
	fd = socket(from->sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(1, "socket");
	if (f->tos)
		set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			   v6 ? IPV6_TCLASS : IP_TOS, "IP_TOS", f->tos);
	if (bind(fd, (const struct sockaddr *)&from->sa, from->len) ||
	    connect(fd, (const struct sockaddr *)&to->sa, to->len))
		err(1, "flow %u: %s to %s", f->id, f->sink_host, f->source_host);
	return fd;
}

static void query_open(struct flow *f)
{
	struct query *q = f->state;
	unsigned int i;

	q->nr = requests_parse(f, q->session, &q->requests);
	for (i = 0; i < q->nr; i++)
		if (q->requests[i].bytes < sizeof(struct question) ||
		    q->requests[i].bytes > ANSWER_MOST)
			errx(2, "flow %u: an answer has %zu to %d bytes", f->id,
			     sizeof(struct question), ANSWER_MOST);
	q->asked_ns = calloc(q->nr, sizeof(*q->asked_ns));
	q->took_ns = calloc(q->nr, sizeof(*q->took_ns));
	if (!q->asked_ns || !q->took_ns)
		err(1, "memory for flow %u", f->id);
	flow_log(&requests_log);
	f->source_fd = query_socket(f, f->source_netns, &f->source_addr, &f->sink_addr);
	f->sink_fd = query_socket(f, f->sink_netns, &f->sink_addr, &f->source_addr);
	watch(f->source_fd, f, END_SOURCE, EPOLLIN);
	watch(f->sink_fd, f, END_SINK, EPOLLIN);
}

static void query_next(struct flow *f)
{
	int64_t end_ns = f->stop_ns ? f->stop_ns : run.duration_ns;
	struct query *q = f->state;

	if (q->next == q->nr)
		return;
	q->due_ns += q->requests[q->next].think_ns;
	if (q->due_ns < end_ns)
		flow_tick_at(f, q->due_ns);
}

static void query_start(struct flow *f)
{
	struct query *q = f->state;

	q->due_ns = f->start_ns;
	query_next(f);
}

static void query_tick(struct flow *f)
{
	struct query *q = f->state;
	char text[QUESTION_BYTES] = { 0 };
	struct question *question = (void *)text;

	question->number = q->next;
	question->bytes = q->requests[q->next].bytes;
	q->asked_ns[q->next++] = mono_ns() - run.epoch_ns;
	if (send(f->sink_fd, text, sizeof(text), 0) < 0)
		err(1, "flow %u: sending a question", f->id);
	query_next(f);
}

/* Answer what has come to the server, and note the answers that have come. */
static uint64_t query_received(struct flow *f)
{
	static char text[ANSWER_MOST];
	struct question *question = (void *)text;
	struct query *q = f->state;
	ssize_t got;

	while ((got = recv(f->source_fd, text, sizeof(text), 0)) > 0) {
		if (got != QUESTION_BYTES || question->number >= q->next)
			errx(1, "flow %u: received a question that it did not send", f->id);
		f->bytes_sent += question->bytes;
		if (send(f->source_fd, text, question->bytes, 0) < 0)
			err(1, "flow %u: sending an answer", f->id);
	}
	while ((got = recv(f->sink_fd, text, sizeof(text), 0)) > 0) {
		if (question->number >= q->next || q->took_ns[question->number])
			errx(1, "flow %u: received an answer twice, or to no question", f->id);
		q->took_ns[question->number] =
			mono_ns() - run.epoch_ns - q->asked_ns[question->number];
		f->bytes += got;
	}
	if (got < 0 && errno != EAGAIN)
		err(1, "flow %u: receiving", f->id);
	return f->bytes;
}

static void query_event(struct flow *f, uint32_t events)
{
	(void)events;
	query_received(f);
}

static void query_finish(struct flow *f)
{
	static const struct tcp_info none;
	struct query *q = f->state;
	unsigned int k;

	for (k = 0; k < q->next; k++) {
		fprintf(requests_log.file, "%.6f,%u,%u,%llu,",
			(double)q->asked_ns[k] / NSEC_PER_SEC, f->id, k,
			(unsigned long long)q->requests[k].bytes);
		if (q->took_ns[k])
			fprintf(requests_log.file, "%.6f",
				(double)q->took_ns[k] / NSEC_PER_SEC);
		fputc('\n', requests_log.file);
	}
	flow_end_row(f, &none);
	forget(&f->source_fd);
	forget(&f->sink_fd);
	free(q->requests);
	free(q->session);
	free(q->asked_ns);
	free(q->took_ns);
	free(q);
}

const struct flow_kind flow_kind_query = {
	.name = "query",
	.state_size = sizeof(struct query),
	.keys = query_keys,
	.nr_keys = ARRAY_SIZE(query_keys),
	.open = query_open,
	.start = query_start,
	.tick = query_tick,
	.finish = query_finish,
	.source_event = query_event,
	.sink_event = query_event,
	.received = query_received,
};
