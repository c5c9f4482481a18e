# SPDX-License-Identifier: GPL-2.0
"""What a paper's rows say of its claims, in its own era and in others. Each verdict is computed
once, when it is first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from . import claim_verdict, claims, store
from .claim_verdict import CONFIRMED, DIFFERS, UNDECIDED, Judged
from .claims import Ablation, Claim
from .paper import Paper, load

Row = Mapping[str, Any]
Tried = Sequence[tuple[Ablation, Judged]]

#: What became of a claim: its verdict then, its verdict in the other era, and a column's head.
FATES = ((CONFIRMED, DIFFERS, "holds no more"), (DIFFERS, CONFIRMED, "holds now"),
         (CONFIRMED, CONFIRMED, "still holds"), (DIFFERS, DIFFERS, "differs in both"))


@dataclass(frozen=True)
class Judgement:
    """Of a paper in one era. asked: how many cells it has; made: the rows of those that ran."""

    paper: Paper
    claims: Sequence[Claim]
    asked: int
    made: Sequence[Row]

    @cached_property
    def _cells(self) -> claim_verdict.Cells:
        return claim_verdict.by_cell(self.made)

    def _judged(self, claim: Claim) -> Judged:
        axes = {experiment.name: experiment.axes for experiment in self.paper.experiments}
        return claim_verdict.judge(claim, axes, self._cells, self.paper.seeds)

    def _verdict(self, claim: Claim) -> Judged:
        judged = self._judged(claim)
        if judged.value and claim_verdict.moved(claim, judged.cells):
            return replace(judged, verdict=UNDECIDED,
                           why_not="its bounds are younger than the runs")
        return judged

    @cached_property
    def verdicts(self) -> Mapping[str, Judged]:
        """On each claim, by its id; none on one whose bounds have changed since its cells ran."""
        return {claim.id: self._verdict(claim) for claim in self.claims}

    @cached_property
    def ablations(self) -> Mapping[str, Tried]:
        """The verdict that each ablation of a claim would get, by the claim's id."""
        return {claim.id: [(one, self._judged(claim.varied(one.by))) for one in claim.ablations]
                for claim in self.claims}

    @cached_property
    def eras(self) -> Sequence[Era]:
        """The paper's others than its own."""
        return [Era(says["head"], says["about"], _of(load(self.paper.name, era=name), self.claims))
                for name in self.paper.eras[1:] for says in [self.paper.text["tcp_profile"][name]]]


@dataclass(frozen=True)
class Era:
    """One more era of a paper: head and about for people, and what its cells say."""

    head: str
    about: str
    judged: Judgement


def _of(paper: Paper, listed: Sequence[Claim]) -> Judgement:
    commands = paper.commands()
    return Judgement(paper, listed, len(commands), store.of(paper.stored(), commands))


def of(paper: Paper) -> Judgement:
    """By the rows and claims that there are now."""
    return _of(paper, claims.load(paper.directory))


def tally(judged: Iterable[Judged]) -> dict[str, int]:
    """How many there are of each verdict."""
    found = Counter(one.verdict for one in judged)
    return {one: found[one] for one in (CONFIRMED, DIFFERS, UNDECIDED)}


def turned(claim: Claim, judged: Judged, tried: Tried) -> tuple[str, str]:
    """What turns a confirmed claim over, and what leaves it open, an interval across a bound: of
    other disciplines, and of all else. Else a claim may be one of the load."""
    if judged.verdict != CONFIRMED:
        return "", ""
    said = []
    for of_discipline in (True, False):
        shown = [(other, f"{one.change}: {claim.shown(other.value)}") for one, other in tried
                 if one.of_discipline == of_discipline]
        over = "; ".join(text for other, text in shown if other.verdict == DIFFERS)
        left = "; ".join(text for other, text in shown if other.why_not == claim_verdict.ACROSS)
        said.append("; ".join([over] * bool(over) + [f"left open by: {left}"] * bool(left)))
    if not any(other.verdict == DIFFERS for _, other in tried):
        said[0] = "; ".join(["nothing yet"] + [said[0]] * bool(said[0]))
    return said[0], said[1]


def alone(one: Judgement) -> dict[str, list[str]]:
    """The confirmed claims that no other discipline turns over, by why: they may be of the load."""
    found: dict[str, list[str]] = {
        "none was tried": [], "none decides": [], "one holds it, too": []}
    for key, judged in one.verdicts.items():
        others = {other.verdict for tried, other in one.ablations[key] if tried.of_discipline}
        if judged.verdict == CONFIRMED and DIFFERS not in others:
            found["one holds it, too" if CONFIRMED in others else "none decides" if others
                  else "none was tried"].append(key)
    return found


def then_and_now(then: Judgement, now: Judgement) -> dict[str, list[Claim]]:
    """The claims that both decide, by what became of them."""
    return {fate: [claim for claim in then.claims if (before, after) == (
        then.verdicts[claim.id].verdict, now.verdicts[claim.id].verdict)]
        for before, after, fate in FATES}
