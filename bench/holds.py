# SPDX-License-Identifier: GPL-2.0
"""Time how long the root lock is held while a table of flows grows, in user-mode Linux.

A copy of the frame notes the processor's counter when flow_buffer.c takes and releases the tree
lock: module/hold.h. One hold copies the queues, and another one the entries of flows.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path

from bench.figures import table
from bench.instructions import begin
from bench.timing import FOLDER, TOP, copy_of, guest, hertz, in_order
from labkit import kernels, modules
from labkit.engines import default_kernel

KINDS = ("qsdrr", "tdrr")
QUEUES = (1024, 4096)  # the default, and the most that grow
AGAIN, BOOTS = 5, 2
HELD = 40_000  # packets of other flows each: more than there are queues
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
        for kind in KINDS:
            for queues in QUEUES:
                lines += [
                    f"tc qdisc replace dev g0 root {kind} flows {queues} limit {HELD} "
                    "memory_limit 1000mb bandwidth 1gbit",
                    f"echo 0 > {PARAMETER}",
                    f"measure 'time 32 256000 0 g0 1000000 1000 1024 1 1 {HELD} {HELD} 32768 "
                    f"{HELD + 2048} 0' > /dev/null",
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


def report() -> str:
    """Grow tables, and return a table of the shortest hold and the median of each step, us.

    The longest of several says only how often the host took the processor away.
    """
    built = build(kernels.ensure_uml(default_kernel(), "fast"))
    found: dict[tuple[str, int, int], list[float]] = {}
    for seed in range(1, BOOTS + 1):
        for kind, queues, each in holds(guest(seed, script(built))):
            for step, us in enumerate(each, start=1):
                found.setdefault((kind, queues, step), []).append(us)
    if {key[:2] for key in found} != {(kind, queues) for kind in KINDS for queues in QUEUES}:
        raise SystemExit("bench: some tables did not grow")
    return table(
        ["kind, queues before", "step", "growths", "shortest us", "median us"],
        [
            [
                f"{kind}, {queues}",
                str(step),
                str(len(us)),
                f"{min(us):.1f}",
                f"{statistics.median(us):.1f}",
            ]
            for (kind, queues, step), us in sorted(found.items())
        ],
    )
