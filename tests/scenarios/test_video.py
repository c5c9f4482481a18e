# SPDX-License-Identifier: GPL-2.0
"""Adaptive video of the scenario rrul: BBA-0 chooses its rates, and its stalls are right."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aqmlab import run_command
from aqmlab.measure import video
from tests.scenarios.shortrun import result

ALONE = ("down=0", "up=0", "pages=0", "lookups=0", "rate_back=0", "probe=off", "warmup=0")
LADDER_BPS = [300e3, 750e3, 1200e3, 1850e3, 2850e3, 4300e3]
SEGMENT_S = 2.0
#: Payload of a full packet with time stamps, of its length with the Ethernet header.
PAYLOAD = 1448 / 1514


def ran(out: Path, *given: str, qdisc: str = "pfifo limit 50") -> dict[str, Any]:
    words = tuple(word for one in ("video=adaptive", *given) for word in ("--set", one))
    return result(out, "--qdisc", qdisc, scenario=("rrul", *words))


def asked(out: Path) -> list[tuple[float, float, float]]:
    """Return start, end (or NaN) and rate in bit/s of each segment of the first player."""
    with (out / "flows.csv").open(newline="") as file:
        flow = next(row["flow"] for row in csv.DictReader(file) if row["kind"] == "video")
    with (out / "requests.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["flow"] == flow]
    return [
        (
            float(row["start_s"]),
            float(row["start_s"]) + float(row["completion_s"] or "nan"),
            int(row["bytes"]) * 8 / SEGMENT_S,
        )
        for row in rows
    ]


def bba0(held_s: float, before_bps: float, most_s: float) -> float:
    """Return the next rate, by algorithm 1 of Huang et al., SIGCOMM 2014."""
    reservoir, full = 3 / 8 * most_s, min(9 / 10 * most_s, most_s - SEGMENT_S)
    low, high = LADDER_BPS[0], LADDER_BPS[-1]
    if held_s <= reservoir:
        return low
    if held_s >= full:
        return high
    line = low + (high - low) * (held_s - reservoir) / (full - reservoir)
    above = min((rate for rate in LADDER_BPS if rate > before_bps), default=high)
    below = max((rate for rate in LADDER_BPS if rate < before_bps), default=low)
    if line >= above:
        return max(rate for rate in LADDER_BPS if rate < line)
    if line <= below:
        return min(rate for rate in LADDER_BPS if rate > line)
    return before_bps


@pytest.mark.parametrize("most_s", [8.0, 30.0])
def test_each_segment_has_the_rate_of_bba0(most_s: float, tmp_path: Path) -> None:
    """Pages come and go, so the rate rises and falls. The log has six digits."""
    out = tmp_path / "r"
    more = ("rate=3", "pages=2", "page=400", "page_gap=3", f"play_buffer={most_s:g}")
    ran(out, *(one for one in ALONE if one != "pages=0"), *more, "duration=60")
    segments = asked(out)
    held_s, at_s = 0.0, 0.0
    rates = [rate for *_, rate in segments]
    assert rates[0] == LADDER_BPS[0]
    for (_, came_s, rate), (start_s, _, next_rate) in pairwise(segments):
        held_s = max(0.0, held_s - (came_s - at_s)) + SEGMENT_S
        at_s = came_s
        wait_s = max(0.0, held_s + SEGMENT_S - most_s)
        assert start_s == pytest.approx(came_s + wait_s, abs=2e-5)
        wanted = {bba0(held_s - wait_s + error, rate, most_s) for error in (-1e-4, 1e-4)}
        assert next_rate in wanted
    assert len(set(rates)) >= 4
    assert any(later < earlier for earlier, later in pairwise(rates))


@pytest.mark.parametrize("rate", [1, 2, 4])
def test_a_video_takes_the_rate_that_the_link_has(rate: int, tmp_path: Path) -> None:
    """For a time it can play more than comes, out of its buffer: 5 % is 3 s of 60."""
    found = ran(tmp_path / "r", *ALONE, f"rate={rate}", "warmup=30", "duration=60")
    seen = found["groups"]["videos"]["video"]
    assert 0.75 * rate < seen["rate_bps"] / 1e6 < 1.05 * rate * PAYLOAD
    assert seen["stalled_s"] == seen["stalls"] == 0


def test_a_link_below_the_lowest_rate_stalls_the_player(tmp_path: Path) -> None:
    """300 kb/s of video need more than a second of a link with 200 kb/s for each second."""
    more = ("rate=0.2", "warmup=20", "duration=60")
    found = ran(tmp_path / "r", *ALONE, *more, qdisc="pfifo limit 200")
    seen = found["groups"]["videos"]["video"]
    assert seen["rate_bps"] == LADDER_BPS[0]
    assert seen["stalled_s"] == pytest.approx(60 * (1 - 0.2 * PAYLOAD / 0.3), abs=3)
    assert seen["switches"] == 0
    assert seen["startup_s"] > 75000 * 8 / 0.2e6


def test_a_fair_queue_gives_a_video_a_better_rate_beside_downloads(tmp_path: Path) -> None:
    more = ("down=4", *ALONE[1:4], "rate=20", "rtt=60", "warmup=5", "duration=20")
    seen = {
        qdisc: ran(tmp_path / qdisc[:2], *more, qdisc=qdisc)["groups"]["videos"]["video"]
        for qdisc in ("pfifo limit 20", "fq_codel")
    }
    assert seen["fq_codel"]["rate_bps"] > 1.1 * seen["pfifo limit 20"]["rate_bps"]


def test_stalls_begin_when_all_that_came_is_played() -> None:
    came = np.array([1.0, 2.0, 10.0])
    assert video.stalls(came, 2, 13.0) == [(5.0, 10.0), (12.0, 13.0)]
    assert video.stalls(came, 2, 11.0) == [(5.0, 10.0)]
    assert video.stalls(came[:0], 2, 13.0) == []


def test_metrics_cover_the_window_and_are_means_over_the_players() -> None:
    rows = np.array(
        [
            # start, flow, request, bytes, completion
            [0, 1, 0, 200, 1],
            [1, 1, 1, 100, 1],
            [2, 1, 2, 300, 8],
            [10, 1, 3, 100, np.nan],
            [0, 2, 0, 100, 4],
            [4, 2, 1, 100, 1],
        ]
    )
    found = video.metrics(rows, [1, 2], {1: 2.0, 2: 2.0}, 2.0, 9.0)
    # Player 1: segments at 2 (100 bytes); stalls 5 to 9. Player 2: 4 and 5; stalls 8 to 9.
    assert found == {
        "rate_bps": 400,
        "stalled_s": 2.5,
        "stalls": 1,
        "switches": 0,
        "startup_s": 2.5,
    }
    assert video.metrics(rows, [3], {1: 2.0}, 2.0, 9.0) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["video=adaptive", "ladder=2,1"], 'ladder: "2,1" given, needs rising rates'),
        (["video=adaptive", "ladder=fast"], 'ladder: "fast" given'),
        (["video=adaptive", "play_buffer=3"], "needs two segments of 2 s"),
        (["video=adaptive", "video_rate=5"], "video_rate: 5.0 given, has an effect only with"),
        (["ladder=1,2"], "has an effect only with video=adaptive"),
        (["video=adaptive", "ladder=" + ",".join(map(str, range(1, 40)))], "at most 32"),
    ],
)
def test_what_a_player_cannot_do_is_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for one in given for word in ("--set", one)]
    assert run_command.main(["rrul", *words]) == 2
    assert said in capsys.readouterr().err
