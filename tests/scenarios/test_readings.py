# SPDX-License-Identifier: GPL-2.0
"""A run whose readings would miss the measured time is refused before it starts.

netns-scenarios/run --set warmup=1 --set duration=0.7 used to run, and then failed without saying
what to do.
"""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import numpy as np
import pytest

from aqmlab.exceptions import UserError
from aqmlab.measure.logs import BadLog
from aqmlab.measure.metrics import window
from aqmlab.run import readings

from .shortrun import run

SHORT = ("dumbbell", "--set", "flows=2", "--set", "rate=10", "--set", "warmup=0.6")


def queue_readings(step_ms: int, run_ms: int) -> list[float]:
    """When lab/traffic/qsample.c says that it reads, in s: ten places, three tenths apart."""
    return [
        (n * step_ms + (3 * n % 10) * step_ms / 10) / 1000 for n in range(run_ms // step_ms + 1)
    ]


def test_queue_is_read_when_we_say(tmp_path: Path) -> None:
    words = ("--set", "duration=0.9", "--set", "sample=30", "--set", "interval=100")
    done = run(tmp_path / "out", *words, scenario=SHORT)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "queue.csv").open() as file:
        times = [float(row["time_s"]) for row in csv.DictReader(file)]
    assert times == pytest.approx(queue_readings(30, 1500), abs=1e-3)


def test_refused_exactly_where_the_analysis_would_fail() -> None:
    print("seed 7")
    draw = random.Random(7)
    refused = 0
    for _ in range(2000):
        name, step = draw.choice(("interval", "sample")), draw.randint(1, 1000)
        begin, length = draw.randint(0, 40) * 100, draw.randint(1, 40) * 100
        run_ms = begin + length
        if name == "sample":
            times = queue_readings(step, run_ms)
        else:
            times = [n * step / 1000 for n in range(run_ms // step + 1)]
        span = (begin / 1000, run_ms / 1000)
        try:
            window(np.array(times), *span)
            fails = False
        except BadLog:
            fails = True
        refused += fails
        if not fails:
            readings.check(name, step, [span], run_ms)
            continue
        with pytest.raises(UserError) as error:
            readings.check(name, step, [span], run_ms)
        if advice := re.search(r"set (\w+)=(\d+)$", str(error.value)):
            readings.check(advice[1], int(advice[2]), [span], run_ms)
    assert 200 < refused < 1800


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (("duration=0.1",), "set interval=100"),
        (("duration=0.7",), "set interval=3"),
        (("duration=1", "interval=200", "sample=1000"), "set sample="),
    ],
)
def test_refused_before_the_run(tmp_path: Path, settings: tuple[str, ...], advice: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    done = run(tmp_path / "out", *words, scenario=SHORT)
    assert done.returncode == 2
    assert advice in done.stderr
    assert not any(tmp_path.iterdir())
