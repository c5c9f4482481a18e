// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU's: which instructions a discipline runs, and which cache
 * lines it touches, while module/qdisc_bench.c says that it is at work.
 *
 * The module says so by long no-ops whose displacement is MAGIC and a mark; it
 * has its own copy of the loop for that, so that what is counted otherwise has
 * none in it. Between MARK_ENQUEUE, MARK_DEQUEUE or MARK_RELEASE and the mark
 * that ends it, every instruction is counted by its address, and every line of
 * 64 bytes once for each operation. What an enqueue came to is known at its
 * end only, hence MARK_QUEUED and MARK_DROPPED.
 *
 * The module shows what is not the discipline's own by reading it: each line
 * of the packets and of its stack. It shows the Qdisc, and where the data of
 * the one CPU are, in the same way.
 *
 *	-plugin trace.so,out=FILE
 *
 * FILE gets, for each run that the module traces, lines of words, numbers of
 * instructions, operations and addresses:
 *
 *	insn PHASE ADDRESS COUNT	instructions executed
 *	ops PHASE COUNT			operations
 *	line PHASE ADDRESS COUNT	operations that touched the line
 *	foreign PHASE KIND COUNT	the same of packets (0), stack (1), summed
 *	qdisc ADDRESS ADDRESS ADDRESS	first byte, first of the private data, last
 *	percpu ADDRESS
 *	end
 *
 * QEMU 7.2 to 10: the functions below are its interface, declared here since
 * Debian ships no header with it. PLUGIN_API is which of its versions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#define EXPORT		__attribute__((visibility("default")))
#define LINE_SHIFT	6
#define MAGIC		0x5ab10c00U	/* and the mark in the low byte */

enum mark {
	MARK_ARM = 1,	/* count from here on */
	MARK_ENQUEUE,
	MARK_DEQUEUE,
	MARK_RELEASE,
	MARK_QUEUED,	/* the enqueue is over, nothing was discarded */
	MARK_DROPPED,	/* the enqueue is over, something was */
	MARK_DONE,	/* any other operation is over */
	MARK_PACKET,	/* what is read until MARK_SHOWN is of a packet */
	MARK_STACK,	/* ... is of the stack */
	MARK_QDISC,	/* ... are the Qdisc's first byte, its private data's, the last */
	MARK_PERCPU,	/* ... is the beginning of the CPU's data */
	MARK_SHOWN,
	MARK_REPORT,	/* write down, and forget */
};

/* Of what the counts are. An enqueue is PHASE_ENQUEUE until it is over. */
enum phase {
	PHASE_NONE,
	PHASE_ENQUEUE,
	PHASE_DROP,
	PHASE_DEQUEUE,
	PHASE_RELEASE,
	PHASES,
};

