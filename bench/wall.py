# SPDX-License-Identifier: GPL-2.0
"""What a packet costs with nothing in the caches, by the wall clock, as a ratio to pfifo.

In user mode: that is a process of this machine's, on its processor and caches. Under QEMU's
emulation there are no caches, and Debian's kernel under KVM is not to be had everywhere.
"""

from __future__ import annotations

import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.instructions import REGIMES, TOP, Cell, begin, conserved, job, outcome, told

#: Of mainline, than Debian's 6.12.
YOUNGER = ("dualpi2",)
#: Of mainline, beside ours.
KINDS = ("red", "choke", "sfq", "fq_codel", "fq_codel-65536", "cake", *YOUNGER)
#: A packet waits for seconds here, and these are not to drop it for that.
PATIENT = {"fq_codel": "target 1000s interval 1000s", "cake": "rtt 1000s",
           "dualpi2": "target 1000000000"}  # fmt: skip
COLUMNS = ("standing", "overload")
FLOWS = 1_000_000
STEPS = 128  # in a run
MIB = 48  # what is read between two steps: more than the caches hold
ROUNDS = 3


@dataclass(frozen=True)
class Ratio:
    """Cost by pfifo's in the same round: the median, and between what the rounds lie."""

    median: float
    least: float
    most: float


def cells(kinds: Sequence[str]) -> Iterator[Cell]:
    """A round: each row, and pfifo right after it."""
    for regime in COLUMNS:
        for kind in kinds:
            yield Cell(kind, regime, FLOWS)
            yield Cell("pfifo", regime, FLOWS)


def total(cell: Cell) -> int:
    """Packets of a run that are timed."""
    return STEPS * REGIMES[cell.regime].into


def script(kinds: Sequence[str]) -> str:
    """What the guest runs. It prints a line for each row, each round."""
    lines = [*begin(), f"for round in $(seq {ROUNDS}); do"]
    for cell in cells(kinds):
        patient = PATIENT.get(cell.qdisc.partition("-")[0], "")
        lines += [f"tc qdisc replace dev g0 root handle 1: {told(cell.qdisc)} {patient} &&",
                  f"measure '{job(cell, total(cell), MIB)}'; tc qdisc del dev g0 root"]  # fmt: skip
    return "\n".join([*lines, "done", ""])


def ratios(kinds: Sequence[str], text: str) -> Iterator[tuple[Cell, Ratio]]:
    """What each row came to, from what the guest printed.

    A run counts as the median of its tenths does, most of which nobody interrupts.
    """
    rows = list(cells(kinds))
    lines = text.splitlines()
    if len(lines) != ROUNDS * len(rows) or any("time" not in line for line in lines):
        raise SystemExit(f"bench: {text}")
    costs: list[dict[Cell, list[float]]] = [defaultdict(list) for _ in range(ROUNDS)]
    for number, line in enumerate(lines):
        round_, place = divmod(number, len(rows))
        said = outcome(line)
        if not conserved(said, rows[place], total(rows[place])):
            raise SystemExit(f"bench: {rows[place]}: packets do not add up: {line}")
        cost = statistics.median(said["tenths"]) - said["overhead"][0] / 10
        costs[round_][rows[place]].append(cost)
    for cell in rows[::2]:
        zero = Cell("pfifo", cell.regime, FLOWS)
        found = sorted(here[cell][0] / statistics.median(here[zero]) for here in costs)
        found = [round(ratio, 2) for ratio in found]
        yield cell, Ratio(statistics.median(found), found[0], found[-1])


def measured(kinds: Sequence[str]) -> Iterator[tuple[Cell, Ratio]]:
    """What each row comes to on this machine."""
    boot = [str(TOP / "lab" / "boot"), "--clock", "wall", "--time-limit", "7200", "--"]
    done = subprocess.run([*boot, "sh", "-c", script(kinds)], stdout=subprocess.PIPE, text=True,
                          check=True)  # fmt: skip
    return ratios(kinds, done.stdout)
