# SPDX-License-Identifier: GPL-2.0
"""Read the programs of --exec, which are the traffic of a run."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.exceptions import UserError, unknown
from labkit.orders import hidden

from . import run_directory
from .group import Group
from .settings import Settings

ROLES = ("server", "client")
#: The lab has its own system directories only; writing into / is not for a program.
NOT_SHARED = Path("/")


@dataclass(frozen=True)
class Program:
    """A program of --exec.

    pair: number of its pair of hosts, from 1
    start_s: start time after the epoch; None: before it
    words: its command line, the program as a path, with placeholders
    """

    pair: int
    role: str
    start_s: float | None
    words: Sequence[str]

    @property
    def group(self) -> str:
        """Return the name of its pair of hosts."""
        return f"{run_directory.EXEC}{self.pair}"


def parse(texts: Sequence[str]) -> list[Program]:
    """Read the values of --exec. A server after a client begins the next pair of hosts.

    Raises UserError for a wrong role, time, or program.
    """
    programs: list[Program] = []
    pair = 1
    for text in texts:
        head, colon, command = text.partition(":")
        role, at, start = head.strip().partition("@")
        if not colon or not command.strip():
            raise UserError(f"--exec '{text}': needs 'server: PROGRAM' or 'client: PROGRAM'")
        if role not in ROLES:
            raise unknown("role of --exec", role, ROLES)
        if programs and role == "server" and programs[-1].role == "client":
            pair += 1
        start_s = 0.0 if role == "client" else None
        if at:
            if not re.fullmatch(r"\d+(\.\d+)?", start):
                raise UserError(f"--exec '{text}': needs seconds after @, as in '{role}@2.5: ...'")
            start_s = float(start)
        try:
            program, *words = shlex.split(command)
        except ValueError as error:
            raise UserError(f"--exec '{text}': {error}") from error
        programs.append(Program(pair, role, start_s, [_found(program), *words]))
    return programs


def _found(program: str) -> str:
    """Return the absolute path of a program, which may be a symbolic link."""
    path = shutil.which(program)
    if not path:
        raise UserError(
            f'--exec: there is no program "{program}" in PATH'
            if "/" not in program
            else f'--exec: "{program}" is not a program'
        )
    return str(Path(path).absolute())


def groups(programs: Sequence[Program], settings: Settings, others: Sequence[Group]) -> list[Group]:
    """Return a group for each pair of hosts. It is elastic if nothing else sends."""
    rtt_ms = settings.number("rtt") if "rtt" in settings.values else others[0].rtt_ms
    for program in programs:
        if (program.start_s or 0) * 1000 >= settings.end_ms:
            raise UserError(
                f"--exec: a {program.role} starts at {program.start_s:g} s, and the "
                f"run ends at {settings.end_ms / 1000:g} s"
            )
    return [
        Group(
            name=name,
            start_ns=[0],
            rtt_ms=rtt_ms,
            access_bps=0,
            congestion_control="",
            demand_bps=math.inf,
            payload=1.0,
            elastic=not others,
        )
        for name in dict.fromkeys(program.group for program in programs)
    ]


def filled(word: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders in a word. Raises UserError for an unknown placeholder."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise unknown("placeholder", match[1], values)
        return str(values[match[1]])

    return re.sub(r"\{([a-z]+)\}", value, word)


def shared_directories(programs: Sequence[Program]) -> list[str]:
    """Return directories that the lab's guest needs beside the run's.

    They are the current one, where programs may write, and each program's, if the guest's own
    directories would hide it.
    """
    if not programs:
        return []
    wanted = [
        Path.cwd(),
        *(Path(program.words[0]).parent for program in programs if hidden(Path(program.words[0]))),
    ]
    return [str(path) for path in dict.fromkeys(wanted) if path != NOT_SHARED]
