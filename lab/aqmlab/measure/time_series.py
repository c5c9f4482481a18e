# SPDX-License-Identifier: GPL-2.0
"""Reduce a run's time series to a few hundred points, for a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aqmlab.qdiscs import names

from . import logs, qdisc_state

POINTS = 400  # maximum per line
Array = NDArray[np.float64]


def envelope(y: Array, points: int) -> NDArray[np.int64]:
    """Return at most `points` indices of y that keep its peaks and dips.

    These are both ends, and the minimum and maximum of each of a number of equal parts.
    """
    if len(y) <= points:
        return np.arange(len(y))
    kept = {0, len(y) - 1}
    for part in np.array_split(np.arange(len(y)), points // 2 - 1):
        kept |= {int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])}
    return np.array(sorted(kept))


class NoSuchLine(Exception):
    """The run has no such time series. The message names it."""


def _group(read: logs.Logs, name: str) -> list[int]:
    found = [int(row["flow"]) for row in read.ends if row["group"] == name]
    if not found:
        raise NoSuchLine(f"no group {name}")
    return found


def _line(read: logs.Logs, of: str) -> tuple[Array, Array]:
    """Return a time series: times in s, and values.

    of: `packets`: length of the queue
        `goodput:GROUP`: total goodput of a group, Mb/s
        `delay:GROUP`: one-way delay of each datagram of a group, ms
        anything else: the statistic of the discipline with that name, as tc shows it
    """
    what, _, group = of.partition(":")
    if what == "goodput":
        mine = np.isin(read.progress.flows, _group(read, group))
        bits = 8 * read.progress.bytes[:, mine].sum(axis=1)
        time = read.progress.time_s
        return (time[1:] + time[:-1]) / 2, np.diff(bits) / np.diff(time) / 1e6
    if what == "delay":
        mine = np.isin(read.delays[:, 1], _group(read, group))
        return read.delays[mine, 0], read.delays[mine, 2]
    time = read.queue["time_s"]
    if what == "packets":
        return time, read.queue["packets"]
    kind = names.kind(read.run["qdisc"])
    samples = qdisc_state.samples(kind, read.queue.xstats, read.own_statistics)
    column = [values.get(what) for values in samples]
    if not column or not all(isinstance(value, int | float) for value in column):
        raise NoSuchLine(f"{kind} has no statistic {what}")
    return time, np.array(column, dtype=float)


def of_run(
    directory: Path, of: Sequence[str], from_s: float = 0, to_s: float = np.inf
) -> dict[str, list[tuple[float, float]]]:
    """Return the points (s, value) of several time series, reduced to at most POINTS each.

    of: names of the series, see _line
    Raises NoSuchLine if the run does not have one of them.
    """
    read = logs.read(directory)
    lines = {}
    for name in of:
        x, y = _line(read, name)
        within = (x >= from_s) & (x <= to_s)
        x, y = x[within], y[within]
        kept = envelope(y, POINTS)
        lines[name] = [
            (float(f"{a:.6g}"), float(f"{b:.5g}")) for a, b in zip(x[kept], y[kept], strict=True)
        ]
    return lines
