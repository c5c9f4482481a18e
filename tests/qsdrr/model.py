# SPDX-License-Identifier: GPL-2.0
"""Figure 1 of Kantawala and Turner 2001, in plain Python.

Written from the paper and the man page, to be compared with the kernel decision by decision.
Nothing here is fast: the longest queue is found by looking at every queue.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field


def size_class(length: int) -> tuple[int, int]:
    """Lengths that share this value count as equal: 5 significant bits are kept."""
    shift = max(0, length.bit_length() - 5)
    return shift, length >> shift


@dataclass
class Queue:
    """One flow queue: (packet number, bytes, truesize) from the front; its deficit in bytes."""

    packets: deque[tuple[int, int, int]] = field(default_factory=deque)
    deficit: int = 0
    dropped: int = 0
    since: int = 0  # when it came to its present size class

    @property
    def length(self) -> int:
        return sum(size for _, size, _ in self.packets)


class Qsdrr:
    """Deficit round robin with figure 1's discard; limits in packets and bytes of truesize."""

    def __init__(
        self, *, limit: int, quantum: int, hysteresis: bool = True, memory_limit: int = 1 << 32
    ) -> None:
        self.limit = limit
        self.memory_limit = memory_limit
        self.quantum = quantum
        self.hysteresis = hysteresis
        self.queues: dict[int, Queue] = {}
        self.turns: OrderedDict[int, None] = OrderedDict()
        self.q: int | None = None
        self.chosen = 0
        self.victims: list[int] = []
        self.causes = {"limit": 0, "memory": 0, "oversize": 0}
        self._clock = 0

    def _active(self) -> dict[int, Queue]:
        return {number: queue for number, queue in self.queues.items() if queue.packets}

    def _resize(self, number: int, change: Callable[[Queue], object]) -> None:
        queue = self.queues[number]
        before = size_class(queue.length)
        change(queue)
        self._clock += 1
        if size_class(queue.length) != before:
            queue.since = self._clock

    def _longest(self) -> int | None:
        active = self._active()
        if not active:
            return None
        return max(active, key=lambda n: (size_class(active[n].length), active[n].since))

    def _q_is_shorter_than_all_others(self) -> bool:
        assert self.q is not None
        own = size_class(self.queues[self.q].length)
        others = (q for n, q in self._active().items() if n != self.q)
        return all(own < size_class(other.length) for other in others)

    def _choose(self) -> int:
        if self.q is None or not self.hysteresis or self._q_is_shorter_than_all_others():
            self.q = self._longest()
            self.chosen += 1
        assert self.q is not None
        return self.q

    def _discard_front(self, number: int) -> None:
        self.victims.append(self.queues[number].packets[0][0])
        self._resize(number, lambda queue: queue.packets.popleft())
        self.queues[number].dropped += 1
        if not self.queues[number].packets:
            del self.turns[number]

    @property
    def qlen(self) -> int:
        return sum(len(queue.packets) for queue in self.queues.values())

    @property
    def memory(self) -> int:
        return sum(truesize for queue in self.queues.values() for _, _, truesize in queue.packets)

    def enqueue(self, number: int, packet: int, size: int, truesize: int = 0) -> bool:
        """A packet of ``size`` bytes that takes ``truesize`` arrives for queue ``number``.

        Returns whether it was queued: a packet larger than all the memory is not.
        """
        if truesize > self.memory_limit:
            self.victims.append(packet)
            self.causes["oversize"] += 1
            return False
        q = None
        while (full := self.qlen + 1 > self.limit) or self.memory + truesize > self.memory_limit:
            if q is None or not self.hysteresis or not self.queues[q].packets:
                q = self._choose()
            self._discard_front(q)
            self.causes["limit" if full else "memory"] += 1
        queue = self.queues.setdefault(number, Queue())
        if not queue.packets:
            queue.deficit = self.quantum
            self.turns[number] = None
        self._resize(number, lambda queue: queue.packets.append((packet, size, truesize)))
        return True

    def dequeue(self) -> int | None:
        """The number of the packet that leaves, or None."""
        if not self.turns:
            return None
        while self.queues[number := next(iter(self.turns))].deficit <= 0:
            self.queues[number].deficit += self.quantum
            self.turns.move_to_end(number)
        queue = self.queues[number]
        packet, size, _ = queue.packets[0]
        self._resize(number, lambda queue: queue.packets.popleft())
        queue.deficit -= size
        if not queue.packets:
            del self.turns[number]
        elif queue.deficit <= 0:
            queue.deficit += self.quantum
            self.turns.move_to_end(number)
        return packet

    def reset(self) -> None:
        """The device went down: all packets are gone, uncounted, and Q is undefined."""
        for queue in self.queues.values():
            queue.packets.clear()
        self.turns.clear()
        self.q = None
