# SPDX-License-Identifier: GPL-2.0
"""Reduce what one run logged over time to few points, for a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import logs, qdisc_state

POINTS = 400  # of a line, at most
Array = NDArray[np.float64]


def envelope(y: Array, points: int) -> NDArray[np.int64]:
    """Where a line of at most `points` has to go to keep the peaks and dips of `y`: its ends, and
    the places of the least and the greatest value of each of equal stretches, in order."""
    if len(y) <= points:
        return np.arange(len(y))
    kept = {0, len(y) - 1}
    for part in np.array_split(np.arange(len(y)), points // 2 - 1):
        kept |= {int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])}
    return np.array(sorted(kept))


class NoSuchLine(Exception):
    """The run has nothing of that name; the message has it."""


def _group(read: logs.Logs, name: str) -> list[int]:
    found = [int(row["flow"]) for row in read.ends if row["group"] == name]
    if not found:
        raise NoSuchLine(f"no group {name}")
    return found


def _line(read: logs.Logs, of: str) -> tuple[Array, Array]:
    """Times in s, and what `of` names: `packets` in the queue; `goodput:GROUP` of all its flows
    together, Mb/s; `delay:GROUP` of each of its datagrams, ms; else a statistic of the
    discipline's own, as tc shows it."""
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
    told = qdisc_state.samples(read.run["qdisc"].split()[0], read.queue.xstats)
    column = [values.get(what) for values in told]
    if not column or not all(isinstance(value, int | float) for value in column):
        raise NoSuchLine(f"{read.run['qdisc'].split()[0]} has no {what}")
    return time, np.array(column, dtype=float)


def of_run(directory: Path, of: Sequence[str], from_s: float = 0,
           to_s: float = np.inf) -> dict[str, list[tuple[float, float]]]:
    """Points of each line from `from_s` to `to_s`, of more samples than POINTS the first, the last,
    and the peaks and dips. NoSuchLine when the run has not got one."""
    read = logs.read(directory)
    lines = {}
    for name in of:
        x, y = _line(read, name)
        within = (x >= from_s) & (x <= to_s)
        x, y = x[within], y[within]
        kept = envelope(y, POINTS)
        lines[name] = [(float(f"{a:.6g}"), float(f"{b:.5g}"))
                       for a, b in zip(x[kept], y[kept], strict=True)]
    return lines
