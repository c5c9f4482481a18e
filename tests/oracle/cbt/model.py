# SPDX-License-Identifier: GPL-2.0
"""Class-Based Thresholds in plain Python.

Written from Parris, Jeffay and Smith 1999 and tc-cbt(8). Compared with the kernel decision by
decision. Order of random numbers: one for RED, for the first arrival between min and max since
the last drop by RED; one for the victim of a forced drop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from tests.oracle.red_model import RandomQueue, Red, signal
from tests.oracle.seeded_random import SeededRandom

TCP, TAGGED, OTHER = "tcp", "tagged", "other"
CLASSES = (TCP, TAGGED, OTHER)


def share_law(share: float, rate: float, latency: float, packet: float) -> float:
    """Return the packets of a class in a queue of ``rate`` bytes/s times ``latency`` s."""
    return share * rate * latency / packet


@dataclass
class Cbt:
    """RED uses TCP's average, or with ``red_all`` the whole queue's. Lengths are in packets.

    ``averages`` has one average per class, and ``whole`` is the average of the queue.
    ``thresholds`` has the thresholds of the UDP classes.
    """

    averages: dict[str, Red]
    whole: Red
    thresholds: dict[str, float]
    limit: int
    rng: SeededRandom
    red_all: bool = False
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    victim_arrival: bool = False
    queue: RandomQueue = field(default_factory=RandomQueue)
    kind: dict[int, str] = field(default_factory=dict)
    tos: dict[int, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def held(self, kind: str) -> int:
        return sum(self.kind[packet] == kind for packet in self.queue.numbered)

    def _lose(self, kind: str, *why: str) -> None:
        self.counts.update((*why, "drops", f"{kind} drops"))

    def _note_idle(self, now: int) -> None:
        for kind in CLASSES:
            if not self.held(kind):
                self.averages[kind].idle(now)
        if not len(self.queue):
            self.whole.idle(now)

    def _red(self, packet: int) -> str:
        """Return RED's decision for an arrival: "pass", or the name of its counter."""
        red = self.whole if self.red_all else self.averages[TCP]
        verdict = red.decide(self.rng)
        if verdict == "pass":
            return "pass"
        self.counts["overlimits"] += 1
        fate, self.tos[packet] = signal(self, self.tos[packet], verdict)
        return fate

    def enqueue(self, packet: int, kind: str, tos: int, now: int) -> None:
        self.kind[packet], self.tos[packet] = kind, tos
        self.counts[f"{kind} arrivals"] += 1
        self.averages[kind].arrival(self.held(kind), now)
        if self.red_all:
            self.whole.arrival(len(self.queue), now)

        if kind != TCP and self.averages[kind].avg > self.thresholds[kind]:
            self._lose(kind, f"{kind}_drop", f"{kind} threshold")
            return
        fate = self._red(packet) if kind == TCP or self.red_all else "pass"
        if fate == "early_drop":
            self._lose(kind, "early_drop", f"{kind} early")
            return
        cause = "forced_drop" if fate == "forced_drop" else None
        if cause is None and len(self.queue) >= self.limit:
            cause = "drop_limit"
        if cause:
            place = len(self.queue)
            if not self.victim_arrival:
                place = self.rng.below(place + 1)
            if place == len(self.queue):
                self._lose(kind, cause, f"{kind} random")
                return
            victim = self.queue.numbered[place]
            self.queue.remove(victim)
            self._lose(self.kind[victim], cause, "victims", f"{self.kind[victim]} random")
            self._note_idle(now)
        if fate != "forced_drop":
            self.counts[fate] += 1
        if fate.endswith("mark"):
            self.counts.update(("marked", f"{kind} marked"))
        self.queue.add(packet)
        self.averages[kind].busy(now)
        self.whole.busy(now)

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return (packet, TOS) of the packet that leaves, or None."""
        if not len(self.queue):
            return None
        packet = self.queue.first()
        self.queue.remove(packet)
        self._note_idle(now)
        return packet, self.tos[packet]

    def set_red_all(self, now: int) -> None:
        """Switch RED to the average of the queue, initially the sum of the averages."""
        self.red_all = True
        self.whole.reset(now)
        for red in map(replace, self.averages.values()):
            if red.idle_since is not None:
                red.arrival(0, now)
            self.whole.avg += red.avg
        if len(self.queue):
            self.whole.busy(now)

    def set_limit(self, limit: int, now: int) -> None:
        self.limit = limit
        while len(self.queue) > limit:
            packet = self.queue.last()
            self.queue.remove(packet)
            self._lose(self.kind[packet], "drop_change")
            self._note_idle(now)

    def reset(self, now: int) -> None:
        """Drop all packets without counting them, and reset the averages."""
        self.queue = RandomQueue()
        for red in (*self.averages.values(), self.whole):
            red.reset(now)
