# SPDX-License-Identifier: GPL-2.0
"""Model of RED+Tail (Jou and Baras 2003, sections III and V), in plain Python.

It follows the paper, Adaptive RED (Floyd, Gummadi and Shenker 2001), and the man page. RED uses
floating point. The service is exact, because a tie decides which queue is first. Lengths are in
bytes, times in ns.
"""

from __future__ import annotations

import operator
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.seeded_random import SeededRandom

HALF_SECOND = 500_000_000
LOSS_WEIGHT = 2**-10
SLACK = 20_000  # error in ns of the time of an event
IDLE_SLACK = 2_000  # error in ns of an idle time; both its ends are late by about the same
SHORT, LONG = 1, 2
BYTES = operator.attrgetter("size")


class AmbiguousTraceError(AssertionError):
    """An event is too close to a time at which a decision changes. Choose other waits."""


def whole_periods(time: int, period: int, slack: int) -> int:
    """Return the whole periods in ``time``. Raises if an error of ``slack`` would matter."""
    whole = time // period
    if (time + slack) // period != whole or (time - slack) // period != whole:
        if 0 <= time <= slack < period:
            return 0
        raise AmbiguousTraceError(f"{time} ns are too close to a multiple of {period} ns")
    return whole


@dataclass
class Options:
    """Options of tc, in bytes, ns, bytes per second, and fractions of 1."""

    bandwidth: int = 375_000
    limit: int = 160_000
    min1: int = 2_000
    max1: int = 30_000
    min2: int = 20_000
    max2: int = 80_000
    share_min: float | None = None  # None: min1 / max1
    share_max: float = 0.8
    avpkt: int = 1_000
    weight: float = 0.0026631  # 1 - exp(-1/375)
    probability: float = 0.02
    adaptive: bool = True
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    packets: int = 128
    age: int = 0
    tau: int = 5_000_000_000
    flows: int = 1024
    key: str = "addresses"
    dynamic: bool = False
    low: float = 0.01
    high: float = 0.02
    gamma: float = 0.02
    seed: int = 1

    def tc(self, before: Options | None = None) -> str:
        """Return the words after ``redtail``. The seed is among them only if it changes."""
        seed = "" if before and before.seed == self.seed else f"seed {self.seed}"
        share = "" if self.share_min is None else f"share_min {self.share_min}"
        flags = " ".join(
            ("" if getattr(self, name) else "no") + name
            for name in ("adaptive", "ecn", "harddrop", "dynamic")
        )
        flags += " nodrop" * self.nodrop
        return (
            f"bandwidth {self.bandwidth * 8}bit limit {self.limit} min1 {self.min1} "
            f"max1 {self.max1} min2 {self.min2} max2 {self.max2} {share} "
            f"share_max {self.share_max} avpkt {self.avpkt} weight {self.weight} "
            f"probability {self.probability} packets {self.packets} age {self.age}ns "
            f"tau {self.tau}ns flows {self.flows} key {self.key} low {self.low} "
            f"high {self.high} gamma {self.gamma} nosplit_gso {seed} {flags}"
        )


@dataclass
class Packet:
    """A packet. ``flow`` is its flow by the option key, or None if it is not TCP."""

    number: int
    size: int
    flow: object | None = None
    ect: bool = False
    chosen: int = 0  # class from a filter or from the priority; 0: none
    segments: int = 1
    marked: bool = False


@dataclass
class Flow:
    """A flow in the table."""

    flow: object
    packets: int
    first: int
    last: int
    long: bool = False


@dataclass
class Count:
    """Counters of events."""

    early_drop: int = 0
    early_mark: int = 0
    forced_drop: int = 0
    forced_mark: int = 0
    overflow_short: int = 0
    overflow_long: int = 0
    drop_change: int = 0
    raised: int = 0
    lowered: int = 0
    min2_raised: int = 0
    min2_lowered: int = 0
    at_ceiling: int = 0  # steps that were limited by a bound
    at_floor: int = 0
    new: int = 0
    long: int = 0
    evicted: int = 0
    spared: int = 0  # packets that nodrop let pass
    gentle: int = 0  # early drops or marks with max2 <= avg


