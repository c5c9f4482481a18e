# SPDX-License-Identifier: GPL-2.0
"""Compare verdicts by the stored rows with verdicts by runs on another kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import judgement
from .paper import Paper
from .row import Row


def table(paper: Paper, rows: Sequence[Row]) -> str:
    """Return the claims with another verdict by these rows, and how many have the same.

    A claim without a value by these rows is not counted.
    """
    here = judgement.of(paper)
    there = replace(here, rows=rows)
    same, lines = 0, []
    for claim in here.claims:
        stored, now = here.verdicts[claim.id], there.verdicts[claim.id]
        if not now.value:
            continue
        if stored.verdict == now.verdict:
            same += 1
            continue
        before = claim.shown(stored.value) if stored.value else "-"
        lines.append(
            f"{claim.id:<8} {before:>22}  {stored.verdict:<14} "
            f"{claim.shown(now.value):>22}  {now.verdict:<14} {now.why_not}".rstrip()
        )
    return "\n".join([*lines, f"same verdict: {same} claims; another verdict: {len(lines)}"])
