# SPDX-License-Identifier: GPL-2.0
"""Compare disciplines by each metric, and show the verdicts."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.exceptions import UserError, unknown
from aqmlab.report.columns import COLUMNS, Column, align, column_of, deep
from aqmlab.report.comparison import Verdict, candidates
from aqmlab.report.load_runs import Section

MARKS = {Verdict.BETTER: "+", Verdict.WORSE: "-", Verdict.INDISTINCT: " "}


#: A workload without one of the groups has no such metric. The probe is a sparse flow of UDP.
METRICS = (
    *(
        column_of(title)
        for title in ("goodput", "sd", "probe delay p50", "probe delay p99", "probe loss")
    ),
    Column(
        "tagged UDP loss, %",
        "loss of tagged UDP",
        lambda result: deep(result, "groups.tagged.loss"),
        scale=100,
        digits=2,
        better=-1,
        floor=0.001,
        top=1.0,
    ),
    column_of("request mean"),
)


#: Metrics that --metric may name by the path in result.json: about, unit, and as in Column.
PATHS: Mapping[str, tuple[str, str, float, int, int, float]] = {
    "loss": ("Loss", "%", 100, 2, -1, 0.001),
    "delay_ms.p50": ("Median delay", "ms", 1, 2, -1, 0.5),
    "delay_ms.p99": ("99th percentile of the delay", "ms", 1, 2, -1, 0.5),
    "goodput_bps.mean": ("Mean goodput", "Mb/s", 1e-6, 3, 1, 0.0),
    "share_of_fair": ("Goodput as a part of the fair share", "%", 100, 1, 1, 0.01),
    "completion_s.mean": ("Mean time of a transfer", "s", 1, 3, -1, 0.0),
    "completion_s.p99": ("99th percentile of the time of a transfer", "s", 1, 3, -1, 0.0),
    "page_s.mean": ("Mean time of a page with all its parts", "s", 1, 3, -1, 0.0),
    "page_s.p99": ("99th percentile of the time of a page", "s", 1, 3, -1, 0.0),
    "sojourn_ms.mean": ("Mean time in the queue", "ms", 1, 2, -1, 0.5),
    "sojourn_ms.p50": ("Median time in the queue", "ms", 1, 2, -1, 0.5),
    "sojourn_ms.p99": ("99th percentile of the time in the queue", "ms", 1, 2, -1, 0.5),
    "tcp.srtt_ms.mean": ("Mean of the RTT that TCP measures", "ms", 1, 2, -1, 0.5),
    "tcp.srtt_ms.p99": ("99th percentile of the RTT that TCP measures", "ms", 1, 2, -1, 0.5),
    "video.rate_bps": ("Mean rate of the video", "Mb/s", 1e-6, 3, 1, 0.0),
    "video.stalled_s": ("Seconds in which the video stood still", "s", 1, 2, -1, 0.1),
    "video.switches": ("Changes of the video's rate", "", 1, 1, -1, 0.5),
}
#: Options of `run` that metrics need, by the start of their path.
NEEDS = {"sojourn_ms": "--sojourn", "tcp": "--tcp-state"}


def metric(text: str) -> Column:
    """Return the metric that a user names: a column's name, or GROUP.METRIC of result.json.

    Raises UserError for an unknown name. Only a run knows whether it has the group.
    """
    known = {column.name: column for column in (*COLUMNS, *METRICS) if column.better}
    if text in known:
        return known[text]
    group, _, path = text.partition(".")
    if path not in PATHS:
        names = [*known, *(f"{group if path else 'GROUP'}.{name}" for name in PATHS)]
        raise unknown("metric", text, names)
    about, unit, scale, digits, better, floor = PATHS[path]
    return Column(
        f"{text}, {unit}" if unit else text,
        f"{about} of the group {group}",
        lambda result: deep(result, f"groups.{text}"),
        scale,
        digits,
        better,
        floor,
    )


def options(names: Sequence[str]) -> list[str]:
    """Return the options of `run` without which the named metrics do not exist."""
    return sorted(
        {NEEDS[start] for name in names for start in name.split(".")[1:2] if start in NEEDS}
    )


def missing(sections: Sequence[Section], columns: Sequence[Column]) -> Iterator[str]:
    """Yield a sentence for each discipline without a metric that another one has there."""
    for section, column in itertools.product(sections, columns):
        known = [bool(row.cell(column)) for row in section.rows]
        for row, has in zip(section.rows, known, strict=True):
            if any(known) and not has:
                yield (
                    f"{section.workload or section.any['scenario']}: {row.name} has no "
                    f"{column.name}, so it is not judged by it"
                )


def measured(sections: Sequence[Section], columns: Sequence[Column]) -> None:
    """Raise UserError if no run has one of the metrics."""
    for column in columns:
        if not any(row.cell(column) for section in sections for row in section.rows):
            groups = sorted({name for section in sections for name in section.any["groups"]})
            raise UserError(
                f"--metric {column.name}: no run has it; the groups are {', '.join(groups)}"
            )


@dataclass(frozen=True)
class PairVerdict:
    """What a metric says of `mine` beside `other`: BETTER, WORSE or INDISTINCT."""

    section: Section
    column: Column
    mine: str
    other: str
    word: Verdict


def verdicts(
    sections: Sequence[Section], mine: Sequence[str], columns: Sequence[Column] = METRICS
) -> Iterator[PairVerdict]:
    """Compare each discipline of `mine` with each other one, by all metrics that both have."""
    for section in sections:
        for column in columns:
            found = {candidate.name: candidate for candidate in candidates(section.rows, column)}
            yield from (
                PairVerdict(section, column, name, other, found[name].against(found[other]))
                for name in mine
                if name in found
                for other in found
                if other not in mine
            )


def table(
    section: Section,
    found: Sequence[PairVerdict],
    mine: Sequence[str],
    columns: Sequence[Column] = METRICS,
) -> str:
    """Return one workload as text. If one discipline is compared, marks say how it fares."""
    marks = {
        (pair.column.title, pair.other): MARKS[pair.word]
        for pair in found
        if pair.section is section and len(mine) == 1
    }
    rows = sorted(section.rows, key=lambda row: row.name not in mine)
    shown = [column for column in columns if any(row.cell(column) for row in rows)]
    cells = [["", *(column.title for column in shown)]]
    for row in rows:
        means = [(column, row.cell(column)) for column in shown]
        cells.append(
            [
                row.name,
                *(
                    f"{mean.text(column.scale, column.digits) if mean else ''} "
                    f"{marks.get((column.title, row.name), ' ')}"
                    for column, mean in means
                ),
            ]
        )
    return "\n".join(
        [
            f"{section.about['title']}: {section.any['scenario']}, buffer {section.buffer} packets",
            *align(cells),
            "",
        ]
    )


def counts(found: Sequence[PairVerdict]) -> str:
    """Return a table of how many verdicts each other discipline has, as text."""
    many = len({pair.mine for pair in found}) > 1
    by_pair: dict[tuple[str, str], Counter[Verdict]] = {}
    for pair in found:
        by_pair.setdefault((pair.mine, pair.other), Counter())[pair.word] += 1
    words = (Verdict.BETTER, Verdict.WORSE, Verdict.INDISTINCT)
    return "\n".join(
        align(
            [
                [f"{found[0].mine} is" if not many else "", *words],
                *(
                    [
                        f"than {other}" if not many else f"{mine} than {other}",
                        *(str(by_word[word]) for word in words),
                    ]
                    for (mine, other), by_word in by_pair.items()
                ),
            ]
        )
    )


def write_csv(path: Path, found: Sequence[PairVerdict]) -> None:
    """Write all verdicts with means and half-widths of 95 % intervals, one per row."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "scenario",
                "buffer",
                "metric",
                "mine",
                "mean",
                "ci95",
                "other",
                "other_mean",
                "other_ci95",
                "verdict",
            ]
        )
        for pair in found:
            rows = {row.name: row for row in pair.section.rows}
            scale = pair.column.scale
            numbers = [
                [name, mean.value * scale, mean.half * scale]
                for name in (pair.mine, pair.other)
                if (mean := rows[name].cell(pair.column))
            ]
            writer.writerow(
                [
                    pair.section.any["scenario"],
                    pair.section.buffer,
                    pair.column.title,
                    *itertools.chain(*numbers),
                    pair.word,
                ]
            )
