# SPDX-License-Identifier: GPL-2.0
"""The scenarios beside the dumbbell: short runs in the lab, and what they plan."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scenarios.errors import UserError
from scenarios.params import resolve
from scenarios.plan import Plan
from scenarios.scenario import Facts, Request, scenario

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "netns-scenarios" / "run"

# Small enough for a second or two of wall time each.
SHORT = {
    "multi-rtt": ("near_flows=5", "far_flows=5", "rate=50", "warmup=1", "duration=3"),
    "udp-blast": ("flows=4", "tagged_flows=2", "warmup=1", "duration=4", "udp_start=2",
                  "udp_stop=4"),
}


def run(scenario: str, out: Path, *settings: str, qdisc: str = "pfifo limit 50",
        seed: int = 1) -> dict[str, Any]:
    words = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [RUN, scenario, "--out", out, "--qdisc", qdisc, "--seed", str(seed), *words],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "result.json").read_text())


def plan_of(name: str, *settings: str, seed: int = 1) -> tuple[Plan, Facts]:
    found = scenario(name)
    return found.build(Request(resolve(found.params, settings), "pfifo", seed, "virtual"))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SHORT)
def test_same_seed_same_digest(name: str, tmp_path: Path) -> None:
    first = run(name, tmp_path / "a", *SHORT[name], seed=3)
    again = run(name, tmp_path / "b", *SHORT[name], seed=3)
    other = run(name, tmp_path / "c", *SHORT[name], seed=4)
    assert first["digest"] == again["digest"]
    assert first["groups"] == again["groups"]
    assert first["digest"] != other["digest"]


def test_list_has_them_all() -> None:
    done = subprocess.run([RUN, "--list"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for name in SHORT:
        assert f"\n{name}: " in done.stdout
    assert "udp_rate" in done.stdout


def test_near_flows_get_more_from_a_fifo(tmp_path: Path) -> None:
    r = run("multi-rtt", tmp_path / "r", *SHORT["multi-rtt"], "duration=15")
    near, far = r["groups"]["near"], r["groups"]["far"]
    assert (near["rtt_ms"], far["rtt_ms"]) == (40, 200)
    assert near["share_of_fair"] > 1.5 * far["share_of_fair"]
    rtts = {row["group"]: float(row["min_rtt_ms"]) for row in table(tmp_path / "r" / "flows.csv")}
    # The path adds only the access link's 1.2 ms and the bottleneck's 0.24 ms.
    assert rtts["near"] == pytest.approx(41, abs=1)
    assert rtts["far"] == pytest.approx(201, abs=1)


def test_udp_alone_is_neither_lost_nor_late(tmp_path: Path) -> None:
    r = run("udp-blast", tmp_path / "r", "flows=0", "udp_rate=4", "udp_jitter=0", "warmup=0",
            "duration=2", "rtt=60")
    udp = r["groups"]["udp"]
    assert udp["loss"] == 0
    # Half of the round-trip time; a single packet passes an idle tbf without waiting.
    assert udp["delay_ms"]["mean"] == pytest.approx(30, abs=0.001)
    assert udp["delay_ms"]["max"] == pytest.approx(30, abs=0.001)
    # 4 Mb/s in packets of 1014 bytes with 972 of payload, for 2 s, the last 30 ms under way
    assert udp["goodput_bps"]["mean"] == pytest.approx(4e6 * 972 / 1014 * 1.97 / 2, rel=0.002)
    sent = sum(int(row["sent"]) for row in table(tmp_path / "r" / "datagrams.csv"))
    assert sent == pytest.approx(2 * 4e6 / 8 / 1014, abs=1)


def test_udp_overload_loses_what_does_not_fit(tmp_path: Path) -> None:
    r = run("udp-blast", tmp_path / "r", "flows=0", "udp_flows=2", "udp_rate=10", "warmup=1",
            "duration=5", qdisc="pfifo limit 20")
    udp = r["groups"]["udp"]
    assert r["summary"]["utilization"] == pytest.approx(1, abs=0.001)
    assert udp["loss"] == pytest.approx(0.5, abs=0.01)
    # 25 ms, and 19 to 21 packets of 1014 bytes at 10 Mb/s
    assert udp["delay_ms"]["p50"] == pytest.approx(25 + 20 * 0.8112, abs=0.9)


def test_udp_sends_when_and_as_it_is_told(tmp_path: Path) -> None:
    r = run("udp-blast", tmp_path / "r", "flows=1", "rtt=10", "tagged_flows=1", "tagged_dscp=46",
            "warmup=0", "duration=4", "udp_start=1", "udp_stop=2.5", "udp_rate=2",
            qdisc="prio bands 3 priomap 2 2 2 2 2 2 0 0 2 2 2 2 2 2 2 2")
    rows = table(tmp_path / "r" / "datagrams.csv")
    udp = str(next(f["id"] for f in json.loads((tmp_path / "r" / "plan.json").read_text())["flows"]
                   if f["group"] == "udp"))
    when = [float(row["time_s"]) for row in rows if row["flow"] == udp and int(row["sent"])]
    # Rows are of half a second each; the stop is at the end of the last.
    assert when == [1.0, 1.5, 2.0]
    assert [p["name"] for p in r["phases"]] == ["tcp+tagged", "tcp+tagged+udp", "tcp+tagged"]


def test_a_datagram_that_leaves_early_fails_the_run() -> None:
    """Without fq at the source, flowgen must not go on with bursts."""
    flow = "id=0 kind=udp source=127.0.0.1 sink=127.0.0.2 sink_port=5001 gap_ns=1000000 size=100"
    script = ("ip link set lo up; cd /tmp; echo $0 > flows; flowgen --duration-ms 500 "
              "--flows flows --progress p --ends e --datagrams d --delays y")
    done = subprocess.run([ROOT / "lab" / "boot", "--", "sh", "-c", script, flow],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "left before its time" in done.stdout + done.stderr


@pytest.mark.parametrize(("name", "settings", "said"), [
    ("udp-blast", ("udp_start=9", "udp_stop=8"), "start < stop"),
    ("udp-blast", ("udp_start=60",), "within the run's 60 s"),
    ("udp-blast", ("udp_size=2000",), "larger than mtu"),
    ("udp-blast", ("flows=0", "udp_flows=0"), "no flows"),
    ("udp-blast", ("udp_rate=0",), "udp_rate: 0 given"),
    ("multi-rtt", ("near_flow=3",), "near_flows"),
])
def test_bad_input(name: str, settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        plan_of(name, *settings)


def test_fair_share_of_multi_rtt_is_equal() -> None:
    groups = plan_of("multi-rtt")[1].groups
    assert groups["near"].fair_share_bps == groups["far"].fair_share_bps
    assert groups["near"].fair_share_bps == pytest.approx(5e6 * 1460 / 1514)
