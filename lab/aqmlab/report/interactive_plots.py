# SPDX-License-Identifier: GPL-2.0
"""The plots of a report that a reader can zoom and filter: Bokeh's models, and their data.

`data` has everything that the plots can show. `pictures` has Bokeh's models as JSON, with sources
that report.js fills by name.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.models.annotations import Span
from bokeh.plotting import figure
from bokeh.resources import Resources
from numpy.typing import NDArray

from aqmlab.measure import logs, metrics, qdisc_state
from aqmlab.qdiscs import names, xstats
from aqmlab.qdiscs.own_statistics import Field

from . import tcp_plot
from .rounding import short
from .styles import Style

POINTS = 60  # of a line
MOST_RUNS = 160  # with more runs, the plots have only the first seed
QUANTILES = np.linspace(0, 100, 51)
BAND = (10, 50, 90)  # percentiles of the queue in a stretch of time
#: Statistics that are no state: settings, and what the queue's own columns have.
NO_STATE = frozenset({"type", "reserved", "limit", "memory_limit", "bandwidth", "dropped_bytes"})
GREY = "#808893"
SCRIPT = Path(__file__).with_name("report.js")

Array = NDArray[np.float64]


def _band(y: Array) -> list[list[float | int | None]]:
    """Return the percentiles BAND of equal stretches of a line, each as a line of POINTS."""
    parts = np.array_split(y, min(POINTS, len(y)))
    return [short(np.percentile(part, q) for part in parts) for q in BAND]


def _changing(
    kind: str, raw: Sequence[bytes], own: Sequence[Field]
) -> dict[str, list[float | int | None]]:
    """Return each statistic of the discipline that changes, at each sample."""
    read = qdisc_state.samples(kind, raw, own)
    names = [n for n in dict.fromkeys(itertools.chain.from_iterable(read)) if n not in NO_STATE]
    found = {}
    for name in names:
        column = [value for sample in read if not isinstance(value := sample.get(name), str)]
        if len(column) == len(read) and len(set(column)) > 1:
            found[name] = short(column)
    return found


def of_run(read: logs.Logs) -> dict[str, Any]:
    """Return what the plots show of one run."""
    facts, queue = read.run["facts"], read.queue
    delay = metrics.queue_delay_ms(queue, facts["rate_bps"], facts["warmup_s"], facts["end_s"])
    few = np.unique(np.linspace(0, len(queue["time_s"]) - 1, POINTS).astype(int))
    goodput = metrics.own_goodput_bps(read) / 1e6
    ends = {int(row["flow"]): row for row in read.ends}
    rows = [ends[int(flow)] for flow in read.progress.flows]
    kinds = list(dict.fromkeys(row["group"] for row in rows))
    delays = {}
    measured = read.delays[read.delays[:, 0] >= facts["warmup_s"]]
    of_flow = {int(flow): row["group"] for flow, row in ends.items()}
    groups = np.array([of_flow.get(int(flow), "") for flow in measured[:, 1]])
    for group in sorted(set(groups), key=lambda name: (name != "probe", name)):
        delays[str(group)] = np.percentile(measured[groups == group, 2], QUANTILES)
    for group in facts["groups"]:
        mine = [flow for flow, name in of_flow.items() if name == group]
        stays = read.sojourn[
            np.isin(read.sojourn[:, 1], mine) & (read.sojourn[:, 0] >= facts["warmup_s"])
        ]
        if len(stays):
            delays[f"{group}, in the queue"] = np.percentile(stays[:, 2], QUANTILES)
    delays["backlog"] = np.percentile(delay, QUANTILES)
    marks = [xstats.marked(read.run["qdisc"], queue.xstats[at], read.own_statistics) for at in few]
    return {
        "seed": read.run["seed"],
        "flows": {
            "flow": [int(flow) for flow in read.progress.flows],
            "group": [kinds.index(row["group"]) for row in rows],
            "rtt": short((float(row["rtt_ms"] or "nan") for row in rows), 3),
            "again": [int(row["retransmits"] or 0) for row in rows],
            "y": short(goodput, 3),
        },
        "groups": kinds,
        "queue": _band(queue["packets"]),
        "delays": {of: short(values) for of, values in delays.items()},
        "time": short(queue["time_s"][few]),
        "dropped": short(queue["dropped"][few]),
        "marked": marks if None not in marks and any(marks) else None,
        "tcp": tcp_plot.of_run(read),
        "state": _changing(
            names.kind(read.run["qdisc"]), [queue.xstats[at] for at in few], read.own_statistics
        ),
    }


def data(
    sections: Sequence[Any],
    headings: Sequence[str],
    looks: Mapping[str, Style],
    shown: Sequence[str],
) -> dict[str, Any]:
    """Return all that the plots can show.

    shown: the disciplines that are ticked at first
    """
    runs = sum(len(several) for s in sections for several in s.runs.values())
    return {
        "styles": {name: asdict(style) for name, style in looks.items()},
        "shown": list(shown),
        "quantiles": [q / 100 for q in QUANTILES],
        "left_out": runs > MOST_RUNS,
        "sections": [
            {
                "heading": heading,
                "fair": fair / 1e6 if (fair := section.any["summary"]["fair_share_bps"]) else None,
                "buffer": section.buffer,
                "runs": {
                    name: [run.explored for run in (several[:1] if runs > MOST_RUNS else several)]
                    for name, several in section.runs.items()
                },
            }
            for section, heading in zip(sections, headings, strict=True)
        ],
    }


def _figure(xlabel: str, ylabel: str, **ranges: Any) -> Any:
    """Return an empty plot that can be read on white and on black."""
    plot = figure(
        height=300,
        sizing_mode="stretch_width",
        x_axis_label=xlabel,
        y_axis_label=ylabel,
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag="box_zoom",
        **ranges,
    )
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
    plot.outline_line_color = None
    for part in (plot.xaxis, plot.yaxis):
        part.axis_label_text_color = part.major_label_text_color = part.axis_line_color = GREY
        part.major_tick_line_color = part.minor_tick_line_color = GREY
        part.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color, plot.grid.grid_line_alpha = GREY, 0.25
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    return plot


def _dots(name: str, ylabel: str, hover: list[tuple[str, str]], **axis: Any) -> Any:
    """Return a plot of flows whose source is called `name`."""
    plot = _figure("flow, by group and goodput", ylabel, **axis)
    source = ColumnDataSource(
        {key: [] for key in ("x", "y", "name", "colour", "mark", "flow", "group", "rtt", "again")},
        name=name,
    )
    plot.add_tools(
        HoverTool(
            tooltips=hover,
            renderers=[
                plot.scatter(
                    "x", "y", color="colour", marker="mark", size=6, alpha=0.8, source=source
                )
            ],
        )
    )
    plot.add_layout(
        Span(dimension="width", line_color=GREY, line_dash="dashed", name=f"fair-{name}")
    )
    return plot


def _lines(
    name: str, xlabel: str, ylabel: str, hover: str, *, band: bool = False, **ranges: Any
) -> Any:
    """Return a plot of lines whose source is called `name`, above bands if wanted."""
    plot = _figure(xlabel, ylabel, **ranges)
    source = ColumnDataSource(
        {
            key: []
            for key in (
                "xs",
                "ys",
                "name",
                "colour",
                "dash",
                *(("around", "between") if band else ()),
            )
        },
        name=name,
    )
    if band:
        plot.patches("around", "between", color="colour", alpha=0.22, line_alpha=0, source=source)
    plot.add_tools(
        HoverTool(
            tooltips=[("", "@name"), ("", hover)],
            line_policy="nearest",
            renderers=[
                plot.multi_line(
                    "xs", "ys", color="colour", source=source, line_dash="dash", line_width=1.8
                )
            ],
        )
    )
    return plot


def pictures() -> dict[str, str]:
    """Return Bokeh's models of all plots as JSON, by the name of their place in the page."""
    time = "time, s"
    hover = [
        ("", "@name"),
        ("flow", "@flow, @group"),
        ("goodput", "@y{0.000} Mb/s"),
        ("RTT at the end", "@rtt ms"),
        ("retransmitted", "@again"),
    ]
    plots = {
        "flows": _dots("flows", "goodput, Mb/s", hover),
        "flows-log": _dots("flows-log", "goodput, Mb/s", hover, y_axis_type="log"),
        "delays": _lines(
            "delays",
            "delay, ms",
            "part that waits no longer",
            "$data_y{0 %} wait at most $data_x{0.00} ms",
            y_range=Range1d(start=0, end=1.02),
        ),
        "queue": _lines(
            "queue",
            time,
            "packets in the queue",
            "$data_x{0.0} s: half of the time below $data_y{0} packets",
            band=True,
        ),
        "losses": _lines("losses", time, "packets since the start", "$data_x{0.0} s: $data_y{0}"),
        "tcp": _lines("tcp", time, "", "$data_x{0.0} s: $data_y{0.[000]}", band=True),
        "state": _lines("state", time, "", "$data_x{0.0} s: $data_y{0.[0000]}"),
    }
    return {name: script_json(json_item(model, ID(name))) for name, model in plots.items()}


def script_json(what: Any) -> str:
    """Return JSON that can be put into a script element."""
    return json.dumps(what, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def library() -> str:
    """Return Bokeh's script as an element of the page."""
    return Resources(mode="inline", components=["bokeh"]).render_js()
