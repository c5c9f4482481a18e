# SPDX-License-Identifier: GPL-2.0
"""The runs that a report is of, put together with their like.

Runs that differ in the seed only are a row; those that differ in the discipline are one section;
and those of another setting, or at another buffer of a sweep, another section.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.exceptions import UserError
from aqmlab.measure import logs, metrics
from aqmlab.run import run_directory

from . import interactive_plots
from .intervals import Row


@dataclass(frozen=True)
class Drawn:
    """The parts of a run's logs that plots and sentences need.

    explored: see interactive_plots.of_run.
    goodput_bps: of each elastic flow.
    time_s, packets: of the queue, at each sample.
    measured: the samples of the measured time.
    """

    explored: dict[str, Any]
    goodput_bps: NDArray[np.float64]
    time_s: NDArray[np.float64]
    packets: NDArray[np.float64]
    measured: slice


@dataclass(frozen=True)
class Run:
    """One finished run: its directory and its result.json."""

    directory: Path
    result: Mapping[str, Any]

    @functools.cached_property
    def drawn(self) -> Drawn:
        """Its logs are large: they are read once, and not kept."""
        read = logs.read(self.directory)
        facts, queue = read.run["facts"], read.queue
        first, last = metrics.window(queue["time_s"], facts["warmup_s"], facts["end_s"])
        return Drawn(interactive_plots.of_run(read), metrics.elastic_goodput_bps(read),
                     queue["time_s"], queue["packets"], slice(first, last + 1))


@dataclass(frozen=True)
class Section:
    """Runs of one setting, of each discipline in the order of the seeds. notes: see sweep.py."""

    buffer: int | None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """As `compare` takes them."""
        return [Row(name, self.buffer, [r.result for r in several])
                for name, several in self.runs.items()]

    @property
    def any(self) -> Mapping[str, Any]:
        """result.json of one of the runs; what makes the setting is alike in all."""
        return next(iter(self.runs.values()))[0].result

    @property
    def first(self) -> list[tuple[str, Run]]:
        """The first seed's run of each discipline."""
        return [(name, several[0]) for name, several in self.runs.items()]


def _sweep(directory: Path) -> Mapping[str, Any]:
    """What the sweep says that made the runs in a directory; nothing if none did."""
    path = directory / logs.SWEEP
    return dict(json.loads(path.read_text())) if path.exists() else {"runs": {}}


def _directories(places: Sequence[Path],
                 left_out: list[str]) -> Iterator[tuple[Path, dict[str, Any], str]]:
    """Every directory with a result.json in these or below, once, in the order of its sweep; with
    what that says of it. `left_out` gets a line for each place that has none."""
    seen = set[Path]()
    for place in places:
        found = [path.parent for path in sorted(place.resolve().rglob(run_directory.RESULT))]
        if not found:
            left_out.append(f"{place}: no {run_directory.RESULT} here or below")
        sweeps = {parent: _sweep(parent) for parent in {one.parent for one in found}}
        order = {parent / name: at for parent, sweep in sweeps.items()
                 for at, name in enumerate(sweep["runs"])}
        for one in sorted(found, key=lambda directory: order.get(directory, len(order))):
            if one in seen:
                continue
            seen.add(one)
            sweep = sweeps[one.parent]
            yield one, sweep["runs"].get(one.name, {}), sweep.get("note", "")


def _add(several: list[Run], run: Run) -> None:
    """To the runs of a discipline, unless it is one of them made again. UserError: another of that
    seed had other bytes."""
    for other in several:
        if other.result["seed"] == run.result["seed"]:
            if other.result["digest"] != run.result["digest"]:
                raise UserError(
                    f"{other.directory} and {run.directory} have one setting and seed, and not one "
                    "digest: another kernel, modules or clock made them; report on each by itself")
            return
    several.append(run)


def collect(places: Sequence[Path]) -> list[Section]:
    """All runs in these directories or below, put together with their like. Runs that differ in
    more than the seed have not one name, whatever their sweep calls them.

    What is no whole result is left out with a warning. Raises UserError if nothing else is there.
    """
    sections: dict[str, Section] = {}
    left_out: list[str] = []
    for directory, label, note in _directories(places, left_out):
        try:
            result = logs.load_result(directory)
        except logs.BadLog as error:
            left_out.append(str(error))
            continue
        buffer = label.get("buffer")
        setting = json.dumps([result[key] for key in ("scenario", "clock", "kernel", "parameters")]
                             + [buffer])
        section = sections.setdefault(setting, Section(buffer))
        name = label.get("name", result["qdisc"])
        if (there := section.runs.get(name)) and there[0].result["qdisc"] != result["qdisc"]:
            name = result["qdisc"]
        _add(section.runs.setdefault(name, []), Run(directory, result))
        if note and note not in section.notes:
            section.notes.append(note)
    if not sections:
        raise UserError("\n".join(left_out))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    for section in sections.values():
        for several in section.runs.values():
            several.sort(key=lambda run: run.result["seed"])
    return sorted(sections.values(), key=lambda s: (s.any["scenario"], s.buffer or 0))


def deep(what: Mapping[str, Any], path: str) -> float | None:
    """Return a metric by its path, such as `delay_ms.p50`, or None if it does not exist."""
    value: Any = what
    for key in path.split("."):
        value = value.get(key) if value else None
    return value
