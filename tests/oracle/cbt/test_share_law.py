# SPDX-License-Identifier: GPL-2.0
"""Shares of cbt's classes: if all classes are saturated, each gets its configured share of bytes.

Traffic is open-loop, and a packet leaves whenever the link has had the time to send it. UDP offers
a multiple of the link. TCP offers 15 % more than its share, as senders do that react to losses. If
a class is silent, the others use the whole link. And as section 1 of the paper promises, tagged
traffic does not depend on the level of TCP traffic.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from tests.oracle.cbt.model import CLASSES, OTHER, TAGGED, TCP
from tests.userspace import World

RATE = 1_250_000  # bytes per second
FIELDS = {TCP: "proto=tcp", TAGGED: "tos=0xb8", OTHER: ""}
TOLERANCE = 0.10


@dataclass(frozen=True)
class Setting:
    """Shares, mean sizes (bytes) in the order of CLASSES, and UDP's load (1 is the link)."""

    name: str
    shares: tuple[float, float, float]
    sizes: tuple[int, int, int]
    udp: tuple[float, float] = (1.5, 1.5)
    tcp_over_share: float = 1.15
    silent: str = ""
    latency_ms: int = 100
    spread: bool = False  # sizes from 0.5 to 1.5 of the mean
    red: str = "tcp"
    victim: str = "arrival"
    seed: int = 1
    seconds: float = 11.0
    warm_up: float = 1.0

    def options(self) -> str:
        shares = " ".join(f"share_{c} {b}" for c, b in zip(CLASSES, self.shares, strict=True))
        sizes = " ".join(f"packet_{c} {p}" for c, p in zip(CLASSES, self.sizes, strict=True))
        return (
            f"bandwidth 10mbit latency {self.latency_ms}ms {shares} {sizes} "
            f"dscp 46 red {self.red} victim {self.victim} seed {self.seed}"
        )

    def schedule(self) -> list[tuple[float, str, int]]:
        """Return (time in s, class, bytes) of all arrivals in order. They are Poisson."""
        rng = random.Random(self.seed)
        arrivals = []
        offered = (self.tcp_over_share * self.shares[0], *self.udp)
        for kind, size, links in zip(CLASSES, self.sizes, offered, strict=True):
            now = 0.0
            while (
                kind != self.silent
                and (now := now + rng.expovariate(links * RATE / size)) < self.seconds
            ):
                length = rng.randint(size // 2, size + size // 2) if self.spread else size
                arrivals.append((now, kind, min(length, 1514)))
        return sorted(arrivals)

    @property
    def gap(self) -> float:
        """Return the time between departures, s: that of a mean packet at the configured shares.

        The pacing of the link does not matter, because a share of a FIFO's packets is a share of
        its departures. Only the ratio of arrivals to departures matters.
        """
        return 1 / (RATE * sum(b / p for b, p in zip(self.shares, self.sizes, strict=True)))


SETTINGS = [
    Setting("the worked example", (0.75, 0.15, 0.10), (1500, 800, 1000)),
    Setting("equal shares and sizes", (1 / 3, 1 / 3, 1 / 3), (1000, 1000, 1000)),
    Setting("mostly tagged", (0.30, 0.60, 0.10), (1500, 200, 1000), udp=(2, 3)),
    Setting("little for UDP", (0.90, 0.05, 0.05), (1500, 500, 1400), latency_ms=200),
    Setting("a fierce blast", (0.70, 0.20, 0.10), (1500, 1000, 1000), udp=(1, 6)),
    Setting("low latency", (0.60, 0.20, 0.20), (1000, 400, 600), latency_ms=40),
    Setting("sizes that vary", (0.60, 0.25, 0.15), (1000, 400, 800), spread=True),
    Setting("half for other UDP", (0.25, 0.25, 0.50), (1200, 600, 300), udp=(1, 3)),
]


def shares_of(setting: Setting) -> dict[str, float]:
    """Return each class's share of the bytes that left after the warm-up."""
    packets: list[tuple[str, int]] = []
    out = dict.fromkeys(CLASSES, 0)
    idle = 0
    gap = due = setting.gap
    with World("cbt", setting.options()) as w:
        for now, kind, size in setting.schedule():
            while due <= now:
                w.advance(round(gap * 1e9))
                sent = w.dequeue(1)
                if due > setting.warm_up:
                    idle += not sent
                    for number, _ in sent:
                        left, length = packets[number]
                        out[left] += length
                due += gap
            packets.append((kind, size))
            w.do(f"e len={size} {FIELDS[kind]}")
        assert not idle, "the link was idle although packets were queued"
        classes = w.classes()
    assert sum(st.bytes for st in classes.values()) >= sum(out.values())
    total = sum(out.values())
    return {kind: sent / total for kind, sent in out.items()}


def off(setting: Setting, got: dict[str, float]) -> float:
    """Return the largest difference between a class's share and its configured share."""
    asked = zip(CLASSES, setting.shares, strict=True)
    return max((got[kind] / share - 1 for kind, share in asked), key=abs)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.extra) for seed in range(2, 6))]
)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_saturated_class_gets_its_share(setting: Setting, seed: int) -> None:
    got = shares_of(replace(setting, seed=seed))
    print(setting.name, "seed", seed, got)
    assert abs(off(setting, got)) < TOLERANCE


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_random_victims_keep_the_shares_if_tcp_reacts_to_losses(setting: Setting) -> None:
    got = shares_of(replace(setting, victim="random"))
    print(setting.name, got)
    assert abs(off(setting, got)) < TOLERANCE


@pytest.mark.parametrize("silent", CLASSES)
def test_other_classes_use_the_share_of_a_silent_class(silent: str) -> None:
    asked = {TCP: 0.6, TAGGED: 0.2, OTHER: 0.2}
    setting = Setting(
        "lending",
        tuple(asked.values()),
        (1000, 1000, 1000),
        tcp_over_share=3.0,
        silent=silent,
        seconds=5,
    )
    got = shares_of(setting)
    rest = {kind: share for kind, share in asked.items() if kind != silent}
    print(got)
    for kind, share in rest.items():
        assert got[kind] == pytest.approx(share / sum(rest.values()), rel=TOLERANCE)


@pytest.mark.parametrize(("links", "kept"), [(1.5, 0.9), (4.0, 0.75)], ids=lambda n: str(n))
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_tagged_traffic_keeps_its_rate_beside_deaf_tcp(
    setting: Setting, links: float, kept: float
) -> None:
    """Section 1: "independent of the level of TCP traffic", within the bounds of tc-cbt(8).

    TCP's max is a tenth above its share. If TCP offers four times the link, RED's average with the
    paper's weight lags behind the oscillating queue.
    """
    got = shares_of(replace(setting, tcp_over_share=links / setting.shares[0], seconds=6))
    print(setting.name, got)
    assert got[TAGGED] > kept * setting.shares[CLASSES.index(TAGGED)]


def test_random_victims_let_deaf_tcp_take_the_others_share() -> None:
    """Each TCP arrival above max may replace a UDP packet, and UDP refills to its thresholds.

    So TCP's queue grows until its departures equal the arrivals that replace UDP. Then
    TCP / UDP in the queue = TCP offered / link. See tc-cbt(8).
    """
    setting = Setting(
        "deaf",
        (1 / 3, 1 / 3, 1 / 3),
        (1000, 1000, 1000),
        tcp_over_share=4.5,
        victim="random",
        seconds=5,
    )
    got = shares_of(setting)
    print(got)
    assert got[TCP] == pytest.approx(1.5 / 2.5, rel=TOLERANCE)
