# SPDX-License-Identifier: GPL-2.0
"""Floating-point models of RED, and of a FIFO from which random packets are dropped.

They were written from Floyd and Jacobson 1993, the gentle slope of 2000, and from the man pages,
which say in which order random numbers are drawn.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tests.oracle.drive import Step
from tests.oracle.seeded_random import SeededRandom

Q32 = 2**32
SIZE = 1000  # bytes of every packet
# Time of a packet in ns, at 20 kb/s. The rate is low because the kernel's clock advances by a
# microsecond or two in each operation. This must not change the number of idle packet times.
PTIME = 400_000_000


@dataclass
class Red:
    """RED. Lengths are in packets, times in ns, probabilities from 0 to 1."""

    min_th: float
    max_th: float
    max_p: float
    weight: float
    ptime: int
    gentle: bool = False
    wait: bool = False
    avg: float = 0.0
    count: int = 0
    random: float = 0.0
    idle_since: int | None = 0
    idle_time: int = 0
    zeros: int = 0

    def arrival(self, length: int, now: int) -> None:
        """Update the average with the queue's length, or with the idle time.

        In the paper, an idle time T counts like T / s packets that found the queue empty. We count
        whole packets: after a total idle time T, in any number of pieces, floor(T / s) of them.
        """
        if self.idle_since is None:
            self.avg += self.weight * (length - self.avg)
            return
        if not self._forgot_all():
            self.avg, self.zeros = self.idle_until(now)

    def idle_until(self, now: int) -> tuple[float, int]:
        """Return the average at ``now``, and the packet times that it counts then."""
        assert self.idle_since is not None
        due = (self.idle_time + now - self.idle_since) // self.ptime
        return self.avg * (1 - self.weight) ** (due - self.zeros), due

    def busy(self, now: int) -> None:
        """Note that the queue is not empty from now on."""
        if self.idle_since is not None and not self._forgot_all():
            self.idle_time += now - self.idle_since
        self.idle_since = None

    def _forgot_all(self) -> bool:
        """Return whether the average is below 2^-32. Idle time then does not count."""
        if self.avg < 2**-32:
            self.avg, self.idle_time, self.zeros = 0.0, 0, 0
            return True
        return False

    def idle(self, now: int) -> None:
        """Note that the queue is empty, or is still empty."""
        if self.idle_since is None:
            self.idle_since = now

    def reset(self, now: int) -> None:
        """Start again with an empty queue."""
        self.avg, self.count = 0.0, 0
        self.idle_since, self.idle_time, self.zeros = now, 0, 0

    def probability(self) -> float:
        if self.avg < self.min_th:
            return 0.0
        if self.avg < self.max_th:
            return self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        if not self.gentle or self.avg >= 2 * self.max_th:
            return 1.0
        return self.max_p + (1 - self.max_p) * (self.avg - self.max_th) / self.max_th

    def decide(self, rng: SeededRandom) -> str:
        """Return "pass", "early" or "forced" for an arrival.

        In figure 17 of the paper, the count-th arrival since the last drop is dropped if
        count >= R / p_b, where R is drawn at the start of the count. "Wait" adds 1 / p_b arrivals.
        """
        p = self.probability()
        if self.avg < self.min_th:
            self.count = 0
            return "pass"
        if p >= 1:
            self.count = 0
            return "forced"
        if self.count == 0:
            self.random = rng.u32() / 2**32
        self.count += 1
        if p == 0 or self.count <= (self.random + self.wait) / p:
            return "pass"
        self.count = 0
        return "early"


def reported(red: Red, since: int, until: int, seen: float) -> bool:
    """Return whether ``seen`` can be the average at some time between ``since`` and ``until``."""
    latest = earliest = red.avg
    if red.idle_since is not None:
        (latest, _), (earliest, _) = (red.idle_until(time) for time in (until, since))
    return latest - 1e-6 <= seen <= earliest + 1e-6


@dataclass
class RandomQueue:
    """A queue from which a random packet can be drawn.

    Draws number the packets from 0 to n - 1. An arrival gets the next number. If a packet leaves,
    the packet with the highest number gets its number.
    """

    numbered: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.numbered)

    def add(self, packet: int) -> None:
        self.numbered.append(packet)

    def remove(self, packet: int) -> None:
        place = self.numbered.index(packet)
        last = self.numbered.pop()
        if place < len(self.numbered):
            self.numbered[place] = last

    def first(self) -> int:
        """Return the oldest packet. Numbers of packets increase in order of arrival."""
        return min(self.numbered)

    def last(self) -> int:
        return max(self.numbered)

    def draw(self, rng: SeededRandom) -> int:
        return self.numbered[rng.below(len(self.numbered))]


class Ecn(Protocol):
    """The options of a model that `signal` reads."""

    ecn: bool
    harddrop: bool
    nodrop: bool


def signal(options: Ecn, tos: int, verdict: str) -> tuple[str, int]:
    """Mark, drop or spare a packet that RED has chosen ("early" or "forced").

    ECN-capable packets are marked if the options allow it. Other packets are dropped, or spared.
    Returns the name of the counter, and the packet's TOS.
    """
    if not options.ecn or (verdict == "forced" and options.harddrop):
        return f"{verdict}_drop", tos
    if tos & 3:
        return f"{verdict}_mark", tos | 3
    return "spared" if options.nodrop else f"{verdict}_drop", tos


class RedFifo(Protocol):
    """The methods of a model that `replay` calls."""

    queue: Sized
    counts: Counter[str]

    @property
    def enqueue(self) -> Callable[..., None]: ...

    def dequeue(self, now: int) -> tuple[int, int] | None: ...

    def reset(self, now: int) -> None: ...


M = TypeVar("M", bound=RedFifo)


def replay(
    model: M,
    operations: Iterable[tuple[str, Any, str]],
    steps: Sequence[Step],
    change: Callable[[M, Any, int], None],
) -> Iterator[tuple[Step, int, str]]:
    """Carry out the operations on the model, and compare the statistics that every FIFO has.

    operations: (kind, arguments of the model, line of the trace) for each
    Yields after each operation: its step, the start of the next one in ns, and a description of
    the place for messages.
    """
    packet = 0
    nows = [step.t for step in steps[1:]] + [steps[-1].t]
    for (kind, what, line), step, until in zip(operations, steps, nows, strict=True):
        where = f"step {step.i}: {line}"
        left = []
        if kind == "e":
            model.enqueue(packet, *what, step.t)
            packet += 1
        elif kind == "d":
            left = [p for _ in range(what) if (p := model.dequeue(step.t)) is not None]
        elif kind == "c":
            assert step.rc == 0, where
            change(model, what, step.t)
        elif kind == "r":
            assert step.rc == 0, where
            model.reset(step.t)
        assert step.out == left, where
        assert step.qlen == len(model.queue), where
        assert step.drops == model.counts["drops"], where
        assert step.overlimits == model.counts["overlimits"], where
        yield step, until, where


HEADERS = 14 + 20 + 20  # bytes of Ethernet, IP and TCP
MARKS = (
    "early_drop",
    "early_mark",
    "forced_drop",
    "forced_mark",
    "marked",
    "spared",
    "drop_limit",
    "drop_change",
)


@dataclass(frozen=True)
class RedCase:
    """Options and traffic of a qdisc under RED. ``wants`` names counters that must change."""

    name: str
    seed: int
    wants: tuple[str, ...]
    limit: int = 40
    min_th: int = 5
    max_th: int = 10
    max_p: float = 0.25
    weight: float = 0.05
    load: float = 1.3
    flows: int = 0
    steps: int = 3000
    tos: tuple[int, ...] = (0,)
    gso: float = 0.0
    model: dict[str, Any] = field(default_factory=dict)
    changes: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)

    def words(self) -> str:
        """Return the options that ``model`` sets."""
        return " ".join(name if on else f"no{name}" for name, on in self.model.items())

    def packet(self, rng: random.Random) -> tuple[int, int, str]:
        """Draw a packet. Return its TOS, its segments, and its words in a trace."""
        tos = rng.choice(self.tos)
        segments = rng.choice((2, 3, 9)) if rng.random() < self.gso else 1
        shape = "len=1000"
        if self.gso:
            shape = f"proto=tcp len={HEADERS + 100 * segments}"
            shape += " gso=100" if segments > 1 else ""
        return tos, segments, f"{shape} tos={tos}"

    def exercised(self, run: Any, counts: Mapping[str, int]) -> None:
        """Check that the trace for which the case was designed has changed its counters."""
        unmoved = [name for name in self.wants if counts[name] < 10]
        assert not (run.designed and unmoved), f"the trace did not exercise {unmoved}: {counts}"


@dataclass(frozen=True)
class CrowdCase(RedCase):
    """A case in which one flow sends a part of all packets, ``heavy``, and others send rarely.

    ``filtered``: a filter's class, which two flows share, is the flow. ``crowds``: how many times
    ``flows`` there are in turn; 0: one flow.
    """

    families: tuple[str, ...] = ("",)
    filtered: bool = False
    heavy: float = 0.35
    crowds: tuple[int, ...] = (1,)
    setup: tuple[str, ...] = ()

    def red(self, ptime: int, gentle: bool = False) -> Red:
        return Red(
            self.min_th,
            self.max_th,
            round(self.max_p * Q32) / Q32,
            round(self.weight * Q32) / Q32,
            ptime,
            gentle,
        )

    def operations(self, ptime: int) -> Iterator[tuple[str, Any, str]]:
        """Yield (kind, arguments of the model, line of the trace), drawn from the seed.

        There are idle periods, and bursts that make the average cross both thresholds in both
        directions.
        """
        rng = random.Random(self.seed)
        load, flows = self.load, self.flows
        for step in range(self.steps):
            if step % 1000 == 0:
                # From here on idle times are whole packet times, but their sum is not.
                yield "r", None, "r"
                yield "t", None, f"t {round(0.37 * ptime)}"
            if step in self.changes:
                words, change = self.changes[step]
                yield "c", change, f"x {words}"
                continue
            if step % 150 == 0:
                load = self.load * rng.choice((0.5, 1, 1, 2.5))
                flows = max(1, rng.choice(self.crowds) * self.flows)
            if rng.random() < 0.004:
                yield "d", 1000, "d 1000"
                yield "t", None, f"t {rng.randint(0, 60) * ptime}"
            elif rng.random() < load / (1 + load):
                flow = 0 if rng.random() < self.heavy else rng.randrange(flows)
                family = rng.choice(self.families)
                tos, segments, shape = self.packet(rng)
                name = flow // 2 if self.filtered else (flow, family)
                prio = f" prio={0x10001 + flow // 2:#x}" if self.filtered else ""
                yield "e", (name, tos, segments), f"e flow={flow} {shape} sport=7777 {family}{prio}"
            else:
                yield "d", 1, "d 1"
        yield "d", 1000, "d 1000"


SLOT = 50_000_000  # ns that 1000 bytes take at 160 kb/s


@dataclass(frozen=True)
class PacedCase(RedCase):
    """A case with a link that has a slot per packet."""

    def operations(self) -> Iterator[tuple[str, Any, str]]:
        """Yield (kind, arguments of the model, line of the trace), drawn from the seed.

        The load changes, so that the average crosses both thresholds in both directions. There are
        idle periods. Times are odd numbers, so that no half second ends exactly at an operation.
        With ``flows`` their number changes, too, and the model is told the flow.
        """
        rng = random.Random(self.seed)
        load, some = self.load, self.flows
        for step in range(self.steps):
            if step % 1000 == 0:
                yield "r", None, "r"
                yield "t", None, f"t {round(0.37 * SLOT)}"
            if step in self.changes:
                words, change = self.changes[step]
                yield "c", change, f"x {words}"
                continue
            if step % 250 == 0:
                load = self.load * rng.choice((0.4, 0.8, 1, 1, 2.5))
                some = rng.choice((1, self.flows, self.flows, 3 * self.flows)) if self.flows else 0
            if rng.random() < 0.003:
                yield "d", 1000, "d 1000"
                yield "t", None, f"t {rng.randint(0, 60) * SLOT}"
            elif rng.random() < load / (1 + load):
                flow = rng.randrange(some) if some else 1
                tos, segments, shape = self.packet(rng)
                what = (flow, tos, segments) if some else (tos, segments)
                yield "e", what, f"e flow={flow} {shape}"
            else:
                yield "d", 1, "d 1"
                yield "t", None, f"t {SLOT}"
        yield "d", 1000, "d 1000"
