# SPDX-License-Identifier: GPL-2.0
"""Run a guest as a session of the host: follow its output, end it, judge it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from .job import new_log
from .orders import PATH
from .request import Output, Request, Result
from .terminal import Terminal
from .verdict import judge
from .virtual_clock import VirtualClock

#: Real seconds for which the virtual clock must stand still before a time limit is blamed on that.
STILL = 2.0


class Follower:
    """Copy data that is appended to a file to a stream."""

    def __init__(self, path: Path, sink: Output | None) -> None:
        self.path = path
        self.sink = sink
        self.file: BinaryIO | None = None
        self.taken: list[bytes] = []

    def poll(self) -> bool:
        """Copy new data. Return whether there was any."""
        if self.file is None:
            if not self.path.exists():
                return False
            self.file = self.path.open("rb")
        fresh = self.file.read()
        if fresh and self.sink:
            self.sink.write(fresh)
            self.sink.flush()
        elif fresh:
            self.taken.append(fresh)
        return bool(fresh)

    def close(self) -> bytes:
        """Read the rest and return all data that was not copied."""
        self.poll()
        if self.file:
            self.file.close()
        return b"".join(self.taken)


def wait(
    process: subprocess.Popen[bytes],
    followers: list[Follower],
    request: Request,
    terminal: Terminal | None,
    clock: VirtualClock | None,
) -> str:
    """Follow the guest to its end. Return its state if it exceeded a limit, else ""."""
    begin = time.monotonic()
    end = begin + request.time_limit
    pidfd = os.pidfd_open(process.pid)
    nap = 0.005
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        while True:
            left = end - time.monotonic()
            still = clock.still_for() if clock else 0.0
            if left <= 0 or still > request.stall_limit:
                reason = "" if left > 0 else f"time limit of {request.time_limit:g} s reached; "
                return (
                    f"{reason}the guest's clock stood still for {still:.0f} s, because "
                    f"{clock.program() or 'a program'} neither slept nor read the clock"
                    if clock and still > STILL
                    else reason.rstrip("; ")
                )
            if request.watch:
                request.watch(clock.seconds() if clock else time.monotonic() - begin)
            if terminal:
                terminal.watch(poller)
            ready = {fd for fd, _ in poller.poll(1000 * min(nap, left))}
            if pidfd in ready:
                return ""
            if terminal:
                terminal.move()
            busy = [follower.poll() for follower in followers]
            nap = 0.005 if any(busy) else min(0.1, nap * 1.3)
    finally:
        os.close(pidfd)


def kill_session(leader: int) -> None:
    """End every process in LEADER's session. All of them belong to the lab."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(entry.name), signal.SIGKILL)


def supervise(
    command: Sequence[str],
    job: Path,
    request: Request,
    environment: Mapping[str, str],
    capture: bool,
    terminal: Terminal | None = None,
    symbols: Path | None = None,
    collect: Callable[[], None] | None = None,
) -> Result:
    """Run COMMAND, which boots a guest that reports to JOB, and return the result.

    COMMAND prints the kernel's console, which becomes the log. It gets its own session, so
    that Ctrl-C reaches only the lab and all its processes can be ended. Input and output of
    TERMINAL are passed through. SYMBOLS is the System.map of a kernel with a virtual clock. COLLECT
    fills JOB after the end, if the guest could not.
    """
    log = new_log()
    followers = [
        Follower(job / name, None if capture else request.output or stream.buffer)
        for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr))
    ]
    kept = [terminal.theirs] if terminal else []
    if request.output:
        kept.append(request.output.fileno())
    begin = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    try:
        with log.open("ab") as console:
            process = subprocess.Popen(
                command,
                cwd=job,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={
                    "PATH": PATH,
                    "HOME": str(job),
                    "TMPDIR": str(job),
                    "LAB_STARTER": str(os.getpid()),
                    **environment,
                },
                start_new_session=True,
                pass_fds=kept,
            )
        clock = VirtualClock(process.pid, symbols) if symbols else None
        over = wait(process, followers, request, terminal, clock)
    finally:
        if process:
            kill_session(process.pid)
            process.wait()
    if collect:
        collect()
    stdout, stderr = (follower.close() for follower in followers)
    result = judge(job, log, over)
    result.stdout, result.stderr = stdout, stderr
    result.wall = time.monotonic() - begin
    return result
