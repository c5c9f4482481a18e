# SPDX-License-Identifier: GPL-2.0
"""BLUE in plain Python, with exact fractions.

W. Feng, D. Kandlur, D. Saha, K. Shin, "BLUE: A New Class of Active Queue Management Algorithms",
CSE-TR-387-99, 1999: the figure of the algorithm, with the variant that also reacts to a queue
longer than L. Points that the report leaves open follow tc-blue(8). Lengths are in wire packets,
times in integer nanoseconds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.seeded_random import SeededRandom

CE = 3


@dataclass(frozen=True)
class Options:
    """Options of tc. If ``threshold`` is None, only losses count."""

    limit: int
    threshold: int | None = None
    increment: Fraction = Fraction(25, 10_000)
    decrement: Fraction = Fraction(25, 100_000)
    freeze_time: int = 100_000  # us
    ecn: bool = False
    nodrop: bool = False
    harddrop: bool = False
    seed: int = 1


@dataclass
class Probability:
    """p_m and the two events of the figure that change it."""

    p: Fraction = Fraction(0)
    may_rise: int = 0  # ns: time of the last update plus the freeze time
    may_fall: int = 0
    rises: int = 0
    falls: int = 0

    def congestion(self, o: Options, now: int) -> None:
        """Raise p_m after a loss, or because the queue is longer than L."""
        if self.p < 1 and now >= self.may_rise:
            self.p = min(Fraction(1), self.p + o.increment)
            self.may_rise = now + 1000 * o.freeze_time
            self.rises += 1

    def idle(self, o: Options, begin: int, end: int) -> None:
        """Lower p_m for a link that is idle from ``begin`` to ``end``."""
        while self.p > 0 and (moment := max(begin, self.may_fall)) <= end:
            self.p = max(Fraction(0), self.p - o.decrement)
            self.may_fall = moment + 1000 * o.freeze_time
            self.falls += 1


@dataclass
class Blue:
    """The discipline: a FIFO of (packet number, TOS, segments)."""

    o: Options
    queue: deque[tuple[int, int, int]] = field(default_factory=deque)
    pm: Probability = field(default_factory=Probability)
    idle_from: int = 0  # ns: idle time before it is already accounted for
    marked: int = 0
    spared: int = 0
    early_drop: int = 0
    drop_limit: int = 0
    drop_change: int = 0

    def __post_init__(self) -> None:
        """Initialize the random numbers from the seed."""
        self.random = SeededRandom(self.o.seed)

    @property
    def length(self) -> int:
        """Return the number of queued wire packets."""
        return sum(segments for *_, segments in self.queue)

    def advance(self, now: int) -> None:
        """Advance the time to ``now``."""
        if not self.queue:
            self.pm.idle(self.o, self.idle_from, now)
            self.idle_from = now

    def enqueue(self, now: int, packet: int, tos: int, segments: int = 1) -> bool:
        """Process an arriving packet. Returns false if it did not fit. May also drop at random."""
        self.advance(now)
        length = self.length + segments
        if self.queue and length > self.o.limit:
            self.drop_limit += 1
            self.pm.congestion(self.o, now)
            return False
        above = length > (self.o.threshold or self.o.limit)
        if above:
            self.pm.congestion(self.o, now)
        if self._chosen():
            markable = self.o.ecn and not (above and self.o.harddrop)
            if markable and tos & 3:
                self.marked += 1
                tos |= CE
            elif markable and self.o.nodrop:
                self.spared += 1
            else:
                self.early_drop += 1
                return True
        self.queue.append((packet, tos, segments))
        return True

    def _chosen(self) -> bool:
        """Return true with probability p_m. Draw a number only if it matters."""
        if self.pm.p in (0, 1):
            return self.pm.p == 1
        # p_m has units of 1 / (2^32 - 1), so p_m of the 2^32 random numbers are below it.
        return self.random.u32() < self.pm.p * (2**32 - 1)

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return the packet that leaves and its TOS."""
        self.advance(now)
        if not self.queue:
            return None
        packet, tos, _ = self.queue.popleft()
        self.idle_from = now
        return packet, tos

    def change(self, new: Options, now: int, reseed: bool) -> None:
        """Set new options and drop the oldest packets above the limit."""
        self.advance(now)
        self.o = new
        self.pm.may_rise = min(self.pm.may_rise, now + 1000 * new.freeze_time)
        self.pm.may_fall = min(self.pm.may_fall, now + 1000 * new.freeze_time)
        if reseed:
            self.random = SeededRandom(new.seed)
        while self.length > new.limit and len(self.queue) > 1:
            self.queue.popleft()
            self.drop_change += 1

    def reset(self, now: int) -> None:
        """Drop all packets without counting them. Counters and random numbers stay."""
        self.queue.clear()
        self.pm = Probability(rises=self.pm.rises, falls=self.pm.falls)
        self.idle_from = now
