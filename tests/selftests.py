# SPDX-License-Identifier: GPL-2.0
"""The kernel-style selftests (TAP on stdout) of a discipline, run in the lab."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
TDC = TOP / "selftests" / "tdc"

# One parent of each sort: none, shaping, peeking, round robin, one with a queue of its own.
FEW_PARENTS = ("root", "htb", "tbf-slow", "drr", "hfsc", "netem")


@dataclass(frozen=True)
class Kind:
    """A discipline.

    ``options`` go with the small matrix: a limit that a burst overflows, and with which a lone
    packet passes afterwards. ``excluded`` are PARENT:CASE as in its script, which says why.
    Without ``filters`` it takes none, as mainline's red.
    """

    name: str
    options: str
    excluded: tuple[str, ...] = ()
    filters: bool = True

    @property
    def cases(self) -> Path:
        return TDC / f"{self.name}.json"


KINDS = [
    Kind("qsdrr", "limit 2"),
    Kind("tdrr", "limit 2"),
    Kind("2regionred", "limit 2", filters=False),
    Kind("chokex", "limit 2 min 5 max 6 bandwidth 100gbit"),
    Kind("redtail", "limit 3kb"),
    Kind("cbt", "limit 2 bandwidth 100gbit", ("netem:replace",)),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


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


def few_parents(kind: Kind) -> list[str]:
    """The command for a small matrix, for kernels on which each packet is expensive.

    The module stays loaded: where user-mode Linux has loaded and unloaded a module, KASAN
    takes the loading of the next one for a write out of bounds.
    """
    chosen = [word for parent in FEW_PARENTS for word in ("-p", parent)]
    chosen += [word for case in kind.excluded for word in ("-x", case)]
    return ["selftests/parents.sh", "-u", *chosen, kind.name, kind.options]
