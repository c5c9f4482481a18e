# SPDX-License-Identifier: GPL-2.0
"""With BLUE, many TCP flows keep the link busy, and lose no more packets than with RED."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "netns-scenarios" / "run"
BLUE = "blue bandwidth 50mbit"
# 333 packets, and thresholds by tc-red(8).
RED = "red limit 500kb min 80kb max 240kb avpkt 1514 burst 70 probability 0.02 bandwidth 50mbit"


def run(out: Path, qdisc: str) -> dict[str, Any]:
    """Run 40 flows at 50 Mb/s. Returns the result, and tc's output at the end."""
    words = ["--out", out, "--qdisc", qdisc, "--seed", "1"]
    for setting in ("flows=40", "rate=50", "rtt=50", "warmup=5", "duration=8"):
        words += ["--set", setting]
    subprocess.run([RUN, "dumbbell", *words], check=True, stdout=subprocess.DEVNULL)
    shown = json.loads((out / "qdisc.json").read_text())
    summary = json.loads((out / "result.json").read_text())["summary"]
    return summary | {"shown": next(q for q in shown if q["kind"] == qdisc.split()[0])}


@pytest.mark.extra
def test_blue_loses_no_more_than_red_with_many_flows(tmp_path: Path) -> None:
    blue, red = run(tmp_path / "blue", BLUE), run(tmp_path / "red", RED)
    print(blue, red)
    assert blue["utilization"] > 0.98
    assert blue["utilization"] > red["utilization"] - 0.01
    assert 0 < blue["dropped"] <= 1.1 * red["dropped"]
    # BLUE has learned a probability, and random drops replace overflows.
    assert blue["shown"]["probability"] > 0
    assert blue["shown"]["early_drop"] > 0
    assert blue["queue_delay_ms"]["p50"] < 80
