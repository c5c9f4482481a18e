# SPDX-License-Identifier: GPL-2.0
"""Adaptive RED in plain Python, in floating point.

S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of
RED's Active Queue Management", August 2001. What the paper leaves open is decided as tc-ared(8)
says. Lengths are packets of the wire, times ns.
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
    """RED that also moves max_p."""

    wait: bool = True
    adaptive: bool = True
    bottom: float = 0.01
    top: float = 0.5
    adapted_at: int = 0
    raised: int = 0
    lowered: int = 0

    def begin(self, max_p: float) -> None:
        """Set max_p to what is given, within its bounds."""
        self.max_p = min(max(max_p, self.bottom), self.top) if self.adaptive else max_p

    def adapt(self, now: int) -> None:
        """Make up for each half second that has passed, with the average as it is."""
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
    """A FIFO of (packet, TOS, segments) under RED; also fpq's."""

    red: AdaptiveRed
    limit: int
    rng: SeededRandom
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    queue: deque[tuple[int, int, int]] = field(default_factory=deque)
    counts: Counter = field(default_factory=Counter)

    @property
    def length(self) -> int:
        """Packets of the wire that wait."""
        return sum(segments for *_, segments in self.queue)

    def _lose(self, why: str) -> None:
        self.counts[why] += 1
        self.counts["drops"] += 1

    def enqueue(self, packet: int, tos: int, segments: int, now: int) -> None:
        """A packet arrives."""
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
        """(packet, TOS) of the packet that leaves, or None."""
        if not self.queue:
            return None
        packet, tos, _ = self.queue.popleft()
        if not self.queue:
            self.red.idle(now)
        return packet, tos

    def set_limit(self, limit: int, now: int) -> None:
        """Another limit: the oldest packets go if there is no room for them."""
        self.limit = limit
        while self.length > limit and len(self.queue) > 1:
            self.queue.popleft()
            self._lose("drop_change")

    def reset(self, now: int, max_p: float) -> None:
        """Forget the packets, uncounted, and the average; begin with this max_p."""
        self.queue.clear()
        self.red.reset(now)
        self.red.begin(max_p)
        self.red.adapted_at = now
