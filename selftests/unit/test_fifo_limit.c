// SPDX-License-Identifier: GPL-2.0
/* fifo_limit.h: 80 ms of any link, and the memory for them. */
#include <linux/kernel.h>
#include <aqm/fifo_limit.h>

#include "unit.h"

#define MB	1048576ULL

static void test_memory(void)
{
	bool holds = true, modest = true, more = true;
	u64 rate, machine;
	u32 before, memory;

	for (machine = 32 * MB; machine <= 1024 * 1024 * MB; machine *= 2) {
		before = 0;
		for (rate = 1000; rate <= 1ULL << 40; rate *= 3) {
			memory = fifo_memory(rate, machine);
			/* 80 ms of packets fit that take 2.5 times their length. */
			if (memory < FIFO_MEMORY && memory < machine / 16)
				holds &= memory >= rate / 5;
			modest &= 3ULL * memory <= machine / 5 && memory <= 32 * MB;
			more &= memory >= before;
			before = memory;
		}
	}
	unit_ok(holds, "memory holds 80 ms of packets of 1500 bytes with a truesize of 3750");
	unit_ok(modest, "three queues take at most a fifth of a machine with 32 MB or more");
	unit_ok(more, "a faster link gets no less");
	unit_ok(fifo_memory(1ULL << 40, 1024 * MB) == 32 * MB, "a machine with 1 GB: 32 MB at most");
}

UNIT_TESTS
{
	bool exact = true, fits = true;
	u32 i;

	for (i = 0; i < 100000; i++) {
		u64 rate = 1 + unit_random() % ((1ULL << 40) >> unit_below(40));
		u32 memory = unit_random() >> (32 + unit_below(32));
		u32 mtu = unit_below(2) ? unit_below(65536) : 1500;
		u32 limit = fifo_limit(rate, mtu, memory);
		u64 packets = rate * 80 / 1000 / (mtu < 1500 ? 1500 : mtu);

		fits &= limit == 8 || (u64)limit * 2304 <= memory;
		if (packets < 8)
			packets = 8;
		if ((u64)limit * 2304 + 2304 <= memory || limit > packets)
			exact &= limit == packets;
	}
	unit_ok(exact, "what the link sends in 80 ms, and 8 packets at least");
	unit_ok(fits, "and no more than the memory holds");
	unit_ok(fifo_limit(125000000, 1500, FIFO_MEMORY) == 6666, "1 Gb/s: 6666");
	unit_ok(fifo_limit(125000000, 9000, FIFO_MEMORY) == 1111, "and 1111 packets of 9000 bytes");
	unit_ok(fifo_limit(1ULL << 40, 1500, FIFO_MEMORY) == FIFO_MEMORY / 2304, "8.8 Tb/s: all of 32 MB");
	test_memory();
}
