# SPDX-License-Identifier: GPL-2.0
"""Read a guest's virtual clock from outside, and name the program that stops it.

Computing takes no virtual time. A program that waits in a loop without sleeping or reading the
clock therefore stops the clock for ever. No other code of the guest runs then, so only the host can
see this.
"""

from __future__ import annotations

import time
from pathlib import Path

#: Real seconds after the start before we look, and between two looks.
FIRST, EVERY = 2.0, 0.5

#: The kernel's name of its first task, and bytes of a task that hold its name; of a name.
FIRST_NAME, TASK_BYTES, NAME_BYTES = b"swapper", 16384, 16


class VirtualClock:
    """The virtual clock of a running user-mode kernel.

    pid: the kernel's process on the host
    symbols: its System.map
    """

    def __init__(self, pid: int, symbols: Path) -> None:
        self.memory = Path(f"/proc/{pid}/mem")
        self.symbols = symbols
        self.addresses: dict[str, int] = {}
        self.seen = 0
        self.moved_at = time.monotonic()
        self.next_check = self.moved_at + FIRST

    def still_for(self) -> float:
        """Return for how many real seconds the clock has not moved. 0 if it cannot be read."""
        now = time.monotonic()
        if now >= self.next_check:
            self.next_check = now + EVERY
            try:
                clock = int.from_bytes(self._read("time_travel_time", 8), "little")
            except (OSError, KeyError):
                clock = -1
            if clock != self.seen or clock < 0:
                self.seen, self.moved_at = clock, now
        return now - self.moved_at

    def seconds(self) -> float:
        """Return the clock at the last look, in seconds since boot."""
        return max(0, self.seen) / 1e9

    def program(self) -> str:
        """Return the name of the program that runs in the guest; empty if unknown."""
        try:
            at = self._read("init_task", TASK_BYTES).index(FIRST_NAME)
            task = int.from_bytes(self._read("cpu_tasks", 8), "little")
            name = self._at(task + at, NAME_BYTES)
        except (OSError, KeyError, ValueError):
            return ""
        return name.partition(b"\0")[0].decode(errors="replace")

    def _read(self, symbol: str, size: int) -> bytes:
        if not self.addresses:
            lines = (line.split() for line in self.symbols.read_text().splitlines())
            self.addresses = {name: int(address, 16) for address, _, name in lines}
        return self._at(self.addresses[symbol], size)

    def _at(self, address: int, size: int) -> bytes:
        with self.memory.open("rb", buffering=0) as file:
            file.seek(address)
            return file.read(size)