def q32(value: float) -> int:
    """Convert to tc's Q0.32, where 2^32 - 1 is 1."""
    return int(value * (2**32 - 1) + 0.5)


@dataclass
class Redtail:
    """The discipline, created at time ``start``."""

    options: Options
    start: int
    short: deque[Packet] = field(default_factory=deque)
    long: deque[Packet] = field(default_factory=deque)
    count: Count = field(default_factory=Count)
    sent: dict[int, int] = field(default_factory=lambda: {SHORT: 0, LONG: 0})
    loss: dict[int, float] = field(default_factory=lambda: {SHORT: 0.0, LONG: 0.0})
    drops: int = 0
    overlimits: int = 0

    def __post_init__(self) -> None:
        """Start with empty, idle queues."""
        self.random = SeededRandom(self.options.seed)
        self.random.u32()  # the salt of the flow table
        self._begin()

    def _begin(self) -> None:
        o = self.options
        self.avg = 0.0
        self.max_p = min(max(o.probability, 0.01), 0.5) if o.adaptive else o.probability
        self.since_drop = 0
        self.draw = 0.0
        self.idle_since: int | None = self.start
        self.idle_owed = 0  # ns of idle time that the average does not yet include
        self.next_tick = self.start + HALF_SECOND
        self.next_move = self.start + HALF_SECOND
        self.min2, self.max2 = o.min2, o.max2
        self.credit = Fraction(0)
        self.table: list[Flow] = []

    def reset(self, now: int) -> None:
        """Start again, as when the device goes down. Counters and random numbers stay."""
        self.start = now
        self.short.clear()
        self.long.clear()
        self.loss = {SHORT: 0.0, LONG: 0.0}
        self._begin()

    # Section III-B: classification

    def classify(self, p: Packet, now: int) -> int:
        """Return SHORT or LONG."""
        o = self.options
        if p.chosen in (SHORT, LONG):
            return p.chosen
        if p.flow is None:
            return SHORT
        flow = self._see(p, now)
        if not flow.long and flow.packets > o.packets:
            old = now - flow.first
            if o.age and abs(old - o.age) < SLACK:
                raise AmbiguousTraceError("a flow is too close to its maximum age")
            if old >= o.age:
                flow.long = True
                self.count.long += 1
        return LONG if flow.long else SHORT

    def _see(self, p: Packet, now: int) -> Flow:
        """Return the flow of a packet. The table is one set here, ordered by last packet."""
        tau = self.options.tau

        def dead(flow: Flow) -> bool:
            if abs(now - flow.last - tau) < SLACK:
                raise AmbiguousTraceError("a flow nearly forgotten")
            return now - flow.last > tau

        flow = next((flow for flow in self.table if flow.flow == p.flow), None)
        if flow:
            self.table.remove(flow)
        elif len(self.table) == self.options.flows:
            self.count.evicted += not dead(self.table.pop(0))
        if not flow or dead(flow):
            flow = Flow(p.flow, 0, now, now)
            self.count.new += 1
        self.table.append(flow)
        flow.packets += p.segments
        flow.last = now
        return flow

    # Queue 2: Adaptive RED

    def _average(self, now: int) -> None:
        """Update the average. Idle time counts as samples of 0, one per packet time."""
        o = self.options
        weight = q32(o.weight) / 2**32
        if self.idle_since is None:
            self.avg += weight * (self.length(LONG) - self.avg)
            return
        ptime = o.avpkt * 10**9 // o.bandwidth
        self.idle_owed += now - self.idle_since
        self.idle_since = now
        m = whole_periods(self.idle_owed, ptime, IDLE_SLACK)
        self.avg *= (1 - weight) ** m
        self.idle_owed -= m * ptime
        if self.avg < 2**-32:
            # The average is 0, so idle time does not count until there is another one.
            self.avg, self.idle_owed = 0.0, 0

    def reported(self, since: int, until: int) -> tuple[float, float]:
        """Return the minimum and maximum of the average between two times. It decays if idle."""
        if self.idle_since is None:
            return self.avg, self.avg
        ptime = self.options.avpkt * 10**9 // self.options.bandwidth
        left = 1 - q32(self.options.weight) / 2**32
        owed = self.idle_owed - self.idle_since
        latest, earliest = (
            self.avg * left ** max(0, (owed + when) // ptime)
            for when in (until + IDLE_SLACK, since - IDLE_SLACK)
        )
        return latest, earliest

    def _adapt(self, now: int) -> None:
        """Adapt max_p every half second (Floyd, Gummadi and Shenker 2001, section 4, figure 1)."""
        if now < self.next_tick - SLACK:
            return
        ticks = whole_periods(now - self.next_tick, HALF_SECOND, SLACK) + 1
        self.next_tick += ticks * HALF_SECOND
        if not self.options.adaptive:
            return
        d = self.max2 - self.min2
        for _ in range(min(ticks, 1000)):
            if self.avg > self.min2 + 0.6 * d and self.max_p < 0.5:
                self.max_p = min(0.5, self.max_p + min(0.01, self.max_p / 4))
                self.count.raised += 1
            elif self.avg < self.min2 + 0.4 * d and self.max_p > 0.01 + 1e-9:
                self.max_p = max(0.01, self.max_p * 0.9)
                self.count.lowered += 1

    def _move(self, now: int) -> None:
        """Move the thresholds (section V)."""
        o = self.options
        if not o.dynamic or now < self.next_move - SLACK:
            return
        if abs(now - self.next_move) < SLACK:
            raise AmbiguousTraceError("thresholds nearly due")
        self.next_move = now + HALF_SECOND
        step = max(1, self.min2 * q32(o.gamma) >> 32)
        if self.loss[LONG] > o.high:
            room = max(o.max2, o.limit - o.max1) - self.max2
            self.count.at_ceiling += 0 < room < step
            step = min(step, room)
            self.count.min2_raised += step > 0
        elif self.loss[LONG] < o.low:
            room = self.min2 - min(o.avpkt, o.min2)
            self.count.at_floor += 0 < room < step
            step = -min(step, room)
            self.count.min2_lowered += step < 0
        else:
            return
        self.min2 += step
        self.max2 += step

    def probability(self) -> float:
        """Return p_b of gentle RED."""
        if self.avg < self.min2:
            return 0
        if self.avg < self.max2:
            return self.max_p * (self.avg - self.min2) / (self.max2 - self.min2)
        if self.avg < 2 * self.max2:
            return self.max_p + (1 - self.max_p) * (self.avg - self.max2) / self.max2
        return 1

    def _red(self, now: int) -> str:
        """Return RED's decision: "", "early" or "forced"."""
        self._move(now)
        self._average(now)
        self._adapt(now)
        p = self.probability()
        if self.avg < self.min2:
            self.since_drop = 0
            return ""
        if p >= 1:
            self.since_drop = 0
            return "forced"
        if self.since_drop == 0:
            self.draw = self.random.u32() / 2**32
        self.since_drop += 1
        if self.since_drop * p <= 1 + self.draw:
            return ""
        self.since_drop = 0
        self.count.gentle += self.avg >= self.max2
        return "early"

    # The shared buffer

    def length(self, queue: int) -> int:
        """Return the bytes in a queue."""
        return sum(map(BYTES, self.short if queue == SHORT else self.long))

    @property
    def backlog(self) -> int:
        """Return the bytes in both queues."""
        return self.length(SHORT) + self.length(LONG)

    def _fold_loss(self, queue: int, lost: bool) -> None:
        self.loss[queue] += LOSS_WEIGHT * (lost - self.loss[queue])

    def enqueue(self, p: Packet, now: int) -> str:
        """Process an arrival. Returns "queued", "overflow", "early" or "forced"."""
        o, c = self.options, self.count
        queue = self.classify(p, now)
        verdict = self._red(now) if queue == LONG else ""
        if self.backlog and self.backlog + p.size > o.limit:
            if queue == SHORT:
                c.overflow_short += 1
            else:
                c.overflow_long += 1
            return self._lose(queue, "overflow")
        if verdict:
            self.overlimits += 1
            if o.ecn and p.ect and not (verdict == "forced" and o.harddrop):
                p.marked = True
                if verdict == "early":
                    c.early_mark += 1
                else:
                    c.forced_mark += 1
            elif o.nodrop and not (verdict == "forced" and o.harddrop):
                c.spared += 1
            elif verdict == "early":
                c.early_drop += 1
                return self._lose(queue, verdict)
            else:
                c.forced_drop += 1
                return self._lose(queue, verdict)
        self._fold_loss(queue, p.marked)
        if queue == LONG:
            self.idle_since = None
        (self.short if queue == SHORT else self.long).append(p)
        return "queued"

    def _lose(self, queue: int, how: str) -> str:
        self._fold_loss(queue, True)
        self.drops += 1
        return how

    # Section III-B: service

    @property
    def share_min(self) -> Fraction:
        """Return C1min / C in Q0.32."""
        o = self.options
        if o.share_min is None:
            return Fraction(min((o.min1 << 32) // o.max1, q32(o.share_max)), 2**32)
        return Fraction(q32(o.share_min), 2**32)

    def share(self) -> Fraction:
        """Return C1 / C in Q0.32."""
        o, q1 = self.options, self.length(SHORT)
        if q1 == 0:
            return Fraction(0)
        if q1 <= o.min1:
            return self.share_min
        if q1 >= o.max1:
            return Fraction(q32(o.share_max), 2**32)
        law = Fraction(q1 * (2**62 // o.max1) >> 30, 2**32)  # q1 / max1, up to 2^-31 less
        return max(self.share_min, min(law, Fraction(q32(o.share_max), 2**32)))

    def dequeue(self, now: int) -> Packet | None:
        """Serve the short queue unless it is ahead of its share."""
        if not self.short and not self.long:
            return None
        if not self.long:
            queue, size = SHORT, self.short[0].size
            self.credit = max(Fraction(0), self.credit - size)
        elif not self.short:
            queue, size = LONG, self.long[0].size
            self.credit = min(Fraction(0), self.credit + self.share_min * size)
        else:
            queue = SHORT if self.credit >= 0 else LONG
            size = (self.short if queue == SHORT else self.long)[0].size
            self.credit += self.share() * size - (size if queue == SHORT else 0)
        p = self._take(queue, now)
        self.sent[queue] += size
        if not self.short and not self.long:
            self.credit = Fraction(0)
        return p

    def _take(self, queue: int, now: int) -> Packet:
        p = (self.short if queue == SHORT else self.long).popleft()
        if queue == LONG and not self.long:
            self.idle_since = now
        return p

    # change

    def change(self, new: Options, now: int) -> None:
        """Set new options. Queued packets that still fit, and measurements, stay.

        Past half seconds and past idle time count with the old options.
        """
        if not self.long:
            self._average(now)
        self._adapt(now)
        old, self.options = self.options, new
        if new.probability != old.probability or not new.adaptive:
            self.max_p = new.probability
        if new.adaptive:
            self.max_p = min(max(self.max_p, 0.01), 0.5)
        if not new.dynamic or (new.min2, new.max2) != (old.min2, old.max2):
            self.min2, self.max2 = new.min2, new.max2
        if (new.flows, new.key, new.seed) != (old.flows, old.key, old.seed):
            self.table = []
        if new.seed != old.seed:
            self.random = SeededRandom(new.seed)
            self.random.u32()
        while self.backlog > new.limit:
            self._take(LONG if self.long else SHORT, now)
            self.count.drop_change += 1
            self.drops += 1
