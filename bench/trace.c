// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU that counts the instructions that a discipline runs, and
 * the cache lines that it touches, while module/qdisc_bench.c calls it.
 *
 * The module marks its calls with long no-ops whose displacement is MAGIC plus
 * a mark. Only a copy of its loop contains them, so they do not disturb other
 * measurements. From MARK_ENQUEUE, MARK_DEQUEUE or MARK_RELEASE to the mark
 * that ends the operation, every instruction is counted by its address, and
 * every line of 64 bytes once per operation. An enqueue ends with MARK_QUEUED or
 * MARK_DROPPED, because only then a drop is known.
 *
 * The module identifies lines that do not belong to the discipline, packets
 * and its stack, by reading them between marks. In the same way it shows the
 * addresses of the Qdisc and of the per-CPU data.
 *
 *	-plugin trace.so,out=FILE
 *
 * For each run that the module traces, FILE gets these lines:
 *
 *	insn PHASE ADDRESS COUNT	instructions executed
 *	ops PHASE COUNT			operations
 *	line PHASE ADDRESS COUNT	operations that touched the line
 *	foreign PHASE KIND COUNT	the same of packets (0), stack (1), summed
 *	qdisc ADDRESS ADDRESS ADDRESS	first byte, first of the private data, last
 *	percpu ADDRESS
 *	end
 *
 * This works with QEMU 7.2 to 10. Debian ships no header of its plugin
 * interface, so we declare the functions here. PLUGIN_API is its version.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#define EXPORT		__attribute__((visibility("default")))
#define LINE_SHIFT	6
#define MAGIC		0x5ab10c00U	/* the low byte is the mark */

enum mark {
	MARK_ARM = 1,	/* start counting */
	MARK_ENQUEUE,
	MARK_DEQUEUE,
	MARK_RELEASE,
	MARK_QUEUED,	/* end of an enqueue without a drop */
	MARK_DROPPED,	/* end of an enqueue with a drop */
	MARK_DONE,	/* end of any other operation */
	MARK_PACKET,	/* reads until MARK_SHOWN show lines of a packet */
	MARK_STACK,	/* ... of the stack */
	MARK_QDISC,	/* ... the Qdisc's first byte, its private data's, and the last */
	MARK_PERCPU,	/* ... the start of the CPU's data */
	MARK_SHOWN,
	MARK_REPORT,	/* write the results and reset */
};

/* Phases of the counts. An enqueue is PHASE_ENQUEUE until it ends. */
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
 * struct cell - counts of an address, which is never 0
 * @address: address of an instruction, or number of a cache line
 * @foreign: 0, or the owner of the line: MARK_PACKET or MARK_STACK
 * @last: the last operation that touched the line
 * @counts: counts by phase
 */
struct cell {
	__u64	address;
	__u32	foreign;
	__u32	last;
	__u64	counts[PHASES];
};

/*
 * struct cells - a hash table of pointers to cells; cells do not move
 * @slots: the table, whose size is a power of two
 * @mask: its size minus one
 * @used: number of used slots
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

/* Lines that the current operation has touched. Its phase may change at its end. */
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

/* Code that was translated before contains no calls of ours: translate it again. */
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

/* Return the mark if the instruction is nopl MAGIC + mark(%rax), otherwise 0. */
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
		fprintf(stderr, "trace: out=FILE is missing, or FILE cannot be written\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
