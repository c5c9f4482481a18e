# SPDX-License-Identifier: GPL-2.0
"""The tables of a report: of disciplines, of groups and phases, and of what made the runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from .intervals import COLUMNS, Mean, Row, known_mean, ranked
from .load_runs import Section, deep


@dataclass(frozen=True)
class TableCell:
    """text, half of the interval, and whether it is the best of its column."""

    text: str
    half: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A row of titles, and rows of cells."""

    head: list[str]
    rows: list[list[TableCell]]


def of_disciplines(rows: Sequence[Row]) -> Table:
    """A row for each, with the best of each column marked where two know theirs."""
    best = {c.title: of[0][1].text(c.scale, c.digits).split()[0]
            for c in COLUMNS if c.better and (of := ranked(rows, c))[1:]}
    lines = []
    for row in rows:
        cells = [TableCell(row.name)]
        for column in COLUMNS:
            cell = _cell(row.cell(column), column.scale, column.digits)
            best_of = best.get(column.title)
            cells.append(replace(cell, best=best_of is not None and cell.text == best_of))
        lines.append(cells)
    return Table(["", *(c.title for c in COLUMNS)], lines)


def _cell(known: Mean | None, scale: float, digits: int) -> TableCell:
    """Empty where there is no mean."""
    if known is None:
        return TableCell("")
    text, _, half = known.text(scale, digits).partition(" ")
    return TableCell(text, half)


#: Title, where it stands, factor, digits.
GROUP_COLUMNS = (
    ("flows", "flows", 1, 0), ("RTT, ms", "rtt_ms", 1, 0),
    ("goodput / fair share, %", "share_of_fair", 100, 1), ("loss, %", "loss", 100, 2),
    ("delay p50, ms", "delay_ms.p50", 1, 1), ("delay p99, ms", "delay_ms.p99", 1, 1),
    ("requests done", "completion_s.completed", 1, 0),
    ("completion mean, s", "completion_s.mean", 1, 3),
    ("completion p95, s", "completion_s.p95", 1, 3),
)
PHASE_COLUMNS = (
    ("utilization, %", "utilization", 100, 1), ("Jain's index", "jain", 1, 4),
    ("queue delay p50, ms", "queue_delay_ms.p50", 1, 2),
    ("queue delay p99, ms", "queue_delay_ms.p99", 1, 2), ("dropped, packets", "dropped", 1, 0),
)


def _detail(section: Section, kind: str, columns: Sequence[tuple[str, str, float, int]],
            parts: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A table with a row for each discipline and part, if there are two parts at least; columns
    that are empty all over are left out."""
    lines = []
    for name, several in section.runs.items():
        of_run = [parts(run.result) for run in several]
        for part in of_run[0]:
            lines.append([TableCell(name), TableCell(part), *(
                _cell(known_mean([deep(one[part], path) for one in of_run]), scale, digits)
                for _, path, scale, digits in columns)])
    if len(lines) <= len(section.runs):
        return []
    head = ["", kind, *(title for title, *_ in columns)]
    used = [i for i in range(len(head)) if i < 2 or any(line[i].text for line in lines)]
    return [{"heading": f"Each {kind}", "table": Table(
        [head[i] for i in used], [[line[i] for i in used] for line in lines])}]


def _phases(result: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{p['from_s']:g} to {p['to_s']:g} s: {p['name']}": p for p in result["phases"]}


def of_parts(section: Section) -> list[dict[str, Any]]:
    """Of its groups, and of its phases, with their headings."""
    return [*_detail(section, "group", GROUP_COLUMNS, lambda r: r["groups"]),
            *_detail(section, "phase", PHASE_COLUMNS, _phases)]


def csv_link(table: Table) -> str:
    """A table as a link that needs no script: mean and half of the interval side by side."""
    out = io.StringIO()
    writer = csv.writer(out)
    first, *titles = table.head
    writer.writerow([first or "discipline", *(t for title in titles for t in (title, "±"))])
    for name, *cells in table.rows:
        writer.writerow([name.text, *(t for c in cells for t in (c.text, c.half.strip("± ")))])
    return "data:text/csv;charset=utf-8," + quote(out.getvalue())


def provenance(sections: Sequence[Section]) -> Table:
    """What the runs were made with: a row for each that differs from the others."""
    lines: dict[tuple[str, ...], None] = {}
    for section in sections:
        for name, several in section.runs.items():
            for run in several:
                made = run.result["provenance"]
                modules = ", ".join(f"{k} {v}" for k, v in made["modules"].items())
                image = made["lab"].get("image", "") if made.get("lab") else ""
                lines[(name, made["version"], run.result["kernel"], image[:12], modules,
                       made["compiler"], made["tc"])] = None
    return Table(["", "version", "kernel", "its image", "modules' srcversion", "compiler", "tc"],
                 [[TableCell(text or "") for text in line] for line in lines])
