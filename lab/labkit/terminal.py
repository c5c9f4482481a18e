# SPDX-License-Identifier: GPL-2.0
"""Connect the user's terminal to a terminal of the guest, for --shell."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import termios
import tty
from pathlib import Path
from types import TracebackType

from .errors import say
from .paths import ROOT

#: Ctrl-]. Three in a row end a guest that no longer answers.
ESCAPE = b"\x1d" * 3
CHUNK = 65536


def shell() -> list[str]:
    """Return the command of a shell with all disciplines loaded."""
    names = sorted(path.stem for path in ROOT.glob("sch_*.c") if not path.name.endswith(".mod.c"))
    return ["sh", "-c", 'modprobe -a "$@"; exec bash --norc', "sh", *names]


def environment() -> dict[str, str]:
    """Return the additional environment of a shell."""
    return {"TERM": os.environ.get("TERM", "dumb"), "PS1": "lab:\\w# "}


def size() -> tuple[str, str]:
    """Return rows and columns of the user's terminal, ignoring LINES and COLUMNS."""
    found = os.get_terminal_size(0)
    return str(found.lines or 24), str(found.columns or 80)


class Terminal:
    """Connect standard input and output to `theirs`, a file descriptor of the guest.

    Every key goes to the guest until this ends, including Ctrl-C.
    """

    def __init__(self, job: Path) -> None:
        self.opened = job / "terminal"
        # Not a pseudo-terminal, because user-mode Linux starts a process that watches its size and
        # may outlive the kernel.
        ours, theirs = socket.socketpair()
        self.ours, self.theirs = ours.detach(), theirs.detach()
        os.set_blocking(self.ours, False)
        self.before: list[object] | None = None
        self.typed = b""
        self.last = b""
        self.more = True

    def __enter__(self) -> Terminal:  # noqa: D105
        say("Ctrl-] three times ends a guest that no longer answers")
        self.before = termios.tcgetattr(0)
        # Keep input that was typed before.
        tty.setraw(0, termios.TCSADRAIN)
        return self

    def __exit__(  # noqa: D105
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pass_output()
        if self.before:
            termios.tcsetattr(0, termios.TCSADRAIN, self.before)  # type: ignore[arg-type]
        for end in (self.ours, self.theirs):
            with contextlib.suppress(OSError):
                os.close(end)

    def listening(self) -> bool:
        """Return whether the guest's side is open and has room for input."""
        return self.more and not self.typed and self.opened.exists()

    def watch(self, poller: select.poll) -> None:
        """Make POLLER wake up when data can be copied."""
        poller.register(self.ours, select.POLLIN | (select.POLLOUT if self.typed else 0))
        if self.listening():
            poller.register(0, select.POLLIN)
        else:
            with contextlib.suppress(KeyError):
                poller.unregister(0)

    def move(self) -> None:
        """Copy available data in both directions without blocking."""
        self.pass_output()
        if self.listening() and select.select([0], [], [], 0)[0]:
            fresh = os.read(0, CHUNK)
            self.more = bool(fresh)
            self.typed = fresh
            self.last = (self.last + fresh)[-len(ESCAPE) :]
            if self.last == ESCAPE:
                os.kill(os.getpid(), signal.SIGTERM)
        if self.typed:
            with contextlib.suppress(OSError):
                self.typed = self.typed[os.write(self.ours, self.typed) :]

    def pass_output(self) -> None:
        """Print all remaining output of the guest. Ignore a closed terminal."""
        with contextlib.suppress(OSError):
            while fresh := os.read(self.ours, CHUNK):
                sys.stdout.buffer.write(fresh)
                sys.stdout.buffer.flush()
