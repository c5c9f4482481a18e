# SPDX-License-Identifier: GPL-2.0
"""Check that the losses of a run do not depend on the order of its flows.

Flows start at random times, so their numbers mean nothing. If sources are in step with the queue,
the losers are the later flows, neighbors, or every n-th flow. A filter that groups flows by address
may cause the same, so result.py then skips this check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Ranks = np.ndarray[Any, np.dtype[np.float64]]
#: A measure of dependence on the order. Its argument has for each path the ranks of the flows'
#: losses in the order of the flows, (flows,) or (orders, flows).
Statistic = Callable[[Sequence[Ranks]], Ranks]

#: Significance of a pattern: 5 standard deviations, one false alarm in two million groups.
IN_STEP = 5.7e-7
#: With fewer flows no order is unlikely enough. Of the 10! orders of ten flows, two are sorted.
LEAST_FLOWS, LEAST_NEIGHBORS = 10, 20
#: Periods that are checked: every n-th flow loses alike. Flows must cover at least three periods.
PERIODS, ROUNDS = range(2, 21), 3
#: Number of random orders. We report a pattern only if none of them is as extreme. This decides
#: where losses are few and the asymptotic tests do not hold. The generator's seed is fixed, so
#: equal losses get equal verdicts. Example: of 200 flows only three lose. They are neighbors in one
#: order of 6567, which is reported as chance. Four neighbors, one order in 320 000, are not.
SHUFFLES, AT_ONCE = 100_000, 1000


def _ranks(values: Sequence[float]) -> Ranks:
    """Return the rank of each value; equal values share their mean rank."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts - 1) / 2)[which]


def _order_correlation(paths: Sequence[Ranks]) -> Ranks:
    """Return the rank correlation of losses with the order of the flows within each path.

    paths: for each path the ranks minus their mean
    """
    order = np.concatenate(
        [np.arange(ranks.shape[-1]) - (ranks.shape[-1] - 1) / 2 for ranks in paths]
    )
    ranks = np.concatenate(paths, axis=-1)
    return np.asarray(ranks @ order / np.sqrt((order @ order) * np.sum(ranks**2, axis=-1)))


def _order_significant(paths: Sequence[Ranks], rho: float) -> bool:
    """Return whether the correlation rho is significant by Student's t test."""
    freedom = sum(len(ranks) - 1 for ranks in paths) - 1
    if abs(rho) > 1 - 1e-12:
        return True
    from scipy.special import stdtrit  # importing scipy takes longer than a short run

    t = abs(rho) * math.sqrt(freedom / (1 - rho * rho))
    return bool(t > stdtrit(freedom, 1 - IN_STEP / 2))


def neighbor_moments(ranks: Ranks) -> tuple[float, float]:
    """Return mean and variance, over all orders, of the sum of products of neighboring ranks.

    The last rank and the first are neighbors, and the ranks add up to 0 (Wald and Wolfowitz 1943).
    """
    n, s2, s4 = len(ranks), float(np.sum(ranks**2)), float(np.sum(ranks**4))
    mean = -s2 / (n - 1)
    if n < 3:
        return mean, 0.0
    return mean, (s2 * s2 - s4 + (s2 * s2 - 2 * s4) / (n - 2)) / (n - 1) - mean * mean


def _neighbor_correlation(paths: Sequence[Ranks]) -> Ranks:
    """Return the correlation between the losses of neighbors.

    The last flow and the first are neighbors, so that each flow has two.
    """
    found = sum(np.sum(ranks * np.roll(ranks, 1, axis=-1), axis=-1) for ranks in paths)
    return np.asarray(found / sum(np.sum(ranks**2, axis=-1) for ranks in paths))


def _neighbors_significant(paths: Sequence[Ranks], rho: float) -> bool:
    """Return whether the correlation rho of neighbors is significant by the normal distribution."""
    mean, variance = (sum(each) for each in zip(*map(neighbor_moments, paths), strict=True))
    found = rho * sum(float(ranks @ ranks) for ranks in paths)
    return variance > 0 and math.erfc(abs(found - mean) / math.sqrt(2 * variance)) < IN_STEP


