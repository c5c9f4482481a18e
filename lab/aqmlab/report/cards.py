# SPDX-License-Identifier: GPL-2.0
"""Answer for each workload of a report which disciplines are best, as good, or bad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .columns import Column, DisciplineRow, column_of
from .comparison import Candidate, Verdict, candidates, verdicts
from .load_runs import Section


@dataclass(frozen=True)
class Named:
    """A discipline and its mean, as text, with the 95 % interval.

    why: reason for its place, if the means alone would suggest another one
    """

    name: str
    mean: str
    interval: str
    why: str = ""

    def text(self, unit: str = "") -> str:
        """Return the name, the mean and the reason."""
        return f"{self.name} {self.mean} {unit}".strip() + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class Card:
    """The answer of one section.

    column: the metric that decides
    best, ties, undecided, worse, avoid: disciplines by verdict, the best first; best is empty if no
        discipline is known to be worse than another
    starving: disciplines to avoid because of the goodput, whatever the metric says
    seeds: number of seeds
    """

    column: Column
    best: Sequence[Named]
    ties: Sequence[Named]
    undecided: Sequence[Named]
    worse: Sequence[Named]
    avoid: Sequence[Named]
    starving: Sequence[Named]
    seeds: int

    @property
    def as_good(self) -> set[str]:
        """Return the names of the disciplines that are not known to be worse than the best."""
        return {discipline.name for discipline in (*self.best, *self.ties, *self.undecided)}


def _preferred(section: Section) -> list[str]:
    """Return the titles of the metrics that may decide, the first choice first.

    The traffic decides: users of the web wait for pages, UDP endangers the goodput of TCP.
    """
    groups = {name: group for name, group in section.any["groups"].items() if name != "probe"}
    wanted = []
    if any(group.get("completion_s") for group in groups.values()):
        wanted.append("request mean")
    if any(group.get("delay_ms") for group in groups.values()):
        wanted.append("goodput")  # of TCP, beside UDP
    if len(section.any["phases"]) > 1:
        wanted.append("probe delay p99")
    return [*wanted, "sd", "probe delay p99", "utilization"]


def _collapsed(rows: Sequence[DisciplineRow]) -> set[str]:
    """Return the disciplines with at most half of the best goodput. They cannot be the best."""
    found = candidates(rows, column_of("goodput"))
    return {candidate.name for candidate in found if candidate.half_as_good(found[0])}


def compared(section: Section) -> tuple[Column, list[Candidate]] | None:
    """Return the metric that decides and the disciplines by it; None if no two have one."""
    out = _collapsed(section.rows)
    for title in _preferred(section):
        found = candidates(section.rows, column := column_of(title), out)
        if len(found) > 1:
            return column, found
    return None


def interval_text(low: float, high: float, column: Column) -> str:
    """Return an interval in the unit of a column."""
    return " to ".join(f"{end * column.scale:.{column.digits}f}" for end in (low, high))


def _why(
    candidate: Candidate, words: Mapping[str, Verdict], found: Sequence[Candidate], column: Column
) -> str:
    """Return why a discipline is not where its mean would put it, or "".

    Candidates are sorted by their means, except that the excluded ones come last.
    """
    word = words.get(candidate.name)
    better = [
        other for other in found if candidate.sign * (candidate.mean.value - other.mean.value) > 0
    ]
    if word in (Verdict.UNDECIDED, Verdict.TIE) and any(
        words[other.name] in (Verdict.WORSE, Verdict.AVOID) and not other.out for other in better
    ):
        ends = (
            f"{end * column.scale:.{column.digits}f}"
            for end in (min(candidate.values), max(candidate.values))
        )
        return f"the seeds differ: {' to '.join(ends)}"
    return ""


def card(section: Section) -> Card | None:
    """Return the card of a section; None if it compares nothing."""
    known = compared(section)
    if not known:
        return None
    column, found = known
    words = verdicts(found)
    named = {}
    for candidate in found:
        ends = candidate.mean.interval(column.top)
        named[candidate.name] = Named(
            candidate.name,
            f"{candidate.mean.value * column.scale:.{column.digits}f}",
            interval_text(*ends, column) if ends else "",
            _why(candidate, words, found, column),
        )
    best, ties, undecided, worse, avoid = (
        [named[name] for name in words if words[name] == word]
        for word in (Verdict.BEST, Verdict.TIE, Verdict.UNDECIDED, Verdict.WORSE, Verdict.AVOID)
    )
    out = {candidate.name for candidate in found if candidate.out}
    return Card(
        column,
        best,
        ties,
        undecided,
        worse,
        [discipline for discipline in avoid if discipline.name not in out],
        [discipline for discipline in avoid if discipline.name in out],
        len(found[0].values),
    )


def of_interest(sections: Sequence[Section]) -> list[str]:
    """Return the disciplines that a reader looks at first: all if they are few, else fq_codel, the
    first one, and the best of each section. They get colours that differ."""
    names = list(dict.fromkeys(name for section in sections for name in section.runs))
    if len(names) <= 4:
        return names
    best = [
        discipline.name
        for section in sections
        if (answer := card(section))
        for discipline in (*answer.best, *answer.ties)[:1]
    ]
    return list(
        dict.fromkeys([*(name for name in names if name.split()[0] == "fq_codel"), names[0], *best])
    )


def summary(answers: Sequence[Card]) -> str:
    """Name the disciplines that are best, or as good, in most workloads; "" for one workload."""
    if len(answers) < 2:
        return ""
    count = Counter(
        discipline.name for answer in answers for discipline in (*answer.best, *answer.ties)
    )
    most = max(count.values(), default=0)
    names = sorted(name for name, times in count.items() if times == most)
    verb = "are" if len(names) > 1 else "is"
    good = f"{' and '.join(names)} {verb} best, or as good as the best"
    if most == len(answers):
        return f"In all workloads {good}."
    return (
        f"No discipline is best everywhere. In {most} of {len(answers)} workloads {good}."
        if most
        else ""
    )


def text(answer: Card) -> str:
    """Return a card as lines for a terminal."""
    lines = [
        ("best", answer.best),
        ("as good", answer.ties),
        ("undecided", answer.undecided),
        ("worse", answer.worse),
        ("at most half as good", answer.avoid),
        ("at most half of the best goodput", answer.starving),
    ]
    return "\n".join(
        [
            f"  decided by {answer.column.title}",
            *(
                f"  {word}: {', '.join(discipline.text() for discipline in named)}"
                for word, named in lines
                if named
            ),
        ]
    )
