# SPDX-License-Identifier: GPL-2.0
"""Who is best at what, of the rows of a paper's cells: every word of it is computed.

`[[question]]` of sweep.toml has contests: a figure at a point of an experiment, of which the least
is best, or with `most` the largest. Disciplines whose 95 % intervals overlap the best one's are as
good as it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis import claims, compare

from .cards import cards

Row = Mapping[str, Any]

#: A discipline of ours by another name.
LQD = "lqd"


@dataclass(frozen=True)
class Standing:
    """A discipline's figure in a contest."""

    name: str
    mean: compare.Mean

    @property
    def half(self) -> float:
        """Of its interval; 0 with one seed."""
        return 0.0 if math.isnan(self.mean.half) else self.mean.half

    @property
    def ours(self) -> bool:
        """Whether it is of this project."""
        return self.name == LQD or self.name in cards()

    def as_good_as(self, best: Standing) -> bool:
        """Whether their intervals overlap."""
        return abs(self.mean.value - best.mean.value) <= self.half + best.half


def standings(contest: Mapping[str, Any], made: Sequence[Row]) -> list[Standing]:
    """All that have the figure, the best first."""
    values: dict[str, list[float]] = {}
    for row in made:
        if row["experiment"] == contest["experiment"] and all(
                row["at"].get(axis) == value for axis, value in contest["at"].items()):
            values.setdefault(row["discipline"], []).append(
                claims.figure(row["figures"], contest["metric"]))
    found = [Standing(name, compare.mean(some)) for name, some in values.items()]
    return sorted(found, key=lambda s: -s.mean.value if contest.get("most") else s.mean.value)


def _names(contest: Mapping[str, Any], best: Standing, among: Sequence[Standing]) -> str:
    names = ", ".join(one.name for one in among if one.as_good_as(best))
    return f"{names}: {best.mean.text(contest.get('scale', 1.0), contest.get('digits', 1))}"


def better(found: Sequence[Standing]) -> str:
    """Who is better, mainline or ours: the best of each, unless they are as good."""
    ours, others = ([one for one in found if one.ours == mine] for mine in (True, False))
    if not ours or not others:
        return ""
    if ours[0].as_good_as(others[0]):
        return "a tie"
    return "ours" if found[0].ours else "mainline"


def _listed(count: Mapping[str, int], of: int) -> str:
    most = max(count.values())
    names = ", ".join(sorted(name for name, n in count.items() if n == most))
    return f"{names} (best, or as good as the best, in {most} of {of})"


def question(text: Mapping[str, Any], made: Sequence[Row]) -> list[str]:
    """Markdown of one question: in words, and a table of its contests."""
    contests = [(contest, found) for contest in text["contest"]
                if (found := standings(contest, made))]
    out = [f"### {text['head']}", "", " ".join(text["asks"].split()), ""]
    if not contests:
        return [*out, "Nothing has run yet.", ""]
    tally = Counter(better(found) for _, found in contests)
    count = {mine: Counter(one.name for _, found in contests for one in found
                           if one.ours == mine and one.as_good_as(found[0]))
             for mine in (True, False)}
    out += [
        f"Of {len(contests)} contests mainline is better in {tally['mainline']}, ours in "
        f"{tally['ours']}, and {tally['a tie']} are a tie. Of mainline's: "
        + (_listed(count[False], len(contests)) if count[False] else "none is ever best")
        + ". Of ours: "
        + (_listed(count[True], len(contests)) if count[True] else "none is ever best") + ".", "",
        "| | best of mainline's | best of ours | worst | better |", "|---" * 5 + "|"]
    for contest, found in contests:
        sides = [[one for one in found if one.ours == mine] for mine in (False, True)]
        shown = [_names(contest, side[0], side) if side else "" for side in sides]
        out.append(f"| {contest['what']} | {shown[0]} | {shown[1]} | "
                   f"{_names(contest, found[-1], found[-1:])} | {better(found)} |")
    return [*out, ""]


def summary(questions: Sequence[Mapping[str, Any]], made: Sequence[Row]) -> list[str]:
    """Markdown of all questions."""
    return ["## When to use which", "",
            "Beside the best stand those that are as good: their 95 % intervals overlap.", "",
            *(line for text in questions for line in question(text, made))]
