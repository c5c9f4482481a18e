# SPDX-License-Identifier: GPL-2.0
"""Model of 2RegionRED in floating point.

K. Wang, "2RegionRED", MIT-LCS-TR-829, 2001: thresholds and phases from section 4.3, the controller
from figure 4-7, the estimators from chapter 5. Points that the thesis leaves open follow
tc-2regionred(8). Lengths are in wire packets, times in integer nanoseconds.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from tests.oracle.seeded_random import SeededRandom

QUIET, LOW, HIGH, MAX = range(4)
CE = 3


@dataclass
class Options:
    """Options of tc. None means that a value is derived from the others."""

    bandwidth: float = 1e9  # bit/s
    rtt: int = 100_000  # us
    flows: int | None = None
    avpkt: int = 1500  # bytes
    limit: int | None = None
    memory_limit: int = 32 << 20
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
    """Return the largest integer not above ``x``, tolerating rounding errors."""
    return math.floor(x + 1e-6)


class Law:
    """The thresholds by equations 4.3, 4.10, 4.12 and 4.13, rounded as in table 6.1."""

    def __init__(self, o: Options) -> None:
        """Derive the values that are not given; target, Bmax and limit as in tables 6.4, 6.7."""
        self.pipe = max(10.0, o.bandwidth / 8 * o.rtt / 1e6 / o.avpkt)
        one_drop = math.sqrt(2 / 3 * self.pipe)
        self.n_1dpr = o.n_1dpr or one_drop
        self.flows = o.flows or max(1, min(10, whole(one_drop)))
        window = 2 * self.pipe / (3 * self.flows - 1)
        self.bmin = o.bmin or max(1, whole(window + 0.5))
        self.bflat = o.bflat or self.bmin + -whole(-1.5 * self.n_1dpr)
        self.target = o.target or self.bflat + whole(1.35 * self.n_1dpr)
        self.bmax = o.bmax or max(whole(self.pipe), 2 * self.target)
        self.limit = o.limit or max(whole(1.5 * self.pipe), whole(1.5 * self.bmax))
        given = (o.limit, o.bmin, o.bflat, o.target, o.bmax, o.flows, o.n_1dpr)
        if not any(given):
            self._keep_short(o)

    def _keep_short(self, o: Options) -> None:
        """Limit the buffer to 100 ms and to the memory, and the thresholds to the buffer."""
        most = min(whole(o.bandwidth / 8 / 10 / o.avpkt), o.memory_limit // (o.avpkt + 1024))
        most = max(most, 8)
        if self.limit <= most:
            return
        self.limit = most
        self.bmin = min(self.bmin, most // 4)
        self.bflat = min(self.bflat, most * 3 // 8)
        self.target = min(self.target, most // 2)
        self.bmax = min(self.bmax, most * 7 // 8)


class AbsMin:
    """ABSMIN: the minimum length over the last 15 complete fifteenths of the interval."""

    def __init__(self, interval: int) -> None:
        """Start with an empty queue; ``interval`` in ns."""
        self.minima = [0] * 15
        self.lowest = 0
        self.estimate = 0.0
        self.fifteenth = interval // 15
        self.end = 0

    def advance(self, now: int, length: int) -> None:
        """Advance to ``now``. The length was ``length`` since the last event."""
        if self.end < now - 40 * self.fifteenth:
            self.end = (now // self.fifteenth - 30) * self.fifteenth
        while self.end <= now:
            self.minima = [*self.minima[1:], self.lowest]
            self.estimate = float(min(self.minima))
            self.lowest = length
            self.end += self.fifteenth

    def arrival(self, now: int, length: int, packets: int = 1) -> None:
        """Note that ``packets`` arrive together, and find ``length``."""
        self.advance(now, length)

    def departure(self, now: int, length: int, packets: int = 1) -> None:
        """Note that ``packets`` have left, and ``length`` remains. Only a new minimum counts."""
        if length < self.lowest:
            self.advance(now, length + packets)
            self.lowest = min(self.lowest, length)


class Ewma:
    """Equations 3.3 and 5.1, and with ``drain`` also 5.3, with its inequality corrected."""

    def __init__(self, interval: int, pipe: float, drain: bool) -> None:
        """Start with an empty queue; ``interval`` in ns."""
        self.interval = interval
        self.pipe = round(pipe)
        self.weight = 1 - math.exp(-1 / self.pipe)
        self.drain = drain
        self.estimate = 0.0
        self.since = 0
        self.idle = 0  # ns of idle time that no sample of 0 covers yet

    def advance(self, now: int, length: int) -> None:
        """Add a sample of 0 for each packet that the idle link could have sent."""
        if length:
            return
        self.idle += now - self.since
        self.since = now
        if self.idle >= 64 * self.interval:  # the average has decayed below e^-64
            self.estimate, self.idle = 0.0, 0
        packets = self.idle * self.pipe // self.interval
        self.estimate *= (1 - self.weight) ** packets
        self.idle -= packets * self.interval // self.pipe

    def arrival(self, now: int, length: int, packets: int = 1) -> None:
        """Sample ``length`` once for each of ``packets`` that arrive together."""
        self.advance(now, length)
        for _ in range(packets if length else 0):
            self.estimate += self.weight * (length - self.estimate)

    def departure(self, now: int, length: int, packets: int = 1) -> None:
        """``packets`` have left ``length`` behind."""
        if self.drain:
            self.estimate = min(self.estimate, float(length))
        if not length:
            self.since = now


Estimator = AbsMin | Ewma


def make_estimator(o: Options, law: Law) -> Estimator:
    """Return the estimator that the options select."""
    if o.estimator == "absmin":
        return AbsMin(o.rtt * 1000)
    return Ewma(o.rtt * 1000, law.pipe, o.estimator == "ewma-drain")


class Controller:
    """The controller of figure 4-7."""

    def __init__(self) -> None:
        """Start without state, before the queue first crosses Bflat."""
        self.ppd = self.ppd_old = self.window = self.q_old = 0.0
        self.updates = self.negative = 0

    def start(self, law: Law, q: float, keep_window: bool) -> None:
        """Start when the queue has crossed Bflat."""
        self.ppd = self.ppd_old = law.pipe
        self.q_old = q
        if not keep_window:
            self.window = math.sqrt(2 / 3 * law.pipe)

    def update(self, law: Law, q: float, literal: bool) -> None:
        """Update after an interval, with the estimate ``q``."""
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
    """The discipline: a FIFO of (packet number, TOS, segments) and the rule of figure 4-4."""

    def __init__(self, options: Options) -> None:
        """Start with an empty queue."""
        self.o = options
        self.law = Law(options)
        self.estimator = make_estimator(options, self.law)
        self.controller = Controller()
        self.random = SeededRandom(options.seed)
        self.queue: deque[tuple[int, int, int]] = deque()
        self.length = 0  # wire packets
        self.stats_reset()
        self.state_reset()

    def stats_reset(self) -> None:
        """Reset all counters."""
        self.controller.updates = self.controller.negative = 0
        self.entered = [0, 0, 0, 0]
        self.dropped = [0, 0, 0, 0]
        self.marked = [0, 0, 0, 0]
        self.spared = self.dropped_limit = self.dropped_change = 0

    def state_reset(self) -> None:
        """Reset all state except counters."""
        self.phase = QUIET
        self.quiet_until = self.update_at = 0
        self.last_arrival = 0
        self.left_at: int | None = None
        self.count = 0
        self.draw = 0.0

    def reset(self) -> None:
        """Start again, as when the device goes down. Counters and random numbers stay."""
        updates, negative = self.controller.updates, self.controller.negative
        self.queue.clear()
        self.length = 0
        self.estimator = make_estimator(self.o, self.law)
        self.controller = Controller()
        self.controller.updates, self.controller.negative = updates, negative
        self.state_reset()

    def change(self, new: Options, now: int, reseed: bool) -> None:
        """Set new options. The estimate and the controller's state stay."""
        law = Law(new)
        self.estimator.advance(now, self.length)
        old, self.estimator = self.estimator, make_estimator(new, law)
        self.estimator.estimate = old.estimate
        if isinstance(self.estimator, AbsMin):
            self.estimator.minima = [int(old.estimate)] * 15
            self.estimator.lowest = self.length
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
        # A hold-off of the old round trip must not last longer than one of the new.
        longest = 1000 * (new.rtt - new.rtt // 25 + 12 * (new.rtt // 25))
        self.update_at = min(self.update_at, now + longest)
        self.quiet_until = min(self.quiet_until, now + 2000 * new.rtt)
        if reseed:
            self.random = SeededRandom(new.seed)
        while self.length > law.limit:
            self._take(now)
            self.dropped_change += 1

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

    def _signal(self, now: int, segments: int) -> int:
        """Return the phase that marks or drops this arrival, or QUIET."""
        before, self.last_arrival = self.last_arrival, now
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
            self.left_at = before
            self.quiet_until = before + self._hold_off()

        if self.phase == LOW and now >= self.quiet_until:
            self.quiet_until = now + self._hold_off()
            return LOW
        if self.phase < HIGH:
            return QUIET
        ppd = self.controller.ppd
        if self.phase == MAX:
            over = (q - self.law.bmax) / self.law.bmax if self.o.gentle else 0
            ppd = 1 / min(1.0, 0.1 + 0.9 * over)
        answer = QUIET
        for _ in range(segments):  # a packet is marked only once
            self.count += 1
            due = math.floor(ppd * (1 + self.draw) * 2 / 3 + 0.5)
            if answer == QUIET and self.count >= due:
                answer = self.phase
                self.count = 0
                self.draw = self.random.u32() / 2**32
        return answer

    def enqueue(self, now: int, packet: int, tos: int, segments: int = 1) -> bool:
        """Enqueue a packet, and maybe mark it. Returns whether it was queued."""
        self.estimator.arrival(now, self.length, segments)
        phase = self._signal(now, segments)
        if self.length and self.length + segments > self.law.limit:
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
        self.queue.append((packet, tos, segments))
        self.length += segments
        return True

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return the packet that leaves and its TOS, or None."""
        if not self.queue:
            return None
        return self._take(now)

    def _take(self, now: int) -> tuple[int, int]:
        packet, tos, segments = self.queue.popleft()
        self.length -= segments
        self.estimator.departure(now, self.length, segments)
        return packet, tos
