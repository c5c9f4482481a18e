# SPDX-License-Identifier: GPL-2.0
"""Judge a paper's claims by its rows, with its own TCP profile and with others.

Each verdict is computed once, on first use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from . import claim_verdict, claims
from .claim_types import Ablation, Claim
from .claim_verdict import LEAST_SEEDS, ClaimVerdict, Decision
from .paper import Paper, load
from .row import Row

Tried = Sequence[tuple[Ablation, ClaimVerdict]]


@dataclass(frozen=True)
class Judgement:
    """Hold the verdicts of a paper with one TCP profile.

    asked: number of its cells
    rows: rows of the cells that ran
    """

    paper: Paper
    claims: Sequence[Claim]
    asked: int
    rows: Sequence[Row]

    @cached_property
    def _cells(self) -> claim_verdict.Cells:
        return claim_verdict.by_cell(self.rows)

    def _judged(self, claim: Claim, most: int | None = None) -> ClaimVerdict:
        """Judge a claim by its interval alone. most: number of seeds; all if not given"""
        axes = {experiment.name: experiment.axes for experiment in self.paper.experiments}
        seeds = {name: numbers[:most] for name, numbers in self.paper.seeds.items()}
        return claim_verdict.judge(claim, axes, self._cells, seeds)

    @cached_property
    def plain(self) -> Mapping[str, ClaimVerdict]:
        """Return the verdict on each claim by its interval alone."""
        return {claim.id: self._judged(claim) for claim in self.claims}

    @cached_property
    def decided_late(self) -> list[str]:
        """List the claims that are decided, and were not after LEAST_SEEDS seeds."""
        return [
            claim.id
            for claim in self.claims
            if self.plain[claim.id].seeds > LEAST_SEEDS
            and self.plain[claim.id].verdict != Decision.INCONCLUSIVE
            and self._judged(claim, LEAST_SEEDS).verdict == Decision.INCONCLUSIVE
            # When rows run again, the number of seeds is known.
            and any(row["made"]["edition"] == 1 for row in self.plain[claim.id].cells)
        ]

    def _verdict(self, claim: Claim) -> ClaimVerdict:
        judged = self.plain[claim.id]
        if judged.value and claim_verdict.moved(claim, judged.cells):
            return replace(
                judged,
                verdict=Decision.INCONCLUSIVE,
                why_not="its bounds are younger than the runs",
            )
        return claim_verdict.explained(claim, judged, self.ablations[claim.id])

    @cached_property
    def verdicts(self) -> Mapping[str, ClaimVerdict]:
        """On each claim, by its id; none on one whose bounds have changed since its cells ran."""
        return {claim.id: self._verdict(claim) for claim in self.claims}

    @cached_property
    def q_values(self) -> Mapping[str, float]:
        """Return the q-value of each judged claim, after Benjamini and Hochberg.

        It is the rate of wrong verdicts among the claims that are at least as clear. Claims that
        are inconclusive count, too, because they were judged.
        """
        from scipy.stats import false_discovery_control

        p = {
            key: judged.p
            for key, judged in self.verdicts.items()
            if judged.verdict != Decision.ANOTHER and judged.p is not None
        }
        return dict(zip(p, map(float, false_discovery_control(list(p.values()))), strict=True))

    @cached_property
    def ablations(self) -> Mapping[str, Tried]:
        """The verdict that each ablation of a claim would get, by the claim's id."""
        return {
            claim.id: [
                (ablation, self._judged(claim.varied(ablation.by))) for ablation in claim.ablations
            ]
            for claim in self.claims
        }

    @cached_property
    def profiles(self) -> Sequence[Profile]:
        """Return the judgements with the TCP profiles other than the paper's own."""
        return [
            Profile(
                says["head"], says["about"], _of(load(self.paper.name, profile=name), self.claims)
            )
            for name, says in self.paper.text.get("tcp_profile", {}).items()
        ]


@dataclass(frozen=True)
class Profile:
    """Hold the verdicts with another TCP profile; head and about: text for people."""

    head: str
    about: str
    judged: Judgement


def _of(paper: Paper, listed: Sequence[Claim]) -> Judgement:
    return Judgement(paper, listed, len(paper.commands()), paper.rows())


def of(paper: Paper) -> Judgement:
    """By the rows and claims that there are now."""
    return _of(paper, claims.load(paper.directory))


def tally(judged: Iterable[ClaimVerdict]) -> dict[str, int]:
    """Count the claims with each verdict."""
    found = Counter(given.verdict for given in judged)
    return {decision: found[decision] for decision in Decision}


def tally_of_causes(judged: Iterable[tuple[Claim, ClaimVerdict]]) -> dict[str, int]:
    """Count as tally(), but claims with one phenomenon and one verdict once."""
    causes = {(given.verdict, claim.phenomenon or claim.id) for claim, given in judged}
    found = Counter(verdict for verdict, _ in causes)
    return {decision: found[decision] for decision in Decision}


def holds_for_all(judgement: Judgement) -> list[str]:
    """List the confirmed claims that no other working discipline contradicts.

    They may be properties of the workload.
    """
    return [
        key
        for key, judged in judgement.verdicts.items()
        if judged.verdict == Decision.CONFIRMED
        and not any(
            other.verdict == Decision.CONTRADICTED
            for ablation, other in judgement.ablations[key]
            if ablation.of_discipline and not ablation.broken
        )
    ]


def calibrates(claim: Claim, paper: Paper) -> bool:
    """Return True if the claim is about TCP alone on a path that delays and loses packets."""
    return paper.disciplines[claim.what.of].startswith("netem ")
