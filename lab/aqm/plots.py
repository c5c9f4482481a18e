# SPDX-License-Identifier: GPL-2.0
"""Plot runs of several qdiscs in one picture."""

from __future__ import annotations

from typing import Any

from aqmlab.exceptions import unknown

from .runs import Runs


def _queue(axes: Any, shown: Runs) -> None:
    frame = shown.queue[shown.queue["seed"] == shown.results[0]["seed"]]
    axes.plot(frame["time_s"], frame["packets"], label=shown.name, linewidth=0.8)
    axes.set(xlabel="time, s", ylabel="queue, packets")


def _share(axes: Any, values: Any, label: str, xlabel: str) -> None:
    """Draw the share of VALUES that is at most so much."""
    axes.ecdf(values, label=label)
    axes.set(xlabel=xlabel, ylabel="share")


def _goodput(axes: Any, shown: Runs) -> None:
    """Draw the goodput of each TCP flow after the warm-up, of all seeds."""
    warmup = shown.results[0]["parameters"]["warmup"]
    frame = shown.progress[shown.progress["time_s"] >= warmup]
    ends = frame.groupby(["seed", "flow"]).agg(["first", "last"])
    seconds = ends["time_s"]["last"] - ends["time_s"]["first"]
    rates = (ends["bytes"]["last"] - ends["bytes"]["first"]) * 8e-6 / seconds
    _share(axes, rates, shown.name, "goodput of a flow, Mb/s")


def _probe(axes: Any, shown: Runs) -> None:
    warmup = shown.results[0]["parameters"]["warmup"]
    frame = shown.probe[shown.probe["sent_s"] >= warmup]
    _share(axes, frame["delay_ms"], shown.name, "delay of the probe, ms")


PICTURES = {"queue": _queue, "goodput": _goodput, "probe": _probe}


def plot(*runs: Runs, what: str = "queue", axes: Any = None) -> Any:
    """Plot runs of several qdiscs, and return matplotlib's Axes.

    what: `queue`, the queue of the first seed over time; `goodput`, the distribution over all TCP
        flows; or `probe`, the distribution of the probe's delay
    axes: where to draw, if not in a new figure

    Raises UserError for another picture.
    """
    if what not in PICTURES:
        raise unknown("picture", what, PICTURES)
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")[1]
    for shown in runs:
        PICTURES[what](axes, shown)
    axes.legend()
    return axes
