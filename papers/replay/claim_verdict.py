# SPDX-License-Identifier: GPL-2.0
"""Judge claims by the rows of their cells.

If a paper does not give a setting, each value that it allows is an admissible value.

confirmed: the 95 % interval over the seeds lies within `low` to `high`, and no admissible value
    that ran contradicts
contradicted: it lies outside, with every admissible value that ran
undetermined: an admissible value decides otherwise, or not at all; or too few have run
better than published: it lies outside with every admissible value that ran, on the side on which
    the discipline that the paper proposes does better
not the paper's algorithm: the discipline has the name of the paper's, and another algorithm
inconclusive: one of these holds:
    the interval lies across a bound
    fewer than three seeds have all cells
    a ratio has no value
    the cells ran with different versions of a module, of the kernel or of the lab
    the bounds changed after a cell ran (judgement.py checks this)

A search has steps: its interval is wider by a step on both sides, and it has no p-value.

Ratios and maxima are compared by their logarithms, because their errors are multiplied. The pages
show their geometric mean, and its interval in parentheses.

A ratio to 0 is infinite. Then the inverse has an interval, and is judged by the inverse bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from aqmlab.measure.derived_metrics import Absent, metric_of
from aqmlab.report import intervals

from .claim_types import FOLDS, Ablation, Claim, Selection
from .row import Row
from .search import MIXED


class Decision(StrEnum):
    """What a verdict says of a claim."""

    CONFIRMED = "confirmed"
    BETTER = "better than published"
    CONTRADICTED = "contradicted"
    UNDETERMINED = "undetermined"
    ANOTHER = "not the paper's algorithm"
    INCONCLUSIVE = "inconclusive"


ACROSS = "the interval lies across a bound"
LEAST_SEEDS = 3


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim's verdict.

    why_not: the cause of an inconclusive verdict
    p: one-sided p-value of the side of the nearest bound, if there are enough seeds
    """

    verdict: Decision
    value: intervals.Mean | None
    seeds: int
    cells: Sequence[Row]
    why_not: str = ""
    p: float | None = None


Cells = Mapping[tuple[str, str, int], Sequence[Row]]


def by_cell(rows: Sequence[Row]) -> Cells:
    """Rows by experiment, discipline and seed."""
    cells: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["experiment"], row["discipline"], row["seed"]), []).append(row)
    return cells


def _points(what: Selection, axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    values = [what.at.get(axis, all_) for axis, all_ in axes.items()]
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*values)]


def _values(
    what: Selection, axes: Mapping[str, Sequence[Any]], cells: Cells, seed: int
) -> tuple[list[float], list[Row]]:
    """The figure at each point, in the order of the axes."""
    rows = []
    for point in _points(what, axes):
        found = [
            row for row in cells.get((what.experiment, what.of, seed), ()) if row["at"] == point
        ]
        if not found:
            at = ", ".join(f"{k} {v}" for k, v in point.items())
            raise Absent(f"{what.of} in {what.experiment}" + (f" at {at}" if at else ""))
        rows.append(found[0])
    return [metric_of(row["metrics"], what.metric) for row in rows], rows


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.inf if a else math.nan


def measure(
    claim: Claim,
    axes: Mapping[str, Mapping[str, Sequence[Any]]],
    cells: Cells,
    seeds: Mapping[str, int],
) -> tuple[float, list[Row]]:
    """The claim's figure under one seed of each experiment, not a number where 0 is divided by 0;
    axes: of each experiment. Absent when a cell is."""
    values, rows = _values(
        claim.what, axes[claim.what.experiment], cells, seeds[claim.what.experiment]
    )
    if claim.against:
        others, more = _values(
            claim.against, axes[claim.against.experiment], cells, seeds[claim.against.experiment]
        )
        rows += more
        if len(others) == 1:
            others *= len(values)
        if claim.difference:
            values = [a - b for a, b in zip(values, others, strict=True)]
        else:
            values = [_ratio(a, b) for a, b in zip(values, others, strict=True)]
    value = math.nan if any(map(math.isnan, values)) else FOLDS[claim.fold](values)
    elsewhere = claim.elsewhere
    if elsewhere:
        other, more = measure(elsewhere, axes, cells, seeds)
        return value - other if claim.difference else _ratio(value, other), rows + more
    return value, rows


def versions(cells: Sequence[Row]) -> str:
    """Return what is not the same in all cells: the kernel, the lab's edition, or a module by name.

    Of several, return the first.

    The seeds of a cell must have the same modules, too.
    """
    first: dict[str, str] = {}
    modules: dict[tuple[str, str, str], Collection[str]] = {}
    for row in cells:
        mine: dict[str, str] = {
            "the kernel": row["made"]["kernel"],
            "the lab": str(row["made"]["edition"]),
            **row["made"]["modules"],
        }
        # A stored row has its axes in another order than a new one.
        at = repr(sorted(row["at"].items()))
        other = modules.setdefault((row["experiment"], row["discipline"], at), mine.keys())
        for name in sorted({*mine, *other}):
            version = mine.get(name, "")
            if not version or first.setdefault(name, version) != version or MIXED in version:
                return name
    return ""


