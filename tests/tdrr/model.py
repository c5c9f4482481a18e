# SPDX-License-Identifier: GPL-2.0
"""Kantawala and Turner's Throughput DRR (2001, section 2) in plain Python and floating point.

Written from the paper and the man page, to be compared with the kernel decision by decision.
The highest throughput is found by looking at every queue, and every average decays by exp().
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field

# Throughputs this close to the highest may be named in its place: an eighth of an octave.
CLOSE = 2 ** (1 / 8)
# Bytes of which a queue that has long been idle counts as having sent nothing. The kernel
# says 2^-20 at the beginning of a half-life, so between that and twice that it may say either.
NOTHING = 2**-19


class Refusal(AssertionError):
    """The kernel discarded from a queue that it should have left alone."""


@dataclass
class Queue:
    """One flow queue: (packet number, bytes, truesize) from the front; deficit in bytes.

    ``sent`` is what has left it, in bytes, with the weight exp(-age / T) at time ``at``, s.
    """

    packets: deque[tuple[int, int, int]] = field(default_factory=deque)
    deficit: int = 0
    dropped: int = 0
    sent: float = 0.0
    at: float = 0.0

    @property
    def length(self) -> int:
        return sum(size for _, size, _ in self.packets)


class Tdrr:
    """Deficit round robin that discards from the queue of the highest throughput.

    ``time_constant`` is in seconds, ``limit`` in packets, ``memory_limit`` in bytes.
    ``decisions`` holds, for each discard, how many queues were close enough to be its victim.
    """

    def __init__(
        self, *, limit: int, quantum: int, time_constant: float, memory_limit: int = 1 << 32
    ) -> None:
        self.limit = limit
        self.quantum = quantum
        self.time_constant = time_constant
        self.memory_limit = memory_limit
        self.queues: dict[int, Queue] = {}
        self.turns: OrderedDict[int, None] = OrderedDict()
        self.decisions: list[int] = []
        self.causes = {"limit": 0, "memory": 0, "oversize": 0, "change": 0}
        self.last_victim: int | None = None
        self.victims = 0

    @property
    def active(self) -> dict[int, Queue]:
        return {number: queue for number, queue in self.queues.items() if queue.packets}

    @property
    def qlen(self) -> int:
        return sum(len(queue.packets) for queue in self.queues.values())

    @property
    def memory(self) -> int:
        return sum(truesize for queue in self.queues.values() for _, _, truesize in queue.packets)

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
        floor = 0 if most < NOTHING else most / CLOSE
        return {number for number, value in sent.items() if value >= floor}

    def _discard_front(self, number: int, cause: str) -> None:
        queue = self.queues[number]
        queue.packets.popleft()
        queue.dropped += 1
        self.causes[cause] += 1
        self.victims += number != self.last_victim
        self.last_victim = number
        if not queue.packets:
            del self.turns[number]

    def _discard(self, lost: Counter[int], now: float, cause: str) -> None:
        """One discard: the first queue of ``lost``, what the kernel chose, that may be it."""
        tops = self.tops(now)
        self.decisions.append(len(tops))
        chosen = next((number for number in lost if number in tops and lost[number] > 0), None)
        if chosen is None:
            raise Refusal(f"the kernel discarded from {dict(+lost)}, the highest are {tops}")
        lost[chosen] -= 1
        self._discard_front(chosen, cause)

    def enqueue(
        self, number: int, packet: int, size: int, truesize: int, now: float, lost: Counter[int]
    ) -> bool:
        """A packet of ``size`` bytes that takes ``truesize`` arrives for queue ``number``.

        ``lost`` holds what the kernel discarded, by queue; where several queues may be the
        victim, the first of them is. Returns whether the packet was
        queued: one larger than all the memory is not.
        """
        if truesize > self.memory_limit:
            self.causes["oversize"] += 1
            return False
        while (full := self.qlen + 1 > self.limit) or self.memory + truesize > self.memory_limit:
            self._discard(lost, now, "limit" if full else "memory")
        queue = self.queues.setdefault(number, Queue(at=now))
        if not queue.packets:
            queue.deficit = self.quantum
            self.turns[number] = None
        queue.packets.append((packet, size, truesize))
        return True

    def change(
        self,
        now: float,
        lost: Counter[int],
        *,
        limit: int | None = None,
        time_constant: float | None = None,
    ) -> None:
        """New parameters: every throughput stays, what is too much is discarded."""
        if time_constant:
            for number, queue in self.queues.items():
                sent = self._sent(number, now)
                queue.sent, queue.at = sent * time_constant / self.time_constant, now
            self.time_constant = time_constant
        self.limit = limit or self.limit
        while self.qlen > self.limit:
            self._discard(lost, now, "change")

    def dequeue(self, now: float) -> int | None:
        """The number of the packet that leaves, or None."""
        if not self.turns:
            return None
        while self.queues[number := next(iter(self.turns))].deficit <= 0:
            self.queues[number].deficit += self.quantum
            self.turns.move_to_end(number)
        queue = self.queues[number]
        packet, size, _ = queue.packets.popleft()
        queue.sent, queue.at = self._sent(number, now) + size, now
        queue.deficit -= size
        if not queue.packets:
            del self.turns[number]
        elif queue.deficit <= 0:
            queue.deficit += self.quantum
            self.turns.move_to_end(number)
        return packet

    def reset(self) -> None:
        """The device went down: packets, uncounted, and throughputs are gone."""
        for queue in self.queues.values():
            queue.packets.clear()
            queue.sent = 0
        self.turns.clear()
        self.last_victim = None
