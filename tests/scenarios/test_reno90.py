# SPDX-License-Identifier: GPL-2.0
"""reno90 is the Reno of ns-2, and NewReno is not.

One flow loses half a window where its first slow start ends. Fall and Floyd (CCR 26/3, 1996):
NewReno mends one loss a round trip and sends again what was lost; Reno, with more than two losses
in a window, waits for its timer and begins anew from what was acknowledged.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.scenarios.test_more_scenarios import run

SETTINGS = ("flows=1", "rate=10", "rtt=50", "access=100", "warmup=0", "duration=4", "window=400")
SEGMENT = 1460


@pytest.mark.parametrize("cc", ["reno", "reno90"])
def test_a_window_of_losses(cc: str, tmp_path: Path) -> None:
    result = run("dumbbell", tmp_path / cc, *SETTINGS, f"cc={cc}", qdisc="pfifo limit 20")
    lost = result["hops"]["rtr b0"]["lost"]
    with (tmp_path / cc / "flows.csv").open(newline="") as file:
        again = int(next(csv.DictReader(file))["retransmits"])
    with (tmp_path / cc / "progress.csv").open(newline="") as file:
        at = {float(row["time_s"]): int(row["bytes"]) for row in csv.DictReader(file)}
    mended = at[2.0] - at[1.0]
    assert lost > 20
    if cc == "reno":
        assert again == lost
        # A second has at most 20 round trips, each with a hole and what limited transmit sends.
        assert mended < 20 * 3 * SEGMENT
    else:
        assert again > 2 * lost
        assert mended > 0.5 * 10e6 / 8
