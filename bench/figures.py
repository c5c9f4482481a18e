# SPDX-License-Identifier: GPL-2.0
"""The committed costs in figures.json: compare new ones with them, and write their page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aqmlab.qdiscs.metadata import all_metadata
from bench.instructions import REGIMES, BenchCell, BenchRow, Costs
from bench.memory import THIN, WIDE
from bench.tracing import PHASES, Lines

TOP = Path(__file__).resolve().parent.parent
STORE = TOP / "bench" / "figures.json"
PAGE = TOP / "docs" / "performance.md"
SECTIONS = ("time", "instructions", "tenths", "lines", "memory", "leaves", "layout")
BEGIN, END = "<!-- bench/run: {} -->", "<!-- end -->"
DEARER = 1.02  # maximum growth of a cost of ours
ROUNDING = 2  # instructions (or hundredths of cache lines) that are rounding and chance

Figures = dict[str, dict[str, Any]]  # section, kind

#: Mainline's qdiscs that ours are compared with, and the allowed ratio. With two, the cheaper one.
TARGETS = {
    "qsdrr": (("sfq", "fq_codel"), 1.0),
    "tdrr": (("sfq", "fq_codel"), 1.0),
    "chokex": (("choke",), 1.0),
    "2regionred": (("red",), 1.0),
    "blue": (("red",), 1.0),
    "cbt": (("red",), 1.1),
    "sfbx": (("sfb",), 1.0),
    "redtail": (("fq_codel",), 1.0),
}


def none() -> Figures:
    """Return an empty set of costs."""
    return {section: {} for section in SECTIONS}


def load() -> Figures:
    """Read the committed costs."""
    return {**none(), **(json.loads(STORE.read_text()) if STORE.exists() else {})}


def merge(into: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Merge new values into a nested dict."""
    for name, what in found.items():
        if isinstance(what, dict) and name in into:
            merge(into[name], what)
        else:
            into[name] = what


