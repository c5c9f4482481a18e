# SPDX-License-Identifier: GPL-2.0
"""tdrr follow_rtt: the memory is two round trips of the flows, with the delay of the queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import result

SHORT = ("--set", "rate=50", "--set", "warmup=1", "--set", "duration=2")
DUMBBELL = ("dumbbell", *SHORT, "--set", "flows=10")
MS = 1_000_000  # ns


def statistics(
    out: Path, *words: str, options: str = "follow_rtt", scenario: tuple[str, ...] = DUMBBELL
) -> dict[str, Any]:
    """Run, and return what tc -s says about tdrr at the end."""
    result(out, "--qdisc", f"tdrr limit 20 {options}", *words, scenario=scenario)
    shown = json.loads((out / "qdisc.json").read_text())
    found: dict[str, Any] = next(qdisc for qdisc in shown if qdisc["kind"] == "tdrr")
    return found


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("rtt", [1, 10, 40])
def test_the_memory_is_two_round_trips_with_the_delay(ip: int, rtt: int, tmp_path: Path) -> None:
    """A full buffer of 20 packets at 50 Mb/s adds at most 5 ms, which a handshake sees once."""
    shown = statistics(tmp_path / "out", "--set", f"ip={ip}", "--set", f"rtt={rtt}")
    assert rtt * MS <= shown["rtt"] <= (rtt + 5.1) * MS
    # T is a sixteenth off at most. The delay was that of the last loss.
    delay = shown["memory"] / 2 - shown["rtt"]
    assert -shown["rtt"] / 16 <= delay <= 5.1 * MS + shown["rtt"] / 16


@pytest.mark.parametrize(
    ("options", "words", "memory"),
    [
        ("follow_rtt", ("rtt=120",), 100),
        ("follow_rtt time_constant 5ms", ("rtt=20",), 5),
        ("follow_rtt time_constant 300ms", ("rtt=400",), 300),
    ],
)
def test_time_constant_bounds_the_memory(
    options: str, words: tuple[str, ...], memory: int, tmp_path: Path
) -> None:
    settings = tuple(word for setting in words for word in ("--set", setting))
    shown = statistics(tmp_path / "out", *settings, options=options)
    assert shown["memory"] == memory * MS
    assert shown["rtt"] > 0


def test_the_memory_lies_between_those_of_short_and_long_round_trips(tmp_path: Path) -> None:
    sizes = ("near_flows=10", "far_flows=10", "near_rtt=4", "far_rtt=30")
    scenario = ("multi-rtt", *SHORT, *(word for size in sizes for word in ("--set", size)))
    shown = statistics(tmp_path / "out", scenario=scenario)
    assert 4 * MS < shown["rtt"] < 30 * MS


def test_the_memory_follows_a_change_of_the_options(tmp_path: Path) -> None:
    """time_constant and the flag may change while packets pass."""
    change = "1 nofollow_rtt; 1.5 time_constant 15ms follow_rtt"
    shown = statistics(tmp_path / "out", "--set", "rtt=20", "--set", f"change={change}")
    assert shown["memory"] == 15 * MS
    assert shown["rtt"] > 0
