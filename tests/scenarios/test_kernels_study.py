# SPDX-License-Identifier: GPL-2.0
"""The study of docs/kernels-study.md: its runs, and which differences it names."""

from __future__ import annotations

import argparse
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.run.params import resolve
from aqmlab.run.scenario import find
from labkit import records
from studies import kernel_rows, kernels
from studies.kernel_rows import Row
from studies.kernels import Experiment

ONE = Experiment("dumbbell", "cubic", "fq_codel")


def result(queue_ms: float, p99: float | None = 3.0) -> dict[str, Any]:
    """Return the part of a result that the study reads."""
    return {
        "summary": {
            "utilization": 0.95,
            "queue_delay_ms": {"mean": queue_ms},
            "dropped": 10,
            "sent": 990,
            "marked": 0,
            "jain": 0.99,
        },
        "groups": {"probe": {"delay_ms": p99 and {"p99": p99}}},
        "timeouts": 0,
    }


def values(**queues: list[float]) -> kernels.Values:
    """Return numbers with these queues, in ms, by the kernel's name and for each seed."""
    return {
        (ONE, name): {seed: kernels.numbers(result(queue)) for seed, queue in enumerate(each, 1)}
        for name, each in queues.items()
    }


def test_only_a_difference_beyond_its_interval_is_named() -> None:
    given = values(a=[5, 6, 7], b=[9, 10, 11.1], c=[9, 12, 6])
    found = [*kernels.differences(given, "abc")]
    assert [(each.before, each.after, each.measure.name) for each in found] == [("a", "b", "queue")]
    assert found[0].difference.value == pytest.approx(4.033, abs=0.001)
    assert "| dumbbell, cubic, fq_codel | queue ms | a to b | 6.0 ±2.5 |" in (
        kernels.difference_table(found)
    )


def test_difference_that_nobody_would_notice_is_not_named() -> None:
    found = [*kernels.differences(values(a=[5, 6, 7], b=[5.5, 6.5, 7.5]), "ab")]
    assert kernels.difference_table(found).startswith("No metric differs")


def test_seed_that_one_kernel_lacks_is_left_out() -> None:
    (found,) = kernels.differences(values(a=[5, 6, 70], b=[9, 10.5]), "ab")
    assert (found.old.value, found.new.value) == (5.5, 9.75)
    assert not [*kernels.differences(values(a=[5, 6, 7], b=[9]), "ab")]


def test_table_has_no_number_where_a_run_has_none() -> None:
    given = {**values(a=[5, 6]), (ONE, "b"): {1: kernels.numbers(result(5, None))}}
    probe = next(each for each in kernels.MEASURES if each.name == "probe p99")
    rows = kernels.table(given, ("a", "b"), probe).splitlines()
    assert rows[0] == "| probe p99 ms | a | b |"
    assert rows[2] == "| dumbbell, cubic, fq_codel | 3.0 ±0.0 |  |"


def test_oldest_and_newest_kernel_are_compared_too() -> None:
    """Small steps add up."""
    given = values(a=[5, 6, 7], b=[5.9, 6.9, 7.9], c=[6.8, 7.8, 8.8])
    found = [*kernels.differences(given, "abc")]
    assert [(each.before, each.after) for each in found] == [("a", "c")]
    assert kernels.pairs_of("ab") == [("a", "b")]


def test_stored_rows_give_the_same_tables(tmp_path: Path) -> None:
    rows = [
        Row("dumbbell", "bbr", "pie", kernel, seed, kernels.numbers(result(seed * 7.123456, None)))
        for kernel in ("6.12", "6.1")
        for seed in (2, 1)
    ]
    kernel_rows.add(tmp_path / "rows.csv", rows[:3])
    kernel_rows.add(tmp_path / "rows.csv", rows[2:])
    assert kernels.report(kernel_rows.read(tmp_path / "rows.csv")) == kernels.report(rows)
    assert "| queue ms | 6.1 | 6.12 |" in kernels.report(rows)


def test_page_has_the_tables_of_the_stored_rows() -> None:
    page = (ROOT / "docs" / "kernels-study.md").read_text()
    for table in kernels.report(kernel_rows.read()).strip().split("\n\n"):
        assert table in page


@pytest.mark.parametrize("scenario", kernels.SCENARIOS)
def test_scenarios_take_the_settings(scenario: str) -> None:
    words = Experiment(scenario, "bbr", "cake").job(records.names("cloud")[0], 3).words
    given = [value for name, value in itertools.pairwise(words) if name == "--set"]
    known = resolve(find(words[0]).params, given)
    assert known["cc"] == "bbr"
    assert known["tcp_profile"] == "today"
    assert words[words.index("--qdisc") + 1] == "cake unlimited"
    assert words[-2:] == ["--seed", "3"]


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ({}, r".+"),
        ({"seeds": [1, 2, 3]}, r"[^,]+,[^,]+,[^,]+,[^,]+,[123],.+"),
        ({"kernels": ["5.10"], "qdiscs": ["cake"]}, r"[^,]+,[^,]+,cake,5\.10,.+"),
        ({"controls": ["bbr"], "seeds": [4], "kernels": ["7.3"]}, r"[^,]+,bbr,[^,]+,7\.3,4,.+"),
    ],
)
def test_stored_rows_are_those_that_were_asked_for(asked: dict[str, Any], pattern: str) -> None:
    """A line begins with scenario, control, qdisc, kernel and seed."""
    usual = {"kernels": records.names("cloud", seldom=True), "scenarios": kernels.SCENARIOS}
    usual |= {"controls": kernels.CONTROLS, "qdiscs": kernels.QDISCS, "seeds": None}
    args = argparse.Namespace(**usual | asked)
    lines = kernel_rows.ROWS.read_text().splitlines()[1:]
    wanted = sum(bool(re.fullmatch(pattern, line)) for line in lines)
    assert sum(kernel_rows.is_asked(row, args) for row in kernel_rows.read()) == wanted > 0
