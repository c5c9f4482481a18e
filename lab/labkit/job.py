# SPDX-License-Identifier: GPL-2.0
"""Manage a running guest's private directory on the host, and its log."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from .errors import LabError
from .paths import LOGS


def scratch_base(need_bytes: int) -> Path:
    """Return a directory for the guest: a tmpfs without noexec, otherwise /tmp.

    The guest's memory is a file there, but only if the host has no better place (lab/src/huge.c).
    """
    found = [
        base
        for base in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/tmp"))
        if os.access(base, os.W_OK | os.X_OK) and " " not in str(base)
    ]
    for base in found:
        stat = os.statvfs(base)
        if not stat.f_flag & os.ST_NOEXEC and stat.f_bavail * stat.f_frsize >= need_bytes:
            return base
    if not found:
        raise LabError("no directory to write to: neither /dev/shm, nor $TMPDIR, nor /tmp")
    return found[0]


def allows_execution(path: Path) -> bool:
    """Return whether programs in the directory PATH may run."""
    return not os.statvfs(path).f_flag & os.ST_NOEXEC


@contextlib.contextmanager
def job_directory(memory: str) -> Iterator[Path]:
    """Make a private directory for one guest, and remove directories of dead labs."""
    base = scratch_base(parse_size(memory) // 4)
    for old in base.glob("lab-boot-*"):
        with contextlib.suppress(OSError), (old / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(old, ignore_errors=True)
    name = f"lab-boot-{os.getpid()}-{time.monotonic_ns():x}"
    fresh, path = base / f".{name}", base / name
    fresh.mkdir(mode=0o700)
    with (fresh / "lock").open("w") as file:
        # Lock it before it is visible, otherwise another lab could remove it.
        fcntl.flock(file, fcntl.LOCK_EX)
        fresh.rename(path)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 512M or 2G."""
    units = {"K": 10, "M": 20, "G": 30}
    number, unit = text[:-1], text[-1:].upper()
    if unit not in units or not number.isdigit():
        raise LabError(f"memory: {text!r} is not a size such as 512M or 2G")
    return int(number) << units[unit]


def new_log() -> Path:
    """Return a unique name for a console log, and remove old logs.

    A log is removed if it is not among the newest 200 and no guest wrote to it for a day. The
    nodes of a cluster can have more than 200 guests in one checkout."""
    LOGS.mkdir(parents=True, exist_ok=True)
    logs = sorted(LOGS.glob("boot-*.log"))
    for old in logs[:-200]:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > 86400:
                old.unlink()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return LOGS / f"boot-{stamp}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}.log"
