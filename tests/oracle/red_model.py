# SPDX-License-Identifier: GPL-2.0
"""RED as its papers write it, and a FIFO that loses packets at random, in floating point.

Floyd and Jacobson 1993; the gentle slope of 2000. Written from the papers and from the
manual pages' description of the order in which random numbers are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from tests.oracle.drive import Step
from tests.oracle.seeded_random import SeededRandom

Q32 = 2**32
SIZE = 1000  # bytes, of every packet of a trace
# ns: SIZE bytes at 20 kb/s. Long: a kernel's clock goes on by a microsecond or two within each
# operation, which must not decide how many packet times a queue has been idle in all.
PTIME = 400_000_000


@dataclass
class Red:
    """RED's average and its chance; lengths in packets, times in ns, probabilities 0 to 1."""

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
        """Fold the queue's length, or the idle time, into the average.

        1993: idle for T is as if T / s packets had found the queue empty. Whole packets: after
        T of idle time in all, whatever its pieces, there have been floor(T / s) of them.
        """
        if self.idle_since is None:
            self.avg += self.weight * (length - self.avg)
            return
        if self._forgot_all():
            return
        due = (self.idle_time + now - self.idle_since) // self.ptime
        self.avg *= (1 - self.weight) ** (due - self.zeros)
        self.zeros = due

    def busy(self, now: int) -> None:
        """Note that the queue holds something from now on."""
        if self.idle_since is not None and not self._forgot_all():
            self.idle_time += now - self.idle_since
        self.idle_since = None

    def _forgot_all(self) -> bool:
        """Whether the average is 0, to 2^-32: no idle time counts before there is another."""
        if self.avg < 2**-32:
            self.avg, self.idle_time, self.zeros = 0.0, 0, 0
            return True
        return False

    def idle(self, now: int) -> None:
        """Note that the queue is empty; it may have been before."""
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
        """Tell "pass", "early" or "forced".

        1993, figure 17: the count-th arrival since the last drop is dropped if count >= R / p_b;
        R is drawn where a count begins. "Wait" puts 1 / p_b arrivals before.
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
    """Whether ``seen`` is an average as reported between two times: an idle one decays."""
    latest, earliest = replace(red), replace(red)
    if red.idle_since is not None:
        latest.arrival(0, until)
        earliest.arrival(0, since)
    return latest.avg - 1e-6 <= seen <= earliest.avg + 1e-6


@dataclass
class RandomQueue:
    """Packets in order of arrival, and the order in which a draw numbers them.

    A draw numbers the packets 0 to n - 1: an arrival gets the next number, and when a packet
    leaves, the one with the highest number takes its place.
    """

    numbered: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        """Packets held."""
        return len(self.numbered)

    def add(self, packet: int) -> None:
        self.numbered.append(packet)

    def remove(self, packet: int) -> None:
        place = self.numbered.index(packet)
        last = self.numbered.pop()
        if place < len(self.numbered):
            self.numbered[place] = last

    def first(self) -> int:
        """Packets are numbered in the order in which they come."""
        return min(self.numbered)

    def last(self) -> int:
        return max(self.numbered)

    def draw(self, rng: SeededRandom) -> int:
        return self.numbered[rng.below(len(self.numbered))]


class Ecn(Protocol):
    """What `signal` asks of a model: the options of marking."""

    ecn: bool
    harddrop: bool
    nodrop: bool


def signal(options: Ecn, tos: int, verdict: str) -> tuple[str, int]:
    """What becomes of what RED would drop ("early" or "forced"): its counter's name, its TOS.

    ECT is marked where the options allow it; what cannot be marked is dropped, or spared.
    """
    if not options.ecn or (verdict == "forced" and options.harddrop):
        return f"{verdict}_drop", tos
    if tos & 3:
        return f"{verdict}_mark", tos | 3
    return "spared" if options.nodrop else f"{verdict}_drop", tos


class RedFifo(Protocol):
    """What `replay` asks of a model."""

    queue: Sized
    counts: Counter[str]

    @property
    def enqueue(self) -> Callable[..., None]: ...

    def dequeue(self, now: int) -> tuple[int, int] | None: ...

    def reset(self, now: int) -> None: ...


M = TypeVar("M", bound=RedFifo)


def replay(
    model: M, operations: Iterable[tuple[str, Any, str]], steps: Sequence[Step],
    change: Callable[[M, Any, int], None],
) -> Iterator[tuple[Step, int, str]]:  # fmt: skip
    """Do to the model what was done to the discipline, and compare what every FIFO shows.

    Operations are (kind, what the model needs, line of the trace). After each, the step, the
    time at which the next began, ns, and how to name the place in a message.
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