def judge(
    claim: Claim,
    axes: Mapping[str, Mapping[str, Sequence[Any]]],
    cells: Cells,
    seeds: Mapping[str, Sequence[int]],
) -> ClaimVerdict:
    """Return the verdict of a claim.

    axes: axes of each experiment
    seeds: required seeds of each experiment; seeds of two experiments are compared in pairs
    """
    values, used, missing, no_ratio = [], [], "", ""
    for at in range(claim.least(seeds)):
        of = {name: numbers[at] for name, numbers in seeds.items() if at < len(numbers)}
        seed = of[claim.what.experiment]
        try:
            value, mine = measure(claim, axes, cells, of)
        except Absent as absent:
            missing = missing or f"absent: {absent}, seed {seed}"
            continue
        values.append(value)
        used += mine
        if math.isnan(value):
            other = claim.against.of if claim.against else "the same claim elsewhere"
            no_ratio = f"no ratio to {other}: both have 0 under seed {seed}"
    if not values:
        return ClaimVerdict(Decision.INCONCLUSIVE, None, 0, used, missing)
    if math.inf in values and 0 in values:
        no_ratio = "a seed has 0, and another a ratio to 0"
    if no_ratio:
        return ClaimVerdict(Decision.INCONCLUSIVE, None, len(values), used, no_ratio)
    low, high, inverse = claim.low, claim.high, math.inf in values
    if inverse:
        values = [1 / value for value in values]
        low = -math.inf if math.isinf(claim.high) else 1 / claim.high
        high = 1 / claim.low if claim.low > 0 else math.inf
    mean = replace(intervals.mean(values), inverse=inverse)
    if len(values) < LEAST_SEEDS:
        return ClaimVerdict(
            Decision.INCONCLUSIVE,
            mean,
            len(values),
            used,
            f"{len(values)} seed{'s' * (len(values) != 1)} of {LEAST_SEEDS}",
        )
    if differs := versions(used):
        return ClaimVerdict(
            Decision.INCONCLUSIVE, mean, len(values), used, f"cells by two versions of {differs}"
        )
    log = claim.on_log_scale and min(values) > 0
    if log:
        values = [math.log(value) for value in values]
        low, high = (math.log(bound) if bound > 0 else -math.inf for bound in (low, high))
    compared = intervals.mean(values)
    step = max(row["metrics"].get("step", 1.0) for row in used) if log else 1.0
    if step > 1:
        compared = replace(compared, half=compared.half + math.log(step))
    if log and not inverse:
        mean = intervals.Mean(math.exp(compared.value), compared.half, log=True)
    judged = ClaimVerdict(
        Decision.INCONCLUSIVE,
        mean,
        len(values),
        used,
        missing,
        None if step > 1 else intervals.p_value(compared, len(values), low, high),
    )
    least, most = compared.value - compared.half, compared.value + compared.half
    if low <= least and most <= high:
        return replace(judged, verdict=Decision.CONFIRMED)
    if most < low or least > high:
        return replace(judged, verdict=Decision.CONTRADICTED)
    return replace(judged, why_not=ACROSS)


def moved(claim: Claim, cells: Sequence[Row]) -> bool:
    """Return whether the bounds changed after a cell that judges the claim ran."""
    bounds = claim.bounds
    return any(
        row["bounds"].get(claim.id) != bounds
        for row in cells
        if claim.judges(row["experiment"], row["discipline"], row["at"])
    )


def _ran(judged: ClaimVerdict) -> bool:
    """Return whether an ablation ran as often as a verdict needs."""
    return judged.verdict in (Decision.CONFIRMED, Decision.CONTRADICTED) or judged.why_not == ACROSS


def explained(
    claim: Claim, judged: ClaimVerdict, ablations: Sequence[tuple[Ablation, ClaimVerdict]]
) -> ClaimVerdict:
    """Compare a verdict with the verdicts for other admissible values, and with what is proposed.

    ablations: the claim's, each with its verdict
    """
    if claim.stand_in:
        return replace(judged, verdict=Decision.ANOTHER, why_not=claim.stand_in)
    if judged.verdict not in (Decision.CONFIRMED, Decision.CONTRADICTED) or not judged.value:
        return judged
    for others, says in (
        (Decision.CONTRADICTED, "contradicted"),
        (Decision.CONFIRMED, "confirmed"),
        (Decision.INCONCLUSIVE, "undecided"),
    ):
        for ablation, other in ablations:
            if (
                ablation.open
                and _ran(other)
                and other.verdict == others != judged.verdict
                and not (judged.verdict == Decision.CONFIRMED and others == Decision.INCONCLUSIVE)
            ):
                why = f"the paper leaves {ablation.open} open; {says} with {ablation.change}"
                return replace(judged, verdict=Decision.UNDETERMINED, why_not=why)
    if judged.verdict == Decision.CONFIRMED:
        return judged
    if claim.open:
        return replace(
            judged, verdict=Decision.UNDETERMINED, why_not=f"the paper leaves {claim.open} open"
        )
    above = (judged.value.value > claim.high) != judged.value.inverse
    if claim.better == ("higher" if above else "lower"):
        return replace(judged, verdict=Decision.BETTER)
    return judged
