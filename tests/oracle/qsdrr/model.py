# SPDX-License-Identifier: GPL-2.0
"""Model of figure 1 of Kantawala and Turner 2001 (QSDRR), in plain Python.

It follows the paper and the man page. It finds the longest queue by looking at every queue.
"""

from __future__ import annotations

from tests.oracle.fair_queueing import Packet, Queue, SharedBuffer


def size_class(length: int) -> tuple[int, int]:
    """Return the class of a length. Lengths of one class, equal in 5 significant bits, are equal.

    A queue with packets of length 0 is longer than an empty queue.
    """
    length = max(length, 1)
    shift = max(0, length.bit_length() - 5)
    return shift, length >> shift


class Qsdrr(SharedBuffer):
    """The discipline, with the discard of figure 1."""

    def __init__(
        self, *, limit: int, quantum: int, hysteresis: bool = True, memory_limit: int = 1 << 32
    ) -> None:
        super().__init__(limit=limit, quantum=quantum, memory_limit=memory_limit)
        self.hysteresis = hysteresis
        self.q: int | None = None
        self.chosen = 0
        self.victims: list[int] = []
        self.own = False  # whether the last arrival dropped from its own queue, or everything
        self._clock = 0

    def _note(self, queue: Queue, before: tuple[int, int] | None) -> None:
        """Remember when a queue reached its present length."""
        self._clock += 1
        if self._of(queue) != before:
            queue.since = self._clock

    @staticmethod
    def _of(queue: Queue) -> tuple[int, int] | None:
        return size_class(queue.length) if queue.packets else None

    def _longest(self) -> int:
        active = self.active
        return max(active, key=lambda n: (size_class(active[n].length), active[n].since))

    def _q_is_shorter_than_all_others(self) -> bool:
        assert self.q is not None
        queue = self.queues[self.q]
        if not queue.packets:
            return True
        own = size_class(queue.length)
        return all(own < size_class(q.length) for n, q in self.active.items() if n != self.q)

    def _choose(self) -> int:
        if self.q is None or not self.hysteresis or self._q_is_shorter_than_all_others():
            self.q = self._longest()
            self.chosen += 1
        return self.q

    def _discard(self, number: int, cause: str) -> None:
        queue = self.queues[number]
        before = self._of(queue)
        self.victims.append(self.discard_front(number, cause).number)
        self._note(queue, before)

    def enqueue(self, number: int, packet: Packet) -> bool:
        """Enqueue a packet into queue ``number``.

        Returns whether it was queued. A packet larger than a limit is not, unless all is empty.
        """
        if self.why_full(packet) and self.is_oversize(packet):
            self.victims.append(packet.number)
            self.lose(packet, "oversize")
            return False
        q = None
        self.own = False
        lost = len(self.victims)
        while cause := self.why_full(packet):
            if q is None or not self.hysteresis or not self.queues[q].packets:
                q = self._choose()
            self._discard(q, cause)
            self.own |= q == number
        self.own |= len(self.victims) > lost and not self.qlen
        before = self._of(self.queue(number))
        self.append(number, packet)
        self._note(self.queues[number], before)
        return True

    def change(
        self,
        *,
        limit: int | None = None,
        memory_limit: int | None = None,
        hysteresis: bool | None = None,
    ) -> None:
        """Set new parameters, and discard as for an arrival until they hold."""
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        self.hysteresis = self.hysteresis if hysteresis is None else hysteresis
        q = None
        while self.segments > self.limit or self.memory > self.memory_limit:
            if q is None or not self.hysteresis or not self.queues[q].packets:
                q = self._choose()
            self._discard(q, "change")

    def dequeue(self) -> int | None:
        """Return the number of the packet that leaves, or None."""
        before = {number: self._of(queue) for number, queue in self.queues.items()}
        sent = self.send()
        if not sent:
            return None
        number, packet = sent
        self._note(self.queues[number], before[number])
        return packet.number

    def reset(self) -> None:
        """Drop all packets without counting them. Q becomes undefined."""
        super().reset()
        self.q = None