def _periods(paths: Sequence[Ranks]) -> list[tuple[int, list[Ranks]]]:
    """Return each period with the paths that are long enough for it."""
    found = [
        (period, [ranks for ranks in paths if ranks.shape[-1] >= ROUNDS * period])
        for period in PERIODS
    ]
    return [(period, several) for period, several in found if several]


def _period_evidence(paths: Sequence[Ranks]) -> Ranks:
    """Return -log10 of the smallest p-value over all periods.

    The test is an analysis of variance. For each period, the share of the sum of squares between
    the positions in the period has a beta distribution.
    """
    from scipy.special import betainc

    total = sum(np.sum(ranks**2, axis=-1) for ranks in paths)
    least = np.ones_like(total)
    for period, several in _periods(paths):
        between = (
            sum(
                np.sum(ranks[..., at::period], axis=-1) ** 2
                / len(range(at, ranks.shape[-1], period))
                for ranks in several
                for at in range(period)
            )
            / total
        )
        among = len(several) * (period - 1)
        within = sum(ranks.shape[-1] - 1 for ranks in paths) - among
        least = np.minimum(least, betainc(within / 2, among / 2, 1 - np.minimum(between, 1.0)))
    return np.asarray(-np.log10(np.maximum(least, 1e-300)))


def _period_significant(paths: Sequence[Ranks], zeros: float) -> bool:
    """Return whether p = 10**-zeros is significant, with Bonferroni's correction for periods."""
    return 10**-zeros * len(_periods(paths)) < IN_STEP


def _extreme(paths: Sequence[Ranks], statistic: Statistic, rho: float) -> bool:
    """Return whether none of SHUFFLES random orders is as far from the mean as the value rho.

    The asymptotic tests assume many flows with many different losses. They give false alarms if one
    flow of a hundred lost a packet, and on paths of two flows.
    """
    rng = np.random.default_rng(1)
    orders = [np.tile(np.sort(ranks), (AT_ONCE, 1)) for ranks in paths]
    mean = None
    for _ in range(SHUFFLES // AT_ONCE):
        found = statistic([rng.permuted(ranks, axis=-1) for ranks in orders])
        if mean is None:
            mean = found.mean()
        if np.any(np.abs(found - mean) >= abs(rho - mean) - 1e-9):
            return False
    return True


def in_step(ends: Sequence[Mapping[str, str]], paths: Mapping[str, str]) -> list[str]:
    """Check that retransmissions of bulk TCP do not depend on the order of a group's flows.

    ends: rows of flows.csv
    paths: path of each flow, by flow number. Only flows of one path are compared, because paths
        may differ in their losses
    Returns one message for each group that fails.
    """
    wrong = []
    bulk = [row for row in ends if row["kind"] == "bulk"]
    for group in dict.fromkeys(row["group"] for row in bulk):
        by_path: dict[str, list[float]] = {}
        for row in bulk:
            if row["group"] == group:
                by_path.setdefault(paths[row["flow"]], []).append(float(row["retransmits"]))
        alike = [
            _ranks(lost) - (len(lost) - 1) / 2
            for lost in by_path.values()
            if min(lost) != max(lost)
        ]
        flows = sum(map(len, alike))
        for least, statistic, by_law, of in (
            (LEAST_FLOWS, _order_correlation, _order_significant, "rank correlation"),
            (
                LEAST_NEIGHBORS,
                _neighbor_correlation,
                _neighbors_significant,
                "correlation of neighbors",
            ),
            (LEAST_NEIGHBORS, _period_evidence, _period_significant, "-log10 p of a period"),
        ):
            if flows < least:
                continue
            rho = float(statistic(alike))
            if by_law(alike, rho) and _extreme(alike, statistic, rho):
                wrong.append(
                    f"group {group}: losses depend on the order of the flows ({of} "
                    f"{rho:.2f}): sources are in step with the queue, or start in order"
                )
                break
    return wrong
