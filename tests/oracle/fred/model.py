# SPDX-License-Identifier: GPL-2.0
"""FRED in plain Python, in floating point.

D. Lin, R. Morris, "Dynamics of Random Early Detection", 1997: the figure of the algorithm, with
support for many flows ("two-packet mode"). Points that the paper leaves open follow tc-fred(8).
Lengths are in wire packets, times in ns.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from tests.oracle.red_model import Red, signal
from tests.oracle.seeded_random import SeededRandom


@dataclass
class Flow:
    """State of a flow while it has packets in the queue."""

    qlen: int = 0
    strikes: int = 0


@dataclass
class Fred:
    """The discipline: a FIFO of (packet, flow, TOS, segments)."""

    red: Red
    limit: int
    minq: int
    rng: SeededRandom
    two_packet: bool = True
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    queue: deque[tuple[int, object, int, int]] = field(default_factory=deque)
    flows: dict[object, Flow] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def length(self) -> int:
        """Return the number of queued wire packets."""
        return sum(segments for *_, segments in self.queue)

    @property
    def avgcq(self) -> float:
        """Return the average queue length per active flow, at least 1."""
        return max(1.0, self.red.avg / max(1, len(self.flows)))

    @property
    def struck(self) -> int:
        """Return the number of flows limited to the average."""
        return sum(flow.strikes > 1 for flow in self.flows.values())

    def maxq(self) -> float:
        """Return the maximum packets of a flow."""
        return 2 if self.two_packet and self.red.avg >= self.red.max_th else self.red.min_th

    def _strike(self, flow: Flow) -> str | None:
        """Return the reason to drop a packet of an unresponsive flow, if any."""
        if flow.qlen >= self.maxq():
            return "maxq_drop"
        if self.red.avg >= self.red.max_th and flow.qlen > 2 * self.avgcq:
            return "twice_drop"
        if flow.qlen >= self.avgcq and flow.strikes > 1:
            return "avgcq_drop"
        return None

    def _random(self, flow: Flow) -> str:
        """Drop at random, from robust flows only: "pass", "early" or "forced"."""
        red = self.red
        if red.avg < red.min_th:
            red.count = 0
            return "pass"
        if red.avg >= red.max_th:
            red.count = 0
            return "pass" if self.two_packet else "forced"
        if flow.qlen >= max(self.minq, self.avgcq):
            p = red.probability()
            chance = self.rng.u32() / 2**32 if p > 0 else 1.0
            spent = red.count * p
            if p > 0 and (spent >= 1 or chance < p / (1 - spent)):
                red.count = 0
                return "early"
        red.count += 1
        return "pass"

    def _lose(self, why: str) -> None:
        self.counts[why] += 1
        self.counts["drops"] += 1

    def enqueue(self, packet: int, name: object, tos: int, segments: int, now: int) -> None:
        """Process an arriving packet."""
        if not self.queue:
            self.red.arrival(0, now)
        flow = self.flows.get(name, Flow())
        if why := self._strike(flow):
            flow.strikes += 1
            self._lose(why)
            return
        verdict, fate = self._random(flow), ""
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
        self.flows[name] = flow
        flow.qlen += segments
        self.queue.append((packet, name, tos, segments))
        self.red.busy(now)
        self.red.arrival(self.length, now)

    def _leave(self) -> tuple[int, int]:
        packet, name, tos, segments = self.queue.popleft()
        self.flows[name].qlen -= segments
        if not self.flows[name].qlen:
            del self.flows[name]
        return packet, tos

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return (packet, TOS) of the packet that leaves, or None."""
        if not self.queue:
            return None
        left = self._leave()
        self.red.arrival(self.length, now)
        if not self.queue:
            self.red.idle(now)
        return left

    def set_limit(self, limit: int, now: int) -> None:
        """Set a new limit and drop the oldest packets above it."""
        self.limit = limit
        while self.length > limit and len(self.queue) > 1:
            self._leave()
            self._lose("drop_change")

    def reset(self, now: int) -> None:
        """Drop all packets without counting them, and reset flows and average."""
        self.queue.clear()
        self.flows.clear()
        self.red.reset(now)
