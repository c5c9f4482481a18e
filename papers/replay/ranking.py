# SPDX-License-Identifier: GPL-2.0
"""Rank disciplines by the rows of a paper's cells.

`[[question]]` of sweep.toml has comparisons: a metric at a point of an experiment. The smallest
value is best, or with `most` the largest. The best discipline has the best mean. Another one's
distance from it is computed seed by seed and has a 95 % interval. Keys of a comparison:

    floor         a smaller distance from the best is no worse, in the unit that is shown
    needs         a metric of the same cells; a discipline that is at most half as good as the best
                  in it does not take part
    paper         the paper with the experiment, if it is another
    without       disciplines that are left out
    suffix        the end of the disciplines' names in that experiment
    tcp_profiles  TCP profiles with which the comparison is made, too
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aqmlab.measure import derived_metrics
from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report.comparison import TIE, UNDECIDED, WORSE, Candidate

from .paper import Paper, load
from .row import Row

#: A discipline of ours by another name. The others' names begin with their kinds.
LQD = "lqd"


class Measured(Candidate):
    """A discipline of a paper's cells, with its values of one metric."""

    @property
    def ours(self) -> bool:
        """Return whether this project provides it."""
        return self.name == LQD or self.name.partition("-")[0] in all_metadata()


Every = Sequence[Sequence[Measured]]


@functools.cache
def _other(name: str) -> tuple[Paper, Sequence[Row]]:
    """Return a paper and the rows of its cells."""
    paper = load(name)
    return paper, paper.rows()


def rank(comparison: Mapping[str, Any], paper: Paper, rows: Sequence[Row]) -> list[Measured]:
    """Return all disciplines with the seeds that all have: the best first, excluded ones last.

    Return none if there are fewer common seeds than the experiment asks for.
    """
    if "paper" in comparison:
        paper, rows = _other(comparison["paper"])
    (experiment,) = [e for e in paper.experiments if e.name == comparison["experiment"]]
    values: dict[str, dict[int, float]] = {
        name: {} for name in experiment.disciplines if name not in comparison.get("without", ())
    }
    for row in rows:
        if (
            row["experiment"] == experiment.name
            and row["discipline"] in values
            and all(row["at"][axis] == value for axis, value in comparison["at"].items())
        ):
            with suppress(derived_metrics.Absent):
                values[row["discipline"]][row["seed"]] = derived_metrics.metric_of(
                    row["metrics"], comparison["metric"]
                )
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in values.values())))
    if len(seeds) < experiment.others:
        return []
    out = set[str]()
    if needs := comparison.get("needs"):
        same = {
            key: comparison[key]
            for key in ("paper", "without", "experiment", "at", "suffix")
            if key in comparison
        }
        needed = rank({**same, **needs}, paper, rows)
        if not needed:
            return []
        out = {one.name for one in half_as_good(needed)}
    sign = -1 if comparison.get("most") else 1
    floor, suffix = (
        comparison.get("floor", 0.0) / comparison.get("scale", 1.0),
        comparison.get("suffix", ""),
    )
    found = [
        Measured(short, [by_seed[seed] for seed in seeds], sign, floor, short in out)
        for name, by_seed in values.items()
        for short in [name.removesuffix(suffix)]
    ]
    return sorted(found, key=lambda s: (s.out, sign * s.mean.value))


@dataclass(frozen=True)
class Pair:
    """Two disciplines in one comparison."""

    comparison: Mapping[str, Any]
    mine: Measured
    other: Measured

    @property
    def word(self) -> str:
        """Return BETTER, WORSE or INDISTINCT."""
        return self.mine.against(self.other)

    def text(self, one: Measured) -> str:
        """Return a discipline's value with its interval."""
        return one.mean.text(self.comparison.get("scale", 1.0), self.comparison.get("digits", 1))


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
            {"experiment": each.name, "at": point, **metric}
            for each in paper.experiments
            if each.name.startswith(prefix)
            for metric in metrics
            for point in each.points
        ]
        if metrics
        else [
            {**comparison, "experiment": prefix + comparison["experiment"]}
            for question in paper.text["question"]
            for comparison in question["comparison"]
        ]
    )
    listed = []
    for comparison in asked:
        found = {one.name: one for one in rank(comparison, paper, rows)}
        if found.keys() >= {mine, other}:
            listed.append(Pair(comparison, found[mine], found[other]))
    return listed


