# SPDX-License-Identifier: GPL-2.0
"""The lab beside theory: docs/results/calibration.md, and its cells that take seconds."""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.compare import sweep, sweep_job
from replay import calibration, ledger, paper, prediction, predictions


@pytest.mark.parametrize("name", [name for name, cell in predictions.CELLS.items() if cell.quick])
def test_the_lab_follows_theory(name: str, tmp_path: Path) -> None:
    words = predictions.CELLS[name].job(1).words
    done = subprocess.run(
        [ROOT / "netns-scenarios" / "run", *words, "--out", tmp_path / "r"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    result = predictions.CELLS[name].result(tmp_path / "r")
    for law in predictions.LAWS:
        if law.cell == name:
            assert abs(law.error(law.theory(result), law.measured(result))) <= law.within, law


@pytest.mark.parametrize("at", range(len(predictions.LAWS)))
def test_the_page_states_an_error_that_is_accepted(at: int) -> None:
    line = calibration.lines()[at]
    assert (abs(line.error) > line.law.within) == line.law.missed


def newreno_mbps(loss: float, limited_transmit: bool, seconds: float = 20000) -> float:
    """Follow NewReno round by round over 80 ms, where losses are independent.

    Three duplicate ACKs start fast recovery, which takes a round trip for each lost packet. The
    packets of the next round that ACKs before the first loss released give duplicate ACKs, too, and
    so do two more with limited transmit (RFC 3042). Else the timer of at least 200 ms expires, and
    doubles as long as retransmissions are lost.
    """
    chance = random.Random(1)
    time, packets, window, threshold = 0.0, 0, 2.0, math.inf

    def arrives() -> bool:
        return chance.random() >= loss

    while time < seconds:
        time += 0.08
        came = [arrives() for _ in range(int(window))]
        packets += sum(came)
        if all(came):
            window = min(2 * window, threshold) if window < threshold else window + 1
            continue
        first = came.index(False)
        later = [arrives() for _ in range(first)]
        duplicates = sum(came[first:]) + sum(later)
        more = sum(arrives() for _ in range(min(2, duplicates))) if limited_transmit else 0
        packets += sum(later) + more
        threshold = window = max(2.0, window / 2)
        recovered = duplicates + more >= 3
        for _ in range(came.count(False) * recovered):
            time += 0.08
            recovered = arrives()
            packets += recovered
            if not recovered:
                break
        if not recovered:
            window, timer = 1.0, 0.28
            time += timer
            while not arrives():
                timer = min(2 * timer, 64 * 0.28)
                time += timer
            packets += 1
    return packets / time * 8 * 1460 / 1e6


def test_limited_transmit_explains_why_padhyes_law_is_too_low() -> None:
    """The law has no limited transmit, and Linux has. The page says so."""
    lines = calibration.lines()
    padhye = [line for line in lines if line.law.theory is predictions._padhye_mbps]
    for line, loss in zip(padhye, (0.02, 0.05, 0.1), strict=True):
        assert line.law.cell == f"loss-{100 * loss:.0f}"
        assert newreno_mbps(loss, False) == pytest.approx(line.theory, rel=0.1)
        assert newreno_mbps(loss, True) == pytest.approx(line.measured.value, rel=0.1)


def test_lag_is_that_of_the_published_algorithm() -> None:
    """Two flows that always have packets, with packets of 1500 and 1014 bytes and a quantum of
    1500: the difference of their bytes after each packet (Shreedhar and Varghese 1996, figure 4).
    """
    sizes, deficits, walk = (1500, 1014), [0, 0], [0]
    for _ in range(1000):
        for flow, sign in ((0, 1), (1, -1)):
            deficits[flow] += 1500
            while deficits[flow] >= sizes[flow]:
                deficits[flow] -= sizes[flow]
                walk.append(walk[-1] + sign * sizes[flow])
    assert max(walk) - min(walk) == 2508
    page = calibration.lines()
    lags = [line.measured.value for line in page if line.law.cell in ("lag-drr", "lag-qsdrr")]
    assert lags == [2508, 2508]


def test_only_some_cells_run_and_the_numbers_of_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "calibration.json"
    stored.write_text(json.dumps({"red": [[[1.0, 2.0]]] * 3, "bucket": []}))
    ran: list[str] = []

    def run(_: argparse.Namespace, jobs: Mapping[str, sweep_job.Job]) -> Mapping[str, object]:
        ran.extend(jobs)
        return jobs

    monkeypatch.setattr(calibration, "STORED", stored)
    monkeypatch.setattr(sweep, "run", run)
    monkeypatch.setattr(
        prediction.CalibrationRun, "result", lambda *_: {"of_logs": {"burst": 20290.04}}
    )
    assert calibration.main(["--only", "bucket", "--out", str(tmp_path / "out")]) == 0
    assert ran == ["bucket-1", "bucket-2", "bucket-3"]
    assert json.loads(stored.read_text()) == {
        "red": [[[1.0, 2.0]]] * 3,
        "bucket": [[[20280.0, 20290.0]]] * 3,
    }
    assert "make ledger" in capsys.readouterr().out


def test_chokes_model_fits_many_flows_and_not_ten() -> None:
    """The page says so, and names the rate that misses 15 %. The model's limit is 1 / (1 + e) for
    one draw."""
    (one,) = (one for one in ledger.models() if one.name == "ahammed2010")
    lines = calibration.choke_lines(one.number)
    missed = {
        (line.draws, line.rate)
        for line in lines
        if line.flows == 32 and line.measured != pytest.approx(line.theory, rel=0.15)
    }
    assert missed == {(1, 8.0)}
    for line in lines:
        if line.flows == 32:
            assert line.measured <= line.bound
        if line.draws == 1:
            assert line.bound == pytest.approx(100 / (1 + math.e), rel=1e-4)
    (ten,) = (line for line in lines if (line.flows, line.draws) == (10, 2))
    assert ten.measured > ten.bound


def test_no_link_carries_more_than_its_rate() -> None:
    """Two packets of 30 s at 1 Mb/s, which may straddle the ends of the time, are 0.08 %."""
    for name in paper.names():
        for row in paper.load(name).rows():
            assert row["metrics"]["summary"]["utilization"] <= 1.001, row["cell"]


def test_laws_by_hand() -> None:
    """100 ms of round trip and queue, 1 of 150 packets dropped: a window of 15 packets."""
    result: dict[str, dict[str, Any]] = {
        "summary": {"dropped": 10, "sent": 1490, "queue_delay_ms": {"mean": 20}},
        "groups": {"all": {"rtt_ms": 80, "goodput_bps": {"mean": 15 * 1460 * 8 / 0.1}}},
    }
    by_head = {law.head: law for law in predictions.LAWS}
    root, red = by_head["TCP's square-root law"], by_head["RED's equilibrium"]
    assert root.theory(result) == pytest.approx(1.752)
    assert root.measured(result) == pytest.approx(1.752)
    assert red.theory(result) == pytest.approx(15)
    assert red.measured(result) == pytest.approx(15)
    # 121.12 ms of 10 Mb/s are 151400 bytes, halfway between the thresholds: p is 0.05.
    half = {"summary": result["summary"] | {"queue_delay_ms": {"mean": 121.12}}}
    curve, little = by_head["RED's drop curve"], by_head["Little's law"]
    assert curve.theory(half) == pytest.approx(100 * 0.1 / 1.05)
    assert curve.measured(half) == pytest.approx(100 / 150)
    assert little.theory(half) == 121.12
    probe = {"groups": {"probe": {"delay_ms": {"mean": 120.0}}}}
    assert little.measured(probe) == 120.0
    # 1460 * 8 / (0.1 * sqrt(2 / 450) + 0.3 * (3 * sqrt(3 / 1200)) / 150 * (1 + 32 / 22500))
    assert by_head["Padhye's law, with timeouts"].theory(result) == pytest.approx(1.67645, rel=1e-3)
