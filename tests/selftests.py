# SPDX-License-Identifier: GPL-2.0
"""Run the selftests of a discipline in the lab. They print TAP, like the kernel's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aqmlab.qdiscs.metadata import all_metadata
from labkit import records

TOP = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Kind:
    """A discipline and its metadata, selftests/kinds."""

    name: str
    metadata: Mapping[str, str]

    @property
    def filters(self) -> bool:
        """Whether it supports filters."""
        return bool(self.metadata.get("FILTERS"))


KINDS = [Kind(name, metadata) for name, metadata in all_metadata().items()]
EXTRA = pytest.mark.extra
#: Debian's kernels. make test takes the oldest usual one, which differs most from the lab's.
*NEWER, OLDEST = records.names("qemu")
USUAL = [*(pytest.param(name, marks=EXTRA) for name in NEWER), OLDEST]
#: Also 5.10, which lacks the fixes of 2025 in drr, hfsc and others, and boots slowly.
STOCK = [
    *USUAL,
    *(
        pytest.param(name, marks=EXTRA)
        for name in records.names("qemu", seldom=True)
        if name not in (*NEWER, OLDEST)
    ),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def tdc_cases(kind: str, directory: Path) -> list[dict[str, Any]]:
    """Return the tdc cases that are generated from a kind's table."""
    program = TOP / "selftests" / "tdc" / "cases.py"
    subprocess.run([sys.executable, program, "--write", directory, kind], check=True)
    cases: list[dict[str, Any]] = json.loads((directory / f"{kind}.json").read_text())
    return cases


def matrix_names(kind: Kind, *words: str) -> list[str]:
    """Return the names of the cases in a kind's matrix. words: options of selftests/matrix"""
    command: list[str | Path] = [TOP / "selftests" / "matrix", *words, "-n", kind.name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


@dataclass(frozen=True)
class Tap:
    """Result of a run: names of its cases by verdict, exit status, and whole output."""

    passed: list[str]
    failed: list[str]
    skipped: list[str]
    status: int
    text: str


def parse_tap(text: str, status: int) -> Tap:
    """Sort TAP's result lines by verdict, and ignore other lines."""
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
    """Run a command in the lab.

    lab: options of lab/boot
    limit: seconds of wall time
    """
    done = subprocess.run(
        [TOP / "lab" / "boot", "--time-limit", str(limit), *lab, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=TOP,
    )
    print(done.stdout)
    return parse_tap(done.stdout, done.returncode)
