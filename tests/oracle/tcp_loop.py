# SPDX-License-Identifier: GPL-2.0
"""Simulate responsive senders with TCP's window around a discipline in user space.

One packet leaves per slot; its acknowledgement arrives a round trip later. The window grows by
slow start, and then by one packet per round trip. A mark halves it, and so does a packet that is
missing when a later one is acknowledged, at most once per window. If all packets are lost, the
sender waits a second.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.userspace import World

TIMEOUT = 1_000_000_000  # ns
CE = 3


@dataclass
class Sender:
    """One flow. ``rtt`` excludes the queue and is in ns."""

    flow: int
    rtt: int
    window: float = 2.0
    threshold: float = 1e9
    recover: int = -1
    heard: int = 0
    outstanding: deque[int] = field(default_factory=deque)

    def slow_down(self, number: int, last: int) -> None:
        """React to a lost or marked packet ``number``. ``last`` is the newest packet sent."""
        if number > self.recover:
            self.threshold = self.window = max(1.0, self.window / 2)
            self.recover = last

    def acknowledged(self, number: int, marked: bool, last: int, now: int) -> None:
        """Earlier outstanding packets are lost, because the queue is a FIFO."""
        if not self.outstanding or number < self.outstanding[0]:
            return
        while (first := self.outstanding.popleft()) != number:
            self.slow_down(first, last)
        if marked:
            self.slow_down(number, last)
        self.window += 1 if self.window < self.threshold else 1 / self.window
        self.heard = now

    def time_out(self, now: int) -> None:
        """Time out if no acknowledgement has arrived."""
        if self.outstanding and now - self.heard > self.rtt + TIMEOUT:
            self.outstanding.clear()
            self.threshold, self.window = max(2.0, self.window / 2), 1.0
            self.heard = now


@dataclass
class Loop:
    """A queue with TCP flows 1, 2, ... and flow 0, which sends ``blast`` packets per slot."""

    world: World
    slot: int  # ns
    rtts: Sequence[int]
    blast: float = 0.0
    size: int = 1000
    tos: int = 0
    sent: Counter[int] = field(default_factory=Counter)
    idle: int = 0

    def __post_init__(self) -> None:
        """Return whether no packet is in flight."""
        self.senders = {i: Sender(i, rtt) for i, rtt in enumerate(self.rtts, 1)}
        self.flow_of: list[int] = []
        self.acks: list[tuple[int, int, bool]] = []
        self.due = 0.0

    def _send(self, flow: int) -> None:
        self.flow_of.append(flow)
        proto = "tcp" if flow else "udp"
        self.world.enqueue(flow=flow, len=self.size, proto=proto, tos=self.tos)

    def _hear(self) -> None:
        while self.acks and self.acks[0][0] <= self.world.now:
            _, number, marked = heapq.heappop(self.acks)
            sender = self.senders[self.flow_of[number]]
            sender.acknowledged(number, marked, len(self.flow_of) - 1, self.world.now)

    def _talk(self) -> None:
        for sender in self.senders.values():
            while len(sender.outstanding) < int(sender.window):
                if not sender.outstanding:
                    sender.heard = self.world.now
                sender.outstanding.append(len(self.flow_of))
                self._send(sender.flow)
        self.due += self.blast
        while self.due >= 1:
            self.due -= 1
            self._send(0)

    def run(self, slots: int) -> None:
        """Count sent packets by flow, and idle slots."""
        for n in range(slots):
            self._hear()
            if n % 100 == 0:
                for sender in self.senders.values():
                    sender.time_out(self.world.now)
            self._talk()
            self.world.advance(self.slot)
            left = self.world.dequeue()
            self.idle += not left
            for number, tos in left:
                flow = self.flow_of[number]
                self.sent[flow] += 1
                if flow:
                    back = self.world.now + self.senders[flow].rtt
                    heapq.heappush(self.acks, (back, number, tos & 3 == CE))

    def measured(self, slots: int) -> tuple[float, dict[int, float]]:
        """Run more slots. Return utilization and each flow's share of the link."""
        self.sent.clear()
        self.idle = 0
        self.run(slots)
        total = sum(self.sent.values())
        return 1 - self.idle / slots, {flow: n / total for flow, n in self.sent.items()}
