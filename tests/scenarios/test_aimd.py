# SPDX-License-Identifier: GPL-2.0
"""Compare the AIMD model with exact results."""

from __future__ import annotations

import pytest

from papers.wang2001 import aimd

RATE, RTT = 1000.0, 0.1  # packets per second, s


def one_flow(buffer: float) -> float:
    """Return the utilization of one flow that halves its window when a queue is full.

    buffer: size of the queue in bandwidth-delay products. Without a queue the result is 0.75
    The window w, in bandwidth-delay products, grows by equal steps per round trip from
    (1 + buffer) / 2 to 1 + buffer. Below w = 1 a round trip takes 1 and sends w. Above, it takes w,
    and the link is full.
    """
    below, peak = (1 - buffer) / 2, 1 + buffer
    full = (peak * peak - 1) / 2
    return (below * (peak / 2 + 1) / 2 + full) / (below + full)


@pytest.mark.parametrize("buffer", [0.0, 0.25, 1.0])
def test_utilization_of_one_flow_is_that_of_a_sawtooth(buffer: float) -> None:
    got = aimd.used(
        aimd.TailDrop(), 1, RATE, buffer * RATE * RTT, rtts=(RTT, RTT), warmup=20, duration=50
    )
    assert got == pytest.approx(one_flow(buffer), abs=0.02)


def test_gentle_red_is_piecewise_linear() -> None:
    """0 below min, max_p at max, and 1 at twice max. Uniform gaps divide the rate by 1.5."""
    part = [aimd.gentle(avg, 10, 30, 0.1) * 1.5 for avg in (9.9, 10, 20, 30, 36)]
    assert part == pytest.approx([0, 0, 0.05, 0.1, 0.1 + 0.9 * 0.2])
    # From 0.5 on, uniform gaps make no difference.
    assert aimd.gentle(45, 10, 30, 0.1) == pytest.approx(0.55)
    assert aimd.gentle(60, 10, 30, 0.1) == aimd.gentle(90, 10, 30, 0.1) == 1


@pytest.mark.parametrize(
    ("avg", "steps"),
    [
        # min and max are 2.5 and 7.5 packets, so the target range is 4.5 to 5.5.
        (5.6, [0.06, 0.07, 0.08]),
        (5.5, [0.05] * 3),
        (4.5, [0.05] * 3),
        (4.4, [0.045, 0.0405, 0.03645]),
    ],
)
def test_adaptive_red_moves_max_p_every_half_second(avg: float, steps: list[float]) -> None:
    """It rises by the minimum of 0.01 and max_p / 4, and falls by a tenth (2001, section 3.2)."""
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


def test_adaptive_red_keeps_max_p_between_0_01_and_0_5() -> None:
    law = aimd.AdaptiveRed(1000, max_p=0.0105)
    for turn in range(1, 4):
        law.part(3, turn / 2)
    assert law.max_p == pytest.approx(0.01)
    law = aimd.AdaptiveRed(1000, max_p=0.495)
    for turn in range(1, 4):
        law.part(9, turn / 2)
    assert law.max_p == pytest.approx(0.505)


@pytest.mark.parametrize(
    ("flows", "target", "loss"),
    [
        # The pipe is 1000 packets. Targets: 1000 / 9 packets for 5 flows, 6 per flow for 50 flows.
        (5, 1000 / 9, (0.87 / ((1000 / 9 + 1000) / 5 + 1)) ** 2),
        (50, 300, (0.87 / (1300 / 50 + 1)) ** 2),
    ],
)
def test_fpq_target_and_loss_equal_the_thesis(flows: int, target: float, loss: float) -> None:
    """The queue is halfway between 5 packets and twice the target (equations 3.4 and 3.5)."""
    law = aimd.FlowProportional(10_000, flows)
    assert law.part(target + 2.5, 0) * 1.5 == pytest.approx(loss / 2)
    assert law.part(5, 0) == 0
    twice = aimd.FlowProportional(10_000, flows, times=2)
    assert twice.part(target + 2.5, 0) == pytest.approx(2 * law.part(target + 2.5, 0))


def test_the_numbers_of_the_reasons_are_of_the_thesis_links(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """100 to 1000 flows on 1 Gb/s, and few on 155 Mb/s; packets have 1500 bytes."""
    asked = []
    monkeypatch.setattr(
        aimd,
        "used",
        lambda law, flows, rate, limit: (
            asked.append((type(law).__name__, law.rate, rate, limit)) or flows / 100
        ),
    )
    aimd.main()
    many, two, few = (
        "100: 100 300: 300 500: 500 800: 800 1000: 1000",
        "100: 100 300: 300",
        ("5: 5 10: 10 20: 20 40: 40"),
    )
    ends = [many, two, many, two, two, two, few]
    for line, end in zip(capsys.readouterr().out.splitlines(), ends, strict=True):
        assert line.endswith(f": {end}")
    fast, slow = 1e9 / (1500 * 8), 155e6 / (1500 * 8)
    assert asked == (
        [("AdaptiveRed", fast, fast, fast / 10)] * 7
        + [("FlowProportional", fast, fast, fast)] * 11
        + [("FlowProportional", slow, slow, 19_375)] * 4
    )