static const char *const phase_names[PHASES] = {
	"none", "enqueue", "drop", "dequeue", "release",
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

typedef void tb_trans_fn(__u64 id, struct qemu_plugin_tb *tb);
typedef void insn_fn(unsigned int cpu, void *data);
typedef void mem_fn(unsigned int cpu, __u32 info, __u64 address, void *data);
typedef void simple_fn(__u64 id);

void qemu_plugin_register_vcpu_tb_trans_cb(__u64 id, tb_trans_fn *fn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_fn *fn,
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_fn *fn, int flags,
				      int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
__u64 qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#if PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t size);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif
void qemu_plugin_reset(__u64 id, simple_fn *fn);

EXPORT int qemu_plugin_version = PLUGIN_API;
EXPORT int qemu_plugin_install(__u64 id, const struct qemu_info *info, int argc, char **argv);

/*
 * struct cell - what is counted of one address; addresses are never 0
 * @address: of an instruction, or the number of a line
 * @foreign: 0, or of what the line is: MARK_PACKET or MARK_STACK
 * @last: the operation that touched the line last
 * @counts: by phase
 */
struct cell {
	__u64	address;
	__u32	foreign;
	__u32	last;
	__u64	counts[PHASES];
};

/*
 * struct cells - a hash table of pointers to cells, which stay where they are
 * @slots: a power of two
 * @mask: its number less one
 * @used: of them
 */
struct cells {
	struct cell	**slots;
	size_t		mask;
	size_t		used;
};

static struct cells insns;
static struct cells lines;
static __u64 self;
static bool armed;
static enum phase phase;
static enum mark showing;
static __u32 operation;
static __u64 operations[PHASES];
static __u64 qdisc[3];	/* first byte, first of its private data, last */
static size_t parts;
static __u64 percpu_at;
static FILE *out;

/* What one operation touched: at its end it may be of another phase. */
static struct cell *touched[1 << 20];
static size_t touches;

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static size_t slot_of(const struct cells *c, __u64 address)
{
	size_t at = (address * 0x9e3779b97f4a7c15ULL >> 20) & c->mask;

	while (c->slots[at] && c->slots[at]->address != address)
		at = (at + 1) & c->mask;
	return at;
}

static struct cell *cell_of(struct cells *c, __u64 address)
{
	size_t at;

	if (2 * c->used >= c->mask) {
		struct cells more = { .mask = c->mask ? 2 * c->mask + 1 : (1 << 16) - 1 };

		more.slots = must(calloc(more.mask + 1, sizeof(*more.slots)));
		for (size_t i = 0; c->slots && i <= c->mask; i++)
			if (c->slots[i])
				more.slots[slot_of(&more, c->slots[i]->address)] = c->slots[i];
		more.used = c->used;
		free(c->slots);
		*c = more;
	}
	at = slot_of(c, address);
	if (!c->slots[at]) {
		c->slots[at] = must(calloc(1, sizeof(**c->slots)));
		c->slots[at]->address = address;
		c->used++;
	}
	return c->slots[at];
}

static void on_insn(unsigned int cpu, void *data)
{
	struct cell *cell = data;

	(void)cpu;
	cell->counts[phase]++;
}

static void on_mem(unsigned int cpu, __u32 info, __u64 address, void *data)
{
	struct cell *cell;

	(void)cpu;
	(void)info;
	(void)data;
	if (phase == PHASE_NONE && !showing)
		return;
	if (showing == MARK_QDISC) {
		if (parts < sizeof(qdisc) / sizeof(*qdisc))
			qdisc[parts++] = address;
		return;
	}
	if (showing == MARK_PERCPU) {
		percpu_at = address;
		return;
	}
	cell = cell_of(&lines, address >> LINE_SHIFT);
	if (showing) {
		cell->foreign = showing;
	} else if (cell->last != operation) {
		cell->last = operation;
		if (touches < sizeof(touched) / sizeof(*touched))
			touched[touches++] = cell;
	}
}

static void finish(enum phase as)
{
	operations[as]++;
	for (size_t i = 0; i < touches; i++)
		touched[i]->counts[as]++;
	touches = 0;
	phase = PHASE_NONE;
}

static void begin(enum phase what)
{
	operation++;
	phase = what;
}

static void report(void)
{
	__u64 foreign[PHASES][2] = { 0 };

	if (!out)
		return;
	for (int p = PHASE_ENQUEUE; p < PHASES; p++)
		fprintf(out, "ops %s %llu\n", phase_names[p], operations[p]);
	for (size_t i = 0; i <= insns.mask; i++)
		for (int p = PHASE_ENQUEUE; insns.slots[i] && p < PHASES; p++) {
			struct cell *cell = insns.slots[i];

			if (cell->counts[p])
				fprintf(out, "insn %s %#llx %llu\n", phase_names[p],
					cell->address, cell->counts[p]);
			cell->counts[p] = 0;
		}
	for (size_t i = 0; lines.slots && i <= lines.mask; i++)
		for (int p = PHASE_ENQUEUE; lines.slots[i] && p < PHASES; p++) {
			struct cell *cell = lines.slots[i];

			if (cell->foreign)
				foreign[p][cell->foreign - MARK_PACKET] += cell->counts[p];
			else if (cell->counts[p])
				fprintf(out, "line %s %#llx %llu\n", phase_names[p],
					cell->address << LINE_SHIFT,
					cell->counts[p]);
			cell->counts[p] = 0;
		}
	for (size_t i = 0; lines.slots && i <= lines.mask; i++)
		if (lines.slots[i])
			lines.slots[i]->foreign = 0;
	for (int p = PHASE_ENQUEUE; p < PHASES; p++)
		for (int kind = 0; kind < 2; kind++)
			fprintf(out, "foreign %s %d %llu\n", phase_names[p], kind,
				foreign[p][kind]);
	fprintf(out, "qdisc %#llx %#llx %#llx\npercpu %#llx\nend\n", qdisc[0], qdisc[1],
		qdisc[2], percpu_at);
	fflush(out);
	memset(operations, 0, sizeof(operations));
}

static void on_translation(__u64 id, struct qemu_plugin_tb *tb);

/* What was translated before has no calls in it: all of it is thrown away. */
static void arm(__u64 id)
{
	armed = true;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
}

static void on_mark(unsigned int cpu, void *data)
{
	enum mark mark = (size_t)data;

	(void)cpu;
	switch (mark) {
	case MARK_ARM:
		if (!armed)
			qemu_plugin_reset(self, arm);
		break;
	case MARK_ENQUEUE:
		begin(PHASE_ENQUEUE);
		break;
	case MARK_DEQUEUE:
		begin(PHASE_DEQUEUE);
		break;
	case MARK_RELEASE:
		begin(PHASE_RELEASE);
		break;
	case MARK_QUEUED:
	case MARK_DONE:
		finish(phase);
		break;
	case MARK_DROPPED:
		finish(PHASE_DROP);
		break;
	case MARK_QDISC:
		parts = 0;
		showing = mark;
		break;
	case MARK_PACKET:
	case MARK_STACK:
	case MARK_PERCPU:
		showing = mark;
		break;
	case MARK_SHOWN:
		showing = 0;
		break;
	case MARK_REPORT:
		report();
		break;
	}
}

/* The mark that an instruction is, or 0: nopl MAGIC + mark(%rax). */
static __u32 mark_of(const struct qemu_plugin_insn *insn)
{
	__u8 bytes[7];
	__u32 word;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes))
		return 0;
#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
#else
	memcpy(bytes, qemu_plugin_insn_data(insn), sizeof(bytes));
#endif
	memcpy(&word, bytes + 3, sizeof(word));
	if (bytes[0] != 0x0f || bytes[1] != 0x1f || bytes[2] != 0x80 || (word & ~0xffU) != MAGIC)
		return 0;
	return word & 0xff;
}

static void on_translation(__u64 id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		__u32 mark = mark_of(insn);

		if (mark) {
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, 0,
							       (void *)(size_t)mark);
		} else if (armed) {
			__u64 address = qemu_plugin_insn_vaddr(insn);

			if (!(address >> 63))	/* not the kernel's */
				continue;
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, 0,
							       cell_of(&insns, address));
			qemu_plugin_register_vcpu_mem_cb(insn, on_mem, 0, 3, NULL);
		}
	}
}

int qemu_plugin_install(__u64 id, const struct qemu_info *info, int argc, char **argv)
{
	self = id;
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out) {
		fprintf(stderr, "trace: out=FILE is missing, or cannot be written\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
