# SPDX-License-Identifier: GPL-2.0
"""Experiments: what sweep.toml says of each, without its runs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aqmlab.exceptions import nearest
from aqmlab.run.params import Value

from . import claim_types, search

#: Keys that an experiment copies from the experiment that `like` names.
WORKLOAD = ("scenario", "set", "axes", "where", "search")


@dataclass(frozen=True)
class Where:
    """Parameters (`set`) of the cells with one of these disciplines, if any are given, and `at`
    these values of axes."""

    disciplines: Sequence[str]
    at: Mapping[str, Sequence[Value]]
    set: Mapping[str, Value]

    def holds(self, discipline: str, at: Mapping[str, Value]) -> bool:
        """Return whether a cell matches."""
        return (not self.disciplines or discipline in self.disciplines) and all(
            at[axis] in values for axis, values in self.at.items()
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Hold one experiment.

    axes: the values of each parameter that varies
    seeds, first: number of seeds, and the first one
    others: number of seeds for cells that no claim uses
    flows: rows with these values of axes have the goodput of each flow; empty: none has
    delay: whether rows have percentiles of one-way delay
    sojourn: whether rows have the time of each group's packets in the queue
    step_s: step of the groups' goodput over time; 0: rows do not have it
    lengths: rows have the share of time in which the queue's length is between these two
    profile: parameters that the TCP profile sets, whatever set and axes say
    search: if given, a bisection selects the values of one more axis
    """

    name: str
    scenario: str
    set: Mapping[str, Value]
    axes: Mapping[str, Sequence[Value]]
    disciplines: Sequence[str]
    seeds: int
    first: int
    others: int
    flows: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    step_s: float = 0
    delay: bool = False
    sojourn: bool = False
    lengths: Sequence[float] = ()
    profile: Mapping[str, Value] = field(default_factory=dict)
    where: Sequence[Where] = ()
    search: search.Search | None = None

    def of_cell(self, discipline: str, at: Mapping[str, Value]) -> dict[str, Value]:
        """Return the parameters of one cell without its axes: `set`, and over it each `where` that
        matches; the last one wins."""
        values = dict(self.set)
        for where in self.where:
            if where.holds(discipline, at):
                values |= where.set
        return values

    @property
    def numbers(self) -> range:
        """Return the seeds."""
        return range(self.first, self.first + self.seeds)

    @property
    def points(self) -> list[dict[str, Value]]:
        """Return all combinations of values of the axes and of the search."""
        axes = {**self.axes, **({self.search.axis: self.search.values} if self.search else {})}
        return [
            dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
        ]


def wheres(
    experiment: Mapping[str, Any],
    profile: str,
    profiles: Collection[str],
    quick: Mapping[str, Value],
) -> list[Where]:
    """Return the `where` of an experiment for `profile`, one of `profiles`, without settings of a
    quick look. Raises ValueError if no cell of the experiment can match."""
    parts = []
    for part in experiment.get("where", ()):
        disciplines_, at = part.get("disciplines", []), claim_types.lists(part.get("at", {}))
        mistakes = [
            *(set(disciplines_) - set(experiment["disciplines"])),
            *(set(part.get("tcp_profiles", ())) - set(profiles)),
            *(
                f"{axis} = {value}"
                for axis, values in at.items()
                for value in values
                if value not in experiment.get("axes", {}).get(axis, ())
            ),
        ]
        if mistakes:
            raise ValueError(f"{experiment['name']}: where: {', '.join(mistakes)}")
        if profile in part.get("tcp_profiles", [profile]):
            parts.append(
                Where(
                    disciplines_,
                    at,
                    {key: value for key, value in part["set"].items() if key not in quick},
                )
            )
    return parts


def with_workloads(listed: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield experiments, with the workload of another one if `like` names it; `set` adds to its.

    That one stands above. A list makes an experiment of each, with its name behind the own one.
    Raises ValueError if there is no such experiment.
    """
    by_name: dict[str, Mapping[str, Any]] = {}
    for experiment in listed:
        models = experiment.get("like", "")
        for model in [models] if isinstance(models, str) else models:
            if model and model not in by_name:
                raise ValueError(f"{experiment['name']}: {nearest('experiment', model, by_name)}")
            name = experiment["name"] if model == models else f"{experiment['name']}-{model}"
            taken = {key: value for key, value in by_name.get(model, {}).items() if key in WORKLOAD}
            by_name[name] = {
                **taken,
                **experiment,
                "name": name,
                "set": {**taken.get("set", {}), **experiment.get("set", {})},
            }
            yield by_name[name]
