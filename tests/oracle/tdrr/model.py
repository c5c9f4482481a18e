# SPDX-License-Identifier: GPL-2.0
"""Model of Throughput DRR (Kantawala and Turner 2001, section 2), in floating point.

It follows the paper and the man page. It finds the highest throughput by looking at every queue,
and lets every average decay by exp().
"""

from __future__ import annotations

import math
from collections import Counter

from tests.oracle.fair_queueing import Packet, SharedBuffer

# The kernel may choose any queue with a throughput this close to the highest, an eighth octave.
CLOSE = 2 ** (1 / 8)
# The kernel may take a throughput for less than half of the highest from 8/17 of it on.
SURELY_LOW = 8 / 17
# Below this throughput, in byte/s, a queue counts as idle. The kernel's bound is 2^-24 at the start
# of a half-life, so between 2^-24 and 2^-23 it may decide either way.
NOTHING = 2**-23


class Refusal(AssertionError):
    """The kernel discarded from a queue whose throughput is not the highest."""


class Tdrr(SharedBuffer):
    """The discipline. It discards from the queue with the highest throughput.

    time_constant: s
    sparse: a queue that becomes active goes first in its round if its throughput is low
    went_first: number of times that one did
    decisions: for each discard, the number of queues that the kernel may choose
    """

    def __init__(
        self, *, limit: int, quantum: int, time_constant: float, memory_limit: int = 1 << 32,
        sparse: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(limit=limit, quantum=quantum, memory_limit=memory_limit)
        self.time_constant = time_constant
        self.sparse = sparse
        self.went_first = 0
        self.decisions: list[int] = []
        self.last_victim: int | None = None
        self.victims = 0

    def _sent(self, number: int, now: float) -> float:
        queue = self.queues[number]
        return queue.sent * math.exp((queue.at - now) / self.time_constant)

    def throughput(self, number: int, now: float) -> float:
        """Return the throughput of a queue at time ``now`` (s), in bit/s."""
        return 8 * self._sent(number, now) / self.time_constant

    def tops(self, now: float) -> set[int]:
        """Return the active queues whose throughput is the highest or close to it."""
        sent = {number: self._sent(number, now) for number in self.active}
        if not sent:
            return set()
        most = max(sent.values())
        floor = 0 if most < NOTHING * self.time_constant else most / CLOSE
        return {number for number, value in sent.items() if value >= floor}

    def _discard(self, lost: Counter[int], now: float, cause: str) -> None:
        """Discard from the first queue in ``lost`` (the kernel's choices) that is allowed."""
        tops = self.tops(now)
        self.decisions.append(len(tops))
        chosen = next((number for number in lost if number in tops and lost[number] > 0), None)
        if chosen is None:
            raise Refusal(f"the kernel discarded from {dict(+lost)}, the highest are {tops}")
        lost[chosen] -= 1
        self.discard_front(chosen, cause)
        self.victims += chosen != self.last_victim
        self.last_victim = chosen

    def _goes_first(self, number: int, now: float, went: bool) -> bool:
        """Return whether a queue is hastened; where both are right, ``went``, as the kernel."""
        most = max((self._sent(other, now) for other in self.active), default=0.0)
        own = self._sent(number, now)
        if self.active.get(number) or self.queues[number].account <= 0 or not self.sparse:
            return False
        if not self.active:
            return False
        if most < NOTHING * self.time_constant or SURELY_LOW <= own / most * (1 + 1e-6) < 0.5:
            return went
        return own < most / 2

    def enqueue(
        self, number: int, packet: Packet, now: float, lost: Counter[int], went: bool = False
    ) -> bool:
        """Enqueue a packet into queue ``number``.

        lost: packets that the kernel discarded, by queue. If several queues are allowed as victim,
            the model takes the first of them
        went: the kernel let the queue go first
        Returns whether it was queued. A packet larger than a limit is not, unless all is empty.
        """
        if self.why_full(packet) and self.is_oversize(packet):
            self.lose(packet, "oversize")
            return False
        while cause := self.why_full(packet):
            self._discard(lost, now, cause)
        if number not in self.queues:
            self.queue(number).at = now
        first = self._goes_first(number, now, went)
        self.went_first += first
        self.append(number, packet, first)
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
        """Set new parameters, and discard until they hold. All throughputs stay."""
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
        """Return the number of the packet that leaves, or None."""
        left = self.send()
        if not left:
            return None
        number, packet = left
        queue = self.queues[number]
        queue.sent, queue.at = self._sent(number, now) + packet.size, now
        return packet.number

    def reset(self) -> None:
        """Drop all packets without counting them, and reset all throughputs."""
        super().reset()
        for queue in self.queues.values():
            queue.sent = 0
        self.last_victim = None
