# SPDX-License-Identifier: GPL-2.0
"""Who is best at what, of the rows of a paper's cells: every word of it is computed.

`[[question]]` of sweep.toml has contests: a figure at a point of an experiment, of which the least
is best, or with `most` the largest. A discipline is as good as the best one unless it is worse by
more than MARGIN under every seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis import claims, compare

from .cards import cards
from .paper import Paper

Row = Mapping[str, Any]

#: Of the best one's figure.
MARGIN = 0.05

#: A discipline of ours by another name.
LQD = "lqd"


@dataclass(frozen=True)
class Standing:
    """A discipline's figures in a contest, by seed. sign: -1 where most is best."""

    name: str
    values: Sequence[float]
    sign: int

    @property
    def mean(self) -> compare.Mean:
        """Over the seeds."""
        return compare.mean(self.values)

    @property
    def ours(self) -> bool:
        """Whether it is of this project."""
        return self.name == LQD or self.name in cards()

    def as_good_as(self, best: Standing) -> bool:
        """Whether it is at least once."""
        return any(self.sign * (mine - other) <= MARGIN * abs(other)
                   for mine, other in zip(self.values, best.values, strict=True))


def standings(contest: Mapping[str, Any], paper: Paper, made: Sequence[Row]) -> list[Standing]:
    """All disciplines, the best first; none unless all have run under all seeds."""
    (experiment,) = [e for e in paper.experiments if e.name == contest["experiment"]]
    values: dict[str, dict[int, float]] = {name: {} for name in experiment.disciplines}
    for row in made:
        if row["experiment"] == experiment.name and all(
                row["at"][axis] == value for axis, value in contest["at"].items()):
            values[row["discipline"]][row["seed"]] = claims.figure(row["figures"],
                                                                   contest["metric"])
    if any(len(by_seed) < paper.seeds for by_seed in values.values()):
        return []
    sign = -1 if contest.get("most") else 1
    found = [Standing(name, [by_seed[seed] for seed in sorted(by_seed)], sign)
             for name, by_seed in values.items()]
    return sorted(found, key=lambda s: sign * s.mean.value)


def better(found: Sequence[Standing]) -> str:
    """Who is better, mainline or ours: the best of each, unless the other is as good."""
    best = found[0]
    if any(one.ours != best.ours and one.as_good_as(best) for one in found):
        return "a tie"
    return "ours" if best.ours else "mainline"


def _shown(contest: Mapping[str, Any], some: Sequence[Standing]) -> str:
    """The first of these and its figure, and those that are as good as it."""
    best, *others = some
    also = [one.name for one in others if one.as_good_as(best)]
    return (f"{best.name} {best.mean.text(contest.get('scale', 1.0), contest.get('digits', 1))}"
            + (f"; {', '.join(also)}" if also else ""))


def _often(found: Sequence[Sequence[Standing]], *, ours: bool) -> str:
    """Those that are best, or as good, most often."""
    count = Counter(one.name for some in found for one in some
                    if one.ours == ours and one.as_good_as(some[0]))
    if not count:
        return "none ever is"
    most = max(count.values())
    names = ", ".join(sorted(name for name, times in count.items() if times == most))
    return f"most often {names}, in {most}"


def question(text: Mapping[str, Any], paper: Paper, made: Sequence[Row]) -> list[str]:
    """Markdown of one question: in words, and a table of its contests."""
    out = [f"### {text['head']}", "", " ".join(text["asks"].split()), ""]
    contests = [(contest, found) for contest in text["contest"]
                if (found := standings(contest, paper, made))]
    if not contests:
        return [*out, "Not all that this needs has run.", ""]
    every = [found for _, found in contests]
    tally = Counter(map(better, every))
    out += [
        f"{len(every)} of {len(text['contest'])} contests have run. Mainline is better in "
        f"{tally['mainline']} of them, ours in {tally['ours']}, and {tally['a tie']} are a tie. "
        f"Best, or as good as the best: of mainline's {_often(every, ours=False)}; of ours "
        f"{_often(every, ours=True)}.", "",
        "| | best of mainline's; as good | best of ours; as good | worst | better |",
        "|---" * 5 + "|"]
    for contest, found in contests:
        sides = [_shown(contest, [one for one in found if one.ours == ours])
                 for ours in (False, True)]
        out.append(f"| {contest['what']} | {' | '.join(sides)} | {_shown(contest, found[-1:])} | "
                   f"{better(found)} |")
    return [*out, ""]


def summary(paper: Paper, made: Sequence[Row]) -> list[str]:
    """Markdown of all questions."""
    return ["## When to use which", "",
            f"As good as the best is what is not worse by more than {MARGIN:.0%} under every seed.",
            "", *(line for text in paper.text["question"] for line in question(text, paper, made))]
