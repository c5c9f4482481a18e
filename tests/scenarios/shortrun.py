# SPDX-License-Identifier: GPL-2.0
"""Short runs of a scenario in the lab: of this checkout, and of a copy of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "netns-scenarios" / "run"
SMALL = ("--set", "flows=10", "--set", "rate=50", "--set", "warmup=1", "--set", "duration=2")


def run(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUN, "dumbbell", "--out", out, *SMALL, *words], capture_output=True,
                          text=True, timeout=300)


def result(out: Path, *words: str) -> dict[str, Any]:
    done = run(out, *words)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "result.json").read_text())


LOGS = ("flows.csv", "progress.csv", "queue.csv")

# Run by a second interpreter, which the guest then gets, too.
ELSEWHERE = """
import sys
sys.path[:0] = sys.argv[1:4]
sys.executable = sys.argv[4]
from aqmlab.run_command import main
sys.exit(main(sys.argv[5:]))
"""


def copied(deep: Path) -> Path:
    """A copy of the checkout below DEEP, that shares what was built."""
    checkout = deep / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    (checkout / "build").symlink_to(ROOT / "build")
    return checkout


def edit(file: Path, old: str, new: str) -> None:
    """One place of a file, that must be there."""
    text = file.read_text()
    assert text.count(old) == 1, f"{file} has not one {old!r}"
    file.write_text(text.replace(old, new))


def run_copy(checkout: Path, out: Path, python: str | Path, *words: str) -> None:
    """A run of a copy, in a larger environment; the guest's interpreter is PYTHON."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, checkout, checkout / "netns-scenarios", checkout / "lab",
         python, "dumbbell", "--out", out, *SMALL, *words],
        capture_output=True, text=True, timeout=300, cwd=checkout,
        env=os.environ | {"AQM_FILLER": "x" * 5000})
    assert done.returncode == 0, done.stderr
