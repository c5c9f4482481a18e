# SPDX-License-Identifier: GPL-2.0
"""2RegionRED in plain Python and floating point.

K. Wang, "2RegionRED", MIT-LCS-TR-829, 2001: thresholds and phases from section 4.3, the
controller from figure 4-7, the estimators from chapter 5. What the thesis leaves open is
decided as tc-2regionred(8) says. Lengths are in packets, times in integer nanoseconds.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from tests.seeded_random import SeededRandom

QUIET, LOW, HIGH, MAX = range(4)
CE = 3


@dataclass
class Options:
    """What is given to tc; None where a value is to follow from the others."""

    bandwidth: float = 1e9  # bit/s
    rtt: int = 100_000  # us
    flows: int = 10
    avpkt: int = 1500  # bytes
    limit: int | None = None
    bmin: int | None = None
    bflat: int | None = None
    target: int | None = None
    bmax: int | None = None
    n_1dpr: float | None = None
    estimator: str = "absmin"
    gentle: bool = True
    literal: bool = False
    ecn: bool = False
    nodrop: bool = False
    harddrop: bool = False
    seed: int = 1


def whole(x: float) -> int:
    """The largest integer not above ``x``, rounding errors forgiven."""
    return math.floor(x + 1e-6)


class Law:
    """The thresholds: equations 4.3, 4.10, 4.12 and 4.13, rounded as in table 6.1."""

    def __init__(self, o: Options) -> None:
        """Derive what is not given."""
        self.pipe = o.bandwidth / 8 * o.rtt / 1e6 / o.avpkt
        self.n_1dpr = o.n_1dpr or math.sqrt(2 / 3 * self.pipe)
        window = 2 * self.pipe / (3 * o.flows - 1)
        self.bmin = o.bmin or max(1, whole(window + 0.5))
        self.bflat = o.bflat or self.bmin + -whole(-1.5 * self.n_1dpr)
        self.target = o.target or self.bflat
        self.bmax = o.bmax or max(whole(self.pipe / 2), 2 * self.target)
        self.limit = o.limit or max(whole(1.5 * self.pipe), 2 * self.bmax)


class AbsMin:
    """The least length of the last 15 fifteenths that have ended; one at a time."""

    def __init__(self, interval: int) -> None:
        """Start with an empty queue; ``interval`` in ns."""
        self.minima = [0] * 15
        self.lowest = 0
        self.estimate = 0.0
        self.fifteenth = interval // 15
        self.end = 0

    def advance(self, now: int, length: int) -> None:
        """Time has come to ``now``; the queue has had ``length`` since the last event."""
        if self.end < now - 40 * self.fifteenth:
            self.end = (now // self.fifteenth - 30) * self.fifteenth
        while self.end <= now:
            self.minima = [*self.minima[1:], self.lowest]
            self.estimate = float(min(self.minima))
            self.lowest = length
            self.end += self.fifteenth

    def arrival(self, now: int, length: int) -> None:
        """A packet comes; ``length`` without it."""
        self.advance(now, length)

    def departure(self, now: int, length: int) -> None:
        """A packet has left ``length`` behind."""
        self.advance(now, length + 1)
        self.lowest = min(self.lowest, length)


class Ewma:
    """Equations 3.3 and 5.1; with ``drain`` also 5.3, its inequality the right way round."""

    def __init__(self, interval: int, pipe: float, drain: bool) -> None:
        """Start with an empty queue; ``interval`` in ns."""
        self.interval = interval
        self.pipe = round(pipe)
        self.weight = 1 - math.exp(-1 / self.pipe)
        self.drain = drain
        self.estimate = 0.0
        self.since = 0
        self.idle = 0  # time that the queue was empty and no sample of 0 stands for, ns

    def advance(self, now: int, length: int) -> None:
        """An empty queue counts as a sample of 0 for each packet the link could send."""
        if length:
            return
        self.idle += now - self.since
        self.since = now
        packets = self.idle * self.pipe // self.interval
        self.estimate *= (1 - self.weight) ** packets
        self.idle -= packets * self.interval // self.pipe

    def arrival(self, now: int, length: int) -> None:
        """A packet comes; ``length`` without it."""
        self.advance(now, length)
        if length:
            self.estimate += self.weight * (length - self.estimate)

    def departure(self, now: int, length: int) -> None:
        """A packet has left ``length`` behind."""
        if self.drain:
            self.estimate = min(self.estimate, float(length))
        if not length:
            self.since = now


Estimator = AbsMin | Ewma


def make_estimator(o: Options, law: Law) -> Estimator:
    """The estimator that the options name."""
    if o.estimator == "absmin":
        return AbsMin(o.rtt * 1000)
    return Ewma(o.rtt * 1000, law.pipe, o.estimator == "ewma-drain")


class Controller:
    """Figure 4-7."""

    def __init__(self) -> None:
        """Before the queue first crosses Bflat nothing is known."""
        self.ppd = self.ppd_old = self.window = self.q_old = 0.0
        self.updates = self.negative = 0

    def start(self, law: Law, q: float, keep_window: bool) -> None:
        """The queue has crossed Bflat."""
        self.ppd = self.ppd_old = law.pipe
        self.q_old = q
        if not keep_window:
            self.window = math.sqrt(2 / 3 * law.pipe)

    def update(self, law: Law, q: float, literal: bool) -> None:
        """An interval has passed, and the estimate is ``q``."""
        distance = q - law.target
        effective = 0.5 * self.ppd + 0.5 * self.ppd_old
        self.window = 0.9 * self.window + 0.1 * math.sqrt(2 / 3 * effective)
        extra = 0.0
        if distance > 0:
            extra = distance / (law.bmax - law.target) * (distance / self.window)
        dpr = (law.pipe + self.q_old) / effective + (q - self.q_old) / self.window + extra
        self.updates += 1
        self.negative += dpr <= 0
        fewer_than_none = dpr == 0 or (dpr < 0 and not literal)
        ppd = law.pipe if fewer_than_none else (law.pipe + self.q_old) / dpr
        self.q_old = q
        self.ppd_old = self.ppd
        self.ppd = max(min(ppd, law.pipe), 10.0)


class TwoRegionRed:
    """The discipline: a FIFO of (packet number, TOS) and the rule of figure 4-4."""

    def __init__(self, options: Options) -> None:
        """An empty queue."""
        self.o = options
        self.law = Law(options)
        self.estimator = make_estimator(options, self.law)
        self.controller = Controller()
        self.random = SeededRandom(options.seed)
        self.queue: deque[tuple[int, int]] = deque()
        self.phase = QUIET
        self.entered = [0, 0, 0, 0]
        self.dropped = [0, 0, 0, 0]
        self.marked = [0, 0, 0, 0]
        self.spared = self.dropped_limit = self.dropped_change = 0
        self.quiet_until = self.update_at = 0
        self.left_at: int | None = None
        self.count = 0
        self.draw = 0.0

    def change(self, new: Options, now: int, reseed: bool) -> None:
        """Go over to other options; the estimate and the controller's state stay."""
        law = Law(new)
        self.estimator.advance(now, len(self.queue))
        old, self.estimator = self.estimator, make_estimator(new, law)
        self.estimator.estimate = old.estimate
        if isinstance(self.estimator, AbsMin):
            self.estimator.minima = [int(old.estimate)] * 15
            self.estimator.lowest = len(self.queue)
            self.estimator.end = (now // self.estimator.fifteenth + 1) * self.estimator.fifteenth
            if isinstance(old, AbsMin):
                self.estimator.minima = old.minima
                if old.fifteenth == self.estimator.fifteenth:
                    self.estimator.lowest = old.lowest
        elif isinstance(old, Ewma):
            self.estimator.since = old.since
            if old.interval == self.estimator.interval:
                self.estimator.idle = old.idle
        else:
            self.estimator.since = now
        self.o, self.law = new, law
        self.controller.ppd = min(self.controller.ppd, law.pipe)
        self.controller.ppd_old = min(self.controller.ppd_old, law.pipe)
        if reseed:
            self.random = SeededRandom(new.seed)
        while len(self.queue) > law.limit:
            self.queue.popleft()
            self.dropped_change += 1
            self.estimator.departure(now, len(self.queue))

    def _hold_off(self) -> int:
        return 1000 * (self.o.rtt + self.o.rtt // 2 + self.random.below(self.o.rtt // 2 + 1))

    def _interval(self) -> int:
        step = self.o.rtt // 25
        return 1000 * (self.o.rtt - step + self.random.below(12 * step + 1))

    def _phase_of(self, q: float) -> int:
        return sum(q >= edge for edge in (self.law.bmin, self.law.bflat, self.law.bmax))

    def _enter_high(self, q: float, now: int) -> None:
        memory = 10 * self.o.rtt * 1000
        keep = self.left_at is not None and now - self.left_at < memory
        self.controller.start(self.law, q, keep)
        self.update_at = now + self._interval()
        self.count = 0
        self.draw = self.random.u32() / 2**32

    def _signal(self, now: int) -> int:
        """The phase that wants this arrival's sender told, or QUIET."""
        q = self.estimator.estimate
        was, self.phase = self.phase, self._phase_of(q)
        if self.phase != was:
            self.entered[self.phase] += 1
        if self.phase >= HIGH > was:
            self._enter_high(q, now)
        elif self.phase >= HIGH and now >= self.update_at:
            self.controller.update(self.law, q, self.o.literal)
            self.update_at = now + self._interval()
        elif self.phase < HIGH <= was:
            self.left_at = now
            self.quiet_until = now + self._hold_off()

        if self.phase == LOW and now >= self.quiet_until:
            self.quiet_until = now + self._hold_off()
            return LOW
        if self.phase < HIGH:
            return QUIET
        ppd = self.controller.ppd
        if self.phase == MAX:
            over = (q - self.law.bmax) / self.law.bmax if self.o.gentle else 0
            ppd = 1 / min(1.0, 0.1 + 0.9 * over)
        self.count += 1
        if self.count < math.floor(ppd * (1 + self.draw) * 2 / 3 + 0.5):
            return QUIET
        self.count = 0
        self.draw = self.random.u32() / 2**32
        return self.phase

    def enqueue(self, now: int, packet: int, tos: int) -> bool:
        """A packet comes. Return whether it is queued; it may be marked in the queue."""
        self.estimator.arrival(now, len(self.queue))
        phase = self._signal(now)
        if len(self.queue) >= self.law.limit:
            self.dropped_limit += 1
            return False
        if phase != QUIET:
            markable = self.o.ecn and not (self.o.harddrop and phase == MAX)
            if markable and tos & 3:
                self.marked[phase] += 1
                tos |= CE
            elif markable and self.o.nodrop:
                self.spared += 1
            else:
                self.dropped[phase] += 1
                return False
        self.queue.append((packet, tos))
        return True

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """The packet that leaves and its TOS, or None."""
        if not self.queue:
            return None
        packet = self.queue.popleft()
        self.estimator.departure(now, len(self.queue))
        return packet