def dump(figures: Figures) -> str:
    """Format costs as JSON, with a line for each kind in each section."""
    parts = []
    for section, kinds in figures.items():
        lines = [f'  "{kind}": {json.dumps(what)}' for kind, what in kinds.items()]
        parts.append(f' "{section}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def costs(figures: Figures) -> Costs:
    """Return instructions per packet, by cell."""
    return {
        BenchCell(kind, regime, int(flows)): cost
        for kind, regimes in figures["instructions"].items()
        for regime, here in regimes.items()
        for flows, cost in here.items()
    }


def add_rows(figures: Figures, rows: Iterable[BenchRow]) -> None:
    """Add the results of rows."""
    for row in rows:
        if row.error or row.instructions_per_packet is None:
            continue
        kind = figures["instructions"].setdefault(row.qdisc, {})
        kind.setdefault(row.regime, {})[str(row.flows)] = row.instructions_per_packet
        if row.regime == "flood" and row.worst_tenth:
            tenths = figures["tenths"].setdefault(row.qdisc, {})
            tenths[str(row.flows)] = row.worst_tenth


def add_lines(figures: Figures, cell: BenchCell, lines: Mapping[str, Lines], hot: int) -> None:
    """Add the cache lines that a discipline touched, and the number of hot ones."""
    here = figures["lines"].setdefault(cell.qdisc, {}).setdefault(cell.regime, {})
    here[str(cell.flows)] = {**{phase: mean.state for phase, mean in lines.items()}, "hot": hot}


def dearer(before: Costs, now: Costs) -> dict[BenchCell, str]:
    """Return the cells whose cost grew by more than 2 % and more than ROUNDING, with a message."""
    return {
        cell: f"{cell.qdisc} {cell.regime} {cell.flows}: {cost:.0f}, was {before[cell]:.0f}"
        for cell, cost in now.items()
        if cell in before and cost > before[cell] * DEARER + ROUNDING
    }


def keep(before: Figures, now: Figures, accept: bool) -> list[str]:
    """Return our costs that increased. Unless accepted, keep the old value, to fail again."""
    ours = all_metadata()
    old = costs(before)
    worse = dearer(old, {cell: cost for cell, cost in costs(now).items() if cell.qdisc in ours})
    if not accept:
        for cell in worse:
            now["instructions"][cell.qdisc][cell.regime][str(cell.flows)] = old[cell]
    return list(worse.values())


def in_order(figures: Figures, kinds: Iterable[str]) -> Figures:
    """Sort costs: kinds in the order of measurement, and flows by number."""
    kinds = list(kinds)
    found = {
        section: {kind: figures[section][kind] for kind in kinds if kind in figures[section]}
        for section in SECTIONS
    }
    for regimes in found["instructions"].values():
        for regime, here in regimes.items():
            regimes[regime] = dict(sorted(here.items(), key=lambda item: int(item[0])))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table. All columns except the first are numbers."""
    head = list(head)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cost_table(found: Costs) -> str:
    """Return a table of costs: a row per kind, a column per regime and number of flows."""
    order = list(REGIMES)
    columns = sorted(
        {(cell.regime, cell.flows) for cell in found},
        key=lambda column: (order.index(column[0]), column[1]),
    )
    rows = []
    for qdisc in dict.fromkeys(cell.qdisc for cell in found):
        here = [found.get(BenchCell(qdisc, *column)) for column in columns]
        rows.append([qdisc, *("" if cost is None else f"{cost:.0f}" for cost in here)])
    return table(["", *(f"{regime}, {short(flows)}" for regime, flows in columns)], rows)


def short(number: int) -> str:
    """Format a round number of flows."""
    for unit, name in ((1_000_000, "M"), (1000, "k")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


def by_regime(figures: Figures) -> str:
    """Return the table of costs with 100 flows, and with 10 000 in the flood."""
    found = costs(figures)
    return cost_table(
        {
            cell: cost
            for cell, cost in found.items()
            if cell.flows == (10_000 if cell.regime == "flood" else 100)
        }
    )


def by_flows(figures: Figures) -> str:
    """Return the table of costs by the number of flows."""
    found = costs(figures)
    return cost_table(
        {cell: cost for cell, cost in found.items() if cell.regime in ("standing", "overload")}
    )


def targets(figures: Figures) -> str:
    """Return the table of targets: our largest ratio, and the number of cells that meet it."""
    found = costs(figures)
    rows = []
    for kind, (whom, more) in TARGETS.items():
        ratios = {}
        for cell, cost in found.items():
            theirs = [
                found[other]
                for name in whom
                if (other := BenchCell(name, cell.regime, cell.flows)) in found
            ]
            if cell.qdisc == kind and theirs:
                ratios[cell] = cost / (min(theirs) * more)
        if not ratios:
            continue
        worst = max(ratios, key=lambda cell: ratios[cell])
        reached = sum(ratio <= 1 for ratio in ratios.values())
        bar = " and ".join(whom) + ("" if more == 1 else f" + {more - 1:.0%}")
        grows = [
            found[BenchCell(kind, regime, 1_000_000)] / found[BenchCell(kind, regime, 100)] - 1
            for regime in ("empty", "standing", "overload")
            if BenchCell(kind, regime, 1_000_000) in found
        ]
        full = found[BenchCell(kind, "overload", 100)] / found[BenchCell(kind, "standing", 100)]
        rows.append(
            [
                kind,
                bar,
                f"{reached} of {len(ratios)}",
                f"{ratios[worst]:.2f} ({worst.regime}, {short(worst.flows)})",
                f"{max(grows):+.1%}" if grows else "",
                f"{full:.2f}",
            ]
        )
    head = [
        "",
        "not above",
        "rows reached",
        "worst, by the bar",
        "100 to 1M flows (bar: 5 %)",
        "overload by standing (bar: 1.3)",
    ]
    return table(head, rows)


def line_table(figures: Figures) -> str:
    """Return the table of cache lines per operation, and of hot ones in private data."""
    columns = [("overload", "100"), ("overload", "10000")]
    phases = [*(phase for phase in PHASES if phase != "release"), "hot"]
    head = [""] + [f"{phase}, {short(int(flows))}" for _, flows in columns for phase in phases]
    rows = []
    for kind, found in figures["lines"].items():
        cells = [
            found.get(regime, {}).get(flows, {}).get(phase)
            for regime, flows in columns
            for phase in phases
        ]
        rows.append([kind, *("" if cell is None else f"{cell:.3g}" for cell in cells)])
    return table(head, rows)


def a_queue(found: Mapping[str, int]) -> float:
    """Return the bytes of a flow's queue, from the difference of two numbers of queues."""
    few, many = (int(options.split()[1]) for options in (THIN, WIDE))
    return (found[WIDE] - found[THIN]) / (many - few)


def memory_rows(figures: Figures) -> Iterator[list[str]]:
    """Yield the rows of the table of memory."""
    for kind, found in figures["memory"].items():
        flow = f"{a_queue(found):.1f}" if WIDE in found else ""
        for options, taken in found.items():
            if options != WIDE:
                yield [f"{kind} {options}".strip(), f"{taken / 1024:.1f}", flow]


def memory_table(figures: Figures) -> str:
    """Return the table of memory per instance and per queue."""
    return table(["", "KiB", "bytes a queue"], memory_rows(figures))


def leaves_table(figures: Figures) -> str:
    """Return the table of many instances."""
    rows = [
        [f"{kind} {options}".strip(), f"{here['bytes'] / 1e9:.2f}", f"{here['time']:.1f}"]
        for kind, found in figures["leaves"].items()
        for options, here in found.items()
    ]
    return table(["", "GB", "time, by fq_codel's"], rows)


BLOCKS = {
    "regimes": by_regime,
    "flows": by_flows,
    "targets": targets,
    "lines": line_table,
    "memory": memory_table,
    "leaves": leaves_table,
}


def write_page(figures: Figures, more: Mapping[str, Callable[[Figures], str]]) -> None:
    """Write the tables to the page. more: tables beside BLOCKS."""
    text = PAGE.read_text()
    for name, make in {**BLOCKS, **more}.items():
        before, rest = text.split(BEGIN.format(name))
        after = rest.partition(END)[2]
        text = f"{before}{BEGIN.format(name)}\n{make(figures)}\n{END}{after}"
    PAGE.write_text(text)
