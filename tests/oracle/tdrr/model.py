# SPDX-License-Identifier: GPL-2.0
"""Model of Throughput DRR (Kantawala and Turner 2001, section 2), in floating point.

It follows the paper and the man page. It finds the highest throughput by looking at every queue,
and lets every average decay by exp().
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from tests.oracle.fair_queueing import Packet, SharedBuffer

# The kernel may choose any queue with a throughput this close to the highest, an eighth octave.
CLOSE = 2 ** (1 / 8)
# The weight of a byte may be this much too low: it is up to 1/1024 of a half-life old.
LAG = 2 ** (1 / 1024)
# The kernel may take a throughput for less than half of the highest from 8/17 of it on.
SURELY_LOW, SURELY_HIGH = 8 / 17 / LAG, LAG / 2
# Below this throughput, in byte/s, a queue counts as idle. The kernel's bound is 2^-24 at the start
# of a half-life, so between 2^-24 and 2^-23 it may decide either way.
NOTHING = 2**-23


# target: the times of the man page, s, and the part of a sample that counts.
INTERVAL = 0.1
# A sample of the rate: seconds, or bytes, but at least so many seconds and departures.
SAMPLE, SAMPLE_BYTES, SHORTEST, SAMPLE_PACKETS = 0.01, 400_000, 0.00025, 8
# The longest a sample must be when samples jump to and fro, s, and the departures of a short one.
LONGEST, FEW = 0.5, 3
# The clock is read about once in so many seconds, and at least every so many departures.
LOOK, SPACING = 0.001, 64
EXACT = 1e-12  # of times, s
# The kernel's times of signals are exact to this.
ROUNDED = 4e-6


class Refusal(AssertionError):
    """The kernel discarded from a queue whose throughput is not the highest."""


@dataclass
class Delay:
    """The estimated delay, and when a sender gets a signal because it is above ``target`` (s).

    least: backlog that is never too long, bytes
    rate, last: the rate, and the last sample, byte/s
    since, sent, packets: of the sample that has begun: its time, and what left since then
    span, falls: how long a sample must be, s, and whether the last jump of samples was downwards
    burst: the last sample of a queue that ran empty, if it was far above the rate, byte/s
    emptied: the buffer was empty since the last look at the clock
    seen: what had left at the last look since the sample began: bytes and packets
    looked, spacing, wait: time of this look, departures between looks, and departures to come
    next: when the next signal is due, or None if the delay is not too long
    """

    target: float
    least: int
    rate: float | None = None
    last: float = 0.0
    since: float = 0.0
    sent: int = 0
    packets: int = 0
    span: float = SAMPLE
    falls: bool = False
    burst: float = 0.0
    emptied: bool = True
    seen: tuple[int, int] = (0, 0)
    looked: float = 0.0
    spacing: int = 0
    wait: int = 0
    next: float | None = None

    def departure(self, size: int, now: float, waiting: bool) -> None:
        """Measure the rate. ``waiting``: packets are still queued."""
        self.sent += size
        self.packets += 1
        self.emptied |= not waiting
        if self.wait:
            self.wait -= 1
            return
        gap = now - self.looked
        # A departure that leaves the buffer empty is known by itself only if each one is looked at.
        known = (self.sent, self.packets, now)
        if self.emptied and self.spacing > 1:
            known = (*self.seen, self.looked)
        first = not self.spacing
        if first:
            self.spacing = 1
        elif gap > LOOK + EXACT:
            self.spacing = max(self.spacing // 2, 1)
        elif gap < LOOK / 4 - EXACT:
            self.spacing = min(2 * self.spacing, SPACING)
        self.looked, self.wait = now, self.spacing - 1
        self.seen = (self.sent, self.packets)
        if self.emptied:
            if not first:
                self.ran_empty(*known)
        elif not self.sampled(now):
            return
        self.since, self.sent, self.packets, self.seen = now, 0, 0, (0, 0)
        self.emptied = not waiting

    def sampled(self, now: float) -> bool:
        """Take a sample of a busy buffer, and return whether it is long enough."""
        busy = now - self.since + EXACT
        if self.packets < SAMPLE_PACKETS or busy < SHORTEST:
            return False
        if busy < self.span and (self.span > SAMPLE or self.sent < SAMPLE_BYTES):
            return False
        sample = self.sent / (now - self.since)
        if self.rate is not None and max(self.last, sample) > 2 * min(self.last, sample):
            falls = sample < self.last
            if falls != self.falls:
                self.span = min(2 * self.span, LONGEST)
            self.falls = falls
        else:
            self.span = max(7 / 8 * self.span, SAMPLE)
        before = sample if self.rate is None else self.rate
        _, self.rate, _ = sorted((before, self.last or sample, sample))
        self.last, self.burst = sample, 0.0
        return True

    def ran_empty(self, sent: int, packets: int, at: float) -> None:
        """Two short samples, far above the rate, raise it by a quarter at most."""
        busy = at - self.since + EXACT
        if self.rate is None or packets < FEW or busy < SHORTEST:
            return
        before, self.burst = self.burst, sent / (at - self.since)
        if self.burst * 5 / 8 <= self.rate:
            self.burst = 0.0
        if min(self.burst, before) > self.rate:
            self.rate = self.last = min(self.burst, before, 1.25 * self.rate)

    def is_due(self, backlog: int, queues: int, now: float) -> bool:
        """Return whether a signal is due at a departure, before it."""
        if self.rate is None or backlog <= max(self.rate * self.target, self.least):
            self.next = None
            return False
        if self.next is None:
            self.next = now + INTERVAL
            return False
        if now < self.next:
            return False
        self.next = now + INTERVAL / queues
        return True


class Tdrr(SharedBuffer):
    """The discipline. It discards from the queue with the highest throughput.

    time_constant: s
    sparse: a queue that becomes active goes first in its round if its throughput is low
    went_first: number of times that one did
    delay: the estimate for target, or None
    ecn: signals are marks, where packets allow it
    drop_cut: part of its throughput that a queue loses with its only packet
    target_drop, marked: signals that were drops, and marks
    signals: time of the last signal of each queue, s
    overdue: signals that no queue could get
    decisions: for each discard, the number of queues that the kernel may choose
    """

    def __init__(
        self,
        *,
        limit: int,
        quantum: int,
        time_constant: float,
        memory_limit: int = 1 << 32,
        sparse: bool = False,
        target: float | None = None,
        least: int = 0,
        ecn: bool = False,
        drop_cut: float = 0.0,
    ) -> None:
        super().__init__(limit=limit, quantum=quantum, memory_limit=memory_limit)
        self.time_constant = time_constant
        self.sparse = sparse
        self.went_first = 0
        self.target_drop = 0
        self.delay = Delay(target, least) if target else None
        self.ecn = ecn
        self.drop_cut = drop_cut
        self.signals: dict[int, float] = {}
        self.overdue = 0
        self.marked = 0
        self.decisions: list[int] = []
        self.last_victim: int | None = None
        self.victims = 0

    def _sent(self, number: int, now: float) -> float:
        queue = self.queues[number]
        return queue.sent * math.exp((queue.at - now) / self.time_constant)

    def throughput(self, number: int, now: float) -> float:
        """Return the throughput of a queue at time ``now`` (s), in bit/s."""
        return 8 * self._sent(number, now) / self.time_constant

    def tops(self, now: float) -> set[int]:
        """Return the active queues whose throughput is the highest or close to it."""
        sent = {number: self._sent(number, now) for number in self.active}
        if not sent:
            return set()
        most = max(sent.values())
        floor = 0 if most < NOTHING * self.time_constant else most / CLOSE
        return {number for number, value in sent.items() if value >= floor}

    def _discard(self, lost: Counter[int], now: float, cause: str) -> None:
        """Discard from the first queue in ``lost`` (the kernel's choices) that is allowed."""
        tops = self.tops(now)
        self.decisions.append(len(tops))
        chosen = next((number for number in lost if number in tops and lost[number] > 0), None)
        if chosen is None:
            raise Refusal(f"the kernel discarded from {dict(+lost)}, the highest are {tops}")
        lost[chosen] -= 1
        self.discard_front(chosen, cause)
        self._cut(chosen)
        self.victims += chosen != self.last_victim
        self.last_victim = chosen

    def _cut(self, number: int) -> None:
        """Let a drop from a queue count, if it was its only packet."""
        queue = self.queues[number]
        if not queue.packets:
            queue.sent *= 1 - self.drop_cut

    def _goes_first(self, number: int, now: float, went: bool) -> bool:
        """Return whether a queue is hastened; where both are right, ``went``, as the kernel."""
        most = max((self._sent(other, now) for other in self.active), default=0.0)
        own = self._sent(number, now)
        if self.active.get(number) or self.queues[number].account <= 0 or not self.sparse:
            return False
        if not self.active:
            return False
        if most < NOTHING * self.time_constant or SURELY_LOW <= own / most < SURELY_HIGH:
            return went
        return own < most / 2

    def enqueue(
        self, number: int, packet: Packet, now: float, lost: Counter[int], went: bool = False
    ) -> bool:
        """Enqueue a packet into queue ``number``.

        lost: packets that the kernel discarded, by queue. If several queues are allowed as victim,
            the model takes the first of them
        went: the kernel let the queue go first
        Returns whether it was queued. A packet larger than a limit is not, unless all is empty.
        """
        if self.why_full(packet) and self.is_oversize(packet):
            self.lose(packet, "oversize")
            return False
        while cause := self.why_full(packet):
            self._discard(lost, now, cause)
        if number not in self.queues:
            self.queue(number).at = now
        first = self._goes_first(number, now, went)
        self.went_first += first
        self.append(number, packet, first)
        return True

    def change(
        self,
        now: float,
        lost: Counter[int],
        *,
        limit: int | None = None,
        memory_limit: int | None = None,
        time_constant: float | None = None,
    ) -> None:
        """Set new parameters, and discard until they hold. All throughputs stay."""
        if time_constant:
            for number, queue in self.queues.items():
                sent = self._sent(number, now)
                queue.sent, queue.at = sent * time_constant / self.time_constant, now
            self.time_constant = time_constant
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        while self.segments > self.limit or self.memory > self.memory_limit:
            self._discard(lost, now, "change")

    def _signal(self, now: float, got: int | None) -> None:
        """Give queue ``got`` a signal, the kernel's choice, or none if it chose none."""
        tops = self.tops(now)
        ages = {number: now - self.signals[number] for number in tops & self.signals.keys()}
        if got is None:
            if not any(age < INTERVAL for age in ages.values()):
                raise Refusal(f"no queue got a signal, the highest are {tops}")
            self.overdue += 1
            return
        if got not in tops or ages.get(got, INTERVAL) < INTERVAL - ROUNDED:
            raise Refusal(f"queue {got} got a signal, the highest are {tops}, ages {ages}")
        self.signals[got] = now
        queue = self.queues[got]
        if self.ecn and queue.packets[0].ect:
            queue.packets[0] = queue.packets[0]._replace(ce=True)
            self.marked += 1
        else:
            self.dropped_bytes += queue.packets.popleft().size
            queue.dropped += 1
            self._cut(got)
            self.target_drop += 1

    def dequeue(self, now: float, got: int | None = None) -> Packet | None:
        """Return the packet that leaves, or None. ``got``: the queue that got a signal, or None."""
        if self.delay:
            backlog = sum(queue.length for queue in self.active.values())
            due = self.delay.is_due(backlog, len(self.active), now)
            if due and self.qlen > 1:
                self._signal(now, got)
            elif got is not None:
                raise Refusal(f"queue {got} got a signal that was not due")
        left = self.send()
        if not left:
            return None
        number, packet = left
        queue = self.queues[number]
        queue.sent, queue.at = self._sent(number, now) + packet.size, now
        if self.delay:
            self.delay.departure(packet.size, now, bool(self.active))
        return packet

    def reset(self) -> None:
        """Drop all packets without counting them, and reset all throughputs."""
        super().reset()
        for queue in self.queues.values():
            queue.sent = 0
        if self.delay:
            self.delay.emptied, self.delay.next = True, None
        self.last_victim = None
