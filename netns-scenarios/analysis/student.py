# SPDX-License-Identifier: GPL-2.0
"""Quantiles of Student's t distribution."""

from __future__ import annotations

import functools
import math


def _beta_tail(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and
    Stegun, 26.5.8), evaluated as Lentz does; for x below (a + 1) / (a + b + 2)."""
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log1p(-x)) / a
    value, c, d = 1.0, 1.0, 0.0
    for i in range(10_000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d)
        c = 1 + term / c
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * (value - 1)


def cdf(t: float, freedom: int) -> float:
    """P(T <= t) with so many degrees of freedom."""
    x, a, b = freedom / (freedom + t * t), freedom / 2, 0.5
    # P(|T| > |t|) = I_x(freedom / 2, 1 / 2); the fraction converges fast on one side only.
    both = _beta_tail(a, b, x) if x < (a + 1) / (a + b + 2) else (
        1 - _beta_tail(b, a, 1 - x) if x < 1 else 1.0)
    return both / 2 if t < 0 else 1 - both / 2


@functools.cache
def quantile(p: float, freedom: int) -> float:
    """The t that P(T <= t) = p holds for, 0.5 < p < 1."""
    low, high = 0.0, 1.0
    while cdf(high, freedom) < p:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        if cdf(middle, freedom) < p:
            low = middle
        else:
            high = middle
    return high
