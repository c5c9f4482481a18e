# SPDX-License-Identifier: GPL-2.0
"""The programs of a run: where they are, how conduct starts them, and why one failed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from aqmlab import ROOT
from aqmlab.qdiscs import names
from labkit.orders import OWN_PROGRAMS, PROGRAMS_IN_GUEST

SEARCH = ":".join(
    (os.environ.get("PATH", ""), str(ROOT / "build" / "tools"), "/usr/sbin:/sbin:/usr/bin:/bin")
)
HOW_TO_GET = {
    "env": "apt-get install coreutils",
    "ip": "apt-get install iproute2",
    "tc": "apt-get install iproute2",
    "ss": "apt-get install iproute2",
    "modprobe": "apt-get install kmod",
    "iperf3": "apt-get install iperf3",
    "unshare": "apt-get install util-linux",
    "conduct": "make tools",
    "flowgen": "make tools",
    "qsample": "make tools",
    "inspace": "make tools",
}


#: How much of a failed program's output its error shows.
LAST_LINES = 15


class Failure(Exception):
    """Something that the recipe needs did not work. The message says what."""


def in_guest(name: str) -> str:
    """Return what starts a program in a lab guest: the lab's own one, or the host's by its name."""
    return f"{PROGRAMS_IN_GUEST}/{name}" if name in OWN_PROGRAMS else name


def tool(name: str) -> str:
    """Return the path of a program of this machine. Raises Failure, which says how to get it."""
    path = shutil.which(name, path=SEARCH)
    if not path:
        raise Failure(f"{name} is missing: {HOW_TO_GET[name]}")
    return path


def batch_failure(program: str, lines: list[str], output: str) -> str:
    """Return the complaint of `ip -batch` or `tc -batch`, its line, and a remedy if known."""
    at = re.search(r"Command failed -:(\d+)", output)
    line = lines[int(at[1]) - 1] if at else " ; ".join(lines)
    output = re.sub(r"Command failed -:\d+", "", output).strip()
    hint = "".join(
        f"\n{names.remedy(kind)}" for kind in names.added([line]) if names.unknown(output)
    )
    return f"{program} {line}\n{output}{hint}"


class Step(NamedTuple):
    """A program for lab/traffic/conduct.c to start.

    wait: whether conduct waits for its end
    last: whether it runs after the others have ended
    says: whether the whole message of its failure is what it prints
    program: whether it is a program of --exec, which ends with the run; `out` is then a prefix
    at_ns: when a program without `wait` starts, after the epoch; None: at its turn
    input, out: its standard input, and the file for its output
    lines: the lines of a batch, or the command line of a program of --exec
    """

    name: str
    argv: list[str]
    wait: bool = True
    input: str = ""
    out: str = ""
    lines: Sequence[str] = ()
    program: bool = False
    at_ns: int | None = None
    last: bool = False
    says: bool = False

    def words(self) -> list[str]:
        """Return the step as conduct reads it."""
        verb = "last" if self.last else "run" if self.wait else "exec" if self.program else "start"
        if self.at_ns is not None:
            verb += f"@{self.at_ns}"
        return [verb, self.name, self.input, self.out, *self.argv, ""]

    def failure(self, status: int, output: str) -> str:
        """Say why the step has failed."""
        if self.program:
            how = f"ended with status {status}" if status < 128 else f"got signal {status - 128}"
            return f"{self.name} {how}: {self.lines[0]}\n{self._last_lines()}".strip()
        if self.says:
            return output.strip()
        if self.lines:
            return batch_failure(self.name, list(self.lines), output)
        if self.wait:
            return f"{' '.join(self.argv)}: {output.strip()}"
        return f"{self.name} failed with status {status}"

    def _last_lines(self) -> str:
        """Return the end of what a program of --exec wrote: its errors, or else its output."""
        output = (
            Path(f"{self.out}.{stream}").read_text(errors="replace").strip()
            for stream in ("stderr", "stdout")
        )
        return "\n".join(next(filter(None, output), "").splitlines()[-LAST_LINES:])
