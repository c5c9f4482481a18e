# SPDX-License-Identifier: GPL-2.0
"""Find the smallest value of an axis at which a discipline meets a criterion, by bisection.

An experiment with `[experiment.NAME.search]` runs only the cells that the bisection asks for.
We assume that a discipline that meets a criterion at one value meets it at all larger ones. The
rows of a finished search become one row, whose metrics are

smallest.NAME: smallest value that meets criterion NAME; absent if none does
at_least.NAME: the same, or the largest value if none does
step: largest ratio of a value to the one before it, which is how exact the other two are
summary.utilization: largest use of the link in any of the runs
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.measure.derived_metrics import metric_of

from .row import Row

#: Between the versions of a module or of the kernel, if the runs of a search had several.
MIXED = " and "


@dataclass(frozen=True)
class Search:
    """A bisection.

    axis: name of the axis
    values: its values, in ascending order
    least: criteria by name; each has the least value of one metric or several
    """

    axis: str
    values: Sequence[float]
    least: Mapping[str, Mapping[str, float]]

    def key(
        self, experiment: str, discipline: str, seed: int, at: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Any]:
        """Return what names the search that a cell is part of, and the cell's value of the axis.
        The order of `at` has no influence; a stored row has another order than a new one."""
        rest = sorted(item for item in at.items() if item[0] != self.axis)
        return (experiment, discipline, seed, *rest), at[self.axis]

    def _first(self, name: str, rows: Mapping[Any, Row]) -> tuple[int, bool]:
        """Bisect for one criterion.

        Returns the index of the smallest value that meets it (their number: none does) and True,
        or the index of the value to run next and False.
        """
        below, first = -1, len(self.values)
        while first - below > 1:
            middle = (below + first) // 2
            if not (row := rows.get(self.values[middle])):
                return middle, False
            met = all(
                metric_of(row["metrics"], metric) >= least
                for metric, least in self.least[name].items()
            )
            below, first = (below, middle) if met else (middle, first)
        return first, True

    def following(self, rows: Mapping[Any, Row]) -> list[float]:
        """Return the values to run next; none if the search is finished.

        rows: of the cells that ran, by their values of the axis
        """
        asked = (self._first(name, rows) for name in self.least)
        return sorted({self.values[index] for index, known in asked if not known})

    def row(self, rows: Mapping[Any, Row]) -> Row:
        """Fold the rows of a finished search into one."""
        first = next(iter(rows.values()))
        found = {name: self._first(name, rows)[0] for name in self.least}
        origins = [row["made"] for row in rows.values()]
        kernels = MIXED.join(sorted({origin["kernel"] for origin in origins}))
        modules = {
            name: MIXED.join(sorted({str(origin["modules"].get(name)) for origin in origins}))
            for name in first["made"]["modules"]
        }
        return {
            **first,
            "cpu_s": sum(row["cpu_s"] for row in rows.values()),
            "at": {axis: value for axis, value in first["at"].items() if axis != self.axis},
            "made": {**first["made"], "kernel": kernels, "modules": modules},
            "bounds": {
                key: bound
                for key, bound in first["bounds"].items()
                if all(row["bounds"].get(key) == bound for row in rows.values())
            },
            "metrics": {
                **{key: first["metrics"][key] for key in ("groups", "rate_bps")},
                "summary": {
                    "utilization": max(
                        row["metrics"]["summary"]["utilization"] for row in rows.values()
                    )
                },
                "smallest": {
                    name: self.values[at] for name, at in found.items() if at < len(self.values)
                },
                "step": max(b / a for a, b in itertools.pairwise(self.values)),
                "at_least": {
                    name: self.values[min(at, len(self.values) - 1)] for name, at in found.items()
                },
            },
        }


def by_search(
    rows: Iterable[Row], searches: Mapping[str, Search]
) -> dict[tuple[Any, ...], dict[Any, Row]]:
    """Sort the rows of searches: by search, and by value of its axis.

    searches: by the names of their experiments
    """
    by_value: dict[tuple[Any, ...], dict[Any, Row]] = {}
    for row in rows:
        if search := searches.get(row["experiment"]):
            of, value = search.key(row["experiment"], row["discipline"], row["seed"], row["at"])
            by_value.setdefault(of, {})[value] = row
    return by_value


def newest(rows: Sequence[Row], searches: Mapping[str, Search]) -> list[Row]:
    """Leave out rows of a search that a later edition ran again."""

    def of(row: Row) -> tuple[Any, ...]:
        search = searches[row["experiment"]]
        return search.key(row["experiment"], row["discipline"], row["seed"], row["at"])[0]

    last: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["experiment"] in searches:
            last[of(row)] = max(last.get(of(row), 0), row["made"]["edition"])
    return [
        row
        for row in rows
        if row["experiment"] not in searches or row["made"]["edition"] == last[of(row)]
    ]


def folded(rows: Sequence[Row], searches: Mapping[str, Search]) -> list[Row]:
    """Return the rows, with one row for each finished search. Rows of unfinished searches are left
    out."""
    kept = [row for row in rows if row["experiment"] not in searches]
    for (name, *_), found in by_search(newest(rows, searches), searches).items():
        if not searches[name].following(found):
            kept.append(searches[name].row(found))
    return kept
