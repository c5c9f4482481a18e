# SPDX-License-Identifier: GPL-2.0
"""A person's terminal, joined to a terminal of the guest: what --shell needs."""

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

#: Typed three times running, it ends a guest that no longer answers (Ctrl-]).
ESCAPE = b"\x1d" * 3
CHUNK = 65536


def shell() -> list[str]:
    """A command: a shell in which all disciplines are loaded."""
    names = sorted(path.stem for path in ROOT.glob("sch_*.c") if not path.name.endswith(".mod.c"))
    return ["sh", "-c", 'modprobe -a "$@"; exec bash --norc', "sh", *names]


def environment() -> dict[str, str]:
    """What a shell wants to know beside what every command is told."""
    return {"TERM": os.environ.get("TERM", "dumb"), "PS1": "lab:\\w# "}


def size() -> tuple[str, str]:
    """Rows and columns of the person's terminal, whatever LINES and COLUMNS say."""
    found = os.get_terminal_size(0)
    return str(found.lines or 24), str(found.columns or 80)


class Terminal:
    """Standard input and output on one side, `theirs`, a file descriptor for a guest, on the other.

    While it lasts each key goes to the guest, Ctrl-C included.
    """

    def __init__(self, job: Path) -> None:
        self.opened = job / "terminal"
        # No pseudo-terminal: for one a user-mode kernel starts a watcher of its size, which may
        # outlive it.
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
        # What has been typed already counts.
        tty.setraw(0, termios.TCSADRAIN)
        return self

    def __exit__(  # noqa: D105
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pass_output()
        if self.before:
            termios.tcsetattr(0, termios.TCSADRAIN, self.before)  # type: ignore[arg-type]
        for end in (self.ours, self.theirs):
            with contextlib.suppress(OSError):
                os.close(end)

    def listening(self) -> bool:
        """Whether what is typed next can be passed on: the guest's side is open, and has room."""
        return self.more and not self.typed and self.opened.exists()

    def watch(self, poller: select.poll) -> None:
        """Make POLLER wake when there is something to move."""
        poller.register(self.ours, select.POLLIN | (select.POLLOUT if self.typed else 0))
        if self.listening():
            poller.register(0, select.POLLIN)
        else:
            with contextlib.suppress(KeyError):
                poller.unregister(0)

    def move(self) -> None:
        """Pass on what there is, either way, as far as it goes."""
        self.pass_output()
        if self.listening() and select.select([0], [], [], 0)[0]:
            fresh = os.read(0, CHUNK)
            self.more = bool(fresh)
            self.typed = fresh
            self.last = (self.last + fresh)[-len(ESCAPE):]
            if self.last == ESCAPE:
                os.kill(os.getpid(), signal.SIGTERM)
        if self.typed:
            with contextlib.suppress(OSError):
                self.typed = self.typed[os.write(self.ours, self.typed):]

    def pass_output(self) -> None:
        """Show all that the guest has printed; a terminal that is gone says no more."""
        with contextlib.suppress(OSError):
            while fresh := os.read(self.ours, CHUNK):
                sys.stdout.buffer.write(fresh)
                sys.stdout.buffer.flush()
