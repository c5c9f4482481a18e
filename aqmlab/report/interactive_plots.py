# SPDX-License-Identifier: GPL-2.0
"""The pictures of a report that one can zoom, point at and choose from: Bokeh's, and their data.

`data` is what report.js shows of it at a time; `pictures` are Bokeh's models as JSON, each with
sources that report.js fills by their names.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.models.annotations import Span
from bokeh.palettes import Category20_20, Category20b_20
from bokeh.plotting import figure
from bokeh.resources import Resources
from numpy.typing import NDArray

from aqmlab.measure import logs, metrics, qdisc_state, time_series
from aqmlab.qdiscs import xstats

POINTS = 300  # of a line
MOST_RUNS = 150  # with more than these, the first seed's only: a page of some 6 MB
QUANTILES = np.linspace(0, 100, 101)
#: Dark ones first.
COLOURS = (*Category20_20[::2], *Category20_20[1::2], *Category20b_20[::4])
#: Statistics that are no state: what was set, or what the queue's own columns say.
NO_STATE = frozenset({"type", "reserved", "limit", "memory_limit", "bandwidth", "dropped_bytes"})
SCRIPT = Path(__file__).with_name("report.js")

Array = NDArray[np.float64]


def _short(values: Iterable[float | int | None]) -> list[float | None]:
    """Five digits; what is no number is null."""
    return [None if v is None or math.isnan(v) else float(f"{v:.5g}") for v in values]


def _changing(kind: str, raw: Sequence[bytes]) -> dict[str, list[float | None]]:
    """Each statistic of the discipline's own that changes, at each sample."""
    read = qdisc_state.samples(kind, raw)
    names = [n for n in dict.fromkeys(itertools.chain.from_iterable(read)) if n not in NO_STATE]
    found = {}
    for name in names:
        column = [value for one in read if not isinstance(value := one.get(name), str)]
        if len(column) == len(read) and len(set(column)) > 1:
            found[name] = _short(column)
    return found


def of_run(read: logs.Logs) -> dict[str, Any]:
    """What the pictures show of one run."""
    facts, queue = read.run["facts"], read.queue
    delay = metrics.queue_delay_ms(queue, facts["rate_bps"], facts["warmup_s"], facts["end_s"])
    lines = time_series.envelope(queue["packets"], POINTS)
    few = np.unique(np.linspace(0, len(queue["time_s"]) - 1, POINTS).astype(int))
    goodput = metrics.own_goodput_bps(read) / 1e6
    ends = {int(row["flow"]): row for row in read.ends}
    rows = [ends[int(flow)] for flow in read.progress.flows]
    delays = {"queue": np.percentile(delay, QUANTILES)}
    measured = read.delays[read.delays[:, 0] >= facts["warmup_s"]]
    of_flow = {int(flow): row["group"] for flow, row in ends.items()}
    groups = np.array([of_flow.get(int(flow), "") for flow in measured[:, 1]])
    for group in dict.fromkeys(groups):
        delays[f"datagrams of {group}"] = np.percentile(measured[groups == group, 2], QUANTILES)
    marks = [xstats.marked(read.run["qdisc"], queue.xstats[at]) for at in few]
    return {
        "seed": read.run["seed"],
        "flows": {
            "flow": [int(flow) for flow in read.progress.flows],
            "group": [row["group"] for row in rows],
            "rtt": _short(float(row["rtt_ms"] or "nan") for row in rows),
            "again": [int(row["retransmits"] or 0) for row in rows],
            "y": _short(goodput),
        },
        "queue": {"x": _short(queue["time_s"][lines]), "y": _short(queue["packets"][lines])},
        "delays": {of: _short(values) for of, values in delays.items()},
        "time": _short(queue["time_s"][few]),
        "dropped": _short(queue["dropped"][few]),
        "marked": marks if None not in marks and any(marks) else None,
        "state": _changing(read.run["qdisc"].split()[0], [queue.xstats[at] for at in few]),
    }


def data(sections: Sequence[Any], headings: Sequence[str], shown: Sequence[str]) -> dict[str, Any]:
    """All that the pictures can show of the report's sections; `shown` is what they show first."""
    names = list(dict.fromkeys(name for s in sections for name in s.runs))
    runs = sum(len(several) for s in sections for several in s.runs.values())
    return {
        "colours": {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)},
        "shown": list(shown),
        "quantiles": [q / 100 for q in QUANTILES],
        "left_out": runs > MOST_RUNS,
        "sections": [{
            "heading": heading,
            "fair": fair / 1e6 if (fair := section.any["summary"]["fair_share_bps"]) else None,
            "buffer": section.buffer,
            "runs": {name: [run.drawn.explored for run in
                            (several[:1] if runs > MOST_RUNS else several)]
                     for name, several in section.runs.items()},
        } for section, heading in zip(sections, headings, strict=True)],
    }


def _figure(name: str, xlabel: str, ylabel: str, hover: list[tuple[str, str]], *,
            dots: bool = False, **ranges: Any) -> Any:
    """An empty picture whose source is called `name`."""
    picture = figure(height=300, sizing_mode="stretch_width", x_axis_label=xlabel,
                     y_axis_label=ylabel, tools="pan,box_zoom,wheel_zoom,reset,save",
                     active_drag="box_zoom", **ranges)
    if dots:
        source = ColumnDataSource({key: [] for key in (
            "x", "y", "name", "colour", "flow", "group", "rtt", "again")}, name=name)
        tool = HoverTool(tooltips=hover, renderers=[
            picture.scatter("x", "y", color="colour", size=6, alpha=.8, source=source)])
    else:
        source = ColumnDataSource({key: [] for key in ("xs", "ys", "name", "colour", "dash")},
                                  name=name)
        tool = HoverTool(tooltips=hover, line_policy="nearest", renderers=[
            picture.multi_line("xs", "ys", color="colour", line_dash="dash", line_width=1.4,
                               source=source)])
    picture.add_tools(tool)
    picture.toolbar.logo = None
    picture.toolbar.autohide = True
    return picture


def pictures() -> dict[str, str]:
    """Bokeh's models of all pictures as JSON, by the name of their place in the page."""
    time = "time, s"
    made = {
        "flows": _figure("flows", "flow", "goodput, Mb/s", [
            ("", "@name"), ("flow", "@flow, @group"), ("goodput", "@y{0.000} Mb/s"),
            ("RTT at the end", "@rtt ms"), ("retransmitted", "@again")], dots=True),
        "queue": _figure("queue", time, "packets in the queue",
                         [("", "@name"), ("", "$data_x{0.00} s: $data_y{0} packets")]),
        "delays": _figure("delays", "delay, ms", "part that waits no longer",
                          [("", "@name"), ("", "$data_y{0 %} wait at most $data_x{0.00} ms")],
                          y_range=Range1d(start=0, end=1.02)),
        "losses": _figure("losses", time, "packets since the start",
                          [("", "@name"), ("", "$data_x{0.00} s: $data_y{0}")]),
        "state": _figure("state", time, "",
                         [("", "@name"), ("", "$data_x{0.00} s: $data_y{0.[0000]}")]),
    }
    made["flows"].add_layout(Span(dimension="width", line_color="#c0392b", name="fair"))
    return {name: script_json(json_item(model, ID(name))) for name, model in made.items()}


def script_json(what: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(what, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def library() -> str:
    """Bokeh's own script, whole, as an element of the page."""
    return Resources(mode="inline", components=["bokeh"]).render_js()
