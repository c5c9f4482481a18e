# SPDX-License-Identifier: GPL-2.0
"""Load the runs of a report and group them.

Runs that differ only in the seed form a row. Rows that differ only in the discipline form a
section. Another setting, or another buffer or workload of a sweep, is another section.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError
from aqmlab.measure import logs
from aqmlab.run import run_directory

from . import interactive_plots
from .columns import DisciplineRow


@dataclass(frozen=True)
class Run:
    """One finished run: its directory and its result.json."""

    directory: Path
    result: Mapping[str, Any]

    @functools.cached_property
    def explored(self) -> dict[str, Any]:
        """Return the data of the plots. The logs are large, so they are read once and not kept."""
        return interactive_plots.of_run(logs.read(self.directory))


@dataclass(frozen=True)
class Section:
    """Runs with one setting, by discipline, in the order of the seeds.

    about: texts of the sweep for readers: title, advice and note; empty without a sweep
    """

    buffer: int | None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    workload: str = ""
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> list[DisciplineRow]:
        """Return a row for each discipline."""
        return [
            DisciplineRow(name, self.buffer, [r.result for r in several])
            for name, several in self.runs.items()
        ]

    @property
    def any(self) -> Mapping[str, Any]:
        """Return result.json of one of the runs. All have the same setting."""
        return next(iter(self.runs.values()))[0].result


def _sweep(directory: Path) -> dict[str, Any]:
    """Return the sweep that made the runs in a directory; an empty one if none did."""
    path = directory / logs.SWEEP
    try:
        stored = json.loads(path.read_text()) if path.exists() else {}
        return {"runs": {}, "workloads": {}} | stored
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged, so remove it: {error}") from error


def _directories(
    places: Sequence[Path], left_out: list[str]
) -> Iterator[tuple[Path, dict[str, Any], Mapping[str, Mapping[str, str]]]]:
    """Yield each directory with a result.json in these or below, once, in the order of its sweep,
    with the sweep's entries for the run and for the workloads.

    left_out: gets a line for each place that has no result
    """
    seen = set[Path]()
    for place in places:
        found = [path.parent for path in sorted(place.resolve().rglob(run_directory.RESULT))]
        if not found:
            left_out.append(f"{place}: no {run_directory.RESULT} here or below")
        sweeps = {parent: _sweep(parent) for parent in {directory.parent for directory in found}}
        order = {
            parent / name: at
            for parent, sweep in sweeps.items()
            for at, name in enumerate(sweep["runs"])
        }
        for directory in sorted(found, key=lambda directory: order.get(directory, len(order))):
            if directory in seen:
                continue
            seen.add(directory)
            sweep = sweeps[directory.parent]
            yield directory, sweep["runs"].get(directory.name, {}), sweep["workloads"]


def _add(several: list[Run], run: Run) -> None:
    """Add a run to the runs of a discipline, unless it is there already.

    Raises UserError if another run with its seed has another digest.
    """
    for other in several:
        if other.result["seed"] == run.result["seed"]:
            if other.result["digest"] != run.result["digest"]:
                raise UserError(
                    f"{other.directory} and {run.directory} have one setting and seed, and not one "
                    "digest: another kernel, modules or clock made them. Report on each by itself, "
                    "or compare versions of a module: compare --base DIR, or --module twice"
                )
            return
    several.append(run)


def collect(places: Sequence[Path]) -> list[Section]:
    """Return all runs in these directories or below as sections.

    Sections of a sweep's workloads come first, in its order. Runs with different qdisc options get
    different names, whatever their sweep calls them. An incomplete result is left out with a
    warning. Raises UserError if there is no complete one.
    """
    sections: dict[str, Section] = {}
    left_out: list[str] = []
    for directory, label, workloads in _directories(places, left_out):
        try:
            result = logs.load_result(directory, logs.RESULT_KEYS)
        except logs.BadLog as error:
            left_out.append(str(error))
            continue
        buffer, workload = label.get("buffer"), label.get("workload", "")
        varied = label.get("varied", ())
        parameters = {
            key: value for key, value in result["parameters"].items() if key not in varied
        }
        setting = json.dumps(
            [
                *(result[key] for key in ("scenario", "clock", "kernel") if key not in varied),
                parameters,
                buffer,
                workload,
            ]
        )
        section = sections.setdefault(
            setting, Section(buffer, workload=workload, about=workloads.get(workload, {}))
        )
        name = label.get("name", result["qdisc"])
        if (there := section.runs.get(name)) and there[0].result["qdisc"] != result["qdisc"]:
            name = result["qdisc"]
        _add(section.runs.setdefault(name, []), Run(directory, result))
    if not sections:
        raise UserError("\n".join(left_out))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    for section in sections.values():
        for several in section.runs.values():
            several.sort(key=lambda run: run.result["seed"])
    return sorted(
        sections.values(),
        key=lambda s: (0, "", 0) if s.workload else (1, s.any["scenario"], s.buffer or 0),
    )
