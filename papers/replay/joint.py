# SPDX-License-Identifier: GPL-2.0
"""Judge all claims about a figure under one setting of what the paper leaves open.

A claim is undetermined if one admissible value decides otherwise. The claims about a figure could
then each be saved by another value, although the authors had one. Here each value is applied to all
of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .claim_verdict import ClaimVerdict, Decision
from .judgement import Judgement, calibrates

OURS = "as we ran it"
FIGURE = re.compile(r"\b(figure|table)s? ([\w-]+)")


@dataclass(frozen=True)
class Setting:
    """A setting of a figure.

    name: our own, or the change to it
    counts: number of claims by verdict, without the claims that did not run with it
    missing: number of claims that did not run with it
    """

    name: str
    counts: Mapping[Decision, int]
    missing: int


@dataclass(frozen=True)
class Figure:
    """A figure or table with claims that an open setting decides."""

    name: str
    claims: Sequence[str]
    settings: Sequence[Setting]


def _setting(name: str, verdicts: Sequence[ClaimVerdict | None]) -> Setting:
    ran = Counter(given.verdict for given in verdicts if given and given.value)
    counts = {
        verdict: ran[verdict]
        for verdict in (Decision.CONFIRMED, Decision.CONTRADICTED, Decision.INCONCLUSIVE)
    }
    return Setting(name, counts, len(verdicts) - sum(counts.values()))


def figures(judgement: Judgement) -> list[Figure]:
    """Return the figures with two claims or more, and with an open setting that ran."""
    by_name: dict[str, list[str]] = {}
    for claim in judgement.claims:
        if (found := FIGURE.search(claim.place)) and not (
            claim.stand_in or calibrates(claim, judgement.paper)
        ):
            by_name.setdefault(f"{found[1]} {found[2]}", []).append(claim.id)
    listed = []
    for name, ids in by_name.items():
        tried = {
            key: {
                ablation.change: judged
                for ablation, judged in judgement.ablations[key]
                if ablation.open
            }
            for key in ids
        }
        changes = dict.fromkeys(change for key in ids for change in tried[key])
        settings = [
            _setting(OURS, [judgement.plain[key] for key in ids]),
            *(_setting(change, [tried[key].get(change) for key in ids]) for change in changes),
        ]
        if len(ids) > 1 and len(settings) > 1:
            listed.append(Figure(name, ids, settings))
    return listed
