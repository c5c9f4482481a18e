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
    if any(len(by_seed) < experiment.seeds for by_seed in values.values()):
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


def worst(found: Sequence[Standing]) -> Standing | None:
    """Of those that are not as good as the best."""
    return next((one for one in reversed(found) if not one.as_good_as(found[0])), None)


def _most(every: Sequence[Sequence[Standing]], of: str) -> str:
    """Of those that took part in all of these contests, who is as good as the best `of` them in
    most, mainline's first, and in how many."""
    takes_part = Counter(one.name for found in every for one in found)
    count = Counter((one.ours, one.name) for found in every for one in found
                    if takes_part[one.name] == len(every) and one.as_good_as(found[0]))
    most = max(count.values(), default=0)
    *others, last = [name for _, name in sorted(
        who for who, times in count.items() if times == most)] or ["none"]
    names = " or ".join(filter(None, (", ".join(others), last)))
    return f"{names}, as good as the best{of} in {most} of {len(every)}."


def advice(every: Sequence[Sequence[Standing]]) -> str:
    """What to take: of all, and of ours."""
    ours = [[one for one in found if one.ours] for found in every]
    return f"take {_most(every, '')}" + (
        f" Of ours: {_most(ours, ' of ours')}" if all(ours) else "")


def _avoid(every: Sequence[Sequence[Standing]]) -> str:
    names = sorted({one.name for found in every if (one := worst(found))})
    return f" Not: {', '.join(names)}, the worst in one at least." if names else ""


def question(text: Mapping[str, Any], every: Sequence[Sequence[Standing]]) -> list[str]:
    """Markdown of one question: in words, and a table of its contests. every: their standings."""
    out = [f"### {text['head']}", "", " ".join(text["asks"].split()), ""]
    run = [(contest, found) for contest, found in zip(text["contest"], every, strict=True) if found]
    if not run:
        return [*out, "Not all that this needs has run.", ""]
    tally = Counter(better(found) for _, found in run)
    out += [
        f"{len(run)} of {len(text['contest'])} contests have run. Mainline is better in "
        f"{tally['mainline']} of them, ours in {tally['ours']}, and {tally['a tie']} are a tie.",
        "",
        "| | best of mainline's; as good | best of ours; as good | worst of the others | better |",
        "|---" * 5 + "|"]
    for contest, found in run:
        sides = [_shown(contest, [one for one in found if one.ours == ours])
                 for ours in (False, True)]
        last = worst(found)
        out.append(f"| {contest['what']} | {' | '.join(sides)} | "
                   f"{_shown(contest, [last]) if last else 'none'} | {better(found)} |")
    return [*out, ""]


def summary(paper: Paper, made: Sequence[Row]) -> list[str]:
    """Markdown of all questions: what to take, then each by itself."""
    asked = [(text, [standings(contest, paper, made) for contest in text["contest"]])
             for text in paper.text["question"]]
    have = [(text["head"], run) for text, every in asked
            if (run := [found for found in every if found])]
    said = [f"- **{head}**: {advice(run)}{_avoid(run)}" for head, run in have]
    if len(have) > 1:
        said.append(f"- **One for all of these**, if it took part in each: "
                    f"{advice([found for _, run in have for found in run])}")
    return ["## When to use which", "",
            "Computed from the contests below, as far as they have run. As good as the best is "
            f"what is worse by {100 * MARGIN:g} % at most under one seed at least, whatever the "
            "mean; the tables have the best with its figure, and behind it those that are as good. "
            "Mainline's are named first: they need no module of ours.", "",
            *said, *([""] if said else []),
            *(line for text, every in asked for line in question(text, every))]
