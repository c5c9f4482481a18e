// SPDX-License-Identifier: GPL-2.0
/*
 * Read the flow file: one flow per line, KEY=VALUE separated by blanks.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>

#include "../clock.h"
#include "flowgen.h"

#define MAX_WORDS	64	/* of a line */

#define TEXT_KEY(_name, _field, _required, _help) \
	FLOW_KEY(_name, KEY_TEXT, struct flow, _field, _required, _help)
#define UINT_KEY(_name, _field, _required, _help) \
	FLOW_KEY(_name, KEY_UINT, struct flow, _field, _required, _help)
#define NS_KEY(_name, _field, _help) \
	FLOW_KEY(_name, KEY_NS, struct flow, _field, false, _help)

static const struct flow_key flow_keys[] = {
	UINT_KEY("id", id, true, "number of the flow, used in the logs"),
	TEXT_KEY("group", group, false, "name of the group it is counted in"),
	TEXT_KEY("source_netns", source_netns, false, "namespace of the source"),
	TEXT_KEY("sink_netns", sink_netns, false, "namespace of the sink"),
	TEXT_KEY("source", source_host, true, "address of the source"),
	TEXT_KEY("sink", sink_host, true, "address of the sink"),
	UINT_KEY("source_port", source_port, false, "0: any"),
	UINT_KEY("sink_port", sink_port, true, "port of the sink"),
	NS_KEY("start_ns", start_ns, "start, ns after the epoch"),
	NS_KEY("stop_ns", stop_ns, "stop, ns after the epoch (0: end of run)"),
	TEXT_KEY("cc", cc, false, "congestion control"),
	UINT_KEY("sndbuf", sndbuf, false, "SO_SNDBUF, bytes"),
	UINT_KEY("rcvbuf", rcvbuf, false, "SO_RCVBUF, bytes"),
	UINT_KEY("clamp", clamp, false, "TCP_WINDOW_CLAMP, bytes"),
	UINT_KEY("mss", mss, false, "TCP_MAXSEG of a bulk flow's source, bytes"),
	UINT_KEY("lowat", lowat, false, "SO_RCVLOWAT, bytes"),
	UINT_KEY("notsent", notsent, false, "TCP_NOTSENT_LOWAT, bytes"),
	UINT_KEY("nodelay", nodelay, false, "1: TCP_NODELAY"),
	UINT_KEY("tos", tos, false, "TOS or traffic class byte"),
};

const struct flow_kind *flow_kind_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_flow_kinds; i++)
		if (!strcmp(flow_kinds[i]->name, name))
			return flow_kinds[i];
	return NULL;
}

static void key_set(const struct flow_key *k, void *base, const char *where,
		    const char *value)
{
	char *at = (char *)base + k->offset;

	switch (k->type) {
	case KEY_UINT:
		*(unsigned int *)at = parse_number(k->name, value, 0,
						   UINT32_MAX);
		break;
	case KEY_NS:
		*(int64_t *)at = parse_number(k->name, value, 0, INT64_MAX);
		break;
	case KEY_TEXT:
		if (strlen(value) >= k->size)
			errx(2, "%s: %s is too long: %s", where, k->name,
			     value);
		strcpy(at, value);
		break;
	case KEY_LONG_TEXT:
		*(char **)at = strdup(value);
		if (!*(char **)at)
			err(1, "memory for %s", k->name);
		break;
	}
}

/* If @key is one of @keys, set it in @base and its bit in @seen, and return true. */
static bool key_find(const struct flow_key *keys, unsigned int nr, void *base,
		     const char *where, const char *key, const char *value,
		     uint64_t *seen)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (strcmp(keys[i].name, key))
			continue;
		key_set(&keys[i], base, where, value);
		*seen |= 1ULL << i;
		return true;
	}
	return false;
}

static void keys_required(const struct flow_key *keys, unsigned int nr,
			  const char *where, uint64_t seen)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (keys[i].required && !(seen & (1ULL << i)))
			errx(2, "%s: %s is missing", where, keys[i].name);
}

static void address_parse(struct address *a, const char *host,
			  unsigned int port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;

	if (port > 65535)
		errx(2, "port %u is above 65535", port);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		a->len = sizeof(*in);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		a->len = sizeof(*in6);
	} else {
		errx(2, "not an IPv4 or IPv6 address: %s", host);
	}
}

