# SPDX-License-Identifier: GPL-2.0
"""Who is best at what, of the rows of a paper's cells: every word of it is computed.

`[[question]]` of sweep.toml has contests: a figure at a point of an experiment, of which the least
is best, or with `most` the largest. The best has the best mean; by how much another is worse is
taken seed by seed, and has a 95 % interval.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from analysis import claims, compare

from .cards import cards
from .paper import Paper

Row = Mapping[str, Any]

#: Of the best one's figure: what is worse by less is as good.
MARGIN = 0.05
#: Half of an interval that is more of the mean than this.
FAR = 0.25
GOOD, UNTOLD, WORSE = "as good", "not told apart", "worse"

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

    def beyond(self, best: Standing, times: float) -> compare.Mean:
        """By how much it is worse than so many times the best under the same seed: the logarithm
        of the ratio, or the difference where there is a 0."""
        pairs = [(mine, times * other)
                 for mine, other in zip(self.values, best.values, strict=True)]
        ratio = all(value > 0 for pair in pairs for value in pair)
        return compare.mean([self.sign * (math.log(mine / limit) if ratio else mine - limit)
                             for mine, limit in pairs])

    def beside(self, best: Standing) -> str:
        """GOOD, UNTOLD or WORSE."""
        beyond = self.beyond(best, 1 + self.sign * MARGIN)
        if self is best or beyond.value + beyond.half <= 0:
            return GOOD
        return WORSE if beyond.value - beyond.half > 0 else UNTOLD

    def half_as_good(self, best: Standing) -> bool:
        """At most: half of the best, or twice as much where the least is best."""
        beyond = self.beyond(best, 2.0**self.sign)
        return beyond.value - beyond.half > 0


def standings(contest: Mapping[str, Any], paper: Paper, made: Sequence[Row]) -> list[Standing]:
    """All disciplines, the best first; none unless all have the figure under all seeds."""
    (experiment,) = [e for e in paper.experiments if e.name == contest["experiment"]]
    values: dict[str, dict[int, float]] = {name: {} for name in experiment.disciplines}
    for row in made:
        if row["experiment"] == experiment.name and all(
                row["at"][axis] == value for axis, value in contest["at"].items()):
            with suppress(claims.Absent):
                values[row["discipline"]][row["seed"]] = claims.figure(row["figures"],
                                                                       contest["metric"])
    if any(len(by_seed) < experiment.seeds for by_seed in values.values()):
        return []
    sign = -1 if contest.get("most") else 1
    found = [Standing(name, [by_seed[seed] for seed in sorted(by_seed)], sign)
             for name, by_seed in values.items()]
    return sorted(found, key=lambda s: sign * s.mean.value)


def better(found: Sequence[Standing]) -> str:
    """Who is better, mainline or ours: the best of each, unless the other is as good, or cannot be
    told apart from it."""
    best = found[0]
    others = {one.beside(best) for one in found if one.ours != best.ours}
    if GOOD in others:
        return "a tie"
    if UNTOLD in others:
        return "open"
    return "ours" if best.ours else "mainline"


def _first(contest: Mapping[str, Any], some: Sequence[Standing]) -> str:
    """Its figure; of seeds that are far from each other the least and the most, as an interval that
    begins below nothing says little."""
    first, scale, digits = some[0], contest.get("scale", 1.0), contest.get("digits", 1)
    if first.mean.half <= FAR * abs(first.mean.value):
        return f"{first.name} {first.mean.text(scale, digits)}"
    least, most = (f"{of(first.values) * scale:.{digits}f}" for of in (min, max))
    mean = f"{first.mean.value * scale:.{digits}f}"
    return f"{first.name} {mean} ({least} to {most})" if least != most else f"{first.name} {mean}"


def _shown(contest: Mapping[str, Any], some: Sequence[Standing]) -> str:
    """The first of these and its figure, and what the others are beside it."""
    said = [_first(contest, some)]
    for word in (GOOD, UNTOLD):
        if names := [one.name for one in some[1:] if one.beside(some[0]) == word]:
            said.append(f"{word}: {', '.join(names)}")
    return "; ".join(said)


def _half_as_good(found: Sequence[Standing]) -> list[Standing]:
    """The worst first."""
    return [one for one in reversed(found) if one.half_as_good(found[0])]


def _worst(contest: Mapping[str, Any], found: Sequence[Standing]) -> str:
    if not (some := _half_as_good(found)):
        return "none"
    others = ", ".join(one.name for one in some[1:])
    return _first(contest, some) + (f"; {others}" if others else "")


def _best(every: Sequence[Sequence[Standing]]) -> tuple[list[str], int, int]:
    """Of those that took part in all of these contests, who is as good as the best in most, and of
    these not told apart from it in most, mainline's first; and in how many each."""
    takes_part = Counter(one.name for found in every for one in found)
    beside: dict[tuple[bool, str], Counter[str]] = defaultdict(Counter)
    for found in every:
        for one in found:
            if takes_part[one.name] == len(every):
                beside[one.ours, one.name][one.beside(found[0])] += 1
    counts = {who: (words[GOOD], words[UNTOLD]) for who, words in beside.items()}
    good, untold = max(counts.values(), default=(0, 0))
    return [name for _, name in sorted(
        who for who, times in counts.items() if times == (good, untold))], good, untold


