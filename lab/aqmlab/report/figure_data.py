# SPDX-License-Identifier: GPL-2.0
"""What a figure shows: lines over time, distributions, or metrics, from the logs of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aqmlab.exceptions import UserError, unknown
from aqmlab.measure import logs, metrics, qdisc_state
from aqmlab.qdiscs import names

from .columns import COLUMNS, Column
from .load_runs import Run, Section
from .tcp_plot import CHOICES

Array = NDArray[np.float64]
STEPS = 1000  # of a distribution, at most


@dataclass(frozen=True)
class Line:
    """A discipline's line or points.

    half: distances to the lower and the upper end of the 95 % interval; None without one
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half: tuple[Sequence[float], Sequence[float]] | None = None


@dataclass(frozen=True)
class Panel:
    """A pair of axes. share: y is the share of values up to x. points: y has a row for each
    discipline, and x its metric."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    share: bool = False
    points: bool = False


def _flows(read: logs.Logs, group: str) -> list[int]:
    """Return the flows of a group."""
    names = list(dict.fromkeys(row["group"] for row in read.ends))
    if group not in names:
        raise unknown("group of flows", group, names)
    return [int(row["flow"]) for row in read.ends if row["group"] == group]


def _first_group(read: logs.Logs) -> str:
    return next(row["group"] for row in read.ends if row["kind"] != "udp")


def _queue(read: logs.Logs, _: str) -> tuple[Array, Array]:
    return read.queue["time_s"], read.queue["packets"]


def _state(read: logs.Logs, name: str) -> tuple[Array, Array]:
    """Return a statistic of the discipline over time; no points if it does not have it."""
    kind = names.kind(read.run["qdisc"])
    samples = qdisc_state.samples(kind, read.queue.xstats, read.own_statistics)
    values = [sample.get(name) for sample in samples]
    known = [i for i, value in enumerate(values) if isinstance(value, int | float)]
    return read.queue["time_s"][known], np.array([float(values[i] or 0) for i in known])


def _tcp(column: str) -> Callable[[logs.Logs, str], tuple[Array, Array]]:
    def get(read: logs.Logs, group: str) -> tuple[Array, Array]:
        """Return the median over the flows of a group at each time."""
        if not read.tcp:
            raise UserError(f"--plot {column}: a run has no tcp.csv; run it with --tcp-state")
        mine = np.isin(read.tcp["flow"], _flows(read, group or _first_group(read)))
        mine &= ~np.isnan(read.tcp[column])
        time_s, values = read.tcp["time_s"][mine], read.tcp[column][mine]
        times = np.unique(time_s)
        return times, np.array([float(np.median(values[time_s == at])) for at in times])

    return get


def _goodput(read: logs.Logs, group: str) -> Array:
    goodput = metrics.own_goodput_bps(read) / 1e6
    of_group = _flows(read, group or _first_group(read))
    return np.array(goodput[np.isin(read.progress.flows, of_group)])


def _waits(read: logs.Logs, table: Array, group: str, missing: str) -> Array:
    if not len(table):
        raise UserError(missing)
    mine = np.isin(table[:, 1], _flows(read, group))
    return np.array(table[mine & (table[:, 0] >= read.run["facts"]["warmup_s"]), 2])


def _delay(read: logs.Logs, group: str) -> Array:
    missing = "--plot delay: a run has no UDP traffic; run it with --set probe=on"
    return _waits(read, read.delays, group or "probe", missing)


def _sojourn(read: logs.Logs, group: str) -> Array:
    missing = "--plot sojourn: a run has no sojourn.csv; run it with --sojourn"
    return _waits(read, read.sojourn, group or _first_group(read), missing)


#: Lines over time, of the first seed: the title of y, and the data.
SERIES = {
    "queue": ("packets in the queue", _queue),
    "state": ("", _state),
    **{column: (title, _tcp(column)) for column, title in CHOICES.items()},
}
#: Distributions over all seeds: the title of x, and the data.
SHARES = {
    "goodput": ("goodput of a flow, Mb/s", _goodput),
    "delay": ("one-way delay, ms", _delay),
    "sojourn": ("time in the queue, ms", _sojourn),
}


def _over_time(section: Section, title: str, what: str, of: str) -> Panel:
    y_title, get = SERIES[what]
    lines = []
    for name, several in section.runs.items():
        x, y = get(logs.read(several[0].directory), of)
        if len(x):
            lines.append(Line(name, list(x), list(y)))
    if not lines:
        raise UserError(f"--plot {what}:{of}: no run has this statistic")
    return Panel(title, "time, s", y_title or of, lines)


def _distribution(section: Section, title: str, what: str, of: str) -> Panel:
    x_title, get = SHARES[what]

    def values(several: Iterable[Run]) -> Array:
        return np.sort(np.concatenate([get(logs.read(run.directory), of) for run in several]))

    lines = []
    for name, several in section.runs.items():
        found = values(several)
        if not len(found):
            raise UserError(f"--plot {what}: {name} has no values after the warm-up")
        at = np.linspace(0, len(found), min(len(found), STEPS) + 1).round().astype(int)
        # Each step goes up at the last value below it.
        lines.append(Line(name, list(found[np.maximum(0, at - 1)]), list(at / len(found))))
    return Panel(title, x_title, "share of values", lines, share=True)


def _interval(section: Section, name: str, column: Column) -> tuple[float, float, float] | None:
    """Return mean, and distances to both ends of the interval, of a discipline's metric."""
    row = next(row for row in section.rows if row.name == name)
    found = row.cell(column)
    if not found:
        return None
    low, high = found.interval(column.top) or (found.value, found.value)
    mean = found.value * column.scale
    return mean, mean - low * column.scale, high * column.scale - mean