static void flow_parse(struct flow *f, const char *where, char *line)
{
	uint64_t seen = 0, seen_by_kind = 0;
	char *words[MAX_WORDS], *values[MAX_WORDS];
	const struct flow_kind *kind = flow_kinds[0];
	unsigned int i, nr = 0;
	char *save, *word;

	for (word = strtok_r(line, " \t\n", &save); word;
	     word = strtok_r(NULL, " \t\n", &save)) {
		if (nr == MAX_WORDS)
			errx(2, "%s: more than %d words", where, MAX_WORDS);
		words[nr] = word;
		values[nr] = strchr(word, '=');
		if (!values[nr])
			errx(2, "%s: \"%s\" is not KEY=VALUE", where, word);
		*values[nr]++ = '\0';
		/* The kind decides which other keys are allowed, so find it first. */
		if (!strcmp(word, "kind"))
			kind = flow_kind_find(values[nr]);
		if (!kind)
			errx(2, "%s: no such kind of flow: %s", where,
			     values[nr]);
		nr++;
	}
	*f = (struct flow){
		.kind = kind,
		.group = "all",
		.listen_fd = -1,
		.sink_fd = -1,
		.source_fd = -1,
	};
	f->state = calloc(1, kind->state_size ? kind->state_size : 1);
	if (!f->state)
		err(1, "memory for a flow");
	for (i = 0; i < nr; i++) {
		if (!strcmp(words[i], "kind") ||
		    key_find(flow_keys, ARRAY_SIZE(flow_keys), f, where,
			     words[i], values[i], &seen) ||
		    key_find(kind->keys, kind->nr_keys, f->state, where,
			     words[i], values[i], &seen_by_kind))
			continue;
		errx(2, "%s: unknown key \"%s\"; `flowgen --help` lists them",
		     where, words[i]);
	}
	keys_required(flow_keys, ARRAY_SIZE(flow_keys), where, seen);
	keys_required(kind->keys, kind->nr_keys, where, seen_by_kind);
	address_parse(&f->source_addr, f->source_host, f->source_port);
	address_parse(&f->sink_addr, f->sink_host, f->sink_port);
	if (f->source_addr.sa.ss_family != f->sink_addr.sa.ss_family)
		errx(2, "%s: source and sink have different address families", where);
}

void flows_read(const char *path)
{
	unsigned int line_nr = 0, room = 0;
	char *line = NULL, *text;
	size_t line_room = 0;
	char where[300];
	FILE *in;

	in = fopen(path, "r");
	if (!in)
		err(2, "%s", path);
	while (getline(&line, &line_room, in) >= 0) {
		line_nr++;
		text = line + strspn(line, " \t\n");
		if (!*text || *text == '#')
			continue;
		if (run.nr_flows == room) {
			room = room ? 2 * room : 128;
			run.flows = reallocarray(run.flows, room,
						 sizeof(*run.flows));
			if (!run.flows)
				err(1, "memory for flows");
		}
		snprintf(where, sizeof(where), "%s:%u", path, line_nr);
		flow_parse(&run.flows[run.nr_flows++], where, text);
	}
	free(line);
	fclose(in);
	if (!run.nr_flows)
		errx(2, "%s has no flows", path);
}

static void keys_print(FILE *out, const char *kind, const struct flow_key *keys,
		       unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		fprintf(out, "  %-12s %s%s%s%s\n", keys[i].name, kind,
			*kind ? ": " : "", keys[i].help,
			keys[i].required ? " (required)" : "");
}

/* Describe the keys of a line, for the help. */
void flow_keys_print(FILE *out)
{
	unsigned int i;

	fputs("  kind         ", out);
	for (i = 0; i < nr_flow_kinds; i++)
		fprintf(out, "%s%s%s", i ? ", " : "", flow_kinds[i]->name,
			i ? "" : " (the default)");
	fputc('\n', out);
	keys_print(out, "", flow_keys, ARRAY_SIZE(flow_keys));
	for (i = 0; i < nr_flow_kinds; i++)
		keys_print(out, flow_kinds[i]->name, flow_kinds[i]->keys,
			   flow_kinds[i]->nr_keys);
}