def better(found: Sequence[Measured]) -> str:
    """Compare the best of mainline and of ours: "a tie" if they are equally good, "open" if they
    cannot be told apart, otherwise "ours" or "mainline"."""
    best = found[0]
    others = {one.verdict_against(best) for one in found if one.ours != best.ours}
    if TIE in others:
        return "a tie"
    if UNDECIDED in others:
        return "open"
    return "ours" if best.ours else "mainline"


def half_as_good(found: Sequence[Measured]) -> list[Measured]:
    """List the disciplines that are at most half as good as the best, the worst first."""
    return [one for one in reversed(found) if one.half_as_good(found[0])]


def _best(every: Every, never: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Return the disciplines that are worse than the best in the fewest comparisons.

    Only disciplines that took part in all comparisons count. Each has the numbers of its verdicts.
    The first is as good as the best in most comparisons; at a tie mainline comes first.
    """
    takes_part = Counter(one.name for found in every for one in found)
    by_name: dict[tuple[bool, str], Counter[str]] = {}
    for found in every:
        for one in found:
            if takes_part[one.name] == len(every) and one.name not in never:
                words = by_name.setdefault((one.ours, one.name), Counter())
                words[one.verdict_against(found[0])] += 1
    fewest = min((words[WORSE] for words in by_name.values()), default=0)
    named = sorted((-words[TIE], pair) for pair, words in by_name.items() if words[WORSE] == fewest)
    return {pair[1]: by_name[pair] for _, pair in named}


def avoided(every: Every) -> list[str]:
    """List the disciplines that are at most half as good as the best in most comparisons."""
    count = Counter(one.name for found in every for one in half_as_good(found))
    return sorted(name for name, times in count.items() if 2 * times > len(every))


@dataclass(frozen=True)
class Ranked:
    """A question's comparisons that have run, with the disciplines of each, best first.

    profiles: the same with other TCP profiles, by their heads; empty where nothing has run
    """

    text: Mapping[str, Any]
    comparisons: Sequence[Mapping[str, Any]]
    every: Every
    profiles: Mapping[str, Every]

    @property
    def tally(self) -> Counter[str]:
        """Count the comparisons by which side is better, see `better`."""
        return Counter(map(better, self.every))

    @property
    def best(self) -> list[str]:
        """List the disciplines that are worse than the best in the fewest comparisons."""
        return [*_best(self.every, avoided(self.every))]

    @property
    def avoided(self) -> list[str]:
        """See `avoided`."""
        return avoided(self.every)

    @property
    def names(self) -> list[str]:
        """List all disciplines; the first is worse than the best in the fewest comparisons."""
        worse = Counter(
            one.name
            for found in self.every
            for one in found
            if one.verdict_against(found[0]) == WORSE
        )
        return sorted(
            {one.name for found in self.every for one in found},
            key=lambda name: (worse[name], name),
        )


def cell_of(comparison: Mapping[str, Any], found: Sequence[Measured], name: str) -> tuple[str, str]:
    """Return a discipline's value with its interval and its verdict; empty without a value."""
    for one in found:
        if one.name == name:
            shown = one.mean.text(comparison.get("scale", 1.0), comparison.get("digits", 1))
            verdict = (
                "best"
                if one is found[0]
                else "excluded"
                if one.out
                else one.verdict_against(found[0])
            )
            return shown, verdict
    return "", ""


def ranked(paper: Paper, rows: Sequence[Row]) -> list[Ranked]:
    """Rank the disciplines in each comparison of each question."""
    profiles = [
        (paper.text["tcp_profile"][name]["head"], name, other, other.rows())
        for name in paper.profiles[1:]
        for other in [load(paper.name, profile=name)]
    ]
    listed = []
    for text in paper.text.get("question", ()):
        run = [(one, found) for one in text["comparison"] if (found := rank(one, paper, rows))]
        asked, every = [one for one, _ in run], [found for _, found in run]
        listed.append(
            Ranked(
                text,
                asked,
                every,
                {
                    head: [
                        rank(one, other, theirs) if name in one.get("tcp_profiles", ()) else []
                        for one in asked
                    ]
                    for head, name, other, theirs in profiles
                },
            )
        )
    return listed


def one_for_all(every: Sequence[Ranked]) -> list[str]:
    """List the disciplines that are worse than the best in the fewest comparisons of all questions.

    A discipline is left out if it missed a comparison or must be avoided in one question.
    """
    never = {name for one in every for name in one.avoided}
    return [*_best([found for one in every for found in one.every], never)]
