# SPDX-License-Identifier: GPL-2.0
"""SFB as Ali Ahammed and Banu describe it, in plain Python, with exact fractions.

G. F. Ali Ahammed, R. Banu, "Analyzing the Performance of Active Queue Management Algorithms", 2010:
the listing of section 2.4, the parameters of 3.3.3, and the double hash and the penalty box of 4.3.
Points that the paper leaves open follow tc-sfbx(8). Lengths are in wire packets, times in integer
nanoseconds. How many packets a bin has is counted in the queue each time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.seeded_random import SeededRandom

ONE = 2**32 - 1  # probability 1 as the kernel shows it
WORD = 0xFFFFFFFF
CE = 3


@dataclass(frozen=True)
class Options:
    """Options of tc. Times are in us."""

    limit: int
    bin_size: int
    bins: int = 23
    levels: int = 2
    bin_drop: str = "all"
    increment: Fraction = Fraction(21474836, ONE)
    decrement: Fraction = Fraction(4294967, ONE)
    freeze_time: int = 1000
    box_time: int = 50_000
    box_random: int = 2**31  # of 2^32 - 1
    rehash: int = 0
    ecn: bool = False
    nodrop: bool = False
    harddrop: bool = False
    seed: int = 1


@dataclass
class Packet:
    """A queued packet. ``epoch`` is the number of the hash functions when it came."""

    number: int
    flow: int
    tos: int
    segments: int
    epoch: int


@dataclass
class Bin:
    """BLUE for the flows of a bin."""

    p: Fraction = Fraction(0)
    may_step: int = 0


def stirred(word: int, salt: int) -> int:
    """Return the hash of a word, as in include/aqm/flow_key.h."""
    word ^= word >> 16
    word = word * 0x9E3779B1 & WORD
    word ^= word >> 16
    return word * salt & WORD


@dataclass
class Sfbx:
    """The discipline. A flow is the class that a priority names."""

    o: Options
    queue: deque[Packet] = field(default_factory=deque)
    epoch: int = 0
    change_at: int = 0
    closed_until: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    # By the number of the hash functions, level and place.
    bins: dict[tuple[int, int, int], Bin] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draw the hash functions of this interval and of the next."""
        self.random = SeededRandom(self.o.seed)
        self.salts = [self.random.u32() | 1, self.random.u32() | 1]

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    @property
    def length(self) -> int:
        """Return the number of queued wire packets."""
        return sum(packet.segments for packet in self.queue)

    def places(self, flow: int, epoch: int) -> list[tuple[int, int, int]]:
        """Return the bins of a flow by the hash functions of an epoch."""
        places = []
        for level in range(self.o.levels):
            flow = stirred(flow, self.salts[epoch])
            places.append((epoch, level, flow * self.o.bins >> 32))
        return places

    def held(self, place: tuple[int, int, int]) -> int:
        """Return the number of packets of a bin."""
        epoch = place[0]
        return sum(
            packet.segments
            for packet in self.queue
            if packet.epoch in (epoch, epoch - 1) and place in self.places(packet.flow, epoch)
        )

    def at(self, place: tuple[int, int, int]) -> Bin:
        return self.bins.setdefault(place, Bin())

    def step(self, place: tuple[int, int, int], up: bool, now: int) -> None:
        """Raise or lower the probability of a bin, at most once in the freeze time."""
        one = self.at(place)
        new = one.p + self.o.increment if up else one.p - self.o.decrement
        new = min(Fraction(1), max(Fraction(0), new))
        if new != one.p and now >= one.may_step:
            one.p = new
            one.may_step = now + 1000 * self.o.freeze_time
            self.count("rises" if up else "falls")

    def rehash(self, now: int) -> None:
        """Change the hash functions as often as is due. More than two times would be the same."""
        if not self.o.rehash or now < self.change_at:
            return
        due = 1 + (now - self.change_at) // (1000 * self.o.rehash)
        self.change_at += due * 1000 * self.o.rehash
        for _ in range(min(2, due)):
            self.epoch += 1
            self.salts.append(self.random.u32() | 1)
            self.count("rehashes")
        self.bins = {place: one for place, one in self.bins.items() if place[0] >= self.epoch}

    def enqueue(self, now: int, number: int, flow: int, tos: int, segments: int = 1) -> None:
        """Process an arriving packet."""
        self.rehash(now)
        places = self.places(flow, self.epoch)
        overfull = 0
        for place in places:
            held = self.held(place)
            if held > self.o.bin_size:
                overfull += 1
                self.step(place, True, now)
            elif held == 0:
                self.step(place, False, now)
        every = overfull == self.o.levels
        p = min(self.at(place).p for place in places)
        if p == 1:  # warm up the next hash functions
            for place in self.places(flow, self.epoch + 1):
                self.step(place, True, now)
        if (every and self.o.bin_drop == "all") or (overfull and self.o.bin_drop == "any"):
            self.count("bin_drop")
            return
        signal = ""
        if p == 1:
            if not self.box_passes(now, segments):
                self.count("box_drop")
                return
        elif p > 0 and self.random.u32() < p * ONE:
            self.count("overlimits")
            markable = self.o.ecn and not (every and self.o.harddrop)
            if markable and tos & 3:
                signal, tos = "marked", tos | CE
            elif markable and self.o.nodrop:
                signal = "spared"
            else:
                self.count("early_drop")
                return
        if self.queue and self.length + segments > self.o.limit:
            self.count("drop_limit")
            return
        if signal:
            self.count(signal)
        self.queue.append(Packet(number, flow, tos, segments, self.epoch))

    def box_passes(self, now: int, segments: int) -> bool:
        """Return whether the last packet passed longer ago than a Boxtime."""
        if now <= self.closed_until:
            return False
        mean = 1000 * self.o.box_time
        part = mean * self.o.box_random // ONE
        box = mean - part
        if part:
            box += 2 * part * self.random.u32() >> 32
        self.closed_until = now + box * segments
        self.count("box_passed")
        return True

    def leave(self, now: int) -> Packet:
        """Remove the first packet. Bins that it leaves empty become less probable."""
        packet = self.queue.popleft()
        if packet.epoch in (self.epoch, self.epoch - 1):
            for place in self.places(packet.flow, self.epoch):
                if not self.held(place):
                    self.step(place, False, now)
        return packet

    def dequeue(self, now: int) -> tuple[int, int] | None:
        """Return the packet that leaves and its TOS."""
        if not self.queue:
            return None
        packet = self.leave(now)
        return packet.number, packet.tos

    def change(self, new: Options, now: int, reseed: bool) -> None:
        """Set new options and drop the oldest packets above the limit."""
        old, self.o = self.o, new
        if new.rehash != old.rehash:
            self.change_at = now + 1000 * new.rehash
        if reseed:
            self.random = SeededRandom(new.seed)
        mean = 1000 * new.box_time
        longest = mean + mean * new.box_random // ONE
        self.closed_until = min(self.closed_until, now + longest)
        if (new.bins, new.levels) != (old.bins, old.levels):
            self.bins = {}
            for packet in self.queue:
                packet.epoch = self.epoch
        for one in self.bins.values():
            one.may_step = min(one.may_step, now + 1000 * new.freeze_time)
        while self.length > new.limit and len(self.queue) > 1:
            self.leave(now)
            self.count("drop_change")

    def reset(self, now: int) -> None:
        """Drop all packets without counting them. Counters and random numbers stay."""
        self.change_at = now + 1000 * self.o.rehash
        self.queue.clear()
        self.bins = {}
        self.closed_until = 0

    def state(self) -> dict[str, int]:
        """Return the statistics that show the state of the bins."""
        first = {place: one.p for place, one in self.bins.items() if place[0] == self.epoch}
        polluted = [place for place, p in first.items() if p == 1]
        chance = ONE
        for level in range(self.o.levels):
            chance = chance * sum(place[1] == level for place in polluted) // self.o.bins
        used = {place for packet in self.queue for place in self.counted(packet)}
        return {
            "used": len(used),
            "polluted": len(polluted),
            "warmed": sum(
                one.p == 1 for place, one in self.bins.items() if place[0] == self.epoch + 1
            ),
            "highest": int(max(first.values(), default=Fraction(0)) * ONE),
            "false_alarm": chance,
        }

    def counted(self, packet: Packet) -> list[tuple[int, int, int]]:
        """Return the bins of this interval in which a queued packet counts."""
        if packet.epoch in (self.epoch, self.epoch - 1):
            return self.places(packet.flow, self.epoch)
        return []
