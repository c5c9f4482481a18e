# SPDX-License-Identifier: GPL-2.0
"""Properties of ared: average, thresholds and limits, in user space."""

from __future__ import annotations

import math

import pytest

from tests.oracle.tcp_loop import Loop
from tests.userspace import World

MS = 1_000_000  # ns
LINK = "bandwidth 8mbit seed 1"  # 1 ms per packet


# 40 marked flows would have 2.5 packets each and need a max_p above 0.5, which is the bound.
@pytest.mark.parametrize(
    ("flows", "ecn"),
    [(5, "noecn"), (10, "noecn"), (20, "noecn"), (40, "noecn"), (5, "ecn"), (20, "ecn")],
)
def test_average_queue_is_in_the_middle_for_every_load(flows: int, ecn: str) -> None:
    """Eight times the flows need about 60 times the drops, and get the same queue."""
    with World("ared", f"limit 300 target 40ms {ecn} {LINK}") as w:
        rtts = [(40 + 40 * i // flows) * MS for i in range(flows)]
        loop = Loop(w, MS, rtts, tos=2 if ecn == "ecn" else 0)
        loop.run(30_000)
        seen = []
        for _ in range(30):
            used, _ = loop.measured(500)
            assert used > 0.99
            seen.append(w.named())
    assert (seen[0]["min_th"], seen[0]["max_th"]) == (20, 60)
    mean = sum(st["avg"] for st in seen) / len(seen)
    # min + 0.4 to 0.6 times (max - min)
    assert 36 <= mean <= 44
    assert all(28 < st["avg"] < 52 for st in seen)
    # A window of W = (pipe + queue) / flows packets needs a drop rate of about 1.5 / W^2.
    asked = 1.5 / ((60 + mean) / flows) ** 2
    assert asked / 4 < sum(st["probability"] for st in seen) / len(seen) < 4 * asked
    assert (seen[-1]["early_mark"] > 0) == (ecn == "ecn")


def test_with_fixed_max_p_the_queue_depends_on_the_load() -> None:
    """This is the reason for adapting max_p."""
    means = []
    for flows in (5, 40):
        with World("ared", f"limit 300 target 40ms noadaptive probability 0.1 {LINK}") as w:
            loop = Loop(w, MS, [60 * MS] * flows)
            loop.run(20_000)
            seen = []
            for _ in range(20):
                loop.run(500)
                seen.append(w.named())
        assert {st["max_p"] for st in seen} == {seen[0]["max_p"]}
        assert seen[-1]["raised"] == seen[-1]["lowered"] == 0
        means.append(sum(st["avg"] for st in seen) / len(seen))
    assert means[0] < 32
    assert means[1] > 48


def test_max_p_rises_by_0_01_or_falls_by_a_tenth_every_half_second() -> None:
    with World("ared", f"limit 500 min 10 max 50 weight 0.9 nogentle probability 0.1 {LINK}") as w:
        for _ in range(40):
            w.enqueue(flow=1, len=1000)
        expected = 0.1
        for n in range(1, 101):
            w.advance(500 * MS)
            w.enqueue(flow=1, len=1000)
            w.dequeue(int(w.stats().qlen > 40))
            expected = min(0.5, expected + min(0.01, expected / 4))
            assert w.named()["max_p"] == pytest.approx(expected, abs=1e-6)
            assert w.named()["raised"] == min(n, 40)
        w.dequeue(15)  # 25 packets are below the target range
        for _ in range(5):
            w.enqueue(flow=1, len=1000)
            w.dequeue()
        moved = w.named()["lowered"]
        w.dequeue(20)
        for _ in range(5):
            w.enqueue(flow=1, len=1000)
            w.dequeue()
        for _ in range(100):
            w.advance(500 * MS)
            w.enqueue(flow=1, len=1000)
            w.dequeue()
            expected = max(0.01, 0.9 * expected)
            assert w.named()["max_p"] == pytest.approx(expected, abs=1e-6)
        # 0.5 * 0.9^38 is below 0.01.
        assert w.named()["lowered"] - moved == 38


def test_max_p_falls_for_each_half_second_without_packets() -> None:
    with World("ared", f"limit 500 min 10 max 50 probability 0.4 {LINK}") as w:
        w.enqueue(flow=1, len=1000)
        w.dequeue()
        w.advance(2600 * MS)
        assert w.named()["lowered"] == 5
        assert w.named()["max_p"] == pytest.approx(0.4 * 0.9**5, abs=1e-6)
        w.change("top 0.3")
        assert w.named()["lowered"] == 5
        w.enqueue(flow=1, len=1000)
        assert w.named()["lowered"] == 5


def test_idle_half_seconds_before_a_change_lower_max_p() -> None:
    with World("ared", f"limit 500 min 10 max 50 weight 0.5 {LINK}") as w:
        for _ in range(45):
            w.enqueue(flow=1, len=1000)
        w.dequeue(45)
        assert w.named()["avg"] > 34
        w.advance(5200 * MS)
        w.change("limit 400")
        assert (w.named()["raised"], w.named()["lowered"]) == (0, 10)


@pytest.mark.parametrize(
    ("options", "limit", "min_th", "max_th"),
    [
        # target * C / 2, with a target of 5 ms and packets of 1000 bytes
        ("bandwidth 10gbit", 14_563, 2427, 7281),  # a sixth of the packets that fit into memory
        ("bandwidth 1gbit", 6666, 312, 936),
        ("bandwidth 100mbit", 666, 31, 93),
        ("bandwidth 10mbit", 66, 5, 15),
        ("bandwidth 1mbit", 8, 1, 3),
        ("bandwidth 1gbit limit 100", 100, 16, 48),
        ("bandwidth 1gbit max 90", 6666, 30, 90),
        ("bandwidth 1gbit min 90", 6666, 90, 270),
    ],
)
def test_thresholds_are_derived_from_the_rate(
    options: str, limit: int, min_th: int, max_th: int
) -> None:
    with World("ared", options) as w:
        st = w.named()
        assert w.message == ""
        assert (st["limit"], st["min_th"], st["max_th"]) == (limit, min_th, max_th)


@pytest.mark.parametrize("mbit", [1, 10, 1000, 100_000])
def test_time_constant_of_the_average_is_one_second(mbit: int) -> None:
    with World("ared", f"bandwidth {mbit}mbit") as w:
        st = w.named()
        assert st["weight"] == pytest.approx(1 - math.exp(-1 / (mbit * 125)), abs=3e-9)
        assert st["ptime"] == pytest.approx(8_000_000 / mbit)
