# SPDX-License-Identifier: GPL-2.0
"""Carry out a recipe on this machine as root, and leave nothing: python -m aqmlab.run.here DIR.

It is a process of its own, which also cleans up after a `run` that was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from . import guest_kernel, outcome, run_directory
from .commands import Commands
from .counters import SOFTNET, softnet_dropped
from .steps import Failure, tool


def main(argv: list[str]) -> int:
    """Return the exit status: 0, 1 if a program failed, 130 if interrupted."""
    (directory,) = map(Path, argv)
    recipe = json.loads((directory / run_directory.RECIPE).read_text())
    commands = Commands(directory, recipe, tool, f"aqm{os.getpid()}-")
    conduct: subprocess.Popen[bytes] | None = None

    def stop(number: int, _frame: object) -> None:
        # conduct stops its programs. Only its end must end this program.
        if conduct:
            conduct.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    allowed = ""
    try:
        allowed = guest_kernel.prepare(recipe)
        dropped = softnet_dropped(Path(SOFTNET).read_text())
        conduct = subprocess.Popen([tool("conduct"), *commands.write()], start_new_session=True)
        if status := conduct.wait():
            return status
        outcome.write(commands, {}, dropped)
    except (Failure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    finally:
        guest_kernel.restore(allowed)
        for ns in reversed(recipe["namespaces"]):
            subprocess.run([tool("ip"), "netns", "del", commands.netns(ns)], capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