def _varied(sections: Sequence[Section]) -> tuple[str, list[float]]:
    """Return the parameter in which sections differ, and its values.

    Raises UserError unless there is one, with a number in each section.
    """
    parameters = [
        {**section.any["parameters"], "buffer": section.buffer, "scenario": section.any["scenario"]}
        for section in sections
    ]
    differing = [
        key
        for key in dict.fromkeys(key for values_of in parameters for key in values_of)
        if len({str(values_of.get(key)) for values_of in parameters}) > 1
    ]
    values = (
        [values_of.get(differing[0]) for values_of in parameters] if len(differing) == 1 else []
    )
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if len(numbers) != len(sections):
        raise UserError(
            f"--plot: the runs differ in {', '.join(differing) or 'nothing'}; a metric needs "
            "runs of one setting, or of settings that differ in one number"
        )
    return differing[0], numbers


def _metric(sections: Sequence[Section], column: Column) -> Panel:
    names = list(dict.fromkeys(name for section in sections for name in section.runs))
    if len(sections) == 1:
        found = {name: _interval(sections[0], name, column) for name in names}
        lines = [
            Line(name, [interval[0]], [-row], ([interval[1]], [interval[2]]))
            for row, (name, interval) in enumerate(found.items())
            if interval
        ]
        if not lines:
            raise UserError(f"--plot: no run has the metric {column.name}")
        return Panel("", column.title, "", lines, points=True)
    x_title, xs = _varied(sections)
    lines = []
    for name in names:
        places = [
            (x, interval)
            for x, section in sorted(zip(xs, sections, strict=True), key=lambda pair: pair[0])
            if name in section.runs and (interval := _interval(section, name, column))
        ]
        if places:
            mean, low, high = zip(*(interval for _, interval in places), strict=True)
            lines.append(Line(name, [x for x, _ in places], list(mean), (list(low), list(high))))
    return Panel("", x_title, column.title, lines)


def panels(sections: Sequence[Section], headings: Sequence[str], what: str) -> list[Panel]:
    """Return the axes of a figure.

    what: NAME or NAME:GROUP of SERIES and SHARES, state:STATISTIC, or the start of a metric's title
    """
    name, _, of = what.partition(":")
    if name in SERIES or name in SHARES:
        make = _over_time if name in SERIES else _distribution
        titles = headings if len(sections) > 1 else [""]
        return [
            make(section, title, name, of) for section, title in zip(sections, titles, strict=True)
        ]
    if column := next((known for known in COLUMNS if known.title.startswith(what)), None):
        return [_metric(sections, column)]
    raise unknown("plot", what, [*SERIES, *SHARES, *(known.name for known in COLUMNS)])
