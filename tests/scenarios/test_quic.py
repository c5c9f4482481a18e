# SPDX-License-Identifier: GPL-2.0
"""A QUIC stack in Go behind an AQM. The transcript in docs/quic.md has one in Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.extra
def test_quic_go_obeys_marks_and_repeats(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    built = subprocess.run(
        ["go", "build", "-o", tmp_path / "transfer", "."],
        text=True,
        cwd=ROOT / "examples" / "quic" / "go",
        capture_output=True,
        timeout=300,
    )
    if "proxy" in built.stderr or "dial tcp" in built.stderr:
        pytest.skip(f"quic-go cannot be fetched: {built.stderr[-200:]}")
    assert built.returncode == 0, built.stderr
    program = tmp_path / "transfer"
    done = subprocess.run(
        [
            ROOT / "examples" / "quic" / "table",
            "--set",
            "rate=20",
            "--set",
            "duration=2",
            "--qdisc",
            "fq_codel",
            f"{program} server {{server}}",
            f"{program} client {{server}} 2500000",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # seconds, lost, marked, p99; the row has no word after the digest if both runs are equal
    row = re.search(
        r"^fq_codel +([\d.]+) +([\d.]+) +(\d+) +[\d.]+ +[0-9a-f]+ *$", done.stdout, re.M
    )
    assert row, done.stdout
    seconds, lost, marked = float(row[1]), float(row[2]), int(row[3])
    # 20 Mb/s and the packets' headers are the bound; the handshake needs a round trip of 40 ms.
    assert 2.5e6 * 8 / 20e6 + 0.04 < seconds < 2
    assert marked > 0
    assert lost == 0
