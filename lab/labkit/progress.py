# SPDX-License-Identifier: GPL-2.0
"""Run long commands: write their output to a log and show progress on the terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import LabError, say

#: A compiler's or make's complaint; how many of them, and of a log's last lines, are shown.
ERROR = re.compile(r"\b(fatal )?error: |undefined reference")
MOST_ERRORS, LAST = 5, 25


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    what: str,
    *,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
    expected: int = 0,
    counts: tuple[str, ...] = ("  CC", "  LD", "  AR", "  AS"),
) -> None:
    """Run COMMAND with output to LOG. Show progress in EXPECTED lines that begin with COUNTS.

    VARIABLES are added to its environment. Raises LabError with its errors and the log's end.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(what, expected)
    with log.open("a", buffering=1, encoding="utf-8", errors="replace") as out:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(variables or {})},
            text=True,
            errors="replace",
        )
        assert process.stdout
        try:
            for line in process.stdout:
                out.write(line)
                if line.startswith(counts):
                    progress.step()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        status = process.wait()
    progress.close()
    if status:
        lines = log.read_text(errors="replace").splitlines()
        raise LabError(f"{what} failed (status {status}); {log} says:\n{important(lines)}")


def important(lines: Sequence[str]) -> str:
    """Return the errors among LINES of a log, and its end.

    Jobs of make go on after an error of another one, so the error may be far from the end.
    """
    early = [line for line in lines[:-LAST] if ERROR.search(line)][:MOST_ERRORS]
    return "\n".join([*early, *(["..."] if early else []), *lines[-LAST:]])


class Progress:
    """Show progress in one live line on a terminal, or one line per quarter elsewhere."""

    def __init__(self, what: str, expected: int) -> None:
        self.what = what
        self.expected = expected
        self.done = 0
        self.start = time.monotonic()
        self.shown = -1
        self.live = sys.stderr.isatty()

    def step(self) -> None:
        """Count one more step."""
        self.done += 1
        if not self.expected:
            return
        percent = min(99, 100 * self.done // self.expected)
        if self.live and percent != self.shown:
            spent = time.monotonic() - self.start
            left = spent * (self.expected - self.done) / self.done
            sys.stderr.write(
                f"\rlab: {self.what}: {percent:2d} %, {max(0, left):.0f} s left \033[K"
            )
            sys.stderr.flush()
        elif not self.live and percent // 25 != self.shown // 25 and percent >= 25:
            say(f"{self.what}: {percent} %, {time.monotonic() - self.start:.0f} s so far")
        self.shown = percent

    def close(self) -> None:
        """Clear the live line."""
        if self.live and self.shown >= 0:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
