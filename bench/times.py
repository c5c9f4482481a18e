# SPDX-License-Identifier: GPL-2.0
"""Compare times per packet with targets and with the committed ones, and tabulate them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.figures import short, table
from bench.instructions import BenchCell
from bench.timing import CELLS, SOURCES, Timed

#: Cells of the four numbers in TARGETS.
TARGETED = (
    (("standing", 1), ("standing", 100)),
    (("standing", 10_000), ("standing", 1_000_000)),
    (("overload", 10_000),),
    (("flood", 10_000),),
)
#: The nearest kind of mainline, and the most that ours may take, as a ratio to it in one run.
TARGETS = {
    "qsdrr": ("fq_codel", 0.9, 1.0, 0.35, 0.12),
    "tdrr": ("fq_codel", 1.0, 1.2, 0.4, 0.15),
    "redtail": ("fq_codel", 0.9, 0.8, 0.2, 0.06),
    "chokex": ("choke", 0.7, 0.75, 0.7, 0.7),
    "fpq": ("fq_codel", 0.7, 0.7, 0.2, 0.06),
    "fred": ("fq_codel", 0.9, 1.0, 0.3, 0.07),
    "sfbx": ("sfb", 1.0, 1.0, 1.0, 1.0),
    "ared": ("red", 1.3, 1.3, 1.3, 1.8),
    "2regionred": ("red", 1.1, 1.1, 1.1, 1.8),
    "cbt": ("red", 1.5, 1.5, 1.5, 1.8),
    "blue": ("red", 0.8, 0.8, 1.0, 1.5),
}
#: A ratio that was committed and is above its target may become this many times as large.
SLOWER = 1.15

Times = Mapping[str, Mapping[str, list[float]]]  # kind, "regime flows": least and median, ns


def stored(found: Iterable[Timed]) -> dict[str, dict[str, list[float]]]:
    """Return times as bench/figures.json has them."""
    times: dict[str, dict[str, list[float]]] = {}
    for timed in found:
        here = times.setdefault(timed.cell.qdisc, {})
        here[f"{timed.cell.regime} {timed.cell.flows}"] = [
            round(timed.least, 1),
            round(timed.median, 1),
        ]
    return times


def ratio(times: Times, kind: str, cell: tuple[str, int]) -> float | None:
    """Return a kind's least time by mainline's nearest kind's; None if either is missing."""
    name = "{} {}".format(*cell)
    mine = times.get(kind, {}).get(name)
    theirs = times.get(TARGETS[kind][0], {}).get(name) if kind in TARGETS else None
    return mine[0] / theirs[0] if mine and theirs else None


def beyond(times: Times, before: Times) -> Iterator[str]:
    """Yield cells beyond their target, and beyond SLOWER times the committed ratio."""
    for kind, (whom, *bounds) in TARGETS.items():
        for bound, cells in zip(bounds, TARGETED, strict=True):
            for cell in cells:
                now, was = ratio(times, kind, cell), ratio(before, kind, cell)
                if now is not None and now > max(float(bound), SLOWER * (was or 0.0)):
                    yield (
                        f"{kind}, {cell[0]} {short(cell[1])}: {now:.2f} of {whom}, allowed "
                        f"{bound}" + (f", committed {was:.2f}" if was else "")
                    )


def target(kind: str, cell: tuple[str, int]) -> float | None:
    """Return the bound of a cell; None if nothing bounds it."""
    bounds = TARGETS.get(kind, ("",))[1:]
    found = [float(bound) for bound, cells in zip(bounds, TARGETED, strict=False) if cell in cells]
    return found[0] if found else None


def ns(value: float) -> str:
    """Return nanoseconds with two digits, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def time_table(figures: Mapping[str, Any]) -> str:
    """Return the table of times: ns, and for our kinds the ratio to mainline's nearest one.

    A ratio beyond its target is in bold.
    """
    times: Times = figures["time"]
    cells = [cell for cell in CELLS if any("{} {}".format(*cell) in t for t in times.values())]
    rows = []
    for kind in [*SOURCES, *TARGETS]:
        if kind not in times:
            continue
        row = [kind, TARGETS[kind][0] if kind in TARGETS else ""]
        for cell in cells:
            here = times[kind].get("{} {}".format(*cell))
            by, bound = ratio(times, kind, cell), target(kind, cell)
            text = f"{by:.2f}" if by is not None else ""
            mark = "**" if by is not None and bound is not None and by > bound else ""
            row.append(
                f"{mark}{text}{mark} ({ns(here[0])})"
                if here and by
                else ns(here[0])
                if here
                else ""
            )
        rows.append(row)
    return table(["", "nearest", *(f"{regime}, {short(flows)}" for regime, flows in cells)], rows)


def report(found: Mapping[str, list[Timed]]) -> str:
    """Return a table of least and median of each cell; two trees are beside each other."""
    rows: dict[BenchCell, list[str]] = {}
    for tree in found.values():
        for timed in tree:
            rows.setdefault(timed.cell, []).append(f"{ns(timed.least)} / {ns(timed.median)}")
    head = ["", *(f"{tree}, least / median ns" for tree in found)]
    return table(
        head, [[f"{c.qdisc}, {c.regime} {short(c.flows)}", *texts] for c, texts in rows.items()]
    )
