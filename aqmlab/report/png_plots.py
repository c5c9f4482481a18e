# SPDX-License-Identifier: GPL-2.0
"""Pictures as PNG. Every panel of a picture has the same scales."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from .intervals import Column, Row

BLUE, GREY, RED = "#1f5fa8", "#9aa3ad", "#c0392b"
COLUMNS = 3
DPI, PALETTE = 110, 48

plt.rcParams.update({
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.color": "#e6e8eb",
    "figure.constrained_layout.use": True,
})


@dataclass(frozen=True)
class Panel:
    """One run's data: title, x and y of the same length; label: of the line, where a panel has
    several."""

    title: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    label: str = ""


def data_url(png: bytes) -> str:
    """As a page holds it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _png(figure: Figure) -> bytes:
    """Few colours do, and make it small."""
    drawn, out = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(PALETTE).save(out, format="png", optimize=True)
    return out.getvalue()


def _grid(panels: Sequence[Panel], xlabel: str, ylabel: str, top: float) -> tuple[
    Figure, list[Axes]
]:
    rows, columns = math.ceil(len(panels) / COLUMNS), min(COLUMNS, len(panels))
    figure, axes = plt.subplots(rows, columns, sharex=True, sharey=True, squeeze=False,
                                figsize=(11 * columns / COLUMNS, 2.5 * rows + 0.3))
    flat = list(axes.flat)
    for axis, panel in zip(flat, panels, strict=False):
        axis.set_title(panel.title, loc="left")
        axis.set_ylim(0, top)
    for axis in flat[len(panels):]:
        axis.set_visible(False)
    for at, axis in enumerate(flat[: len(panels)]):
        if at + columns >= len(panels):
            axis.set_xlabel(xlabel)
            axis.tick_params(labelbottom=True)
        if at % columns == 0:
            axis.set_ylabel(ylabel)
    return figure, flat[: len(panels)]


def goodputs(panels: Sequence[Panel], fair_mbps: float | None) -> bytes:
    """Each flow's goodput, Mb/s, with the fair share, if there is one, as a line: figure 5 of the
    paper."""
    top = 1.05 * max(fair_mbps or 1e-9, *(float(np.max(p.y)) for p in panels))
    figure, axes = _grid(panels, "flow", "goodput, Mb/s", top)
    for axis, panel in zip(axes, panels, strict=True):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if fair_mbps:
            axis.axhline(fair_mbps, color=RED, linewidth=1, zorder=1)
        axis.plot(panel.x, panel.y, ".", color=BLUE, markersize=4, zorder=2)
    return _png(figure)


def queues(panels: Sequence[Panel], limit: float | None, warmup_s: float) -> bytes:
    """Packets in the queue over time, with the buffer, if known, as a line, and the warm-up
    shaded."""
    top = limit or max(1.0, *(float(np.max(p.y)) for p in panels))
    figure, axes = _grid(panels, "time, s", "packets", 1.05 * top)
    for axis, panel in zip(axes, panels, strict=True):
        if limit:
            axis.axhline(limit, color=RED, linewidth=1, zorder=1)
        axis.axvspan(0, warmup_s, color=GREY, alpha=0.25, linewidth=0, zorder=0)
        axis.plot(panel.x, panel.y, color=BLUE, linewidth=0.6, zorder=2)
        axis.set_xlim(0, float(panel.x[-1]))
    return _png(figure)


def curves(panels: Sequence[Sequence[Panel]], xlabel: str, ylabel: str) -> bytes:
    """A panel for each of `panels`, with a line for each Panel in it: its first has the panel's
    title, and all their own in the legend, if there are several anywhere."""
    drawn = [of for of in panels if of]
    ends = [float(np.max(line.x)) for of in drawn for line in of]
    top = 1.05 * max(1e-9, *(float(np.max(line.y)) for of in drawn for line in of))
    figure, axes = _grid([of[0] for of in drawn], xlabel, ylabel, top)
    looks = dict(zip(dict.fromkeys(line.label for of in drawn for line in of),
                     ((BLUE, "-"), (RED, "--"), (GREY, "-."), ("#2e8b57", ":")), strict=False))
    for axis, of in zip(axes, drawn, strict=True):
        for line in of:
            colour, dash = looks.get(line.label, (GREY, ":"))
            axis.plot(line.x, line.y, dash, color=colour, linewidth=1, label=line.label)
        axis.set_xlim(0, max(ends) or 1.0)
    if len(looks) > 1:
        handles = [axes[0].plot([], [], dash, color=colour, label=label)[0]
                   for label, (colour, dash) in looks.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(looks),
                      frameon=False)
    return _png(figure)


def intervals(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    """Means with 95 % intervals: a panel per column, a line per discipline, without a mark where it
    is not known."""
    names = [r.name for r in rows]
    figure, axes = plt.subplots(1, len(columns), figsize=(11, 0.42 * len(names) + 1.3),
                                sharey=True, squeeze=False)
    for axis, column in zip(axes.flat, columns, strict=True):
        cells = {at: cell for at, r in enumerate(rows) if (cell := r.cell(column))}
        axis.errorbar(
            [c.value * column.scale for c in cells.values()], list(cells),
            xerr=[0 if math.isnan(c.half) else c.half * column.scale for c in cells.values()],
            fmt="o", markersize=4, capsize=3, linewidth=1, color=BLUE,
        )
        axis.set_title(column.title.replace(", ", ",\n"), loc="left")
        axis.set_yticks(range(len(names)), names)
        axis.grid(visible=False, axis="y")
    axes[0, 0].invert_yaxis()
    return _png(figure)
