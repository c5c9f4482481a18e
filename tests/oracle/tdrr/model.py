# SPDX-License-Identifier: GPL-2.0
"""Kantawala and Turner's Throughput DRR (2001, section 2) in plain Python and floating point.

Written from the paper and the man page, to be compared with the kernel decision by decision.
The highest throughput is found by looking at every queue, and every average decays by exp().
"""

from __future__ import annotations

import math
from collections import Counter

from tests.oracle.fair_queueing import Packet, SharedBuffer

# Throughputs this close to the highest may be named in its place: an eighth of an octave.
CLOSE = 2 ** (1 / 8)
# Byte/s of a queue that has long been idle and counts as having sent nothing. The kernel
# says 2^-24 at the beginning of a half-life, so between that and twice that it may say either.
NOTHING = 2**-23


class Refusal(AssertionError):
    """The kernel discarded from a queue that it should have left alone."""


class Tdrr(SharedBuffer):
    """Discards from the queue of the highest throughput.

    ``time_constant`` is in seconds. ``decisions`` holds, for each discard, how many queues were
    close enough to be its victim.
    """

    def __init__(
        self, *, limit: int, quantum: int, time_constant: float, memory_limit: int = 1 << 32
    ) -> None:
        super().__init__(limit=limit, quantum=quantum, memory_limit=memory_limit)
        self.time_constant = time_constant
        self.decisions: list[int] = []
        self.last_victim: int | None = None
        self.victims = 0

    def _sent(self, number: int, now: float) -> float:
        queue = self.queues[number]
        return queue.sent * math.exp((queue.at - now) / self.time_constant)

    def throughput(self, number: int, now: float) -> float:
        """Bits per second of a queue at time ``now``, s."""
        return 8 * self._sent(number, now) / self.time_constant

    def tops(self, now: float) -> set[int]:
        """The active queues whose throughput is the highest, or close to it."""
        sent = {number: self._sent(number, now) for number in self.active}
        if not sent:
            return set()
        most = max(sent.values())
        floor = 0 if most < NOTHING * self.time_constant else most / CLOSE
        return {number for number, value in sent.items() if value >= floor}

    def _discard(self, lost: Counter[int], now: float, cause: str) -> None:
        """One discard: the first queue of ``lost``, what the kernel chose, that may be it."""
        tops = self.tops(now)
        self.decisions.append(len(tops))
        chosen = next((number for number in lost if number in tops and lost[number] > 0), None)
        if chosen is None:
            raise Refusal(f"the kernel discarded from {dict(+lost)}, the highest are {tops}")
        lost[chosen] -= 1
        self.discard_front(chosen, cause)
        self.victims += chosen != self.last_victim
        self.last_victim = chosen

    def enqueue(self, number: int, packet: Packet, now: float, lost: Counter[int]) -> bool:
        """A packet arrives for queue ``number``.

        ``lost`` holds what the kernel discarded, by queue; where several queues may be the
        victim, the first of them is. Returns whether the packet was queued: one larger than a
        limit is not, if it does not fit.
        """
        if self.why_full(packet) and self.is_oversize(packet):
            self.lose(packet, "oversize")
            return False
        while cause := self.why_full(packet):
            self._discard(lost, now, cause)
        if number not in self.queues:
            self.queue(number).at = now
        self.append(number, packet)
        return True

    def change(
        self,
        now: float,
        lost: Counter[int],
        *,
        limit: int | None = None,
        memory_limit: int | None = None,
        time_constant: float | None = None,
    ) -> None:
        """New parameters: every throughput stays, what is too much is discarded."""
        if time_constant:
            for number, queue in self.queues.items():
                sent = self._sent(number, now)
                queue.sent, queue.at = sent * time_constant / self.time_constant, now
            self.time_constant = time_constant
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        while self.segments > self.limit or self.memory > self.memory_limit:
            self._discard(lost, now, "change")

    def dequeue(self, now: float) -> int | None:
        """The number of the packet that leaves, or None."""
        left = self.send()
        if not left:
            return None
        number, packet = left
        queue = self.queues[number]
        queue.sent, queue.at = self._sent(number, now) + packet.size, now
        return packet.number

    def reset(self) -> None:
        """The device went down: packets, uncounted, and throughputs are gone."""
        super().reset()
        for queue in self.queues.values():
            queue.sent = 0
        self.last_victim = None
