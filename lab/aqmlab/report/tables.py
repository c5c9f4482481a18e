# SPDX-License-Identifier: GPL-2.0
"""The tables of a report: disciplines, groups and phases, settings, and provenance."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aqmlab.run.params import Param

from .cards import interval_text
from .columns import Column, DisciplineRow, columns_of, deep
from .comparison import candidates, verdicts
from .intervals import known_mean
from .load_runs import Section


@dataclass(frozen=True)
class TableCell:
    """Text, the 95 % interval, and a verdict of `comparison`."""

    text: str
    interval: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Table:
    """A row of titles with explanations, and rows of cells."""

    head: list[str]
    rows: list[list[TableCell]]
    about: list[str]


def of_disciplines(rows: Sequence[DisciplineRow]) -> Table:
    """Return a row for each discipline, with a verdict in each cell."""
    columns = columns_of(rows)
    words = [verdicts(candidates(rows, column)) for column in columns]
    lines = [
        [
            TableCell(row.name),
            *(
                _cell(row, column, by_name.get(row.name, ""))
                for column, by_name in zip(columns, words, strict=True)
            ),
        ]
        for row in rows
    ]
    return Table(["", *(c.title for c in columns)], lines, ["", *(c.about for c in columns)])


def _cell(row: DisciplineRow, column: Column, verdict: str = "") -> TableCell:
    """Return a mean with its interval; an empty cell if there is no mean."""
    known = row.cell(column)
    if known is None:
        return TableCell("")
    ends = known.interval(column.top)
    return TableCell(
        f"{known.value * column.scale:.{column.digits}f}",
        interval_text(*ends, column) if ends else "",
        verdict,
    )


#: Title, path in result.json, factor, digits.
GROUP_COLUMNS = (
    ("flows", "flows", 1, 0),
    ("RTT, ms", "rtt_ms", 1, 0),
    ("goodput / fair share, %", "share_of_fair", 100, 1),
    ("loss (TCP: retransmitted), %", "loss", 100, 2),
    ("TCP dropped, %", "dropped", 100, 2),
    ("delay p50, ms", "delay_ms.p50", 1, 1),
    ("delay p99, ms", "delay_ms.p99", 1, 1),
    ("in the queue p50, ms", "sojourn_ms.p50", 1, 2),
    ("in the queue p99, ms", "sojourn_ms.p99", 1, 2),
    ("requests done", "completion_s.completed", 1, 0),
    ("completion mean, s", "completion_s.mean", 1, 3),
    ("completion p95, s", "completion_s.p95", 1, 3),
)
PHASE_COLUMNS = (
    ("utilization, %", "utilization", 100, 1),
    ("Jain's index", "jain", 1, 4),
    ("queue delay p50, ms", "queue_delay_ms.p50", 1, 2),
    ("queue delay p99, ms", "queue_delay_ms.p99", 1, 2),
    ("dropped, packets", "dropped", 1, 0),
)


def _detail(
    section: Section,
    kind: str,
    columns: Sequence[tuple[str, str, float, int]],
    parts: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return a table with a row for each discipline and part, without empty columns; nothing if
    there is only one part."""
    lines = []
    for name, several in section.runs.items():
        of_run = [parts(run.result) for run in several]
        for part in of_run[0]:
            means = [
                known_mean([deep(by_part[part], path) for by_part in of_run])
                for _, path, _, _ in columns
            ]
            lines.append(
                [
                    TableCell(name),
                    TableCell(part),
                    *(
                        TableCell(f"{mean.value * scale:.{digits}f}" if mean else "")
                        for mean, (_, _, scale, digits) in zip(means, columns, strict=True)
                    ),
                ]
            )
    if len(lines) <= len(section.runs):
        return []
    head = ["", kind, *(title for title, *_ in columns)]
    used = [i for i in range(len(head)) if i < 2 or any(line[i].text for line in lines)]
    return [
        {
            "heading": f"Each {kind}",
            "table": _plain([head[i] for i in used], [[line[i] for i in used] for line in lines]),
        }
    ]


def _plain(head: list[str], rows: list[list[TableCell]]) -> Table:
    return Table(head, rows, [""] * len(head))


def _phases(result: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{p['from_s']:g} to {p['to_s']:g} s: {p['name']}": p for p in result["phases"]}


def of_parts(section: Section) -> list[dict[str, Any]]:
    """Return the tables of a section's groups and phases, with their headings."""
    return [
        *_detail(section, "group", GROUP_COLUMNS, lambda r: r["groups"]),
        *_detail(section, "phase", PHASE_COLUMNS, _phases),
    ]


def csv_link(table: Table) -> str:
    """Return a table as a link that needs no script: each mean beside the ends of its interval."""
    out = io.StringIO()
    writer = csv.writer(out)
    first, *titles = table.head
    writer.writerow(
        [first or "discipline", *(t for title in titles for t in (title, "low", "high"))]
    )
    for name, *cells in table.rows:
        writer.writerow(
            [
                name.text,
                *(
                    t
                    for c in cells
                    for t in (c.text, *(c.interval.split(" to ") if c.interval else ("", "")))
                ),
            ]
        )
    return "data:text/csv;charset=utf-8," + quote(out.getvalue())


def settings(
    sections: Sequence[Section],
    headings: Sequence[str],
    known: Callable[[str], Mapping[str, Param]],
) -> Table:
    """Return a row for each parameter and a column for each section.

    known: from the name of a scenario to its parameters
    """
    params = {name: param for s in sections for name, param in known(s.any["scenario"]).items()}
    names = dict.fromkeys(name for s in sections for name in s.any["parameters"])
    rows = [
        [TableCell("scenario"), *(TableCell(s.any["scenario"]) for s in sections), TableCell("")]
    ]
    for name in names:
        param = params.get(name)
        rows.append(
            [
                TableCell(name),
                *(_setting(s.any["parameters"].get(name), param) for s in sections),
                TableCell(
                    f"{param.unit}: {param.help}"
                    if param and param.unit
                    else param.help
                    if param
                    else ""
                ),
            ]
        )
    return _plain(["", *headings, "meaning"], rows)


def _setting(value: Any, param: Param | None) -> TableCell:
    """Return a value, marked if it is not the default."""
    text = f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)
    return TableCell(text, verdict="set" if text and param and param.default != value else "")


def provenance(sections: Sequence[Section]) -> Table:
    """Return what made the runs, in a row for each discipline and version."""
    lines: dict[tuple[str, ...], None] = {}
    for section in sections:
        for name, several in section.runs.items():
            for run in several:
                versions = run.result["provenance"]
                modules = ", ".join(f"{k} {v}" for k, v in versions["modules"].items())
                image = versions["lab"].get("image", "") if versions.get("lab") else ""
                lines[
                    (
                        name,
                        versions["version"],
                        run.result["kernel"],
                        image[:12],
                        modules,
                        versions["compiler"],
                        versions["tc"],
                    )
                ] = None
    return _plain(
        ["", "version", "kernel", "its image", "modules' srcversion", "compiler", "tc"],
        [[TableCell(text or "") for text in line] for line in lines],
    )
