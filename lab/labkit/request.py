# SPDX-License-Identifier: GPL-2.0
"""A request to the lab and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Output(Protocol):
    """A file of the host for what a command prints."""

    def write(self, text: bytes, /) -> int:
        """Append TEXT."""

    def flush(self) -> None:
        """Pass on what was written."""

    def fileno(self) -> int:
        """Return the file's descriptor."""


@dataclass(frozen=True)
class Request:
    """Hold everything on lab/boot's command line: the command and its guest.

    output: file for the command's stdout and stderr, if not this process's. The guest keeps it
    open until it has ended.
    own_root: the guest needs no file of the host but those of `share`
    ptrace: run processes by ptrace(2), with other bytes, instead of seccomp(2)
    inputs: files of the host by their places in a guest that sees no directory of the host
    sockets: IP version and number of TCP sockets whose addresses must not depend on any path
    watch: called each second with the guest's seconds since its boot
    """

    command: Sequence[str]
    engine: str = "uml"
    kernel: str = ""  # the engine's default
    clock: str = ""
    flavour: str = "fast"
    seed: int = 1
    time_limit: float = 600.0
    stall_limit: float = float("inf")  # real seconds for which the virtual clock may stand still
    memory: str = "2G"
    icount: bool = False
    plugin: str = ""  # in the format of QEMU's -plugin
    nics: int = 0
    foreign: bool = False  # the command may read the processor's clock; give it the kernel's
    terminal: bool = False  # join the command to the terminal of the lab
    own_root: bool = False
    ptrace: bool = False
    share: Sequence[Path] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    modules: Sequence[Path] = ()  # directories of further modules, see outside.py
    environment: Mapping[str, str] = field(default_factory=dict)
    sockets: tuple[int, int] = (4, 0)
    output: Output | None = None
    watch: Callable[[float], None] | None = None


@dataclass
class Result:
    """Hold the exit status, the reason if it is not the command's own, and the log.

    lab: what the bytes of the run depend on, see orders.facts()
    busy: virtual seconds in which the guest's processor ran, from its boot on; None if unknown
    """

    status: int
    log: Path
    reason: str = ""
    clock: float = 0.0
    wall: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
    lab: Mapping[str, str] = field(default_factory=dict)
    busy: float | None = None
