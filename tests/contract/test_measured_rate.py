# SPDX-License-Identifier: GPL-2.0
"""A rate that nobody tells: the departures of a busy queue give it."""

from __future__ import annotations

import pytest

from aqmlab.qdiscs.metadata import all_metadata
from tests.userspace import World

KINDS = tuple(all_metadata())
LEN = 1514  # bytes
SLOW, FAST = 2_500_000, 25_000_000  # bytes/s: 20 and 200 Mb/s
every_kind = pytest.mark.parametrize("kind", KINDS)


def busy(w: World, rate: int, packets: int) -> None:
    """Let packets leave at a rate in bytes/s, while new ones arrive."""
    w.do("o 1")
    gap = LEN * 1_000_000_000 // rate
    for i in range(packets):
        w.enqueue(flow=i % 4, proto="tcp", len=LEN, hash=1)
        if w.stats().qlen < 4:
            w.enqueue(flow=i % 4, proto="tcp", len=LEN, hash=1)
        w.do(f"t {gap}")
        w.dequeue()


def near(value: int, want: int) -> bool:
    """Return whether a value is right to an eighth, within which a rate need not be followed."""
    return abs(value - want) <= want / 8


@every_kind
def test_busy_queue_measures_its_rate_and_follows_it(kind: str) -> None:
    with World(kind, "") as w:
        busy(w, SLOW, 100)
        now = w.named()
        assert now["bandwidth_source"] == "measured"
        assert near(now["bandwidth"], SLOW)
        with World(kind, f"bandwidth {8 * now['bandwidth']}bit") as right:
            assert now["limit"] == right.named()["limit"]
            assert now["memory_limit"] == right.named()["memory_limit"]
        busy(w, FAST, 1000)
        assert near(w.named()["bandwidth"], FAST)
        busy(w, SLOW, 300)
        assert near(w.named()["bandwidth"], SLOW)
        assert w.given() == {}
        assert "bandwidth" in w.options()["derived"]
        assert "assumed" not in w.options()


@every_kind
@pytest.mark.parametrize("burst", [2, 3, 9, 16, 40])
def test_time_without_packets_does_not_count(kind: str, burst: int) -> None:
    """Bursts at the rate of the link, and 20 ms without a packet between two of them."""
    with World(kind, "") as w:
        w.do("o 1")
        for _ in range(60):
            for i in range(burst):
                w.enqueue(flow=i % 4, proto="tcp", len=LEN, hash=1)
            for _ in range(burst):
                w.dequeue()
                w.do(f"t {LEN * 1_000_000_000 // FAST}")
            w.do("t 20000000")
        assert w.named()["bandwidth"] >= FAST * 7 // 8


def overload(w: World, rate: int, seconds: float) -> float:
    """Offer a sixteenth more than a link can send. Return which share of it was used, 0..1."""
    gap, slots, sent = LEN * 1_000_000_000 // rate, int(seconds * rate / LEN), 0
    for i in range(slots):
        for _ in range(2 if i % 16 == 0 else 1):
            w.enqueue(flow=i % 4, proto="tcp", len=LEN, hash=1)
        w.do(f"t {gap}")
        sent += bool(w.dequeue())
    return sent / slots


@every_kind
def test_link_that_becomes_slower_stays_as_busy(kind: str) -> None:
    """A long queue fills averages, which must not drop all arrivals when the link is slower."""
    with World(kind, "") as w:
        w.do("o 1")
        overload(w, FAST, 1)
        before, after = overload(w, FAST, 0.5), overload(w, SLOW, 2)
        assert after >= 0.97 * before


@every_kind
def test_given_rate_wins_over_a_measured_one(kind: str) -> None:
    with World(kind, "") as w:
        busy(w, SLOW, 100)
        w.change("bandwidth 1gbit")
        busy(w, SLOW, 100)
        assert w.named()["bandwidth"] == 125_000_000
        assert w.named()["bandwidth_source"] == "given"
        w.change("bandwidth auto")
        busy(w, SLOW, 100)
        assert w.named()["bandwidth_source"] == "measured"
        assert near(w.named()["bandwidth"], SLOW)


@every_kind
def test_new_speed_of_the_device_replaces_a_measured_rate(kind: str) -> None:
    with World(kind, "") as w:
        w.do("l 1000")
        busy(w, SLOW, 100)
        w.do("l 1000")  # the link went down and came up: nothing new
        assert w.named()["bandwidth_source"] == "measured"
        w.do("l 100")
        assert w.named()["bandwidth_source"] == "device"
        assert w.named()["bandwidth"] == 12_500_000


@every_kind
def test_device_without_hardware_is_not_asked(kind: str) -> None:
    """The stand-in device objects to being asked without hardware, and in an MTU event."""
    with World(kind, "") as w:
        w.do("c 0")
        w.do("l 10000")
        w.do("m 1400")
        assert w.named()["bandwidth_source"] == "assumed"
        assert w.named()["bandwidth"] == 125_000_000
        w.do("c 1")
        w.do("l 100")
        w.do("m 9000")
        assert w.named()["bandwidth"] == 12_500_000


def test_limit_that_is_given_needs_no_rate() -> None:
    with World("tdrr", "limit 50") as w:
        busy(w, SLOW, 100)
        assert w.named()["bandwidth_source"] == "none"
        assert w.named()["limit"] == 50


@every_kind
def test_link_that_serves_in_bursts_keeps_a_rate(kind: str) -> None:
    """Served for 200 of 400 ms. A first wrong rate makes the queue too short for samples."""
    gap = LEN * 1_000_000_000 // (2 * SLOW)
    with World(kind, "") as w:
        w.do("o 1")
        busy(w, SLOW // 8, 80)
        for at in range(0, 12_000_000_000, gap):
            if at % (2 * gap) == 0 or at % (8 * gap) == 0:  # 9/8 of the mean rate
                w.enqueue(flow=at % 4, proto="tcp", len=LEN, hash=1)
            w.do(f"t {gap}")
            if at % 400_000_000 < 200_000_000:
                w.dequeue()
        assert SLOW / 2 <= w.named()["bandwidth"] <= 3 * SLOW


#: cbt, 2regionred and redtail convert bytes by an option, which the user gives for jumbo frames.
CONVERT = ("cbt", "2regionred", "redtail")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in CONVERT])
def test_full_queue_of_jumbo_frames_is_as_short(kind: str) -> None:
    with World(kind, "bandwidth 100mbit") as w:
        before = w.named()["limit"]
        w.do("m 9000")
        assert w.named()["limit"] * 9000 <= 12_500_000 / 10
        w.do("m 1500")
        assert w.named()["limit"] == before
