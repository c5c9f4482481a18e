# SPDX-License-Identifier: GPL-2.0
"""Draw plots over time. Each line shows one run, with the first seed.

The lines are in `traces.parquet`, because a row has no time series.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.measure import logs, time_series
from aqmlab.report import svg_plots

from . import rows, store
from .paper import Cell, Paper, words

KIND = "time"
HEAD = ("figure", "cell", "command", "of", "from_s", "to_s")


@dataclass(frozen=True)
class TimeSeries:
    """One pair of axes: the lines `of` (measure/time_series.py names them) of a cell's run, from
    from_s to to_s. figure, title: where it is drawn."""

    figure: str
    title: str
    cell: Cell
    of: Sequence[str]
    window: Mapping[str, float]

    @property
    def head(self) -> dict[str, Any]:
        """What its line in the file begins with; a trace with another is another."""
        return {
            "figure": self.figure,
            "cell": self.cell.name,
            "command": shlex.join(self.cell.words),
            "of": list(self.of),
            **self.window,
        }


#: A trace, and its line in the file if it is there.
Found = tuple[TimeSeries, dict[str, Any] | None]


def asked(paper: Paper) -> Iterator[TimeSeries]:
    """All that the paper's figures over time show, in their order."""
    experiments = {experiment.name: experiment for experiment in paper.experiments}
    for figure in paper.text.get("plot", ()):
        if figure.get("kind") != KIND:
            continue
        for part in figure.get("panels", [{}]):
            spec = {**figure, **part}
            experiment, at = experiments[spec["experiment"]], spec.get("at", {})
            for name in spec["disciplines"]:
                cell = Cell(
                    experiment,
                    name,
                    at,
                    experiment.first,
                    words(experiment, paper.disciplines, name, at, experiment.first),
                )
                title = ", ".join(filter(None, (name, spec.get("title"))))
                yield TimeSeries(
                    figure["name"],
                    title,
                    cell,
                    spec.get("of", ["packets"]),
                    {key: spec[key] for key in ("from_s", "to_s") if key in spec},
                )


def head_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """What a line of the file begins with."""
    return {key: line[key] for key in HEAD if key in line}


def found(paper: Paper) -> list[Found]:
    """Each that is asked for, and its line if it is there."""
    there = store.read(paper.traces)
    return [
        (trace, next((line for line in reversed(there) if head_of(line) == trace.head), None))
        for trace in asked(paper)
    ]


def runs(over_time: Sequence[Found]) -> list[dict[str, Any]]:
    """One line for each run that the figures over time found are drawn of."""
    return list({line["cell"]: line for _, line in over_time if line}.values())


def missing(paper: Paper) -> dict[str, Cell]:
    """Return the cells that must run for missing lines, by name."""
    return {trace.cell.name: trace.cell for trace, line in found(paper) if line is None}


def keep(paper: Paper, cell: Cell, directory: Path) -> None:
    """Add all that is asked for of the cell's run."""
    run = rows.origin(logs.load_result(directory))
    for trace in asked(paper):
        if trace.cell.name == cell.name:
            lines = time_series.of_run(directory, trace.of, **trace.window)
            store.append(paper.traces, {**trace.head, "lines": lines, **run})


def tidy(paper: Paper) -> None:
    """Keep what is asked for, in its order."""
    there = [line for _, line in found(paper) if line]
    if there:
        store.write(paper.traces, there)


def panels(
    over_time: Sequence[Found], figure: str, y_title: str, scale: float
) -> list[svg_plots.Panel]:
    """Return the panels of a plot whose cells have run."""
    return [
        svg_plots.Panel(
            trace.title,
            "time, s",
            y_title,
            [
                svg_plots.Line(name, [(x, y * scale, 0.0) for x, y in points], marked=False)
                for name, points in line["lines"].items()
            ],
        )
        for trace, line in over_time
        if line and trace.figure == figure
    ]
