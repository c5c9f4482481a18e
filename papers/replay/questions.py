# SPDX-License-Identifier: GPL-2.0
"""Answer the questions of a paper by the verdicts of all their comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.report.comparison import Verdict

from .paper import Paper, load
from .ranking import Measured, MetricComparison, comparisons, half_as_good, rank
from .row import Row

Every = Sequence[Sequence[Measured]]


def better(found: Sequence[Measured]) -> str:
    """Compare the best of mainline and of ours: "a tie" if they are equally good, "open" if they
    cannot be told apart, otherwise "ours" or "mainline"."""
    best = found[0]
    others = {measured.verdict_against(best) for measured in found if measured.ours != best.ours}
    if Verdict.TIE in others:
        return "a tie"
    if Verdict.UNDECIDED in others:
        return "open"
    return "ours" if best.ours else "mainline"


def _best(every: Every, never: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Return the disciplines that are worse than the best in the fewest comparisons.

    Only disciplines that took part in all comparisons count. Each has the numbers of its verdicts.
    The first is as good as the best in most comparisons; at a tie mainline comes first.
    """
    takes_part = Counter(measured.name for found in every for measured in found)
    by_name: dict[tuple[bool, str], Counter[str]] = {}
    for found in every:
        for measured in found:
            if takes_part[measured.name] == len(every) and measured.name not in never:
                words = by_name.setdefault((measured.ours, measured.name), Counter())
                words[measured.verdict_against(found[0])] += 1
    fewest = min((words[Verdict.WORSE] for words in by_name.values()), default=0)
    named = sorted(
        (-words[Verdict.TIE], pair)
        for pair, words in by_name.items()
        if words[Verdict.WORSE] == fewest
    )
    return {pair[1]: by_name[pair] for _, pair in named}


def avoided(every: Every) -> list[str]:
    """List the disciplines that are at most half as good as the best in most comparisons."""
    count = Counter(measured.name for found in every for measured in half_as_good(found))
    return sorted(name for name, times in count.items() if 2 * times > len(every))


@dataclass(frozen=True)
class Ranked:
    """A question's comparisons that have run, with the disciplines of each, best first.

    profiles: the same with other TCP profiles, by their heads; empty where nothing has run
    """

    text: Mapping[str, Any]
    comparisons: Sequence[MetricComparison]
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
            measured.name
            for found in self.every
            for measured in found
            if measured.verdict_against(found[0]) == Verdict.WORSE
        )
        return sorted(
            {measured.name for found in self.every for measured in found},
            key=lambda name: (worse[name], name),
        )


def cell_of(comparison: MetricComparison, found: Sequence[Measured], name: str) -> tuple[str, str]:
    """Return a discipline's value with its interval and its verdict; empty without a value."""
    for measured in found:
        if measured.name == name:
            verdict = (
                "best"
                if measured is found[0]
                else "excluded"
                if measured.out
                else measured.verdict_against(found[0])
            )
            return comparison.shown(measured.mean), verdict
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
        run = [
            (comparison, found)
            for comparison in comparisons(text)
            if (found := rank(comparison, paper, rows))
        ]
        asked, every = [comparison for comparison, _ in run], [found for _, found in run]
        listed.append(
            Ranked(
                text,
                asked,
                every,
                {
                    head: [
                        rank(comparison, other, theirs) if name in comparison.tcp_profiles else []
                        for comparison in asked
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
    never = {name for question in every for name in question.avoided}
    return [*_best([found for question in every for found in question.every], never)]
