# SPDX-License-Identifier: GPL-2.0
"""Measure instructions per packet, cache lines and memory of queue disciplines."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from aqmlab.qdiscs.metadata import all_metadata
from bench import (
    figures,
    holds,
    instructions,
    layout,
    memory,
    options,
    pictures,
    times,
    timing,
    tracing,
)
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
        kinds = dict.fromkeys(["fq_codel", *options.kinds_of("leaves", self.kinds)])
        for leaf, taken, seconds in memory.many(list(kinds)):
            first = first or seconds
            here = {"bytes": taken.counted * leaf.leaves, "time": round(seconds / first, 1)}
            self.found["leaves"].setdefault(leaf.qdisc, {})[leaf.options] = here
            print(f"{leaf.qdisc} {leaf.options}: {json.dumps(here)}, {seconds:.1f} s")
            self.save()

    def time(self) -> None:
        """Time packets, and name the cells that are beyond their targets."""
        asked = self.asked
        kinds = options.kinds_of("time", self.kinds)
        found = timing.measured(kinds, options.cells_to_time(asked), asked.base)
        print(times.report(found))
        now = times.stored(found["this"])
        self.found["time"] = now
        for line in times.beyond(now, self.before["time"]):
            self.errors += not asked.accept
            print(f"bench: slower: {line}", file=sys.stderr)
        self.save()

    def layout(self) -> None:
        """Read the sizes of our structures."""
        built = modules.ensure_modules(stock.ensure_stock(instructions.KERNEL))
        for kind in options.kinds_of("layout", self.kinds):
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
    asked = options.parser(kinds).parse_args()
    if why := options.refusal(asked, kinds):
        raise SystemExit(f"bench: {why}")
    if asked.holds:
        print(holds.report())
        return 0
    return BenchRun(asked, asked.qdisc or kinds).go()


if __name__ == "__main__":
    sys.exit(main())
