# SPDX-License-Identifier: GPL-2.0
"""What every guest has, whichever engine runs it: its plan, its report, and the verdict."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import console
from .common import BUILD, EXIT_GUEST, EXIT_TIME, ROOT, LabError
from .kernels import Kernel
from .modules import Extras

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Seconds by a virtual clock after which a command that has not ended never will: everything
#: sleeps and only the kernel's own timers make time fly.
VIRTUAL_DEADLINE = 1_000_000

#: Directories of the guest that are its own, empty at the start.
PRIVATE = ("/run", "/tmp", "/dev")

JOB_IN_GUEST = "/run/lab"


@dataclass(frozen=True)
class Request:
    """What to run and in what: the whole of lab/boot's command line, checked."""

    command: Sequence[str]
    engine: str = "uml"
    kernel: str = "7.3"
    clock: str = "virtual"
    flavour: str = "fast"
    seed: int = 1
    time_limit: float = 600.0
    memory: str = "2G"
    icount: bool = False
    nics: int = 0
    share: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


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


def writable_dirs(request: Request) -> list[Path]:
    """Host directories that the guest may write to: the checkout, build/, and what is shared."""
    dirs = [ROOT, BUILD]
    for path in request.share:
        path = path.resolve()
        path.mkdir(parents=True, exist_ok=True)
        dirs.append(path)
    return dirs


def environment(request: Request, kernel: Kernel, extras: Extras) -> dict[str, str]:
    """The command's whole environment: nothing leaks in from the host but AQM_* variables."""
    values = {
        "PATH": f"{extras.tools}:{PATH}",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TC_LIB_DIR": str(extras.tc),
        "LAB": "1",
        "LAB_ENGINE": request.engine,
        "LAB_KERNEL": request.kernel,
        "LAB_FLAVOUR": request.flavour,
        "LAB_IMAGE": hashlib.sha256(kernel.image.read_bytes()).hexdigest(),
        "LAB_SEED": str(request.seed),
        "LAB_CLOCK": request.clock,
    }
    values |= {name: value for name, value in os.environ.items() if name.startswith("AQM_")}
    return values | dict(request.environment)


class Plan:
    """The words that lab/src/init.c carries out."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def add(self, *words: str | Path) -> None:
        """Append WORDS."""
        self.words += [str(word) for word in words]

    def write(self, path: Path) -> None:
        """Write the plan as init reads it."""
        encoded = [os.fsencode(word) for word in self.words]
        if any(b"\0" in word for word in encoded):
            raise LabError("a NUL byte cannot be part of a command")
        path.write_bytes(b"".join(word + b"\0" for word in encoded))

    def command(self, request: Request, kernel: Kernel, extras: Extras) -> None:
        """What to run, with what around it."""
        for name, value in environment(request, kernel, extras).items():
            self.add("env", f"{name}={value}")
        self.add("cwd", ROOT)
        if request.clock == "virtual":
            self.add("deadline", str(VIRTUAL_DEADLINE))
        for word in request.command:
            self.add("arg", word)


def hidden(path: Path) -> bool:
    """Whether one of the guest's own directories covers PATH."""
    return any(path.is_relative_to(top) for top in PRIVATE)


def scratch_base(need_bytes: int) -> Path:
    """Where a guest's memory and job files live: a tmpfs that can be executed from, else /tmp."""
    for base in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/tmp")):
        if not os.access(base, os.W_OK | os.X_OK) or " " in str(base):
            continue
        stat = os.statvfs(base)
        if stat.f_flag & os.ST_NOEXEC or stat.f_bavail * stat.f_frsize < need_bytes:
            continue
        return base
    raise LabError(f"no directory with {need_bytes >> 20} MiB to hold the guest's memory")


@contextlib.contextmanager
def job_directory(memory: str) -> Iterator[Path]:
    """A private directory for one guest, gone at the end; those of dead labs are swept away."""
    base = scratch_base(parse_size(memory) // 4)
    for old in base.glob("lab-boot-*"):
        with contextlib.suppress(OSError), (old / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(old, ignore_errors=True)
    name = f"lab-boot-{os.getpid()}-{time.monotonic_ns():x}"
    fresh, path = base / f".{name}", base / name
    fresh.mkdir(mode=0o700)
    with (fresh / "lock").open("w") as file:
        # Locked before others can see it, or their sweep might take it.
        fcntl.flock(file, fcntl.LOCK_EX)
        fresh.rename(path)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def parse_size(text: str) -> int:
    """Bytes of a size such as 512M or 2G."""
    units = {"K": 10, "M": 20, "G": 30}
    number, unit = text[:-1], text[-1:].upper()
    if unit not in units or not number.isdigit():
        raise LabError(f"memory: {text!r} is not a size such as 512M or 2G")
    return int(number) << units[unit]


def new_log() -> Path:
    """A console log's name, unlike any other; old ones are removed beyond the last 200."""
    folder = BUILD / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    logs = sorted(folder.glob("boot-*.log"))
    for old in logs[:-200]:
        old.unlink(missing_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"boot-{stamp}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}.log"


def judge(job: Path, log: Path, timed_out: bool, limit: float) -> Result:
    """The verdict: the command's own status only when the kernel has nothing to complain of."""
    text = log.read_text(errors="replace") if log.exists() else ""
    status = read_status(job / "status")
    found = console.reports(text)
    leaks = job / "leaks"
    if leaks.exists() and leaks.stat().st_size:
        with log.open("a") as file:
            file.write("\n==== kmemleak ====\n" + leaks.read_text(errors="replace"))
        found.append("kmemleak: " + leaks.read_text(errors="replace").splitlines()[0])
    clock = float(status.get("clock", "0"))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return Result(EXIT_GUEST, log, f"the kernel reported: {found[0]}{more}", clock)
    if timed_out:
        return Result(EXIT_TIME, log, f"time limit of {limit:g} s reached", clock)
    if "end" not in status:
        return Result(EXIT_GUEST, log, "the guest died before the command had ended", clock)
    bad = console.taints(int(status.get("taint", "0")))
    if bad:
        return Result(EXIT_GUEST, log, f"the kernel is tainted: {', '.join(bad)}", clock)
    kind, _, number = status["end"].partition(" ")
    if kind == "stuck":
        reason = f"hang: the command still ran after {clock:.0f} s of the guest's clock"
        return Result(EXIT_GUEST, log, reason, clock)
    return Result(int(number) + (128 if kind == "signal" else 0), log, "", clock)


def read_status(path: Path) -> dict[str, str]:
    """What init wrote at the end; empty when it did not get there."""
    if not path.exists():
        return {}
    pairs = (line.partition(" ") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs}
