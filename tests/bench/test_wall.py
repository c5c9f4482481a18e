# SPDX-License-Identifier: GPL-2.0
"""What is read from runs by the wall clock; what they come to, no test asserts."""

from __future__ import annotations

import pytest

from bench import wall
from bench.instructions import Cell


def line(time: int) -> str:
    # In one tenth somebody else had the processor.
    return f"tenths 999999 {f'{time + 5} ' * 9}time 999 overhead 50 offered 9 sent 9"


def test_the_median_of_rounds_by_the_pfifo_of_each() -> None:
    # Two rows of pfifo's in a round of each regime: their median is 100 n in round n.
    red = (300, 210, 1000)
    text = ""
    for number, ratio in enumerate(red, 1):
        standing = [ratio * number, 50 * number, 200 * number, 150 * number]
        overload = [100 * number, 80 * number, 500 * number, 120 * number]
        text += "".join(line(time) + "\n" for time in (*standing, *overload))
    found = dict(wall.ratios(["red", "sfq"], text))
    assert found == {
        Cell("red", "standing", wall.FLOWS): wall.Ratio(3.0, 2.1, 10.0),
        Cell("sfq", "standing", wall.FLOWS): wall.Ratio(2.0, 2.0, 2.0),
        Cell("red", "overload", wall.FLOWS): wall.Ratio(1.0, 1.0, 1.0),
        Cell("sfq", "overload", wall.FLOWS): wall.Ratio(5.0, 5.0, 5.0),
    }


def test_a_run_that_failed_has_no_ratio() -> None:
    lines = [line(100)] * (4 * wall.ROUNDS - 1)
    for text in ("\n".join(lines), "\n".join([*lines, "failed"])):
        with pytest.raises(SystemExit):
            dict(wall.ratios(["red"], text))
