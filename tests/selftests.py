# SPDX-License-Identifier: GPL-2.0
"""The kernel-style selftests (TAP on stdout) of a discipline, run in the lab."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# One parent of each sort: none, shaping, peeking, round robin, one with a queue of its own.
FEW_PARENTS = ("root", "htb", "tbf-slow", "drr", "hfsc", "netem")


@dataclass(frozen=True)
class Tap:
    """What a run said: the names of its cases by verdict, its exit status, all its output."""

    passed: list[str]
    failed: list[str]
    skipped: list[str]
    status: int
    text: str


def parse_tap(text: str, status: int) -> Tap:
    """Sort the result lines of TAP output; other lines are ignored."""
    passed, failed, skipped = [], [], []
    for verdict, name in re.findall(r"^(ok|not ok) \d+ (?:- )?(.*)$", text, re.MULTILINE):
        if verdict == "not ok":
            failed.append(name)
        elif re.search(r"# skip", name, re.IGNORECASE):
            skipped.append(name)
        else:
            passed.append(name)
    return Tap(passed, failed, skipped, status, text)


def run_selftest(command: Sequence[str], lab: Sequence[str] = (), limit: int = 1200) -> Tap:
    """Run a script of selftests/ in the lab; ``limit`` is in seconds of wall time."""
    subprocess.run(["make", "-s", "-C", TOP / "selftests"], check=True)
    done = subprocess.run(
        [TOP / "lab" / "boot", "--time-limit", str(limit), *lab, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=TOP,
    )  # fmt: skip
    print(done.stdout)
    return parse_tap(done.stdout, done.returncode)


def few_parents(kind: str, options: str, excluded: Sequence[str] = ()) -> list[str]:
    """The command for a small matrix, for kernels on which each packet is expensive.

    ``excluded`` are PARENT:CASE to leave out. The module stays loaded: where user-mode Linux
    has loaded and unloaded a module, KASAN takes the loading of the next one for a write out
    of bounds.
    """
    chosen = [word for parent in FEW_PARENTS for word in ("-p", parent)]
    chosen += [word for case in excluded for word in ("-x", case)]
    return ["selftests/parents.sh", "-u", *chosen, kind, options]
