# SPDX-License-Identifier: GPL-2.0
"""The exercises of docs/exercises.md: their solutions solve them, and the starting files do not."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import ROOT, result

PLACE = ROOT / "docs" / "exercises"
SOLUTIONS = PLACE / "solutions"


def settings(*given: str) -> tuple[str, ...]:
    return tuple(word for one in given for word in ("--set", one))


def python(path: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, path, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_starting_file_has_a_task_and_its_solution_none() -> None:
    starts = [path for path in PLACE.rglob("*.*") if path.suffix in (".py", ".c")]
    starts = [path for path in starts if SOLUTIONS not in path.parents]
    assert len(starts) == 4
    for path in starts:
        solution = SOLUTIONS / path.relative_to(PLACE)
        assert "TODO" in path.read_text()
        assert "TODO" not in solution.read_text()
    page = (ROOT / "docs" / "exercises.md").read_text()
    for picture in re.findall(r"\]\((exercises/\w+\.svg)\)", page):
        assert (ROOT / "docs" / picture).read_text().startswith("<?xml")


def test_far_flows_get_less_behind_drop_tail_than_behind_a_fair_queue(tmp_path: Path) -> None:
    far = {}
    for qdisc in ("pfifo limit 50", "fq_codel"):
        scenario = (str(SOLUTIONS / "unfair.py"), *settings("warmup=3", "duration=8"))
        got = result(tmp_path / qdisc.split()[0], "--qdisc", qdisc, scenario=scenario)
        far[qdisc] = got["groups"]["far"]["share_of_fair"]
    assert far["pfifo limit 50"] < 0.6 < 0.75 < far["fq_codel"]


def red(out: Path, module: Path) -> dict[str, Any]:
    given = ("flows=4", "rate=20", "rtt=50", "access=100", "tcp_profile=today", "cc=reno")
    words = ("--module", str(module), "--qdisc", "myred 1 u32 100")
    scenario = ("dumbbell", *settings(*given, "warmup=4", "duration=6"))
    return result(out, *words, scenario=scenario)["summary"]


def test_red_keeps_the_queue_short_and_the_start_is_a_fifo(tmp_path: Path) -> None:
    fifo, solved = red(tmp_path / "1", PLACE / "red"), red(tmp_path / "2", SOLUTIONS / "red")
    assert solved["queue_delay_ms"]["mean"] < 0.5 * fifo["queue_delay_ms"]["mean"]
    assert solved["utilization"] > 0.85
    assert fifo["queue_packets"]["max"] == 100
    assert solved["dropped"] > 0
    code = (SOLUTIONS / "red" / "sch_myred.c").read_text()
    function = re.search(r"static bool myred_drops.*?^}", code, re.S | re.M)
    assert function
    assert len(function[0].splitlines()) <= 25


def test_codels_drops_follow_the_predicted_law(tmp_path: Path) -> None:
    out = tmp_path / "r"
    given = ("flows=0", "udp_rate=12", "rate=10", "warmup=0.1", "duration=6")
    result(out, "--qdisc", "codel limit 2000", scenario=("udp-blast", *settings(*given)))
    with (out / "queue.csv").open(newline="") as file:
        rows = [(float(row["time_s"]), int(row["dropped"])) for row in csv.DictReader(file)]
    first_s = next(at for at, dropped in rows if dropped)
    said = python(SOLUTIONS / "codel.py", str(first_s), "6")
    predicted = {int(at): int(n) for at, n in map(str.split, said.splitlines())}
    for second in (2, 3, 4, 5):
        dropped = max(n for at, n in rows if at <= second)
        assert dropped == pytest.approx(predicted[second], rel=0.03, abs=3)
    assert python(PLACE / "codel.py", "0.13", "6").splitlines()[-1] == "6 1"


def test_memory_makes_shares_equal_in_the_model() -> None:
    without, having = (
        float(re.search(r"gets ([\d.]+) times", python(place / "fair_queue.py"))[1])  # type: ignore[index]
        for place in (PLACE, SOLUTIONS)
    )
    assert without > 1.4
    assert having < 1.1
