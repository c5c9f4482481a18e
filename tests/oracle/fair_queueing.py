# SPDX-License-Identifier: GPL-2.0
"""Model of the scheduler of Kantawala and Turner (2001, section 2), in plain Python.

This is the common part of qsdrr and tdrr: queues, limits, and the deficit round robin of Shreedhar
and Varghese (1995) with rounds and accounts. It is simple and slow: a loop looks at every queue in
every round.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from aqmlab.qdiscs import interface
from tests.oracle.drive import Engine, Step, Trace, drive_many

BIG_MTU = ("ip link set g0 mtu 9000",)
HEADERS = 14 + 20 + 8

# Sizes in a trace: bytes of a packet, and of a segment if it is a GSO packet.
Size = tuple[int, int]
FULL: tuple[Size, ...] = ((1514, 0),)
GSO: tuple[Size, ...] = ((64, 0), (1514, 0), (9014, 1000), (5000, 400))


def arrival(queue: int, size: Size, hashed: int | None = None) -> str:
    """Return the line of a trace that puts a packet into a queue.

    hashed: None if the packet's priority selects the queue. Otherwise its flow hash does; 1 if the
        stack has already computed the hash, 0 if not
    """
    length, segment = size
    gso = f" gso={segment}" if segment else ""
    way = f"prio={0x10000 + queue}" if hashed is None else f"hash={hashed}"
    return f"e flow={queue} len={length} {way}{gso}"


def draw_hashed(rng: random.Random, queue: int) -> int | None:
    """Return ``hashed`` for a packet of a queue. Priorities select the odd queues."""
    return rng.randrange(2) if queue % 2 == 0 else None


class Places(dict[int, int]):
    """Map each flow to the queue that its hash chooses.

    The map learns a flow's queue from its first packet, which has no hash yet and arrives at an
    empty discipline.
    """

    def number(self, queue: int, hashed: int | None, step: Step) -> int:
        """Return the number of the queue that the packet of a step belongs to."""
        if hashed is None:
            return queue
        if queue not in self:
            assert hashed == 0
            (self[queue],) = step.classes
        return self[queue]


@dataclass(frozen=True)
class Shape:
    """Counts of a packet of one size: bytes on the wire, bytes of memory, packets on the wire."""

    size: int
    truesize: int
    segments: int


Shapes = dict[Size, Shape]


def probe(kind: str, sizes: Sequence[Size]) -> Trace:
    """Return a trace that sends one packet of each size, for `shapes_of`."""
    return Trace(
        f"{kind} limit 1000 nosplit_gso", [arrival(1, size) for size in sizes], before=BIG_MTU
    )


def shapes_of(kind: str, sizes: Sequence[Size], steps: Sequence[Step]) -> Shapes:
    """Return the counts of each size from the steps of `probe`."""
    statistics = interface.read(kind).statistics
    used = [0, *(statistics(step.xstats)["memory_used"] for step in steps)]
    backlog = [0, *(step.backlog for step in steps)]
    shapes = {}
    for (length, segment), (before, after), (short, long) in zip(
        sizes, pairwise(used), pairwise(backlog), strict=True
    ):
        segments = -(-(length - HEADERS) // segment) if segment else 1
        shapes[(length, segment)] = Shape(long - short, after - before, segments)
        assert long - short == length + (segments - 1) * HEADERS
        assert after - before > length
    return shapes


Runs = dict[str, Sequence[Step]]


def run_all(
    kind: str, traces: dict[str, Trace], sizes: Sequence[Size], engine: Engine = "kernel"
) -> tuple[Runs, Shapes]:
    """Run all traces in one boot. Return their steps by name, and the counts of each size."""
    *steps, probed = drive_many([*traces.values(), probe(kind, sizes)], engine=engine)
    return dict(zip(traces, steps, strict=True)), shapes_of(kind, sizes, probed)


class Packet(NamedTuple):
    """A packet.

    size: bytes on the wire
    truesize: bytes of memory
    segments: packets that count against the limit
    ect, ce: the packet may be marked; it is marked
    """

    number: int
    size: int
    truesize: int
    segments: int = 1
    ect: bool = False
    ce: bool = False


@dataclass
class Queue:
    """A flow queue, with its packets from the front.

    account: bytes that it may send until the end of the present round
    filed: order among the queues that may send in a round; (0, n) if hastened, else (1, n)
    sent, at: for tdrr: bytes sent, each with the weight exp(-age / T) at time ``at``, s
    """

    packets: deque[Packet] = field(default_factory=deque)
    account: int = 0
    filed: tuple[int, int] = (1, 0)
    dropped: int = 0
    sent: float = 0.0
    at: float = 0.0

    @property
    def length(self) -> int:
        return sum(packet.size for packet in self.packets)


class SharedBuffer:
    """Queues that share ``limit`` segments and ``memory_limit`` bytes.

    In each round every queue may send ``quantum`` bytes. It sends while its account is above 0. A
    negative account is paid off in the next rounds, even if the queue becomes empty. A positive
    account expires at the end of the round. All accounts start again when a packet arrives and all
    queues are empty.
    """

    def __init__(self, *, limit: int, quantum: int, memory_limit: int = 1 << 32) -> None:
        self.limit = limit
        self.quantum = quantum
        self.memory_limit = memory_limit
        self.queues: dict[int, Queue] = {}
        self.causes = {"limit": 0, "memory": 0, "oversize": 0, "change": 0, "filter": 0}
        self.dropped_bytes = 0
        self._filings = 0

    @property
    def active(self) -> dict[int, Queue]:
        return {number: queue for number, queue in self.queues.items() if queue.packets}

    @property
    def qlen(self) -> int:
        return sum(len(queue.packets) for queue in self.queues.values())

    @property
    def segments(self) -> int:
        return sum(p.segments for queue in self.queues.values() for p in queue.packets)

    @property
    def memory(self) -> int:
        return sum(p.truesize for queue in self.queues.values() for p in queue.packets)

    def queue(self, number: int) -> Queue:
        return self.queues.setdefault(number, Queue(account=self.quantum))

    def why_full(self, packet: Packet) -> str | None:
        """Return "limit" or "memory" if the arrival does not fit, else "".

        A packet of more segments than the limit fits into an empty buffer.
        """
        if self.qlen and self.segments + packet.segments > self.limit:
            return "limit"
        return "memory" if self.memory + packet.truesize > self.memory_limit else None

    def is_oversize(self, packet: Packet) -> bool:
        """Return whether the packet alone exceeds the limits, so that it is dropped itself."""
        return packet.truesize > self.memory_limit or packet.segments > self.limit

    def _file(self, queue: Queue, hasten: bool = False) -> None:
        self._filings += 1
        queue.filed = (0 if hasten else 1, self._filings)

    def append(self, number: int, packet: Packet, hasten: bool = False) -> None:
        """Add a packet. ``hasten``: an empty queue goes first, if it may send in this round."""
        if not self.active:
            for queue in self.queues.values():
                queue.account = self.quantum
        queue = self.queue(number)
        if not queue.packets:
            self._file(queue, hasten and queue.account > 0)
        queue.packets.append(packet)

    def lose(self, packet: Packet, cause: str) -> None:
        self.causes[cause] += 1
        self.dropped_bytes += packet.size

    def discard_front(self, number: int, cause: str) -> Packet:
        queue = self.queues[number]
        queue.dropped += 1
        packet = queue.packets.popleft()
        self.lose(packet, cause)
        return packet

    def send(self) -> tuple[int, Packet] | None:
        """Send a packet. Returns its queue and the packet, or None if all queues are empty."""
        if not self.active:
            return None
        while not any(queue.account > 0 for queue in self.active.values()):
            for queue in self.queues.values():
                queue.account += self.quantum
                if not queue.packets:
                    queue.account = min(queue.account, self.quantum)
        number = min(
            self.active,
            key=lambda n: self.queues[n].filed if self.queues[n].account > 0 else (2, 0),
        )
        queue = self.queues[number]
        packet = queue.packets.popleft()
        queue.account -= packet.size
        if queue.account <= 0:
            self._file(queue)
        return number, packet

    def upcoming(self) -> int:
        """Return the queue that is served next, if no packet arrives before. One is not empty."""

        def turn(number: int) -> tuple[int, tuple[int, int]]:
            queue = self.active[number]
            return max(0, -((queue.account - 1) // self.quantum)), queue.filed

        return min(self.active, key=turn)

    def reset(self) -> None:
        """Drop all packets without counting them, as when the device goes down."""
        for queue in self.queues.values():
            queue.packets.clear()


def checked(
    model: SharedBuffer, step: Step, lists: interface.Kind, where: str
) -> dict[int, dict[str, Any]]:
    """Compare buffer and queues with a model's. Return the statistics of each class."""
    assert step.qlen == model.qlen, where
    stats = lists.statistics(step.xstats)
    assert {cause: stats[f"drop_{cause}"] for cause in model.causes} == model.causes, where
    expected = {
        "memory_used": model.memory,
        "dropped_bytes": model.dropped_bytes,
        "limit": model.limit,
        "memory_limit": model.memory_limit,
        "overflows": step.overlimits,
        "active": len(model.active),
    }
    assert {name: stats[name] for name in expected} == expected, where
    classes = {minor: lists.statistics(cl.xstats) for minor, cl in step.classes.items()}
    seen = {
        minor: (cl.qlen, cl.backlog, cl.drops, classes[minor]["queue"], classes[minor]["deficit"])
        for minor, cl in step.classes.items()
    }
    assert seen == {
        number: (len(queue.packets), queue.length, queue.dropped, number, queue.account)
        for number, queue in model.active.items()
    }, where
    return classes
