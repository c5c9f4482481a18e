# SPDX-License-Identifier: GPL-2.0
"""The kernel-style selftests (TAP on stdout) of a discipline, run in the lab."""

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

from aqmlab.qdiscs.metadata import cards

TOP = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Kind:
    """A discipline, with what its card in selftests/kinds says of it."""

    name: str
    card: Mapping[str, str]

    @property
    def filters(self) -> bool:
        """Whether it takes filters."""
        return bool(self.card.get("FILTERS"))


KINDS = [Kind(name, card) for name, card in cards().items()]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def tdc_cases(kind: str, directory: Path) -> list[dict[str, Any]]:
    """The cases that a kind's table makes, as tdc has them."""
    program = TOP / "selftests" / "tdc" / "cases.py"
    subprocess.run([sys.executable, program, "--write", directory, kind], check=True)
    cases: list[dict[str, Any]] = json.loads((directory / f"{kind}.json").read_text())
    return cases


def matrix_names(kind: Kind, *words: str) -> list[str]:
    """The cells that the matrix of a kind has, by name."""
    command: list[str | Path] = [TOP / "selftests" / "matrix", *words, "-n", kind.name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


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
    done = subprocess.run(
        [TOP / "lab" / "boot", "--time-limit", str(limit), *lab, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=TOP,
    )  # fmt: skip
    print(done.stdout)
    return parse_tap(done.stdout, done.returncode)
