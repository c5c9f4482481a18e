# SPDX-License-Identifier: GPL-2.0
"""Count a queue discipline's instructions per packet, on Debian's kernel.

module/qdisc_bench.c describes the measurement. In QEMU, the guest's clock counts instructions as
nanoseconds, so the load and the model of this machine do not matter.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aqmlab.qdiscs.metadata import all_metadata
from bench import tracing

TOP = Path(__file__).resolve().parent.parent
KERNEL = "6.12"
LIMIT = 1000  # packets
PASSES = 3
#: Instructions to free a packet, the median over several boots. The number depends on the layout
#: of slabs at boot, not on the discipline. We free FREED packets to check it.
FREEING = 355
FREED = 8192
TURNS = 1_000_000  # of a loop of two instructions, to check the clock

#: Words for tc, for mainline's kinds. A kind that is measured twice has a suffix.
#: RED has the same thresholds as ours, for packets of 1000 bytes.
RED = "min 300{k} max 900{k} probability 0.02 burst 500 bandwidth 1gbit"
MAINLINE = {
    "pfifo": f"pfifo limit {LIMIT}",
    "red": f"red limit {LIMIT}kb avpkt 1000 " + RED.format(k="kb"),
    "choke": f"choke limit {LIMIT} " + RED.format(k=""),
    "codel": f"codel limit {LIMIT}",
    "pie": f"pie limit {LIMIT}",
    "sfb": f"sfb limit {LIMIT}",
    "sfq": f"sfq limit {LIMIT}",
    "fq_codel": f"fq_codel limit {LIMIT} flows 1024",
    "fq_codel-65536": f"fq_codel limit {LIMIT} flows 65536",
    "fq_pie": f"fq_pie limit {LIMIT} flows 1024",
    "fq": f"fq limit {LIMIT} flow_limit {LIMIT}",
    "hhf": f"hhf limit {LIMIT}",
    "cake": "cake memlimit 2304kb",
}


#: A packet takes up to 230 000 instructions, always the same number, so one pass is enough.
SLOW = "fq_codel-65536"


@dataclass(frozen=True)
class Regime:
    """A pattern of arrivals and departures, in packets. qdisc_bench.c describes the fields."""

    about: str
    into: int
    out: int
    fill: int = 0
    keep: int = 0
    total: int = 8192
    pareto: bool = False
    size: int = 1000


REGIMES = {
    "empty": Regime("one in, one out", 1, 1),
    "standing": Regime("one in, one out, 800 held", 1, 1, fill=800, keep=800),
    "overload": Regime("two in, one out, full", 2, 1, fill=LIMIT),
    "burst": Regime("64 in, 64 out", 64, 64),
    "mixed": Regime(
        "two in, one out, full, flow k has 1/k of what flow 1 has", 2, 1, fill=LIMIT, pareto=True
    ),
    "flood": Regime("64 in, one out, full", 64, 1, fill=LIMIT, total=1_000_000),
    "gso": Regime("64 kB in, cut up, all out", 1, 64, total=512, size=54 + 44 * 1448),
    "whole": Regime("64 kB in, queued whole, all out", 1, 64, total=512, size=54 + 44 * 1448),
}
STANDARD = ("empty", "standing", "overload")
#: Packets offered before the timed ones: one per flow, within these bounds.
WARM, WARMEST = 1024, 32_768
HOLD = 2 * LIMIT  # maximum number of packets in a discipline here


@dataclass(frozen=True)
class BenchCell:
    """A combination that a row measures."""

    qdisc: str
    regime: str
    flows: int


Costs = dict[BenchCell, float]  # instructions per packet


@dataclass(frozen=True)
class BenchRow:
    """The result of a cell. Instructions are per offered packet, and include freeing drops."""

    qdisc: str
    regime: str
    flows: int
    instructions_per_packet: float | None
    dropped: float | None  # share of the offered packets
    spread: float | None  # difference between passes, in instructions per packet
    worst_tenth: float | None  # the most expensive tenth of the run, relative to the first
    error: str | None = None


def nosplit_word(qdisc: str) -> str | None:
    """Return the option that keeps GSO packets whole, if the discipline splits them by default."""
    if qdisc in all_metadata():
        return "nosplit_gso"
    return "no-split-gso" if qdisc == "cake" else None


def with_options(qdisc: str, regime: str = "") -> str:
    """Return kind and options with which a discipline is measured."""
    word = nosplit_word(qdisc)
    whole = f" {word}" if word and regime == "whole" else ""
    if qdisc in MAINLINE:
        return MAINLINE[qdisc] + whole
    return f"{qdisc} {all_metadata().get(qdisc, {}).get('BENCH', f'limit {LIMIT}')}{whole}"


def warm(cell: BenchCell) -> int:
    """Return the number of packets offered before the timed ones, which fill the flow state."""
    regime = REGIMES[cell.regime]
    if regime.size > 1500:
        return min(WARM, regime.total)
    return min(max(WARM, cell.flows), WARMEST)


def job(cell: BenchCell) -> str:
    """Return the module's job for a row."""
    regime = REGIMES[cell.regime]
    return (
        f"g0 {cell.flows} {regime.size} {regime.total} {regime.into} {regime.out} "
        f"{regime.fill} {regime.keep} {warm(cell)} {HOLD} "
        f"{int(regime.pareto)}"
    )


def set_up(cell: BenchCell) -> str:
    """Return the command that adds the discipline to the device."""
    return f"tc qdisc replace dev g0 root handle 1: {with_options(cell.qdisc, cell.regime)} 2>&1"


