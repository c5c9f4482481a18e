# SPDX-License-Identifier: GPL-2.0
"""What a law alone leaves of a link: N flows that add a packet a round trip, and halve at a mark.

    build/venv/bin/python papers/wang2001/aimd.py

prints the figures that the reasons of wang2001's W24, W26 and W33 give. There is no slow start, no
timeout and no packet: windows, rates and the queue are real numbers that go on by STEP, and only
marks are drawn. A flow hears of a mark a round trip later, and then does not halve again for one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

STEP = 0.002  # s
PACKET = 12_000  # bits
RTTS = (0.06, 0.14)  # s, evenly spread, as in the thesis


class Law(Protocol):
    """How many of the arrivals an average queue has marked."""

    lag: float  # s, of the average

    def part(self, avg: float, now: float) -> float:
        """Part of the arrivals, 0 to 1; ``avg`` in packets, ``now`` in s."""


@dataclass
class TailDrop:
    """No marks: what does not fit is lost."""

    lag: float = 1.0

    def part(self, avg: float, now: float) -> float:
        """None."""
        return 0.0


def gentle(avg: float, least: float, most: float, max_p: float) -> float:
    """RED's part, from 0 at ``least`` to ``max_p`` at ``most`` packets and on to 1 at twice that.

    Marks are spaced evenly over 1/p to 2/p arrivals, so that there are 1/1.5 as many.
    """
    if avg < least:
        return 0.0
    if avg < most:
        p = max_p * (avg - least) / (most - least)
    else:
        p = min(1.0, max_p + (1 - max_p) * (avg - most) / most)
    return p / 1.5 if p < 0.5 else p


@dataclass
class AdaptiveRed:
    """Adaptive RED (Floyd, Gummadi, Shenker 2001): min is 2.5 ms of the link, max thrice that."""

    rate: float  # packets a second
    lag: float = 1.0
    max_p: float = 0.05
    again: float = 0.5

    def part(self, avg: float, now: float) -> float:
        """RED's, after max_p has moved if half a second has passed."""
        least = 0.005 * self.rate / 2
        width = 2 * least
        if now >= self.again:
            self.again += 0.5
            if avg > least + 0.6 * width and self.max_p < 0.5:
                self.max_p += min(0.01, self.max_p / 4)
            elif avg < least + 0.4 * width and self.max_p > 0.01:
                self.max_p = max(0.01, self.max_p * 0.9)
        return gentle(avg, least, least + width, self.max_p)


@dataclass
class FlowProportional:
    """FPQ-RED (Morris 1999; the thesis' equations 3.4 and 3.5) that knows the number of flows."""

    rate: float  # packets a second
    flows: int
    lag: float = 1.0
    times: float = 1.0  # its Pmax

    def part(self, avg: float, now: float) -> float:
        """RED's from 5 packets to twice the target."""
        pipe = 0.1 * self.rate
        target = max(pipe / (2 * self.flows - 1), 6 * self.flows)
        loss = min((0.87 / ((target + pipe) / self.flows + 1)) ** 2, 0.021)
        return gentle(avg, 5, 2 * target, self.times * loss)


def used(
    law: Law,
    flows: int,
    rate: float,
    limit: float,
    *,
    rtts: tuple[float, float] = RTTS,
    warmup: float = 20,
    duration: float = 40,
    seed: int = 1,
) -> float:
    """Part of the link that is used in ``duration`` after ``warmup``, s.

    ``rate`` in packets a second, ``limit`` of the queue in packets; ``rtts`` are the least and the
    greatest round trip without the queue, s.
    """
    rng = np.random.default_rng(seed)
    base = np.linspace(rtts[0], rtts[1], flows)
    window = rate * base.mean() / flows * rng.uniform(2 / 3, 4 / 3, flows)
    deaf_until = np.zeros(flows)
    heard: dict[int, list[int]] = {}
    queue = avg = served_in_all = 0.0
    fits = rate * STEP
    for step in range(round((warmup + duration) / STEP)):
        now = step * STEP
        rtt = base + queue / rate
        shares = window / rtt
        arrives = float(shares.sum()) * STEP
        # A weight of 1 / (lag rate) an arrival; while the queue is empty, as if packets left.
        avg = queue + (avg - queue) * math.exp(-(arrives if queue else fits) / (law.lag * rate))
        served = min(queue + arrives, fits)
        kept = queue + arrives - served
        queue = min(kept, limit)
        hit = rng.poisson(law.part(avg, now) * arrives) + rng.poisson(kept - queue)
        for flow in rng.choice(flows, min(hit, 5000), p=shares / shares.sum()):
            heard.setdefault(step + max(1, round(rtt[flow] / STEP)), []).append(flow)
        for flow in heard.pop(step, ()):
            if now >= deaf_until[flow]:
                window[flow] = max(1.0, window[flow] / 2)
                deaf_until[flow] = now + rtt[flow]
        window += STEP / rtt
        if now >= warmup:
            served_in_all += served
    return served_in_all / (duration * rate)


def row(title: str, laws: Sequence[tuple[int, Law]], rate: float, limit: float) -> None:
    """Print a line: flows, and the percent that are used."""
    print(title, *(f"{flows}: {100 * used(law, flows, rate, limit):.0f}" for flows, law in laws))


def main() -> None:
    """What the claims' reasons say."""
    fast, slow, many = 1e9 / PACKET, 155e6 / PACKET, (100, 300, 500, 800, 1000)
    row("W24, Adaptive RED, 1 Gb/s:", [(n, AdaptiveRed(fast)) for n in many], fast, fast / 10)
    row(
        "an average of 20 ms:",
        [(n, AdaptiveRed(fast, lag=0.02)) for n in (100, 300)],
        fast,
        fast / 10,
    )
    row("W26, FPQ-RED, 1 Gb/s:", [(n, FlowProportional(fast, n)) for n in many], fast, fast)
    for times in (2, 4, 8):
        row(
            f"{times} times its Pmax:",
            [(n, FlowProportional(fast, n, times=times)) for n in (100, 300)],
            fast,
            fast,
        )
    row(
        "W33, FPQ-RED, 155 Mb/s:",
        [(n, FlowProportional(slow, n)) for n in (5, 10, 20, 40)],
        slow,
        19_375,
    )


if __name__ == "__main__":
    main()
