# SPDX-License-Identifier: GPL-2.0
"""Compare disciplines by one metric, seed by seed.

A difference of less than 5 % of the best, or of less than a metric's floor, counts as none. The
floor of a delay is the time of a full packet on the link, but at least the column's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import intervals

#: Part of the best discipline's value.
MARGIN = 0.05
ETHERNET_HEADER = 14  # bytes
BEST, GOOD, UNTOLD, WORSE, AVOID = "best", "tie", "inconclusive", "worse", "avoid"
BETTER, INDISTINCT = "better", "not distinguishable"
#: Verdicts on disciplines that cannot be distinguished from the best.
ALIKE = frozenset({GOOD, UNTOLD})


@dataclass(frozen=True)
class Candidate:
    """A discipline and its values of one metric under the same seeds as all others.

    sign: 1 where the least is best, -1 where the most is
    floor: a difference that counts as none
    out: whether it cannot be the best, whatever its values
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
        """Return by how much it is worse than the best one's value times a factor, and than that
        value and the floor, under the same seed: see `intervals.beyond`."""
        worst = max if self.sign > 0 else min
        limits = [worst(times * other, other + self.sign * self.floor) for other in best.values]
        return intervals.beyond(self.values, limits, self.sign)

    def beside(self, best: Candidate) -> str:
        """Return GOOD, UNTOLD or WORSE."""
        if self.out:
            return WORSE
        beyond = self.beyond(best, 1 + self.sign * MARGIN)
        if self is best or beyond.value + beyond.half <= 0:
            return GOOD
        return WORSE if beyond.value - beyond.half > 0 else UNTOLD

    def against(self, other: Candidate) -> str:
        """Return BETTER, WORSE or INDISTINCT."""
        if self.beside(other) == WORSE:
            return WORSE
        return BETTER if other.beside(self) == WORSE else INDISTINCT

    def half_as_good(self, best: Candidate) -> bool:
        """Return whether it has half of the best at most, or twice as much if less is better."""
        beyond = self.beyond(best, 2.0**self.sign)
        return self.out or beyond.value - beyond.half > 0


def packet_ms(result: Mapping[str, Any]) -> float:
    """Return how long the bottleneck needs for a full packet."""
    parameters = result["parameters"]
    return (parameters["mtu"] + ETHERNET_HEADER) * 8 / (parameters["rate"] * 1e3)


def candidates(rows: Sequence[intervals.Row], column: intervals.Column,
               out: Collection[str] = ()) -> list[Candidate]:
    """Return the disciplines that have a metric, the best first, under the seeds that all have.

    out: names of disciplines that cannot be the best
    """
    by_seed = {row.name: row.by_seed(column) for row in rows if row.cell(column)}
    seeds = sorted(set.intersection(*map(set, by_seed.values()))) if by_seed else []
    if not seeds or not column.better:
        return []
    floor = max(column.floor, packet_ms(rows[0].results[0]) if column.unit == "ms" else 0.0)
    found = [Candidate(name, [known[seed] for seed in seeds], -column.better, floor, name in out)
             for name, known in by_seed.items()]
    return sorted(found, key=lambda one: (one.out, one.sign * one.mean.value))


def verdicts(found: Sequence[Candidate]) -> dict[str, str]:
    """Return a verdict for each discipline by name, the best first; none unless there are two.

    There is no BEST if no other discipline is worse.
    """
    if len(found) < 2:
        return {}
    best, *others = found
    words = {one.name: AVOID if one.half_as_good(best) else one.beside(best) for one in others}
    return {best.name: GOOD if {*words.values()} <= ALIKE else BEST} | words
