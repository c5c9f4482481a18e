# SPDX-License-Identifier: GPL-2.0
"""Metrics of runs that differ only in the seed: means and 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % interval (Student's t), NaN with one value.

    inverse: whether the shown value is the inverse, a ratio whose denominator can be 0
    log: whether `value` is a geometric mean, and `half` is for the mean of the logarithms
    """

    value: float
    half: float
    inverse: bool = False
    log: bool = False

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """`12.3 ±0.4`, multiplied by `scale`; `12.3 (11.9 to 12.7)` of a geometric mean; of an
        inverse between what its interval lies."""
        if self.inverse:
            half = 0.0 if math.isnan(self.half) else self.half
            found = [scale / end for end in (self.value + half, self.value - half) if end > 0]
            ends = [f"{end:.{digits if end < 10 else 0}f}" for end in found]
            return (
                f"at least {ends[0]}"
                if len(ends) == 1
                else " to ".join(dict.fromkeys(ends)) or "infinite"
            )
        value = f"{self.value * scale:.{digits}f}"
        if self.log:
            factor = math.exp(self.half)
            least, most = self.value * scale / factor, self.value * scale * factor
            return f"{value} ({least:.{digits}f} to {most:.{digits}f})"
        return value if math.isnan(self.half) else f"{value} ±{self.half * scale:.{digits}f}"

    def interval(self, top: float = math.inf) -> tuple[float, float] | None:
        """Return the ends of a 95 % interval between 0 and `top`; None with one value.

        It is Student's on the scale of the logarithm, by the delta method, cut off at the top.
        """
        if math.isnan(self.half):
            return None
        factor = math.exp(self.half / self.value) if self.value > 0 else 1.0
        return self.value / factor, min(top, self.value * factor)


def mean(values: Sequence[float]) -> Mean:
    """Mean of independent repetitions."""
    n = len(values)
    middle = math.fsum(values) / n
    if n < 2:
        return Mean(middle, math.nan)
    variance = math.fsum((v - middle) ** 2 for v in values) / (n - 1)
    from scipy.special import stdtrit  # takes longer than a short run

    t = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Mean(middle, t * math.sqrt(variance / n))


def p_value(mean: Mean, n: int, *bounds: float) -> float:
    """Return the p-value of the hypothesis that the expectation is beyond the nearest of `bounds`.

    One-sided, Student's t. n: number of values that `mean` is of, at least 2
    """
    from scipy.special import stdtr, stdtrit

    error = mean.half / float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    distance = min(abs(mean.value - bound) for bound in bounds)
    return float(stdtr(n - 1, -distance / error)) if error else 0.0


def known_mean(values: Sequence[float | None]) -> Mean | None:
    """Return the mean; None if a value is missing or there is no value."""
    known = [v for v in values if v is not None]
    return mean(known) if known and len(known) == len(values) else None


def beyond(values: Sequence[float], limits: Sequence[float], sign: int) -> Mean:
    """Return by how much values are worse than limits, seed by seed.

    It is the mean of the logarithms of the ratios, or of the differences if there is a 0.

    sign: 1 if the least is best, -1 if the most is
    """
    pairs = list(zip(values, limits, strict=True))
    ratio = all(number > 0 for pair in pairs for number in pair)
    return mean(
        [sign * (math.log(value / limit) if ratio else value - limit) for value, limit in pairs]
    )
