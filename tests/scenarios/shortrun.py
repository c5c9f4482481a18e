# SPDX-License-Identifier: GPL-2.0
"""Run a short scenario in the lab, from this checkout or from a copy of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "netns-scenarios" / "run"
SMALL = ("--set", "flows=10", "--set", "rate=50", "--set", "warmup=1", "--set", "duration=2")


DUMBBELL = ("dumbbell", *SMALL)


def run(
    out: Path,
    *words: str,
    scenario: Sequence[str] = DUMBBELL,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RUN, *scenario, "--out", out, *words], capture_output=True, text=True, timeout=300
    )


def result(out: Path, *words: str, scenario: Sequence[str] = DUMBBELL) -> dict[str, Any]:
    done = run(out, *words, scenario=scenario)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((out / "result.json").read_text())
    return found


LOGS = ("flows.csv", "progress.csv", "queue.csv")

# A program for a second interpreter, which then also runs in the guest.
ELSEWHERE = """
import sys
sys.executable = sys.argv[1]
from aqmlab.run_command import main
sys.exit(main(sys.argv[2:]))
"""


def copied(deep: Path) -> Path:
    """Copy the checkout to a directory below DEEP. The copy shares all built files."""
    checkout = deep / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    (checkout / "build").symlink_to(ROOT / "build")
    return checkout


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that occurs exactly once in a file."""
    text = file.read_text()
    assert text.count(old) == 1, f"{file} must contain {old!r} exactly once"
    file.write_text(text.replace(old, new))


def run_copy(
    checkout: Path, out: Path, python: str | Path, *words: str, scenario: Sequence[str] = DUMBBELL
) -> None:
    """Run a copy with more environment variables and with the interpreter PYTHON in the guest."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            ELSEWHERE,
            python,
            *scenario,
            "--out",
            out,
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=checkout,
        env=os.environ | {"AQM_FILLER": "x" * 5000, "PYTHONPATH": str(checkout / "lab")},
    )
    assert done.returncode == 0, done.stderr
