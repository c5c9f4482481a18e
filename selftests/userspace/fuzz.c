// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on sequences of operations: bytes become the lines of a trace.
 *
 * The module's own table of options is used, so no kind is known here. With
 * TRACE=1 in the environment the trace is printed, for replay-qsdrr to read:
 * TRACE=1 build/userspace/fuzz-qsdrr crash-...
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <aqm/frame.h>

#include "world.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const u8 *at, *end;
static bool print_trace;

static u8 byte(void)
{
	return at < end ? *at++ : 0;
}

static u32 below(u32 n)
{
	return byte() % n;
}

static int run(struct world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int run(struct world *w, const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (print_trace)
		dprintf(1, "%s\n", line);
	rc = world_do(w, line);
	if (rc == WORLD_MALFORMED) {
		dprintf(world_stderr, "malformed: %s\n", line);
		abort();
	}
	return rc;
}

/*
 * Draw a value of an option. Most are in range. Half of them are up to four times
 * the default, because those agree with options that are not given; the others
 * are small or near an edge.
 */
static u64 value_of(const struct aqm_option *o)
{
	u8 how = byte();
	u64 off = (1ULL << (how & 63)) - 1, range = o->greatest - o->least;

	off = off / 2 + off * byte() / 512;
	/* Rare: libFuzzer prefers other bytes, such as 0 and 255. */
	if (how == 93 || how == 157)
		return off;
	if (how < 4 && o->value == TC_AQM_DERIVED)
		return 0;
	if (how & 128 && o->value > 1 && o->value != TC_AQM_DERIVED)
		return clamp(o->value * byte() / 64, o->least, o->greatest);
	if (off > range)
		off %= range + 1;
	return how & 64 ? o->greatest - off : o->least + off;
}

/* The discipline's options; read from its first instance. */
static const struct aqm_options *known_options;

/*
 * Write up to six options, as raw_options() reads them. Most lists are short,
 * because independent values seldom agree. The ranges come from the table that
 * the module compares with. Returns the number of options.
 */
static u32 write_options(char *text, size_t room)
{
	const struct aqm_options *set = known_options;
	u32 left = min(below(7), below(7)), n = 0;
	u32 used = snprintf(text, room, "raw ");
	const struct aqm_option *o;
	u64 value;
	u32 type;

	while (left--) {
		type = below(set->last + 1);
		o = &set->options[type];
		if (!o->size)
			continue;
		value = value_of(o);
		/* Bits can have a value only where the mask has them. */
		if (set->policy[type].type == NLA_BITFIELD32 && byte() < 250)
			value |= value << 32;
		used += snprintf(text + used, room - used, "%u:%llu:%u ", type,
				 (unsigned long long)value, o->size);
		n++;
	}
	/* The rest gets its defaults. */
	if (byte() == 91)
		snprintf(text + used, room - used, "%u:%llu:8 ", TC_AQM_GIVEN,
			 ~(u64)byte() << below(32));
	return n;
}

/* Lists with at least one option that the discipline accepted and refused. */
static u32 lists_accepted, lists_refused;

static void note_list(u32 options, int err)
{
	if (!options || err == ENOMEM)
		return;
	if (err)
		lists_refused++;
	else
		lists_accepted++;
}

static void say_how_many(void)
{
	dprintf(world_stderr, "options: %u lists accepted, %u refused\n",
		lists_accepted, lists_refused);
}

static void one_packet(struct world *w)
{
	static const u32 sizes[] = { 60, 1514, 300, 9014, 65549, 0, 14, 1514 };
	static const char *const acts[] = {
		"shot", "stolen", "queued", "trap", "consumed", "redirect",
	};
	u8 a = byte(), b = byte();
	u32 what = b >> 2, len = sizes[a >> 4 & 7];
	char more[128] = "";

	if (what >= 40 && what < 48)
		snprintf(more, sizeof(more), " prio=0x%x", 0x10000 + what - 39);
	else if (what >= 48 && what < 54)
		snprintf(more, sizeof(more), " act=%s", acts[what - 48]);
	else if (what == 37)
		snprintf(more, sizeof(more), " class=0x%x", 0x10000 + byte());
	else if (what < 58 && what >= 54)
		snprintf(more, sizeof(more), " gso=%u%s", 1 + byte() * 8,
			 what == 57 ? " segs=0" : what == 56 ? " list=1" : "");
	else if (what == 58)
		snprintf(more, sizeof(more), " v6=1");
	else if (what == 59)
		snprintf(more, sizeof(more), " %s=%u", byte() & 1 ? "vlan" : "tag",
			 byte());
	else if (what == 60 || what == 61)
		snprintf(more, sizeof(more), " other=%u", what - 59);
	else if (what == 62)
		snprintf(more, sizeof(more), " truesize=%u", byte() * 300);
	else if (what == 63)
		snprintf(more, sizeof(more), " size=%u", byte() << 12);
	run(w, "e flow=%u len=%u proto=%s flags=%u tos=%u mark=%u%s", a & 15, len,
	    what == 39 ? "arp" : what == 38 ? "icmp" : a >> 7 ? "tcp" : "udp",
	    what & 8 ? 0x02 : 0x10, (b & 3) | (what & 3 ? 0 : 0xb8), what & 7, more);
}

static const char *const topologies[] = {
	"", "", "", "prio", "tbf", "drr", "ets", "qfq", "htb", "hfsc", "hfsc-rt",
	"hfsc prio", "hfsc drr", "hfsc tbf", "hfsc htb", "drr prio", "htb tbf",
	"qfq prio", "ets drr", "hfsc hfsc", "hfsc qfq", "prio hfsc", "drr hfsc-rt",
	"hfsc ets", "tbf prio", "ets prio",
};

static void one_operation(struct world *w)
{
	char text[1024];
	u8 op = byte();
	u32 n;

	if (op < 120) {
		for (n = 1 + (op > 100) * below(40); n; n--)
			one_packet(w);
	} else if (op < 160) {
		run(w, "d %u", op < 150 ? 1 : byte());
	} else if (op < 180) {
		run(w, "t %llu", (op < 178 ? 1ULL << below(36) : 1ULL << below(57)) *
		    (1 + byte()));
	} else if (op < 188) {
		run(w, "p");
	} else if (op < 190) {
		run(w, "n");
	} else if (op < 196) {
		run(w, "b %u", below(70));
	} else if (op < 204) {
		run(w, "q %u", below(70));
	} else if (op < 220) {
		n = write_options(text, sizeof(text));
		note_list(n, run(w, "x %s", text));
	} else if (op < 224) {
		write_options(text, sizeof(text));
		run(w, "a %u", byte() & 7);
		run(w, "i %s", text);
		run(w, "a 0");
	} else if (op < 226) {
		run(w, "a %u", byte() & 7);
		run(w, "j");
		run(w, "a 0");
	} else if (op < 234) {
		run(w, "s");
	} else if (op < 238) {
		run(w, "u");
	} else if (op < 241) {
		run(w, "a %u", byte());
	} else if (op < 245) {
		run(w, "k %d", (int)below(20) - 1);
	} else if (op < 246) {
		run(w, "z %u", byte() * 300);
	} else if (op < 247) {
		run(w, "v %u", below(3));
	} else if (op < 249) {
		run(w, "r");
	} else if (op < 250) {
		run(w, "f %u", below(6));
	} else if (op < 252) {
		static const int speeds[] = { -1, 0, 10, 100, 1000, 10000, 400000 };

		run(w, "l %d", speeds[below(7)]);
	} else {
		run(w, "m %u", 68 + 256 * byte());
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *error;
	struct world *w = world_new("raw ", "", 1, &error);

	/* This loads the module. */
	known_options = aqm_queue(w->kind)->kind->options;
	world_free(w);
	world_stderr = dup(2);
	world_most_alloc = 1 << 20;	/* a million queues take too long */
	print_trace = getenv("TRACE");
	atexit(say_how_many);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const char *error, *topology;
	struct world *w;
	char text[1024];
	u32 i, n;

	at = data;
	end = data + size;
	topology = topologies[below(ARRAY_SIZE(topologies))];
	n = write_options(text, sizeof(text));
	if (print_trace)
		dprintf(1, "# replay '%s' '%s' %u; if these are refused, 'raw '\n",
			text, topology, 1);
	w = world_new(text, topology, 1, &error);
	note_list(n, error ? EINVAL : 0);
	if (error) {
		if (!strstr(error, "refuses")) {
			dprintf(world_stderr, "violation: %s\n", error);
			abort();
		}
		/* Run the operations with default options instead. */
		world_free(w);
		w = world_new("raw ", topology, 1, &error);
		if (error)
			abort();
	}
	world_fatal(w);
	world_walk(w);
	run(w, "o 1");
	while (at < end)
		one_operation(w);

	/* Whatever happened, it runs empty, all counts are 0, and it goes on. */
	run(w, "a 0");
	run(w, "k -1");
	run(w, "q 0");
	run(w, "d 100000");
	for (i = 0; i < w->depth; i++)
		if (w->levels[i]->q.qlen || w->levels[i]->qstats.backlog)
			userspace_violation("drained, level %u: qlen %u backlog %u",
					    i, w->levels[i]->q.qlen,
					    w->levels[i]->qstats.backlog);
	run(w, "t 400000000000");
	run(w, "e len=60");
	run(w, "d 2");
	run(w, "s");
	run(w, "u");
	if (world_free(w))
		abort();
	return 0;
}
