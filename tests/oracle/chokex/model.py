# SPDX-License-Identifier: GPL-2.0
"""CHOKe, M-CHOKe and A-CHOKe in plain Python.

It follows section 2.5 of Ali Ahammed and Banu, and tc-chokex(8). Random numbers are drawn in
this order. At or above min, one for each candidate. Then, if the arrival has survived, one for RED
if it is the first arrival between min and max since the last drop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.red_model import RandomQueue, Red, signal
from tests.oracle.seeded_random import SeededRandom


@dataclass
class Chokex:
    """The discipline. Lengths are in packets. ``regions`` 0: a fixed number of candidates."""

    red: Red
    limit: int
    rng: SeededRandom
    candidates: int = 1
    regions: int = 0
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    queue: RandomQueue = field(default_factory=RandomQueue)
    flow: dict[int, object] = field(default_factory=dict)
    tos: dict[int, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def draws(self) -> int:
        """Return the number of candidates for an arrival at the present average."""
        if not self.regions:
            return self.candidates
        red = self.red
        share = (Fraction(red.avg) - Fraction(red.min_th)) / Fraction(red.max_th - red.min_th)
        region = 1 + int(self.regions * share)
        return 2 * min(region, self.regions)

    def _lose(self, why: str) -> None:
        self.counts[why] += 1
        self.counts["drops"] += 1

    def _match(self, flow: object) -> bool:
        hit = False
        for _ in range(self.draws()):
            if not len(self.queue):
                break
            self.counts["drawn"] += 1
            candidate = self.queue.draw(self.rng)
            if self.flow[candidate] == flow:
                self.queue.remove(candidate)
                self._lose("victims")
                hit = True
        return hit

    def enqueue(self, packet: int, flow: object, tos: int, _segments: int, now: int) -> None:
        self.flow[packet] = flow
        self.tos[packet] = tos
        self.red.arrival(len(self.queue), now)
        if self.red.avg >= self.red.min_th and self._match(flow):
            if not len(self.queue):
                self.red.idle(now)
            self._lose("matched")
            return
        verdict = self.red.decide(self.rng)
        fate = "pass"
        if verdict != "pass":
            self.counts["overlimits"] += 1
            fate, self.tos[packet] = signal(self, tos, verdict)
        if fate.endswith("drop"):
            self._lose(fate)
            return
        if len(self.queue) >= self.limit:
            self._lose("drop_limit")
            return
        self.counts[fate] += 1
        self.counts["marked"] += fate.endswith("mark")
        self.queue.add(packet)
        self.red.busy(now)

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return (packet, TOS) of the packet that leaves, or None."""
        if not len(self.queue):
            return None
        packet = self.queue.first()
        self.queue.remove(packet)
        if not len(self.queue):
            self.red.idle(now)
        return packet, self.tos[packet]

    def set_limit(self, limit: int) -> None:
        self.limit = limit
        while len(self.queue) > limit:
            self.queue.remove(self.queue.last())
            self._lose("drop_change")

    def reset(self, now: int) -> None:
        """Drop all packets without counting them, and reset the averages."""
        self.queue = RandomQueue()
        self.red.reset(now)
