# SPDX-License-Identifier: GPL-2.0
"""Compare disciplines by one metric, seed by seed.

A difference below 5 % of the best, or below a metric's floor, is a tie. The floor of a delay is the
time of a full packet on the link, but at least the column's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from . import columns, intervals

#: Part of the best discipline's value.
MARGIN = 0.05
ETHERNET_HEADER = 14  # bytes


class Verdict(StrEnum):
    """How a discipline compares with the best one, or with another one."""

    BEST = "best"
    TIE = "tie"
    UNDECIDED = "inconclusive"
    WORSE = "worse"
    AVOID = "avoid"
    BETTER = "better"
    INDISTINCT = "not distinguishable"


#: Verdicts on disciplines that are not known to be worse than the best.
NOT_WORSE = frozenset({Verdict.TIE, Verdict.UNDECIDED})


@dataclass(frozen=True)
class Candidate:
    """A discipline and its values of one metric under the same seeds as all others.

    sign: 1 if small values are good, -1 if large ones are
    floor: a smaller difference is a tie
    out: the discipline is excluded and cannot be the best
    """

    name: str
    values: Sequence[float]
    sign: int
    floor: float = 0.0
    out: bool = False

    @property
    def mean(self) -> intervals.Mean:
        """Return the mean over the seeds."""
        return intervals.mean(self.values)

    def beyond(self, best: Candidate, times: float) -> intervals.Mean:
        """Return by how much it is worse than a limit, seed by seed: see `intervals.beyond`.

        The limit is the best one's value times a factor, or with the floor added if that is
        worse.
        """
        worst = max if self.sign > 0 else min
        limits = [worst(times * other, other + self.sign * self.floor) for other in best.values]
        return intervals.beyond(self.values, limits, self.sign)

    def verdict_against(self, best: Candidate) -> Verdict:
        """Return TIE, UNDECIDED or WORSE."""
        if self.out:
            return Verdict.WORSE
        beyond = self.beyond(best, 1 + self.sign * MARGIN)
        if self is best or beyond.value + beyond.half <= 0:
            return Verdict.TIE
        return Verdict.WORSE if beyond.value - beyond.half > 0 else Verdict.UNDECIDED

    def against(self, other: Candidate) -> Verdict:
        """Return BETTER, WORSE or INDISTINCT."""
        if self.verdict_against(other) == Verdict.WORSE:
            return Verdict.WORSE
        return (
            Verdict.BETTER if other.verdict_against(self) == Verdict.WORSE else Verdict.INDISTINCT
        )

    def half_as_good(self, best: Candidate) -> bool:
        """Return whether it is at most half as good as the best, or excluded."""
        beyond = self.beyond(best, 2.0**self.sign)
        return self.out or beyond.value - beyond.half > 0


def packet_ms(result: Mapping[str, Any]) -> float:
    """Return the time of a full packet on the bottleneck, in ms."""
    parameters = result["parameters"]
    return float((parameters["mtu"] + ETHERNET_HEADER) * 8 / (parameters["rate"] * 1e3))


def candidates(
    rows: Sequence[columns.DisciplineRow], column: columns.Column, out: Collection[str] = ()
) -> list[Candidate]:
    """Return the disciplines that have a metric, with the seeds that all of them have, best first.

    out: names of excluded disciplines
    """
    by_seed = {row.name: row.by_seed(column) for row in rows if row.cell(column)}
    seeds = sorted(set.intersection(*map(set, by_seed.values()))) if by_seed else []
    if not seeds or not column.better:
        return []
    floor = max(column.floor, packet_ms(rows[0].results[0]) if column.unit == "ms" else 0.0)
    found = [
        Candidate(name, [known[seed] for seed in seeds], -column.better, floor, name in out)
        for name, known in by_seed.items()
    ]
    return sorted(
        found, key=lambda candidate: (candidate.out, candidate.sign * candidate.mean.value)
    )


def verdicts(found: Sequence[Candidate]) -> dict[str, Verdict]:
    """Return a verdict for each discipline by name, best first; empty for fewer than two.

    Nothing is BEST if no other discipline is worse.
    """
    if len(found) < 2:
        return {}
    best, *others = found
    words = {
        candidate.name: Verdict.AVOID
        if candidate.half_as_good(best)
        else candidate.verdict_against(best)
        for candidate in others
    }
    return {best.name: Verdict.TIE if {*words.values()} <= NOT_WORSE else Verdict.BEST} | words
