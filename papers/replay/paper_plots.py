# SPDX-License-Identifier: GPL-2.0
"""A paper's figures, drawn of its rows: `[plot.NAME]` of sweep.toml says which there are."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from aqmlab.exceptions import nearest
from aqmlab.measure import derived_metrics, traffic_metrics
from aqmlab.report import intervals, svg_plots

from . import claims, time_plots
from .claim_types import lists
from .experiment import Experiment
from .markdown import cell
from .paper import Paper
from .row import Row


def _rows(
    rows: Sequence[Row], experiment: Experiment, name: str, at: Mapping[str, Any]
) -> list[Row]:
    """Select the rows of a discipline at these values of axes."""
    return [
        row
        for row in rows
        if (row["experiment"], row["discipline"]) == (experiment.name, name)
        and all(row["at"][axis] == value for axis, value in at.items())
    ]


def _line(
    name: str, spec: Mapping[str, Any], experiment: Experiment, rows: Sequence[Row]
) -> svg_plots.Line:
    """Means over the seeds with their intervals, along the axis `x`. A point needs all seeds that
    ran: the mean of the searches that found a value would be too good."""
    scale, points = spec.get("scale", 1.0), []
    mine = _rows(rows, experiment, name, spec.get("at", {}))
    for x in experiment.axes[spec["x"]]:
        with suppress(derived_metrics.Absent):
            if values := [
                derived_metrics.metric_of(row["metrics"], spec["metric"]) * scale
                for row in _rows(mine, experiment, name, {spec["x"]: x})
            ]:
                mean = intervals.mean(values)
                points.append((float(x), mean.value, 0.0 if math.isnan(mean.half) else mean.half))
    return svg_plots.Line(name, points, heavy=name in spec.get("heavy", ()))


def _published(
    spec: Mapping[str, Any], paper: Paper, experiment: Experiment
) -> list[svg_plots.Line]:
    """Return the published numbers of the claims that `published` names. Of a range, the middle.

    Raises ValueError for a claim that the plot cannot show.
    """
    if not spec.get("published"):
        return []
    by_id = {claim.id: claim for claim in claims.load(paper.directory)}
    points: dict[str, list[tuple[float, float, float]]] = {}
    for name in spec["published"]:
        if name not in by_id:
            raise ValueError(f"published: {nearest('claim', name, by_id)}")
        claim = by_id[name]
        said = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", claim.published)]
        at = {axis: of for axis, of in claim.what.at.items() if axis != spec["x"]}
        here = lists(spec.get("at", {}))
        if claim.against or not said or claim.what.metric != spec["metric"] or at != here:
            raise ValueError(f"{name} has no number for a plot of {spec['metric']}")
        for x in claim.what.at.get(spec["x"], experiment.axes[spec["x"]]):
            points.setdefault(claim.what.of, []).append((float(x), statistics.fmean(said), 0.0))
    return [svg_plots.Line(of, of_one, joined=False, hollow=True) for of, of_one in points.items()]


def _slopes(
    powers: Sequence[float], points: Sequence[tuple[float, float, float]]
) -> list[svg_plots.Line]:
    """Powers of x through the first of these points."""
    x, y, _ = points[0]
    ends = (x, points[-1][0])
    return [
        svg_plots.Line(
            f"slope {power:g}", [(end, y * (end / x) ** power, 0.0) for end in ends], marked=False
        )
        for power in powers
    ]


def _flows(
    spec: Mapping[str, Any], experiment: Experiment, rows: Sequence[Row]
) -> list[svg_plots.Panel]:
    """A panel for each discipline: every flow's goodput, of the first seed, Mb/s."""
    panels = []
    for name in spec.get("disciplines", experiment.disciplines):
        for row in _rows(rows, experiment, name, spec["at"]):
            if row["seed"] == experiment.first:
                flows = row["metrics"]["flows_bps"]
                points = [(float(i), bps / 1e6, 0.0) for i, bps in enumerate(flows)]
                fair = row["metrics"]["summary"]["fair_share_bps"] / 1e6
                panels.append(
                    svg_plots.Panel(
                        name,
                        "flow",
                        "goodput, Mb/s",
                        [svg_plots.Line("a flow", points, joined=False)],
                        at_y=fair,
                    )
                )
    return panels


