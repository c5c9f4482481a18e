# SPDX-License-Identifier: GPL-2.0
"""Time how long the root lock is held while a table of flows grows, in user-mode Linux.

A copy of the frame notes the processor's counter when flow_buffer.c takes and releases the tree
lock: module/hold.h. One hold copies the queues, one switches to the larger table of flows, and each
of the others moves 256 sets of entries.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from bench.figures import table
from bench.instructions import begin
from bench.timing import FOLDER, TOP, copy_of, guest, hertz, in_order
from labkit import kernels, modules
from labkit.engines import default_kernel

KINDS = ("qsdrr", "tdrr")
PACKETS = 40_000  # of a million flows
#: Kinds, numbers of queues, and packets held: more than queues, so that queues are missed; or
#: fewer, so that entries are missed. 4096 queues are the most to which some are added, and 8192 the
#: most for which the table of flows grows. The table of qsdrr grows only together with the queues.
GROWTHS = [
    *((kind, queues, PACKETS) for kind in KINDS for queues in (1024, 4096)),
    ("tdrr", 8192, 4000),
]
AGAIN, BOOTS = 5, 2
PARAMETER = "/sys/module/sch_aqm/parameters/holds"


def build(kernel: kernels.Kernel) -> Path:
    """Build the modules that time the lock, and return their directory."""
    folder = FOLDER / "holds"
    copy_of(TOP, folder)
    shutil.copy(TOP / "bench" / "module" / "hold.h", folder / "frame")
    file = folder / "frame" / "flow_buffer.c"
    file.write_text('#include "hold.h"\n' + file.read_text())
    return modules.ensure_module(kernel, folder)


def script(built: Path) -> str:
    """Return the commands of the guest. It prints a line for each growth."""
    paths = in_order(built, KINDS)
    lines = [*begin(), *(f"insmod {path} || exit 1" for path in paths)]
    for _ in range(AGAIN):
        for kind, queues, held in GROWTHS:
            lines += [
                f"tc qdisc replace dev g0 root {kind} flows {queues} limit {PACKETS} "
                "memory_limit 1000mb bandwidth 1gbit",
                f"echo 0 > {PARAMETER}",
                f"measure 'time 32 256000 0 g0 1000000 1000 {PACKETS} 1 1 {held} {held} 32768 "
                f"{PACKETS + 2048} 0' > /dev/null",
                "sleep 0.1",
                f"echo holds {kind} {queues} $(cat {PARAMETER})",
                "tc qdisc del dev g0 root",
            ]
    return "\n".join([*lines, "true", ""])


def holds(text: str) -> Iterator[tuple[str, int, list[float]]]:
    """Yield kind, queues before, and the us of each hold of a growth."""
    ghz = hertz()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["holds"]:
            yield words[1], int(words[2]), [int(cycles) / ghz / 1000 for cycles in words[3:]]


def longest(growths: list[list[float]]) -> tuple[float, float]:
    """Return the us of the longest hold: by the shortest and by the median of each step.

    A step is the hold with the same place in each growth. The longest of several growths says
    only how often the host took the processor away.
    """
    steps = [[us for us in step if us is not None] for step in zip_longest(*growths)]
    return max(map(min, steps)), max(map(statistics.median, steps))


def report() -> str:
    """Grow tables, and return a table of the longest hold of each, us."""
    built = build(kernels.ensure_uml(default_kernel(), "fast"))
    found: dict[tuple[str, int], list[list[float]]] = {}
    for seed in range(1, BOOTS + 1):
        for kind, queues, each in holds(guest(seed, script(built))):
            if each:
                found.setdefault((kind, queues), []).append(each)
    if missing := [
        f"{kind} {queues}" for kind, queues, _ in GROWTHS if (kind, queues) not in found
    ]:
        raise SystemExit(f"bench: these tables did not grow: {', '.join(missing)}")
    return table(
        ["kind, queues before", "growths", "holds", "longest, shortest us", "longest, median us"],
        [
            [
                f"{kind}, {queues}",
                str(len(growths)),
                str(max(map(len, growths))),
                *(f"{us:.1f}" for us in longest(growths)),
            ]
            for (kind, queues), growths in sorted(found.items())
        ],
    )
