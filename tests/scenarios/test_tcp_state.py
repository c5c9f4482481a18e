# SPDX-License-Identifier: GPL-2.0
"""The state of TCP over time agrees with what the flows did, and looking at it changes nothing."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
from pathlib import Path

import pytest

from aqmlab import ROOT

WORDS = ("dumbbell", "--qdisc", "pfifo limit 50", "--set", "flows=2", "--set", "rate=10")
TCP = ("--set", "cc=reno", "--set", "tcp_profile=today", "--set", "duration=20", "--set", "rtt=50")


def run(out: Path, *more: str) -> str:
    command = [ROOT / "netns-scenarios" / "run", *WORDS, *TCP, *more, "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return str(json.loads((out / "result.json").read_text())["digest"])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tcp") / "r"
    run(place, "--tcp-state")
    return place


def test_the_digest_stays(out: Path, tmp_path: Path) -> None:
    there = json.loads((out / "result.json").read_text())["digest"]
    assert run(tmp_path / "plain") == there
    assert not (tmp_path / "plain" / "tcp.csv").exists()


def test_last_counts_are_those_of_the_flows(out: Path) -> None:
    """Packets under way at the end are delivered to the receiver, but not acknowledged."""
    ends = {row["flow"]: row for row in table(out / "flows.csv")}
    last = {row["flow"]: row for row in table(out / "tcp.csv")}
    assert last.keys() == ends.keys()
    for flow, row in last.items():
        assert row["retransmits"] == ends[flow]["retransmits"]
        delivered = int(row["delivered"]) * int(row["mss"])
        under_way = int(row["unacked"]) * int(row["mss"])
        assert abs(int(ends[flow]["bytes"]) - delivered) <= under_way + 2 * int(row["mss"])


def test_windows_fill_the_link(out: Path) -> None:
    """Without loss or idle time the windows of all flows, over their RTTs, are the link's rate."""
    rows = [row for row in table(out / "tcp.csv") if float(row["time_s"]) >= 10]
    by_time: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_time.setdefault(row["time_s"], []).append(row)
    calm = [
        sum(int(r["unacked"]) * int(r["mss"]) * 8e3 / float(r["srtt_ms"]) for r in each)
        for each in by_time.values()
        if all(r["state"] == "open" and int(r["unacked"]) >= int(r["cwnd"]) for r in each)
    ]
    assert len(calm) > 10
    assert sum(calm) / len(calm) == pytest.approx(10e6 * 1448 / 1514, rel=0.1)


def test_reno_halves_its_window_at_a_loss(out: Path) -> None:
    """Before the first loss there is no threshold. Later it is half of the window before."""
    for flow in ("0", "1"):
        mine = [row for row in table(out / "tcp.csv") if row["flow"] == flow]
        assert not mine[0]["ssthresh"]
        thresholds = [int(row["ssthresh"]) for row in mine if row["ssthresh"]]
        largest = max(int(row["cwnd"]) for row in mine)
        assert thresholds
        assert all(2 <= threshold <= largest for threshold in thresholds)
        fell = [
            (int(a["cwnd"]), int(b["ssthresh"]))
            for a, b in itertools.pairwise(mine)
            if a["ssthresh"] and b["ssthresh"] != a["ssthresh"]
        ]
        # In half a second, ten round trips at most, the window grows by ten segments at most.
        assert all(before / 2 - 1 <= half <= (before + 10) / 2 + 1 for before, half in fell[1:])


def test_iperf3_has_no_such_log(tmp_path: Path) -> None:
    more = ("--tcp-state", "--clock", "wall", "--set", "generator=iperf3", "--out", tmp_path / "r")
    command = [ROOT / "netns-scenarios" / "run", *WORDS, *more]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--tcp-state: needs generator=flowgen" in done.stderr


def test_a_run_without_flows_of_its_own_has_no_such_log(tmp_path: Path) -> None:
    """A log without a row would look as if the program had no connection."""
    command = [
        ROOT / "netns-scenarios" / "run",
        "programs",
        "--tcp-state",
        "--exec",
        "client: true",
    ]
    done = subprocess.run([*command, "--out", tmp_path / "r"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Connections of --exec are not logged" in done.stderr


def test_the_result_has_the_distribution_of_the_measured_time(out: Path) -> None:
    parameters = json.loads((out / "result.json").read_text())
    found = parameters["groups"]["all"]["tcp"]
    rows = [
        row
        for row in table(out / "tcp.csv")
        if float(row["time_s"]) >= parameters["parameters"]["warmup"]
        and float(row["srtt_ms"])
        and float(row["time_s"]) < parameters["virtual_seconds"]
    ]
    for column in ("cwnd", "srtt_ms", "pacing_mbps"):
        values = [float(row[column]) for row in rows]
        assert found[column]["mean"] == pytest.approx(sum(values) / len(values))
        assert found[column]["max"] == max(values)
