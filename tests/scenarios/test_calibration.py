# SPDX-License-Identifier: GPL-2.0
"""The lab beside theory: the rows of docs/results/calibration.md that take seconds."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.replay import paper

DRR = "qsdrr limit 200 flows 1024 nohysteresis"
#: Bytes of payload, and of the packet with its Ethernet header.
UDP, TCP = 972 / 1014, 1460 / 1514


def run(tmp_path: Path, scenario: str, qdisc: str, **values: Any) -> dict[str, Any]:
    """Run once, and return the result."""
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([ROOT / "netns-scenarios" / "run", scenario, "--qdisc", qdisc, *settings,
                           "--out", tmp_path / "r"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((tmp_path / "r" / "result.json").read_text())
    return result


@pytest.mark.parametrize(("rate", "udp", "tcp"), [
    (0.3, 0.3e6, None),  # less than a seventh of 3 Mb/s: all of it arrives
    (3, 3e6 / 7, 3e6 / 7)])
def test_deficit_round_robin_gives_max_min_shares(tmp_path: Path, rate: float, udp: float,
                                                  tcp: float | None) -> None:
    made = run(tmp_path, "udp-blast", DRR, flows=5, udp_flows=2, rate=3, udp_rate=rate, rtt=50,
               warmup=10, duration=60)
    goodput = {name: group["goodput_bps"]["mean"] for name, group in made["groups"].items()}
    assert goodput["udp"] == pytest.approx(udp * UDP, rel=0.002)
    if tcp:
        assert goodput["tcp"] == pytest.approx(tcp * TCP, rel=0.002)


def test_tcp_follows_the_square_root_law(tmp_path: Path) -> None:
    """A window of sqrt(1.5 / p) packets per round trip, at 0.5 % random loss."""
    made = run(tmp_path, "dumbbell", "netem loss random 0.5% limit 10000", flows=8, rate=100,
               access=1000, rtt=80, cc="reno", warmup=10, duration=120)
    (group,) = made["groups"].values()
    dropped, sent = made["summary"]["dropped"], made["summary"]["sent"]
    law_bps = math.sqrt(1.5 * (dropped + sent) / dropped) * 1460 * 8 / 0.08
    assert group["goodput_bps"]["mean"] == pytest.approx(law_bps, rel=0.05)


def test_no_link_carries_more_than_its_rate() -> None:
    """Two packets of 30 s at 1 Mb/s, which may straddle the ends of the time, are 0.08 %."""
    for name in paper.names():
        for row in paper.load(name).made():
            assert row["figures"]["summary"]["utilization"] <= 1.001, row["cell"]