def _series(
    spec: Mapping[str, Any], experiment: Experiment, rows: Sequence[Row]
) -> list[svg_plots.Panel]:
    """A panel for each discipline: a group's goodput over time, mean of the seeds, Mb/s."""
    panels = []
    for name in spec.get("disciplines", experiment.disciplines):
        runs = [
            row["metrics"]["series_bps"][spec["group"]]
            for row in _rows(rows, experiment, name, spec.get("at", {}))
            if "series_bps" in row["metrics"]
        ]
        means = [
            intervals.mean([bps / 1e6 for bps in values]) for values in zip(*runs, strict=True)
        ]
        points = [
            ((i + 0.5) * experiment.step_s, mean.value, 0.0 if math.isnan(mean.half) else mean.half)
            for i, mean in enumerate(means)
        ]
        if points:
            panels.append(
                svg_plots.Panel(
                    name, "time, s", spec["y_title"], [svg_plots.Line(spec["group"], points)]
                )
            )
    return panels


def _delays(
    spec: Mapping[str, Any], experiment: Experiment, rows: Sequence[Row]
) -> list[svg_plots.Panel]:
    """The panels of `panels`: share of a group's datagrams that came within x, %; mean of the seeds
    at each of traffic_metrics.PERCENTS."""
    panels = []
    for part in spec["panels"]:
        mine, lines = {**spec, **part}, []
        for name in mine["disciplines"]:
            runs = [
                row["metrics"]["delays_ms"][spec["group"]]
                for row in _rows(rows, experiment, name, mine["at"])
                if "delays_ms" in row["metrics"]
            ]
            means = [intervals.mean(values).value for values in zip(*runs, strict=True)]
            if means:
                lines.append(
                    svg_plots.Line(
                        name,
                        [
                            (ms, float(share), 0.0)
                            for ms, share in zip(means, traffic_metrics.PERCENTS, strict=True)
                        ],
                    )
                )
        if lines:
            panels.append(
                svg_plots.Panel(mine["title"], mine["x_title"], mine["y_title"], lines, x_log=True)
            )
    return panels


#: Plots that have no table of numbers beside them.
KINDS = {"flows": _flows, "series": _series, "delays": _delays}


def _drawn(panels: Sequence[svg_plots.Panel], columns: int = 2) -> str:
    return svg_plots.picture(panels, columns) if panels else ""


def plot(
    spec: Mapping[str, Any],
    paper: Paper,
    rows: Sequence[Row],
    over_time: Sequence[time_plots.Found],
) -> str:
    """The text of a picture; empty when nothing is there to draw. over_time: time_plots.found."""
    if spec.get("kind") == time_plots.KIND:
        drawn = time_plots.panels(over_time, spec["name"], spec["y_title"], spec.get("scale", 1.0))
        return _drawn(drawn)
    (experiment,) = [e for e in paper.experiments if e.name == spec["experiment"]]
    if spec.get("kind") in KINDS:
        panels = KINDS[spec["kind"]](spec, experiment, rows)
        return _drawn(panels, columns=3)
    panels = []
    for part in spec.get("panels", [{}]):
        mine = {**spec, **part}
        lines = [
            _line(name, mine, experiment, rows)
            for name in mine.get("disciplines", experiment.disciplines)
        ]
        if lines := [line for line in lines if line.points]:
            lines += _slopes(mine.get("slopes", ()), lines[0].points)
            lines += _published(mine, paper, experiment)
            panels.append(
                svg_plots.Panel(
                    mine.get("title", ""),
                    mine["x_title"],
                    mine["y_title"],
                    lines,
                    mine.get("x_log", False),
                    mine.get("at_y"),
                    mine.get("y_log", False),
                )
            )
    return _drawn(panels)


def _short(value: float, digits: int) -> str:
    """With so many significant digits, or all those before the point."""
    whole = abs(value) >= 10**digits - 0.5
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def numbers(spec: Mapping[str, Any], paper: Paper, rows: Sequence[Row]) -> list[str]:
    """What a figure shows, as a table for each of its panels."""
    if spec.get("kind") in {time_plots.KIND, *KINDS}:
        return []
    (experiment,) = [e for e in paper.experiments if e.name == spec["experiment"]]
    out: list[str] = []
    for part in spec.get("panels", [{}]):
        mine = {**spec, **part}
        values = experiment.axes[mine["x"]]
        out += [
            f"| {cell(mine.get('title', mine['y_title']))} | "
            + " | ".join(map(str, values))
            + " |",
            "|---" * (1 + len(values)) + "|",
        ]
        for name in mine.get("disciplines", experiment.disciplines):
            found = {x: (y, half) for x, y, half in _line(name, mine, experiment, rows).points}
            texts = [
                _short(found[float(x)][0], 3)
                + (f" ±{_short(found[float(x)][1], 2)}" if found[float(x)][1] else "")
                if float(x) in found
                else "absent"
                for x in values
            ]
            out.append(f"| {name} | " + " | ".join(texts) + " |")
        out.append("")
    return out
