# SPDX-License-Identifier: GPL-2.0
"""Model of figure 1 of Kantawala and Turner 2001 (QSDRR), in plain Python.

It follows the paper and the man page. The shortest queue is found by looking at every queue, and
the longest one by the rule that limits the cost of a search: see `Qsdrr`.
"""

from __future__ import annotations

from tests.oracle.fair_queueing import Packet, SharedBuffer

# A search for the longest queue moves at most so many queues to their present length.
LOOKS = 8


def size_class(length: int) -> tuple[int, int]:
    """Return the class of a length. Lengths of one class, equal in 5 significant bits, are equal.

    A queue with packets of length 0 is longer than an empty queue.
    """
    length = max(length, 1)
    shift = max(0, length.bit_length() - 5)
    return shift, length >> shift


class Qsdrr(SharedBuffer):
    """The discipline, with the discard of figure 1.

    Each queue is listed under a length: the greatest that it had since a search listed it anew. A
    search for the longest queue takes the one that was listed last under the greatest length. If
    another queue is longer, it lists this one under its present length, or not at all if it is
    empty, and takes the next. After `LOOKS` of them, it chooses the longest that it saw, or the
    queue that is served next if that is as long.

    listed: the length of each queue that is listed, and when it was
    late: searches that ended without a longest queue
    """

    def __init__(
        self, *, limit: int, quantum: int, hysteresis: bool = True, memory_limit: int = 1 << 32
    ) -> None:
        super().__init__(limit=limit, quantum=quantum, memory_limit=memory_limit)
        self.hysteresis = hysteresis
        self.q: int | None = None
        self.chosen = 0
        self.victims: list[int] = []
        self.own = False  # whether the last arrival dropped from its own queue, or everything
        self.listed: dict[int, tuple[tuple[int, int], int]] = {}
        self.late = 0
        self._clock = 0

    def _list(self, number: int, at: tuple[int, int]) -> None:
        self._clock += 1
        self.listed[number] = at, self._clock

    def _longest(self) -> int:
        classes = {number: size_class(queue.length) for number, queue in self.active.items()}
        best = self.upcoming()
        for _ in range(LOOKS):
            number = max(self.listed, key=self.listed.__getitem__)
            if classes.get(number) == max(classes.values()):
                return number
            del self.listed[number]
            if number in classes:
                self._list(number, classes[number])
                best = number if classes[number] > classes[best] else best
        self.late += 1
        return best

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
        self.victims.append(self.discard_front(number, cause).number)

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
        self.append(number, packet)
        now = size_class(self.queues[number].length)
        if number not in self.listed or now > self.listed[number][0]:
            self._list(number, now)
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
        sent = self.send()
        return sent[1].number if sent else None

    def reset(self) -> None:
        """Drop all packets without counting them. Q becomes undefined."""
        super().reset()
        self.listed.clear()
        self.q = None
