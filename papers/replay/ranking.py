# SPDX-License-Identifier: GPL-2.0
"""Rank disciplines by the rows of a paper's cells.

`[[question]]` of sweep.toml has comparisons: a metric at a point of an experiment. The best
discipline has the best mean. The distance of another one from it is computed seed by seed and has a
95 % interval. questions.py sums up the comparisons of a question.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aqmlab.measure import derived_metrics
from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report import intervals
from aqmlab.report.comparison import Candidate, Verdict
from aqmlab.run.params import Value

from .paper import Paper, load
from .row import Row

#: A discipline of ours by another name. The others' names begin with their kinds.
LQD = "lqd"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric at a point of an experiment, by which disciplines are ranked.

    what: the metric, for people
    most: whether the largest value is best, not the smallest
    scale, digits: how values are shown
    floor: a smaller distance from the best is no worse, in the unit that is shown
    needs: a metric of the same cells, and its `most`; a discipline that is at most half as good as
        the best in it does not take part
    paper: the paper with the experiment, if it is another
    without: disciplines that are left out
    suffix: the end of the disciplines' names in that experiment
    tcp_profiles: TCP profiles with which the comparison is made, too
    """

    experiment: str
    at: Mapping[str, Value]
    metric: str
    what: str = ""
    most: bool = False
    scale: float = 1.0
    digits: int = 1
    floor: float = 0.0
    needs: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""
    without: Sequence[str] = ()
    suffix: str = ""
    tcp_profiles: Sequence[str] = ()

    @property
    def needed(self) -> MetricComparison:
        """Return the comparison by the metric that it needs."""
        return MetricComparison(
            experiment=self.experiment,
            at=self.at,
            paper=self.paper,
            without=self.without,
            suffix=self.suffix,
            **self.needs,
        )

    def shown(self, value: intervals.Mean) -> str:
        """Return a value with its interval, as it is shown."""
        return value.text(self.scale, self.digits)


class Measured(Candidate):
    """A discipline of a paper's cells, with its values of one metric."""

    @property
    def ours(self) -> bool:
        """Return whether this project provides it."""
        return self.name == LQD or self.name.partition("-")[0] in all_metadata()


#: Of each discipline, by seed.
Values = dict[str, dict[int, float]]


@functools.cache
def _other(name: str) -> tuple[Paper, Sequence[Row]]:
    """Return a paper and the rows of its cells."""
    paper = load(name)
    return paper, paper.rows()


def _values(comparison: MetricComparison, names: Iterable[str], rows: Iterable[Row]) -> Values:
    """Return the metric of each discipline, by seed."""
    values: Values = {name: {} for name in names if name not in comparison.without}
    for row in rows:
        if (
            row["experiment"] == comparison.experiment
            and row["discipline"] in values
            and all(row["at"][axis] == value for axis, value in comparison.at.items())
        ):
            with suppress(derived_metrics.Absent):
                values[row["discipline"]][row["seed"]] = derived_metrics.metric_of(
                    row["metrics"], comparison.metric
                )
    return values


def rank(comparison: MetricComparison, paper: Paper, rows: Sequence[Row]) -> list[Measured]:
    """Return all disciplines with the seeds that all have: the best first, excluded ones last.

    Return none if there are fewer common seeds than the experiment asks for.
    """
    if comparison.paper:
        paper, rows = _other(comparison.paper)
    (experiment,) = [e for e in paper.experiments if e.name == comparison.experiment]
    values = _values(comparison, experiment.disciplines, rows)
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in values.values())))
    if len(seeds) < experiment.others:
        return []
    out = set[str]()
    if comparison.needs:
        needed = rank(comparison.needed, paper, rows)
        if not needed:
            return []
        out = {discipline.name for discipline in half_as_good(needed)}
    sign = -1 if comparison.most else 1
    found = [
        Measured(
            name=short,
            values=[by_seed[seed] for seed in seeds],
            sign=sign,
            floor=comparison.floor / comparison.scale,
            out=short in out,
        )
        for name, by_seed in values.items()
        for short in [name.removesuffix(comparison.suffix)]
    ]
    return sorted(found, key=lambda s: (s.out, sign * s.mean.value))


@dataclass(frozen=True)
class Pair:
    """Two disciplines in one comparison."""

    comparison: MetricComparison
    mine: Measured
    other: Measured

    @property
    def word(self) -> Verdict:
        """Return BETTER, WORSE or INDISTINCT."""
        return self.mine.against(self.other)

    def text(self, measured: Measured) -> str:
        """Return a discipline's value with its interval."""
        return self.comparison.shown(measured.mean)


def comparisons(question: Mapping[str, Any]) -> list[MetricComparison]:
    """Return the comparisons of a question."""
    return [MetricComparison(**text) for text in question["comparison"]]


def pairs(
    paper: Paper,
    rows: Sequence[Row],
    mine: str,
    other: str,
    prefix: str,
    metrics: Sequence[Mapping[str, Any]] = (),
) -> list[Pair]:
    """Compare two disciplines in experiments whose names begin with `prefix`, if both have run.

    metrics: keys of comparisons, to make at each point; default: the comparisons of the paper's
        questions, each in the experiment that has its name behind the prefix
    """
    asked = (
        [
            MetricComparison(experiment=each.name, at=point, **metric)
            for each in paper.experiments
            if each.name.startswith(prefix)
            for metric in metrics
            for point in each.points
        ]
        if metrics
        else [
            replace(comparison, experiment=prefix + comparison.experiment)
            for question in paper.text["question"]
            for comparison in comparisons(question)
        ]
    )
    listed = []
    for comparison in asked:
        found = {measured.name: measured for measured in rank(comparison, paper, rows)}
        if found.keys() >= {mine, other}:
            listed.append(Pair(comparison, found[mine], found[other]))
    return listed


def half_as_good(found: Sequence[Measured]) -> list[Measured]:
    """List the disciplines that are at most half as good as the best, the worst first."""
    return [measured for measured in reversed(found) if measured.half_as_good(found[0])]
