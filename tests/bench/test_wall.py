# SPDX-License-Identifier: GPL-2.0
"""What is read from runs by the wall clock; what they come to, no test asserts."""

from __future__ import annotations

import pytest

from bench import wall
from bench.instructions import Cell

# What fills the queue and warms it up, and what is timed.
OFFERED = {"standing": 800 + 32_768 + wall.STEPS, "overload": 1000 + 32_768 + 2 * wall.STEPS}


def line(time: int, regime: str = "standing", lost: int = 0) -> str:
    # In one tenth somebody else had the processor.
    return (f"tenths 999999 {f'{time + 5} ' * 9}time 999 overhead 50 offered {OFFERED[regime]} "
            f"sent {OFFERED[regime] - 7 - lost} dropped 7 held 0 lost 0")  # fmt: skip


def test_the_median_of_rounds_by_the_pfifo_of_each() -> None:
    # Two rows of pfifo's in a round of each regime: their median is 100 n in round n.
    red = (300, 210, 1000)
    text = ""
    for number, ratio in enumerate(red, 1):
        standing = [ratio * number, 50 * number, 200 * number, 150 * number]
        overload = [100 * number, 80 * number, 500 * number, 120 * number]
        text += "".join(line(time) + "\n" for time in standing)
        text += "".join(line(time, "overload") + "\n" for time in overload)
    found = dict(wall.ratios(["red", "sfq"], text))
    assert found == {
        Cell("red", "standing", wall.FLOWS): wall.Ratio(3.0, 2.1, 10.0),
        Cell("sfq", "standing", wall.FLOWS): wall.Ratio(2.0, 2.0, 2.0),
        Cell("red", "overload", wall.FLOWS): wall.Ratio(1.0, 1.0, 1.0),
        Cell("sfq", "overload", wall.FLOWS): wall.Ratio(5.0, 5.0, 5.0),
    }


def test_a_run_that_failed_has_no_ratio() -> None:
    lines = [*[line(100)] * 2, *[line(100, "overload")] * 2] * wall.ROUNDS
    whole = "\n".join(lines)
    assert dict(wall.ratios(["red"], whole))
    missing, failed = "\n".join(lines[:-1]), "\n".join([*lines[:-1], "failed"])
    leaks = "\n".join([*lines[:-1], line(100, "overload", lost=1)])
    another = "\n".join([*lines[:-1], line(100, "standing")])
    for text in (missing, failed, leaks, another):
        with pytest.raises(SystemExit):
            dict(wall.ratios(["red"], text))
