# SPDX-License-Identifier: GPL-2.0
"""What is asked of the lab, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """What to run and in what: the whole of lab/boot's command line.

    output: where the command's stdout and stderr go, if not to this process's. The guest keeps
    the file open until it has ended.
    """

    command: Sequence[str]
    engine: str = "uml"
    kernel: str = ""  # the engine's default
    clock: str = ""
    flavour: str = "fast"
    seed: int = 1
    time_limit: float = 600.0
    memory: str = "2G"
    icount: bool = False
    plugin: str = ""  # as QEMU takes it after -plugin
    nics: int = 0
    terminal: bool = False  # the command's is the one that the lab was started from
    share: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    output: Output | None = None


@dataclass
class Result:
    """How it ended: the status to exit with, why if not the command's own, and the log."""

    status: int
    log: Path
    reason: str = ""
    clock: float = 0.0
    wall: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
