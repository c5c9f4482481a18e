# SPDX-License-Identifier: GPL-2.0
"""Generate selftests/kunit/two_region_vectors.h: updates of the controller of figure 4-7.

``python -m tests.oracle.tworegionred.vectors`` prints the file. A row is one update: its input, in
1/1000 packets, and the PPD and W that the floating-point model computes.
"""

from __future__ import annotations

import itertools
import math
import random

from tests.oracle.tworegionred.model import Controller, Law, Options

MBITS = (10, 34, 155, 622, 1000, 10_000, 40_000, 100_000)
FLOWS = (1, 10, 75, 300, 1000, 2000)
HEADER = """\
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run of figure 4-7 a row, computed in floating point by
 * tests/oracle/tworegionred/vectors.py, which also tells the units.
 */
static const struct {
	u32 mbit, literal;
	u64 ppd, ppd_old, window, q_old, q;	/* given */
	u64 new_ppd, new_window;		/* expected */
} two_region_vectors[] = {
"""


def row(mbit: int, n: int, literal: bool, rng: random.Random) -> str:
    """Return a row for a queue of ``n`` flows, near the drop rate that they need."""
    law = Law(Options(bandwidth=mbit * 1e6, flows=10))
    window = 2 * law.pipe / (3 * n - 1)
    need = max(10.0, min(law.pipe, 1.5 * window * (window + 1)))
    near = [max(10.0, min(law.pipe, need * math.exp(rng.gauss(0, 1)))) for _ in range(2)]
    given = [*near, max(2.6, min(window, math.sqrt(2 / 3 * law.pipe)))]
    given.append(rng.uniform(law.bflat, law.bmax))
    given.append(max(0.0, given[3] + rng.gauss(0, 2 * n)))
    thousandths = [round(1000 * value) for value in given]
    c = Controller()
    c.ppd, c.ppd_old, c.window, c.q_old, q = (value / 1000 for value in thousandths)
    c.ppd, c.ppd_old = min(c.ppd, law.pipe), min(c.ppd_old, law.pipe)
    c.update(law, q, literal)
    numbers = [*thousandths, round(1000 * c.ppd), round(1000 * c.window)]
    joined = ", ".join(str(number) for number in numbers[:5])
    return f"\t{{ {mbit}, {int(literal)}, {joined},\n\t  {numbers[5]}, {numbers[6]} }},\n"


def text() -> str:
    """Return the whole file."""
    rng = random.Random(1)
    cases = itertools.product(MBITS, FLOWS, (False, True))
    rows = [row(mbit, n, literal, rng) for mbit, n, literal in cases]
    return HEADER + "".join(rows) + "};\n"


if __name__ == "__main__":
    print(text(), end="")
