# SPDX-License-Identifier: GPL-2.0
"""The loop of flows that add and halve, against what is exact for one flow."""

from __future__ import annotations

import pytest
from papers.wang2001 import aimd

RATE, RTT = 1000.0, 0.1  # packets a second, s


def one_flow(buffer: float) -> float:
    """Part of the link that one flow uses, that halves when a queue of ``buffer`` times what the
    link has in flight is full; 0.75 without a queue.

    The window w, by what is in flight, grows in equal steps, a round trip each, from
    (1 + buffer) / 2 to 1 + buffer. A round trip lasts 1 below w = 1, where it sends w, and w above,
    where the link is full.
    """
    below, peak = (1 - buffer) / 2, 1 + buffer
    full = (peak * peak - 1) / 2
    return (below * (peak / 2 + 1) / 2 + full) / (below + full)


@pytest.mark.parametrize("buffer", [0.0, 0.25, 1.0])
def test_one_flow_uses_as_much_as_a_sawtooth_fills(buffer: float) -> None:
    got = aimd.used(aimd.TailDrop(), 1, RATE, buffer * RATE * RTT, rtts=(RTT, RTT),
                    warmup=20, duration=50)  # fmt: skip
    assert got == pytest.approx(one_flow(buffer), abs=0.02)


def test_red_s_part_is_piecewise_straight() -> None:
    """By hand: 0, then up to max_p, then to 1 at twice max; spaced evenly, 1.5 times as rare."""
    part = [aimd.gentle(avg, 10, 30, 0.1) * 1.5 for avg in (9.9, 10, 20, 30, 36)]
    assert part == pytest.approx([0, 0, 0.05, 0.1, 0.1 + 0.9 * 0.2])
    # From half on there is no spacing to speak of.
    assert aimd.gentle(45, 10, 30, 0.1) == pytest.approx(0.55)
    assert aimd.gentle(60, 10, 30, 0.1) == aimd.gentle(90, 10, 30, 0.1) == 1


@pytest.mark.parametrize(("avg", "steps"), [
    # 2.5 to 7.5 packets at 1000 a second; the target is from 4.5 to 5.5.
    (5.6, [0.06, 0.07, 0.08]), (5.5, [0.05] * 3), (4.5, [0.05] * 3),
    (4.4, [0.045, 0.0405, 0.03645]),
])
def test_adaptive_red_moves_max_p_every_half_second(avg: float, steps: list[float]) -> None:
    """Floyd, Gummadi and Shenker 2001, section 3.2: up by 0.01 or a quarter of it, whichever is
    less, down by a tenth."""
    law = aimd.AdaptiveRed(1000)
    for turn, max_p in enumerate(steps, 1):
        law.part(avg, turn / 2 - 0.01)
        assert law.max_p == pytest.approx(steps[turn - 2] if turn > 1 else 0.05)
        got = law.part(avg, turn / 2)
        assert law.max_p == pytest.approx(max_p)
        assert got == pytest.approx(max_p * (avg - 2.5) / 5 / 1.5)


def test_adaptive_red_raises_a_small_max_p_by_a_quarter() -> None:
    law = aimd.AdaptiveRed(1000, max_p=0.02)
    law.part(6, 0.5)
    assert law.max_p == pytest.approx(0.025)


def test_adaptive_red_stays_between_a_hundredth_and_a_half() -> None:
    law = aimd.AdaptiveRed(1000, max_p=0.0105)
    for turn in range(1, 4):
        law.part(3, turn / 2)
    assert law.max_p == pytest.approx(0.01)
    law = aimd.AdaptiveRed(1000, max_p=0.495)
    for turn in range(1, 4):
        law.part(9, turn / 2)
    assert law.max_p == pytest.approx(0.505)


@pytest.mark.parametrize(("flows", "target", "loss"), [
    # The pipe is 1000 packets; 1000 / 9 of 5 flows, and 6 for each of 50 flows.
    (5, 1000 / 9, (0.87 / ((1000 / 9 + 1000) / 5 + 1)) ** 2),
    (50, 300, (0.87 / (1300 / 50 + 1)) ** 2),
])
def test_fpq_s_target_and_loss_are_the_thesis(flows: int, target: float, loss: float) -> None:
    """Equations 3.4 and 3.5: half of the way from 5 packets to twice the target."""
    law = aimd.FlowProportional(10_000, flows)
    assert law.part(target + 2.5, 0) * 1.5 == pytest.approx(loss / 2)
    assert law.part(5, 0) == 0
    twice = aimd.FlowProportional(10_000, flows, times=2)
    assert twice.part(target + 2.5, 0) == pytest.approx(2 * law.part(target + 2.5, 0))
