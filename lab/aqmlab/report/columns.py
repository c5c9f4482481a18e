# SPDX-License-Identifier: GPL-2.0
"""Hold the metrics of the report's tables, and their rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .intervals import Mean, known_mean, mean


def combine(objects: Sequence[Any]) -> Any:
    """Return the same structure with each number replaced by its mean over `objects`, or by None if
    it is missing in one of them."""
    if any(o is None for o in objects):
        return None
    first = objects[0]
    if isinstance(first, Mapping):
        return {key: combine([o[key] for o in objects]) for key in first}
    return mean([float(o) for o in objects]).value


def deep(what: Mapping[str, Any], path: str) -> float | None:
    """Return a metric by its path, such as `delay_ms.p50`, or None if it does not exist."""
    value: Any = what
    for key in path.split("."):
        value = value.get(key) if value else None
    number: float | None = value
    return number


@dataclass(frozen=True)
class Column:
    """A metric of a run, as a column of the report's tables.

    title: its name and unit
    about: the same in words, for a reader who does not know the title
    get: returns it from result.json; None if the run does not have the metric
    scale: factor with which it is printed
    digits: digits after the decimal point
    better: 1 if more is better, -1 if less is, 0 if neither: then it gets no verdict
    floor: differences up to this count as none, in the unit of result.json
    top: largest possible value, in the unit of result.json
    """

    title: str
    about: str
    get: Callable[[Mapping[str, Any]], float | None]
    scale: float = 1.0
    digits: int = 1
    better: int = 0
    floor: float = 0.0
    top: float = math.inf

    @property
    def name(self) -> str:
        """Return the title without the unit."""
        return self.title.partition(", ")[0]

    @property
    def unit(self) -> str:
        """Return the unit; nothing for an index."""
        return self.title.partition(", ")[2]


def _over_fair(result: Mapping[str, Any]) -> float | None:
    goodput, fair = (result["summary"][key] for key in ("goodput_bps", "fair_share_bps"))
    return goodput["mean"] / fair if goodput and fair else None


def _request_mean(result: Mapping[str, Any]) -> float | None:
    """Return the mean over all requests of all groups, in seconds."""
    done = [
        (mean_s, times["completed"])
        for group in result["groups"].values()
        if (times := group.get("completion_s")) and (mean_s := times["mean"]) is not None
    ]
    count = sum(completed for _, completed in done)
    return math.fsum(mean_s * completed for mean_s, completed in done) / count if count else None


def _at(path: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda result: deep(result, path)


#: The probe is a sparse flow of small datagrams. A call feels no difference below 0.5 ms.
COLUMNS = (
    Column(
        "utilization, %",
        "Use of the link",
        _at("summary.utilization"),
        scale=100,
        digits=1,
        better=1,
        floor=0.01,
        top=1.0,
    ),
    Column(
        "goodput / fair share, %",
        "Goodput of the long TCP flows",
        _over_fair,
        scale=100,
        digits=1,
        better=1,
        floor=0.01,
    ),
    Column(
        "sd / fair share, %",
        "How unequally TCP flows share the link",
        _at("summary.sd_over_fair_share"),
        scale=100,
        digits=1,
        better=-1,
        floor=0.01,
    ),
    Column(
        "Jain's index",
        "How equally TCP flows share the link; 1: equally",
        _at("summary.jain"),
        digits=4,
        better=1,
        floor=0.001,
        top=1.0,
    ),
    Column(
        "probe delay p50, ms",
        "Delay of a sparse flow: half of its packets wait longer",
        _at("groups.probe.delay_ms.p50"),
        digits=2,
        better=-1,
        floor=0.5,
    ),
    Column(
        "probe delay p99, ms",
        "Delay of a sparse flow: 1 % of its packets wait longer",
        _at("groups.probe.delay_ms.p99"),
        digits=2,
        better=-1,
        floor=0.5,
    ),
    Column(
        "probe loss, %",
        "Loss of a sparse flow",
        _at("groups.probe.loss"),
        scale=100,
        digits=2,
        better=-1,
        floor=0.001,
        top=1.0,
    ),
    Column(
        "request mean, s", "Time until a web page is complete", _request_mean, digits=2, better=-1
    ),
    Column(
        "backlog p50, ms",
        "Median backlog, as the time to send it",
        _at("summary.queue_delay_ms.p50"),
        digits=2,
    ),
    Column(
        "backlog p99, ms",
        "99th percentile of the backlog, as the time to send it",
        _at("summary.queue_delay_ms.p99"),
        digits=2,
    ),
    Column(
        "dropped, packets", "Packets that the discipline dropped", _at("summary.dropped"), digits=0
    ),
)


def column_of(title: str) -> Column:
    """Return the first of COLUMNS whose title begins with these words."""
    return next(c for c in COLUMNS if c.title.startswith(title))


@dataclass(frozen=True)
class DisciplineRow:
    """One discipline, at one buffer if that is what differs: `results` are result.json of each
    seed."""

    name: str
    buffer: int | None
    results: Sequence[Mapping[str, Any]]

    def by_seed(self, column: Column) -> dict[int, float]:
        """Return a column's metric by seed, for the seeds that know it."""
        return {r["seed"]: value for r in self.results if (value := column.get(r)) is not None}

    def cell(self, column: Column) -> Mean | None:
        """A column's mean and interval over the seeds; None where one of them does not know it."""
        return known_mean([column.get(r) for r in self.results])

    def as_json(self) -> dict[str, Any]:
        """As in summary.json: what is in each result's summary, averaged over the seeds."""
        return {
            "qdisc": self.name,
            "buffer": self.buffer,
            "seeds": [r["seed"] for r in self.results],
            "summary": combine([r["summary"] for r in self.results]),
            "ci95": {c.title: _half(self.cell(c), c.scale) for c in COLUMNS},
        }


def _half(cell: Mean | None, scale: float) -> float | None:
    """JSON has no NaN."""
    return None if cell is None or math.isnan(cell.half) else cell.half * scale


def columns_of(rows: Sequence[DisciplineRow]) -> list[Column]:
    """Return the columns that at least one row has."""
    return [column for column in COLUMNS if any(row.cell(column) for row in rows)]


def align(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, indented: the first column left, the others right."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def text_table(rows: Sequence[DisciplineRow]) -> str:
    """Return the rows of one setting for a terminal, below the buffer, if there is one."""
    columns = columns_of(rows)
    cells = [["", *(c.title for c in columns)]]
    cells += [
        [r.name, *(cell.text(c.scale, c.digits) if (cell := r.cell(c)) else "" for c in columns)]
        for r in rows
    ]
    buffer = rows[0].buffer
    lines = [] if buffer is None else [f"buffer {buffer} packets"]
    return "\n".join([*lines, *align(cells), ""])
