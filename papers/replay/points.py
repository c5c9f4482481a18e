# SPDX-License-Identifier: GPL-2.0
"""Compare a discipline with others at each point of experiments, for numbers in pages."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aqmlab.measure import derived_metrics


@dataclass(frozen=True)
class Point:
    """A point of an experiment.

    mine, others: mean of a metric over the seeds, the discipline's and the others' by name
    """

    experiment: str
    at: Mapping[str, Any]
    mine: float
    others: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """Return the discipline's value over the median of the others'."""
        return self.mine / statistics.median(self.others.values())

    @property
    def most(self) -> bool:
        """Return whether the discipline has more than each other one."""
        return self.mine > max(self.others.values())

    def over(self, name: str) -> float:
        """Return by how much the discipline has more than another one; 0 if that did not run."""
        return self.mine - self.others.get(name, self.mine)


def points(
    rows: Iterable[Mapping[str, Any]],
    metric: str,
    discipline: str,
    others: Collection[str],
    experiments: Collection[str],
) -> list[Point]:
    """Return the points at which the discipline and at least one of the others have the metric."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    where = {}
    for row in rows:
        if row["experiment"] in experiments and row["discipline"] in {discipline, *others}:
            key = row["experiment"], repr(sorted(row["at"].items()))
            where[key] = row["at"]
            with suppress(derived_metrics.Absent):
                value = derived_metrics.metric_of(row["metrics"], metric)
                values.setdefault(key, {}).setdefault(row["discipline"], []).append(value)
    means = {
        key: {name: statistics.fmean(seeds) for name, seeds in of.items()}
        for key, of in values.items()
    }
    return [
        Point(key[0], where[key], of.pop(discipline), of)
        for key, of in means.items()
        if discipline in of and len(of) > 1
    ]
