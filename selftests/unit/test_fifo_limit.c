// SPDX-License-Identifier: GPL-2.0
/* fifo_limit.h: 80 ms of any link. */
#include <linux/kernel.h>
#include <aqm/fifo_limit.h>

#include "unit.h"

UNIT_TESTS
{
	bool exact = true, fits = true;
	u32 i;

	for (i = 0; i < 100000; i++) {
		u64 rate = 1 + unit_random() % ((1ULL << 40) >> unit_below(40));
		u32 memory = unit_random() >> (32 + unit_below(32));
		u32 limit = fifo_limit(rate, memory);
		u64 packets = rate * 80 / 1000 / 1500;

		fits &= limit == 8 || (u64)limit * 2304 <= memory;
		if (packets < 8)
			packets = 8;
		if ((u64)limit * 2304 + 2304 <= memory || limit > packets)
			exact &= limit == packets;
	}
	unit_ok(exact, "what the link sends in 80 ms, and 8 packets at least");
	unit_ok(fits, "and no more than the memory holds");
	unit_ok(fifo_limit(125000000, FIFO_MEMORY) == 6666, "1 Gb/s: 6666");
	unit_ok(fifo_limit(1ULL << 40, FIFO_MEMORY) == FIFO_MEMORY / 2304, "8.8 Tb/s: all of 32 MB");
}
