# SPDX-License-Identifier: GPL-2.0
"""Adaptive RED in plain Python, in floating point.

S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of
RED's Active Queue Management", August 2001. Points that the paper leaves open follow tc-ared(8).
Lengths are in wire packets, times in ns.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from tests.oracle.red_model import Red, signal
from tests.oracle.seeded_random import SeededRandom

INTERVAL = 500_000_000  # ns
ALPHA, BETA = 0.01, 0.9


@dataclass
class AdaptiveRed(Red):
    """RED that adapts max_p."""

    wait: bool = True
    adaptive: bool = True
    bottom: float = 0.01
    top: float = 0.5
    adapted_at: int = 0
    raised: int = 0
    lowered: int = 0

    def begin(self, max_p: float) -> None:
        """Set max_p, limited to its bounds."""
        self.max_p = min(max(max_p, self.bottom), self.top) if self.adaptive else max_p

    def adapt(self, now: int) -> None:
        """Adapt max_p once for each half second that has passed, with the present average."""
        while now >= self.adapted_at + INTERVAL:
            self.adapted_at += INTERVAL
            width = self.max_th - self.min_th
            if not self.adaptive:
                continue
            if self.avg > self.min_th + 0.6 * width and self.max_p < self.top:
                self.max_p = min(self.max_p + min(ALPHA, self.max_p / 4), self.top)
                self.raised += 1
            elif self.avg < self.min_th + 0.4 * width and self.max_p > self.bottom:
                self.max_p = max(self.max_p * BETA, self.bottom)
                self.lowered += 1


@dataclass
class RedQueue:
    """A FIFO of (packet, TOS, segments) with RED, also for fpq."""

    red: AdaptiveRed
    limit: int
    rng: SeededRandom
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    given: float = 0.0  # max_p
    queue: deque[tuple[int, int, int]] = field(default_factory=deque)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def length(self) -> int:
        """Return the number of queued wire packets."""
        return sum(segments for *_, segments in self.queue)

    def _lose(self, why: str) -> None:
        self.counts[why] += 1
        self.counts["drops"] += 1

    def enqueue(self, packet: int, tos: int, segments: int, now: int) -> None:
        """Enqueue a packet, mark it or drop it."""
        self.red.arrival(self.length, now)
        self.red.adapt(now)
        verdict, fate = self.red.decide(self.rng), ""
        if verdict != "pass":
            self.counts["overlimits"] += 1
            fate, tos = signal(self, tos, verdict)
            if fate.endswith("drop"):
                self._lose(fate)
                return
        if self.queue and self.length + segments > self.limit:
            self._lose("drop_limit")
            return
        if fate:
            self.counts[fate] += 1
            self.counts["marked"] += fate.endswith("mark")
        self.queue.append((packet, tos, segments))
        self.red.busy(now)

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return (packet, TOS) of the packet that leaves, or None."""
        if not self.queue:
            return None
        packet, tos, _ = self.queue.popleft()
        if not self.queue:
            self.red.idle(now)
        return packet, tos

    def set_limit(self, limit: int, now: int) -> None:
        """Set a new limit and drop the oldest packets above it."""
        self.limit = limit
        while self.length > limit and len(self.queue) > 1:
            self.queue.popleft()
            self._lose("drop_change")

    def reset(self, now: int) -> None:
        """Drop all packets without counting them, and reset the average and max_p."""
        self.queue.clear()
        self.red.reset(now)
        self.red.begin(self.given)
        self.red.adapted_at = now