def begin() -> list[str]:
    """Return the first commands of the guest."""
    return [
        "set -u",
        "modprobe aqm_gate && modprobe qdisc_bench || exit 1",
        "run=/sys/module/qdisc_bench/parameters/run",
        'measure() { echo "$1" > $run 2> /dev/null; echo $(cat $run); }',
        "ip link add g0 type gate",
        "echo 1 > /proc/sys/net/ipv6/conf/g0/disable_ipv6",
        "ip link set g0 up",
    ]


def script(cells: Iterable[BenchCell]) -> str:
    """Return the commands of the guest. It prints a line for each step and result."""
    lines = [
        *begin(),
        f"measure 'loop {TURNS}'",
        f"for n in $(seq {PASSES}); do measure 'free {FREED}'; done",
    ]
    for cell in cells:
        once = cell.regime == "flood" or cell.flows > WARMEST or cell.qdisc == SLOW
        lines += [
            f"echo cell {cell.qdisc} {cell.regime} {cell.flows}",
            f"{set_up(cell)} &&",
            f"for n in $(seq {1 if once else PASSES}); do measure '{job(cell)}'; done",
            "tc qdisc del dev g0 root 2> /dev/null",
        ]
    return "\n".join([*lines, "true", ""])


def outcome(line: str) -> dict[str, list[int]]:
    """Parse the module's output of a run: names, each with its numbers."""
    counts: dict[str, list[int]] = {}
    for word in line.split():
        if word.isdigit() and counts:
            counts[next(reversed(counts))].append(int(word))
        else:
            counts[word] = []
    return counts


def conserved(counts: Mapping[str, list[int]], cell: BenchCell, total: int = 0) -> bool:
    """Return whether all packets were offered, and each one sent or dropped."""
    regime = REGIMES[cell.regime]
    offered = counts["offered"][0]
    asked = regime.fill + warm(cell) + (total or regime.total)
    sent, dropped = counts["sent"][0], counts["dropped"][0]
    if regime.size > 1500:
        return offered == asked
    return offered == asked == sent + dropped


def row_of(cell: BenchCell, lines: Sequence[str]) -> BenchRow:
    """Return the row of a cell from the guest's output for it."""
    regime = REGIMES[cell.regime]
    passes = [counts for line in lines if "offered" in (counts := outcome(line))]
    if not passes or any(line.split()[0] == "failed" for line in lines):
        error = " ".join(lines) or "nothing came back"
        return BenchRow(
            **asdict(cell),
            instructions_per_packet=None,
            dropped=None,
            spread=None,
            worst_tenth=None,
            error=error,
        )
    wrong = [counts for counts in passes if not conserved(counts, cell)]
    costs = [(counts["time"][0] - counts["overhead"][0]) / regime.total for counts in passes]
    best = passes[costs.index(min(costs))]
    dropped = best["lost"][0] / regime.total
    tenths = best["tenths"]
    return BenchRow(
        **asdict(cell),
        instructions_per_packet=round(min(costs) + dropped * FREEING, 1),
        dropped=round(dropped, 4),
        spread=round(max(costs) - min(costs), 2),
        worst_tenth=round(max(tenths) / tenths[0], 3) if tenths[0] else None,
        error=f"packets do not add up: {wrong[0]}" if wrong else None,
    )


def rows(cells: Sequence[BenchCell], text: str) -> Iterator[BenchRow]:
    """Yield the rows in the guest's output."""
    head, *parts = text.split("\ncell ")
    loop, *frees = [counts for line in head.splitlines() if "time" in (counts := outcome(line))]
    if not 0 <= loop["time"][0] - 2 * TURNS < 100:
        raise SystemExit(f"{2 * TURNS} instructions took {loop['time'][0]} ticks of the clock")
    freeing = min(counts["time"][0] for counts in frees) / FREED
    if not 0.95 < freeing / FREEING < 1.05:
        raise SystemExit(f"freeing a packet takes {freeing:.0f} instructions, not {FREEING}")
    for cell, part in zip(cells, parts, strict=True):
        name, *lines = part.splitlines()
        if name != f"{cell.qdisc} {cell.regime} {cell.flows}":
            raise SystemExit(f"bench: the guest printed {name} instead of {cell}")
        yield row_of(cell, [line for line in lines if line])


def guest(cells: Sequence[BenchCell], commands: str, *more: str) -> str:
    """Run a guest for these cells, and return its output."""
    boot: list[str | Path] = [TOP / "lab" / "boot", "--engine", "qemu", "--kernel", KERNEL]
    boot += ["--icount", "--time-limit", str(300 + 60 * len(cells)), *more, "--"]
    done = subprocess.run(
        [*boot, "sh", "-c", commands], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def measured(cells: Sequence[BenchCell]) -> Iterator[BenchRow]:
    """Measure cells, and yield their rows."""
    return rows(cells, guest(cells, script(cells)))


def traced(cells: Sequence[BenchCell]) -> Iterator[tracing.MemoryTrace]:
    """Trace cells, and yield their traces."""
    folder = TOP / "build" / "bench"
    plugin = tracing.build(folder, TOP / "bench" / "trace.c")
    out = folder / f"trace-{os.getpid()}"
    symbols = out.with_suffix(".symbols")
    lines = begin()
    for cell in cells:
        lines += [f"{set_up(cell)} && measure 'trace {job(cell)}'", "tc qdisc del dev g0 root"]
    lines.append(f"cat /proc/kallsyms > {symbols}")
    try:
        counts = guest(cells, "\n".join(lines), "--plugin", f"{plugin},out={out}")
        if "failed" in counts:
            raise SystemExit(f"bench: {counts}")
        yield from tracing.read(out.read_text(), tracing.Symbols(symbols.read_text()))
    finally:
        out.unlink(missing_ok=True)
        symbols.unlink(missing_ok=True)
