# SPDX-License-Identifier: GPL-2.0
"""Measure instructions per packet, cache lines and memory of queue disciplines."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from aqmlab.qdiscs.metadata import all_metadata
from bench import figures, holds, instructions, layout, memory, pictures, times, timing, tracing
from bench.instructions import MAINLINE, REGIMES, SLOW, STANDARD, BenchCell, nosplit_word
from labkit import modules, stock

#: Regimes and numbers of flows that docs/performance.md shows.
WHOLE = [
    *((regime, 100) for regime in REGIMES if regime != "flood"),
    *((regime, flows) for regime in STANDARD for flows in (1, 10_000, 1_000_000)),
    ("flood", 10_000),
]
TRACED = [("overload", 100), ("overload", 10_000)]
#: This kind stalls in this regime, see docs/performance.md.
STALLED = ("choke", "mixed")
TOGETHER = 12  # kinds per guest; the results of a guest are kept if a later one fails


def parser(kinds: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    p = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    p.add_argument(
        "--qdisc",
        action="append",
        choices=kinds,
        metavar="KIND",
        help=f"again for more (default: all): {' '.join(kinds)}",
    )
    p.add_argument(
        "--regime",
        action="append",
        choices=REGIMES,
        metavar="NAME",
        help="; ".join(f"{name}: {r.about}" for name, r in REGIMES.items())
        + f" (default: {', '.join(STANDARD)})",
    )
    p.add_argument(
        "--flows", action="append", type=int, metavar="N", help="number of flows (default: 100)"
    )
    p.add_argument(
        "--profile", action="store_true", help="show instructions by function, and cache lines"
    )
    p.add_argument(
        "--whole", action="store_true", help="measure everything that docs/performance.md shows"
    )
    p.add_argument("--memory", action="store_true", help="measure only memory per instance")
    p.add_argument(
        "--leaves",
        action="store_true",
        help=f"measure only the memory of {memory.MANY} instances with few flows",
    )
    p.add_argument("--time", action="store_true", help="time packets in ns, in user-mode Linux")
    p.add_argument(
        "--base", type=Path, metavar="DIR", help="with --time: time another checkout's kinds, too"
    )
    p.add_argument(
        "--holds", action="store_true", help="time only how long growing tables hold the root lock"
    )
    p.add_argument("--layout", action="store_true", help="show only the sizes of our structures")
    p.add_argument("--json", action="store_true", help="print a line of JSON for each row")
    p.add_argument(
        "--write",
        action="store_true",
        help=f"write to {figures.STORE.relative_to(figures.TOP)} and "
        f"{figures.PAGE.relative_to(figures.TOP)}; if a cost of ours has increased, "
        "keep the old value and fail",
    )
    p.add_argument("--accept", action="store_true", help="with --write: accept higher costs")
    return p


def sensible(cell: BenchCell) -> bool:
    """Return whether a combination belongs on the page. The others add nothing."""
    if cell.regime == "gso":
        return nosplit_word(cell.qdisc) is not None
    return (cell.qdisc, cell.regime) not in ((SLOW, "flood"), STALLED)


def pieces(kinds: Sequence[str]) -> Iterator[list[str]]:
    """Split kinds into groups that share a guest."""
    for start in range(0, len(kinds), TOGETHER):
        yield list(kinds[start : start + TOGETHER])


class BenchRun:
    """A run of the benchmark: the request, and the costs measured so far."""

    def __init__(self, asked: argparse.Namespace, kinds: Sequence[str]) -> None:
        """Start with the committed costs."""
        self.asked = asked
        self.kinds = kinds
        self.before = figures.load()
        self.found = figures.none()
        self.errors = 0

    def save(self) -> None:
        """Write the costs, if the request says so."""
        if not self.asked.write:
            return
        kept = copy.deepcopy(self.found)
        figures.keep(self.before, kept, self.asked.accept)
        stored = figures.load()
        figures.merge(stored, kept)
        stored["layout"].update(kept["layout"])  # removes structures that no longer exist
        stored = figures.in_order(stored, [*MAINLINE, *all_metadata()])
        figures.STORE.write_text(figures.dump(stored))

    def instructions(self, cells: Sequence[BenchCell]) -> None:
        """Count instructions."""
        found = list(instructions.measured(cells))
        for row in found:
            if row.error:
                self.errors += 1
                print(f"bench: {row.qdisc} {row.regime} {row.flows}: {row.error}", file=sys.stderr)
            if self.asked.json:
                print(json.dumps(asdict(row)))
        figures.add_rows(self.found, found)
        if not self.asked.json:
            print(
                figures.cost_table(
                    {
                        BenchCell(row.qdisc, row.regime, row.flows): row.instructions_per_packet
                        for row in found
                        if row.instructions_per_packet is not None
                    }
                )
            )
        self.save()

    def lines(self, cells: Sequence[BenchCell], loud: bool) -> None:
        """Trace instructions by function, and cache lines."""
        built = modules.ensure_modules(stock.ensure_stock(instructions.KERNEL))
        for cell, trace in zip(cells, instructions.traced(cells), strict=True):
            figures.add_lines(self.found, cell, tracing.lines_of(trace), tracing.hot(trace))
            if loud:
                print(
                    f"\n{instructions.with_options(cell.qdisc)}: {cell.regime}, {cell.flows} flows"
                )
                print(tracing.report(trace, built, REGIMES[cell.regime].total))
        self.save()

    def memory(self) -> None:
        """Measure the memory of instances."""
        for kinds in pieces(self.kinds):
            for leaf, taken in memory.measured(memory.leaves(kinds)):
                self.found["memory"].setdefault(leaf.qdisc, {})[leaf.options] = taken.counted
                print(
                    f"{leaf.qdisc} {leaf.options}: {taken.counted} bytes by the kernel's sums, "
                    f"{taken.gone} by what is free"
                )
            self.save()

    def leaves(self) -> None:
        """Measure the memory and time of many instances, first for fq_codel."""
        first = 0.0
        kinds = [kind for kind in self.kinds if kind in {*all_metadata()} & {*memory.HAVE_FLOWS}]
        for leaf, taken, seconds in memory.many(["fq_codel", *kinds]):
            first = first or seconds
            here = {"bytes": taken.counted * leaf.leaves, "time": round(seconds / first, 1)}
            self.found["leaves"].setdefault(leaf.qdisc, {})[leaf.options] = here
            print(f"{leaf.qdisc} {leaf.options}: {json.dumps(here)}, {seconds:.1f} s")
            self.save()

    def time(self) -> None:
        """Time packets, and name the cells that are beyond their targets."""
        asked = self.asked
        cells = [cell for cell in timing.CELLS if self._asked_for(cell)]
        kinds = [kind for kind in self.kinds if kind in {*timing.SOURCES, *all_metadata()}]
        found = timing.measured(kinds, cells, asked.base)
        print(times.report(found))
        now = times.stored(found["this"])
        self.found["time"] = now
        for line in times.beyond(now, self.before["time"]):
            self.errors += not asked.accept
            print(f"bench: slower: {line}", file=sys.stderr)
        self.save()

    def _asked_for(self, cell: tuple[str, int]) -> bool:
        """Return whether the command asks for a cell."""
        return (not self.asked.regime or cell[0].split()[-1] in self.asked.regime) and (
            not self.asked.flows or cell[1] in self.asked.flows
        )

    def layout(self) -> None:
        """Read the sizes of our structures."""
        built = modules.ensure_modules(stock.ensure_stock(instructions.KERNEL))
        for kind in all_metadata():
            if kind in self.kinds:
                self.found["layout"][kind] = layout.sizes(kind, built)
                print(kind, json.dumps(self.found["layout"][kind]))
        self.save()

    def go(self) -> int:
        """Carry out the request. Returns the exit status."""
        asked = self.asked
        regimes = [
            (regime, flows) for regime in asked.regime or STANDARD for flows in asked.flows or [100]
        ]
        parts = {
            "layout": self.layout,
            "memory": self.memory,
            "leaves": self.leaves,
            "time": self.time,
        }
        wanted = [part for part in parts if asked.whole or getattr(asked, part)]
        for kinds in pieces(self.kinds):
            if asked.profile:
                self.lines([BenchCell(kind, *regime) for kind in kinds for regime in regimes], True)
            elif asked.whole:
                self.instructions(
                    [
                        cell
                        for kind in kinds
                        for regime in WHOLE
                        if sensible(cell := BenchCell(kind, *regime))
                    ]
                )
                self.lines(
                    [
                        BenchCell(kind, *regime)
                        for kind in kinds
                        for regime in TRACED
                        if kind != SLOW
                    ],
                    False,
                )
            elif not wanted:
                self.instructions(
                    [BenchCell(kind, *regime) for kind in kinds for regime in regimes]
                )
        for part in wanted:
            parts[part]()
        if not asked.write:
            return int(self.errors > 0)
        worse = figures.keep(self.before, copy.deepcopy(self.found), asked.accept)
        for line in worse:
            print(f"bench: dearer: {line}", file=sys.stderr)
        stored = figures.load()
        figures.write_page(stored, {"time": times.time_table})
        pictures.draw(stored)
        return int(self.errors > 0 or (bool(worse) and not asked.accept))


def main() -> int:
    """Run the benchmark that the command line requests."""
    kinds = [*all_metadata(), *MAINLINE]
    asked = parser(kinds).parse_args()
    if asked.time and asked.write and (asked.qdisc or asked.regime or asked.flows):
        raise SystemExit("bench: --time --write needs all kinds and cells, of one run")
    if asked.base and not asked.time:
        raise SystemExit("bench: --base needs --time")
    if asked.holds:
        print(holds.report())
        return 0
    return BenchRun(asked, asked.qdisc or kinds).go()


if __name__ == "__main__":
    sys.exit(main())
