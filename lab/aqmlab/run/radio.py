# SPDX-License-Identifier: GPL-2.0
"""Traces of links over the air, drawn from a seed.

The rate walks at random, the link sometimes carries nothing, and the delay varies. A new step
begins every 20 ms. Losses and packets that are sent together are properties of a link, not of its
trace: see `Network.link`.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from .links import two_states
from .trace import Piece, Trace

STEP_MS = 20
#: A trace begins anew after this time, at the latest.
LONGEST_S = 600.0
#: How far the rate can go in a step, as a share of the way from `rate` to `rate` times `swing`.
STRIDE = 0.25


@dataclass(frozen=True)
class Radio:
    """How a link over the air varies.

    swing: the rate stays between 1 / swing and swing times its middle; 1: it does not vary
    fades: share of the time in which the link carries nothing, 0 to 0.5
    fade_ms: mean length of such a time, at least STEP_MS
    jitter_ms: the delay of a round trip is between 0 and this, anew in each step
    """

    swing: float = 1.0
    fades: float = 0.0
    fade_ms: float = 100.0
    jitter_ms: float = 0.0

    def trace(self, rng: random.Random, rate_bps: float, seconds: float) -> Trace:
        """Return a trace for a run of some seconds.

        rate_bps: mean while the link does not fade
        Raises UserError if there are no such fades.
        """
        steps = math.ceil(min(seconds, LONGEST_S) * 1000 / STEP_MS)
        rates = self._walk(rng, steps)
        scale = rate_bps * steps / sum(rates)
        faded = self._faded(rng, steps)
        pieces = []
        before, total = 0, 0.0
        for rate, fades in zip(rates, faded, strict=True):
            # Rounded in sum, so that no part of a byte is lost in each step.
            before, total = round(total), total + scale * rate * (not fades) * STEP_MS / 8000
            delay_us = round(rng.uniform(0, self.jitter_ms) * 1000)
            pieces.append(Piece(STEP_MS * 1000, round(total) - before, delay_us))
        return Trace("", "", tuple(pieces))

    def _walk(self, rng: random.Random, steps: int) -> list[float]:
        """Return factors of the rate: a random walk of its logarithm between two walls."""
        wall = math.log(self.swing)
        at, found = rng.uniform(-wall, wall), []
        for _ in range(steps):
            found.append(math.exp(at))
            at += rng.uniform(-wall, wall) * STRIDE
            # A wall throws back what would have passed it.
            at = max(-2 * wall - at, min(2 * wall - at, at)) if abs(at) > wall else at
        return found

    def _faded(self, rng: random.Random, steps: int) -> list[bool]:
        """Return whether the link fades in each step."""
        enter, leave = two_states(self.fades, self.fade_ms / STEP_MS)
        now, found = rng.random() < self.fades, []
        for _ in range(steps):
            found.append(now)
            now = rng.random() >= leave if now else rng.random() < enter
        return found
