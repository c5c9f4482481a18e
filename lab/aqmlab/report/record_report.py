# SPDX-License-Identifier: GPL-2.0
"""The report of a program that made its own network: what `lab/boot --record DIR` has logged."""

from __future__ import annotations

import csv
import html
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bokeh.embed import file_html
from bokeh.layouts import column
from bokeh.models.widgets import Div
from bokeh.plotting import figure
from bokeh.resources import INLINE
from numpy.typing import NDArray

from labkit.record import INTERFACES, QUEUES, RECORD

from .styles import styles

Array = NDArray[np.float64]

#: Columns of the logs that are numbers.
NUMBERS = ("time_s", "rx_bytes", "tx_bytes", "sent_bytes", "sent_packets", "dropped", "packets")


class Line(NamedTuple):
    """The samples of one queue or interface by column; each column has one value per sample."""

    name: str
    values: Mapping[str, Array]

    def rate_mbps(self, counter: str) -> Array:
        """Return the rate of a counter of bytes since the sample before, Mb/s; first 0."""
        time_s, counted = self.values["time_s"], self.values[counter]
        gone = np.diff(time_s)
        return np.concatenate([[0.0], np.maximum(np.diff(counted), 0) * 8e-6 / gone])

    def mean_mbps(self, counter: str) -> float:
        """Return the mean rate from the first to the last sample, Mb/s."""
        time_s, counted = self.values["time_s"], self.values[counter]
        gone = time_s[-1] - time_s[0]
        return float(8e-6 * (counted[-1] - counted[0]) / gone) if gone else 0.0


def lines(path: Path, keys: Sequence[str]) -> list[Line]:
    """Read a log, and return a line for each combination of values of the columns KEYS."""
    rows: dict[str, list[dict[str, str]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(" ".join(row[key] for key in keys), []).append(row)
    return [
        Line(
            name,
            {key: np.array([float(row[key]) for row in mine]) for key in NUMBERS if key in mine[0]},
        )
        for name, mine in rows.items()
    ]


def queue_rows(queues: Sequence[Line]) -> list[list[str]]:
    """Return the table of queues: rate, packets, drops and backlog."""
    return [
        [
            line.name,
            f"{line.mean_mbps('sent_bytes'):.3f}",
            f"{line.values['sent_packets'][-1]:.0f}",
            f"{line.values['dropped'][-1]:.0f}",
            f"{line.values['packets'].mean():.1f}",
            f"{line.values['packets'].max():.0f}",
        ]
        for line in queues
    ]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in HTML."""
    found = ["<tr>" + "".join(f"<th scope=col>{html.escape(head)}</th>" for head in heads)]
    for first, *cells in rows:
        tds = "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in cells)
        found.append(f"<tr><th scope=row style='text-align:left'>{html.escape(first)}</th>{tds}")
    return "<table cellpadding=4>" + "\n".join(found) + "</table>"


def plot(title: str, unit: str, shown: Mapping[str, tuple[Array, Array]]) -> figure:
    """Return a plot over time; a click on a name hides its line."""
    made = figure(
        title=title, width=900, height=320, x_axis_label="s since the start", y_axis_label=unit
    )
    for (name, (x, y)), look in zip(shown.items(), styles(shown).values(), strict=True):
        made.line(x, y, legend_label=name, color=look.colour, line_dash=look.dash, line_width=2)
    made.legend.click_policy = "hide"
    made.add_layout(made.legend[0], "right")
    return made


def write(path: Path, directory: Path) -> None:
    """Write the report of what is in DIRECTORY to PATH."""
    about: dict[str, Any] = json.loads((directory / RECORD).read_text())
    queues = [
        line
        for line in lines(directory / QUEUES, ("namespace", "device", "kind", "handle"))
        if line.values["sent_packets"][-1] > 0
    ]
    links = [
        line
        for line in lines(directory / INTERFACES, ("namespace", "device"))
        if line.values["tx_bytes"][-1] > 0
    ]
    rates = [
        [line.name, f"{line.mean_mbps('tx_bytes'):.3f}", f"{line.mean_mbps('rx_bytes'):.3f}"]
        for line in links
    ]
    lab = ", ".join(f"{key} {value}" for key, value in about["lab"].items() if key != "image")
    made = html.escape(f"{lab}; digest of the logs {about['digest'][:16]}")
    command = html.escape(shlex.join(about["command"]))
    backlogs = {q.name: (q.values["time_s"], q.values["packets"]) for q in queues}
    sent = {link.name: (link.values["time_s"], link.rate_mbps("tx_bytes")) for link in links}
    heads = ("queue", "Mb/s", "packets", "dropped", "mean backlog, packets", "largest")
    parts = [
        Div(text=f"<h1>Queues and interfaces</h1><p><code>{command}</code><p>{made}"),
        plot("Backlog", "packets", backlogs),
        plot("Sent", "Mb/s", sent),
        Div(text=table(heads, queue_rows(queues))),
        Div(text=table(("interface", "sent, Mb/s", "received, Mb/s"), rates)),
    ]
    path.write_text(file_html(column(*parts), INLINE, title="Queues and interfaces"))
