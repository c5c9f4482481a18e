# SPDX-License-Identifier: GPL-2.0
"""The share law: with all classes saturating, each gets the part of the bytes asked for.

Open-loop traffic through the gate, one packet leaving whenever the link has had the time to send
it. UDP offers a multiple of the link, TCP 15 % more than its share: what senders offer that heed
losses. And lending: when a class is silent the others take the whole link.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.cbt.model import CLASSES, OTHER, TAGGED, TCP
from tests.drive import Step, Trace, drive_many

RATE = 1_250_000  # bytes per second
FIELDS = {TCP: "proto=tcp", TAGGED: "tos=0xb8", OTHER: ""}
TOLERANCE = 0.10


@dataclass(frozen=True)
class Setting:
    """Shares and mean sizes (bytes) in the order of CLASSES; what UDP offers, in links."""

    name: str
    shares: tuple[float, float, float]
    sizes: tuple[int, int, int]
    udp: tuple[float, float] = (1.5, 1.5)
    tcp_over_share: float = 1.15
    silent: str = ""
    latency_ms: int = 100
    spread: bool = False  # sizes from half to one and a half of the mean
    red: str = "tcp"
    victim: str = "random"
    seed: int = 1
    seconds: float = 3.0
    warm_up: float = 1.0

    def options(self) -> str:
        shares = " ".join(f"share_{c} {b}" for c, b in zip(CLASSES, self.shares, strict=True))
        sizes = " ".join(f"packet_{c} {p}" for c, p in zip(CLASSES, self.sizes, strict=True))
        return (
            f"cbt limit 1000 bandwidth 10mbit latency {self.latency_ms}ms {shares} {sizes} "
            f"dscp 46 red {self.red} victim {self.victim} seed {self.seed}"
        )

    def schedule(self) -> list[tuple[float, str, int]]:
        """(time in s, class, bytes) of the arrivals: Poisson, in order."""
        rng = random.Random(self.seed)
        arrivals = []
        offered = (self.tcp_over_share * self.shares[0], *self.udp)
        for kind, size, links in zip(CLASSES, self.sizes, offered, strict=True):
            now = 0.0
            while (
                kind != self.silent
                and (now := now + rng.expovariate(links * RATE / size)) < self.seconds
            ):
                low, high = (size // 2, size + size // 2) if self.spread else (size, size)
                arrivals.append((now, kind, min(rng.randint(low, high), 1514)))
        return sorted(arrivals)

    def operations(self) -> list[str]:
        """Departures are spaced by the mean packet that waits, which keeps the law's terms.

        How the link is paced does not enter the law: a share of a FIFO is a share of what
        leaves it. What matters is the ratio of arrivals to departures.
        """
        mean = sum(b / p for b, p in zip(self.shares, self.sizes, strict=True))
        gap = 1 / (RATE * mean)  # s per departure, at the shares asked for
        ops, due = [], gap
        for now, kind, size in self.schedule():
            while due <= now:
                ops += [f"t {round(gap * 1e9)}", "d 1"]
                due += gap
            ops.append(f"e len={size} {FIELDS[kind]}")
        return ops


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


def shares_of(setting: Setting, ops: Sequence[str], steps: Sequence[Step]) -> dict[str, float]:
    """Part of the bytes that left after the warm-up, by class."""
    kind_of, size_of = {}, {}
    names = {fields: kind for kind, fields in FIELDS.items()}
    packet = 0
    out = dict.fromkeys(CLASSES, 0)
    departures = sum(op.startswith("d") for op in ops)
    skip, seen = departures * setting.warm_up / setting.seconds, 0
    for op, step in zip(ops, steps, strict=True):
        if op.startswith("t"):
            continue
        if op.startswith("e"):
            _, length, *fields = op.split()
            kind_of[packet], size_of[packet] = names[" ".join(fields)], int(length[4:])
            packet += 1
            continue
        seen += 1
        if seen > skip:
            for number, _ in step.out:
                out[kind_of[number]] += size_of[number]
    total = sum(out.values())
    return {kind: sent / total for kind, sent in out.items()}


def test_every_class_gets_its_share_when_all_saturate() -> None:
    ops = [setting.operations() for setting in SETTINGS]
    runs = drive_many([Trace(s.options(), o) for s, o in zip(SETTINGS, ops, strict=True)])
    off = []
    for setting, o, steps in zip(SETTINGS, ops, runs, strict=True):
        got = shares_of(setting, o, steps)
        worst = max(abs(got[k] / b - 1) for k, b in zip(CLASSES, setting.shares, strict=True))
        asked = dict(zip(CLASSES, setting.shares, strict=True))
        print(
            f"{setting.name}: " + ", ".join(f"{k} {got[k]:.3f} of {asked[k]:.3f}" for k in CLASSES)
        )
        if worst > TOLERANCE:
            off.append((setting.name, got))
    assert not off


@pytest.mark.parametrize("silent", CLASSES)
def test_the_others_take_what_a_silent_class_leaves(silent: str) -> None:
    asked = {TCP: 0.6, TAGGED: 0.2, OTHER: 0.2}
    setting = Setting(
        "lending",
        tuple(asked.values()),
        (1000, 1000, 1000),
        tcp_over_share=3.0,
        silent=silent,
    )
    ops = setting.operations()
    steps = drive_many([Trace(setting.options(), ops)])[0]
    got = shares_of(setting, ops, steps)
    rest = {kind: share for kind, share in asked.items() if kind != silent}
    print(got)
    for kind, share in rest.items():
        assert got[kind] == pytest.approx(share / sum(rest.values()), rel=TOLERANCE)
    departures = [s for op, s in zip(ops, steps, strict=True) if op == "d 1"]
    late = departures[len(departures) // 10 :]
    assert all(step.out for step in late), "the link stood idle with packets on offer"


def test_deaf_tcp_gets_more_which_is_the_limit_of_the_rule() -> None:
    """RED's random victims are of all classes: each TCP arrival above max ousts UDP as well.

    UDP fills up again to its thresholds, so TCP grows until as many of its packets leave as
    arrive in place of UDP's: TCP / UDP in the queue = TCP offered / link. See tc-cbt(8).
    """
    setting = Setting(
        "deaf", (1 / 3, 1 / 3, 1 / 3), (1000, 1000, 1000), tcp_over_share=4.5, warm_up=1.5
    )
    ops = setting.operations()
    got = shares_of(setting, ops, drive_many([Trace(setting.options(), ops)])[0])
    assert got[TCP] == pytest.approx(1.5 / 2.5, rel=TOLERANCE)


def test_the_law_holds_for_deaf_tcp_too_where_the_arrival_is_the_victim() -> None:
    for shares in ((1 / 3, 1 / 3, 1 / 3), (0.25, 0.25, 0.5)):
        setting = Setting(
            "deaf", shares, (1000, 1000, 1000), tcp_over_share=4.5, warm_up=1.5, victim="arrival"
        )
        ops = setting.operations()
        got = shares_of(setting, ops, drive_many([Trace(setting.options(), ops)])[0])
        print(got)
        for kind, share in zip(CLASSES, shares, strict=True):
            assert got[kind] == pytest.approx(share, rel=TOLERANCE)
