# SPDX-License-Identifier: GPL-2.0
"""A person who types at a terminal."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path


class Person:
    """A simulated user of a program, at a terminal of 30 rows and 100 columns."""

    def __init__(self, program: Path, *arguments: str) -> None:
        self.screen, keyboard = os.openpty()
        ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.keyboard = keyboard
        self.before = termios.tcgetattr(keyboard)
        self.boot = subprocess.Popen(
            [str(program), *arguments],
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            start_new_session=True,
            env={**os.environ, "TERM": "dumb", "LINES": "24", "COLUMNS": "80"},
        )
        self.seen = ""

    def types(self, text: str) -> None:
        """Type TEXT."""
        os.write(self.screen, text.encode())

    def reads(self, pattern: str, limit: float = 300) -> re.Match[str]:
        """Wait until PATTERN appears on the screen, after everything read before."""
        end = time.monotonic() + limit
        while not (found := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            assert left > 0, f"{pattern!r} is not in {self.seen[-2000:]!r}"
            if select.select([self.screen], [], [], left)[0]:
                self.seen += os.read(self.screen, 65536).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found

    def leaves(self) -> int:
        """Return the program's exit status. The terminal's settings must be as before."""
        status = self.boot.wait(60)
        assert termios.tcgetattr(self.keyboard) == self.before
        return status

    def goes(self) -> None:
        """Kill the program, if it runs, and take the terminal away."""
        self.boot.kill()
        self.boot.wait()
        os.close(self.screen)
        os.close(self.keyboard)
