# SPDX-License-Identifier: GPL-2.0
"""Several runs of one setting that differ in the seed only: means and 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % interval (Student's t); NaN with one value. inverse:
    of what is to be shown, a ratio to what may be 0, this is the inverse."""

    value: float
    half: float
    inverse: bool = False

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """`12.3 ±0.4`, multiplied by `scale`; of an inverse between what its interval lies."""
        if self.inverse:
            half = 0.0 if math.isnan(self.half) else self.half
            found = [scale / end for end in (self.value + half, self.value - half) if end > 0]
            ends = [f"{end:.{digits if end < 10 else 0}f}" for end in found]
            return (f"at least {ends[0]}" if len(ends) == 1
                    else " to ".join(dict.fromkeys(ends)) or "infinite")
        value = f"{self.value * scale:.{digits}f}"
        return value if math.isnan(self.half) else f"{value} ±{self.half * scale:.{digits}f}"


def mean(values: Sequence[float]) -> Mean:
    """Mean of independent repetitions."""
    n = len(values)
    middle = math.fsum(values) / n
    if n < 2:
        return Mean(middle, math.nan)
    variance = math.fsum((v - middle) ** 2 for v in values) / (n - 1)
    from scipy.special import stdtrit  # takes longer than a short run

    t = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Mean(middle, t * math.sqrt(variance / n))


def known_mean(values: Sequence[float | None]) -> Mean | None:
    """`mean`; None where one of them is, or where there is none."""
    known = [v for v in values if v is not None]
    return mean(known) if known and len(known) == len(values) else None


def beyond(values: Sequence[float], limits: Sequence[float], sign: int) -> Mean:
    """By how much values are worse than limits, each than the limit under the same seed: the
    logarithm of the ratio, or the difference where there is a 0. sign: 1 where the least is best,
    -1 where the most is."""
    pairs = list(zip(values, limits, strict=True))
    ratio = all(one > 0 for pair in pairs for one in pair)
    return mean([sign * (math.log(value / limit) if ratio else value - limit)
                 for value, limit in pairs])


def combine(objects: Sequence[Any]) -> Any:
    """The same structure with each number replaced by the mean over `objects`, and by None what
    one of them does not know."""
    if any(o is None for o in objects):
        return None
    first = objects[0]
    if isinstance(first, Mapping):
        return {key: combine([o[key] for o in objects]) for key in first}
    return mean([float(o) for o in objects]).value


@dataclass(frozen=True)
class Column:
    """A metric of `summary`: its title with unit, how to get it (None where the run has none), and
    how to print it.

    better: 1 when more is better, -1 when less is, 0 when neither.
    """

    title: str
    get: Callable[[Mapping[str, Any]], float | None]
    scale: float
    digits: int
    better: int


def _over_fair(summary: Mapping[str, Any]) -> float | None:
    goodput, fair = summary["goodput_bps"], summary["fair_share_bps"]
    return goodput["mean"] / fair if goodput and fair else None


COLUMNS = (
    Column("utilization, %", lambda s: s["utilization"], 100, 1, 1),
    Column("goodput / fair share, %", _over_fair, 100, 1, 1),
    Column("sd / fair share, %", lambda s: s["sd_over_fair_share"], 100, 1, -1),
    Column("Jain's index", lambda s: s["jain"], 1, 4, 1),
    Column("queue delay p50, ms", lambda s: s["queue_delay_ms"]["p50"], 1, 2, -1),
    Column("queue delay p99, ms", lambda s: s["queue_delay_ms"]["p99"], 1, 2, -1),
    Column("dropped, packets", lambda s: s["dropped"], 1, 0, 0),
)


def column_of(title: str) -> Column:
    """The one of COLUMNS whose title begins so."""
    return next(c for c in COLUMNS if c.title.startswith(title))


@dataclass(frozen=True)
class Row:
    """One discipline, at one buffer if that is what differs: `results` are result.json of each
    seed."""

    name: str
    buffer: int | None
    results: Sequence[Mapping[str, Any]]

    def by_seed(self, column: Column) -> dict[int, float]:
        """Return a column's metric by seed, for the seeds that know it."""
        return {r["seed"]: value for r in self.results
                if (value := column.get(r["summary"])) is not None}

    def cell(self, column: Column) -> Mean | None:
        """A column's mean and interval over the seeds; None where one of them does not know it."""
        return known_mean([column.get(r["summary"]) for r in self.results])

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


def ranked(rows: Sequence[Row], column: Column) -> list[tuple[Row, Mean]]:
    """Rows from the best to the worst of a column; of those only that know it."""
    cells = [(row, cell) for row in rows if (cell := row.cell(column))]
    return sorted(cells, key=lambda rc: -column.better * rc[1].value)


def align(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, indented: the first column left, the others right."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return ["  " + "  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width)
                             in enumerate(zip(row, widths, strict=True))) for row in cells]


def text_table(rows: Sequence[Row]) -> str:
    """Of one setting, for a terminal; the buffer, if that is what differs, comes first."""
    cells = [["", *(c.title for c in COLUMNS)]]
    cells += [[r.name, *(cell.text(c.scale, c.digits) if (cell := r.cell(c)) else ""
                         for c in COLUMNS)] for r in rows]
    buffer = rows[0].buffer
    lines = [] if buffer is None else [f"buffer {buffer} packets"]
    return "\n".join([*lines, *align(cells), ""])