def _most(every: Sequence[Sequence[Standing]], of: str) -> str:
    """_best `of` these in words."""
    names, good, untold = _best(every)
    *others, last = names or ["none"]
    names_said = " or ".join(filter(None, (", ".join(others), last)))
    return (f"{names_said}, as good as the best{of} in {good} of {len(every)}"
            + (f" and not told apart from it in {untold}" if untold else "") + ".")


def advice(every: Sequence[Sequence[Standing]]) -> str:
    """What to take: of all, and of ours."""
    ours = [[one for one in found if one.ours] for found in every]
    return f"take {_most(every, '')}" + (
        f" Of ours: {_most(ours, ' of ours')}" if all(ours) else "")


def _price(heads: Sequence[str], every: Sequence[Sequence[Standing]]) -> str:
    """In which of these contests, by their heads, each that is advised of all is worse."""
    advised = _best(every)[0]
    worse = {name: [head for head, found in zip(heads, every, strict=True)
                    for one in found if one.name == name and one.beside(found[0]) == WORSE]
             for name in advised}
    return "".join(f" {name} is worse in: {'; '.join(where)}." for name, where in worse.items()
                   if where)


def _avoid(every: Sequence[Sequence[Standing]]) -> str:
    """Who is at most half as good as the best in most."""
    count = Counter(one.name for found in every for one in _half_as_good(found))
    names = sorted(name for name, times in count.items() if 2 * times > len(every))
    return f" Not: {', '.join(names)}, at most half as good in most of them." if names else ""


def question(text: Mapping[str, Any], every: Sequence[Sequence[Standing]]) -> list[str]:
    """Markdown of one question: in words, and a table of its contests. every: their standings."""
    out = [f"### {text['head']}", "", " ".join(text["asks"].split()), ""]
    run = [(contest, found) for contest, found in zip(text["contest"], every, strict=True) if found]
    if not run:
        return [*out, "Not all that this needs has run.", ""]
    tally = Counter(better(found) for _, found in run)
    out += [
        f"{len(run)} of {len(text['contest'])} contests have run. Mainline is better in "
        f"{tally['mainline']} of them, ours in {tally['ours']}, {tally['a tie']} are a tie, and "
        f"{tally['open']} are open.", "",
        "| | best of mainline's | best of ours | at most half as good: the worst, and others | "
        "better |", "|---" * 5 + "|"]
    for contest, found in run:
        sides = [_shown(contest, [one for one in found if one.ours == ours])
                 for ours in (False, True)]
        out.append(f"| {contest['what']} | {' | '.join(sides)} | {_worst(contest, found)} | "
                   f"{better(found)} |")
    return [*out, ""]


def summary(paper: Paper, made: Sequence[Row]) -> list[str]:
    """Markdown of all questions: what to take, then each by itself."""
    asked = [(text, [standings(contest, paper, made) for contest in text["contest"]])
             for text in paper.text["question"]]
    have = [(text["head"], run) for text, every in asked
            if (run := [(contest["what"], found)
                        for contest, found in zip(text["contest"], every, strict=True) if found])]
    said = []
    for head, run in have:
        heads, standing = zip(*run, strict=True)
        said.append(f"- **{head}**: {advice(standing)}{_price(heads, standing)}{_avoid(standing)}")
    if len(have) > 1:
        said.append(f"- **One for all of these**, if it took part in each: "
                    f"{advice([found for _, run in have for _, found in run])}")
    return ["## When to use which", "",
            "Computed from the contests below, as far as they have run. The best has the best mean "
            "over the seeds. Each of the others is set beside it seed by seed, by the ratio of the "
            "two (the difference where one is 0), whose logarithm has a 95 % interval. It is as "
            f"good when all of the interval is within {100 * MARGIN:g} % of the best, worse when "
            "all of it is beyond; else so few seeds do not tell it apart. At most half as good is, "
            "by the same interval, who has half of the best's figure, or less; where the least is "
            "best, twice of it, or more. A figure has its 95 % interval, or, where that is wide, "
            "the least and the most of the seeds. In the tables each side has its own best, and "
            "\"as good\" and \"not told apart\" beside it are from that one. Between mainline and "
            "ours it is a tie when one of the other side is as good as the best of all, and open "
            "when none is, but one is not told apart. Mainline's are named first: they need no "
            "module of ours.", "",
            *said, *([""] if said else []),
            *(line for text, every in asked for line in question(text, every))]
