# SPDX-License-Identifier: GPL-2.0
"""Carries out a recipe in the lab or on this machine, into a directory."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from aqmlab import ROOT
from aqmlab.exceptions import RunError
from labkit import bundle, busy, engines
from labkit.errors import EXIT_UNAVAILABLE, LabError
from labkit.orders import PROGRAMS_IN_GUEST
from labkit.request import Request
from labkit.toolchain import compiler

from . import inputs, outcome, run_directory, unchanged_kernel
from .commands import LIST, REPORT, Commands
from .fair_shares import Facts
from .recipe import Recipe
from .steps import Failure, in_guest

#: Number of the format that digests depend on: equal settings and seeds give equal digests within
#: an edition. docs/anywhere.md says what changed in each.
EDITION = 2

#: How many of a failed run's last lines are shown.
TAIL = 20
PR_SET_PDEATHSIG = 1

# Start times by the virtual clock, ns after boot: of the first program, and between two programs.
# Traffic starts one turn after the last program. A turn is far longer than any program needs, so
# what the programs do before it makes no difference.
FIRST_NS = 1_000_000_000
TURN_NS = 50_000_000

#: Real seconds in which a program may compute without a look at the virtual clock. A crowded
#: machine may need a minute to start an interpreter.
STALL_S = 120

#: TCP sockets per flow that may exist at once: both ends, of this connection and the one before.
SOCKETS_PER_FLOW = 4


def made_with() -> dict[str, Any]:
    """The checkout, the compiler and the command that this run is of; the guest adds the rest."""
    return {"edition": EDITION, **_checkout(), "machine": machine(), "argv": sys.argv}


@functools.cache
def machine() -> dict[str, str]:
    """Return this machine's processor and kernel, which no byte of a virtual run depends on."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text() if info.exists() else "", re.M)
    return {"processor": names[0] if names else platform.machine(), "kernel": platform.release()}


@functools.cache
def _checkout() -> dict[str, str]:
    if given := bundle.manifest():
        there = {"version": given["version"], "compiler": given["compiler"]}
    else:
        version = subprocess.run(
            [ROOT / "tools" / "version"], capture_output=True, text=True, check=True
        )
        there = {"version": version.stdout.strip(), "compiler": compiler()}
    return {**there, "sources": inputs.sources()}


@dataclass(frozen=True)
class Cost:
    """Of a run: seconds on the wall, and of a CPU."""

    wall_s: float
    cpu_s: float


def _used_s() -> float:
    """Seconds of a CPU that this process and its children have used."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


@contextlib.contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that children and namespaces go; and Ctrl-C does, too, where
    a shell that began this in the background has it ignored, for children inherit that."""

    def raise_interrupt(_number: int, _frame: object) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # a second one must not cut the clean-up short
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, raise_interrupt) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with(parent: int) -> None:
    """Have this process, a child of `parent`, terminated when `parent` ends, even if killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


class _Log:
    """A run's log for the lab, which remembers the last lines.

    A log on a disk that is full cannot hold the reason of a failure.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.end = b""

    def text(self) -> str:
        """Return the last lines."""
        return self.end.decode(errors="replace").strip()

    def write(self, text: bytes) -> int:
        self.end = b"\n".join((self.end + text).rsplit(b"\n", TAIL + 1)[-TAIL - 1 :])
        with contextlib.suppress(OSError):
            self.file.write(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the file has no buffer."""

    def fileno(self) -> int:
        return self.file.fileno()


def _in_lab(request: Request, log: _Log) -> tuple[int, str, Mapping[str, str], float | None]:
    """Boot a guest for `request` with its output in `log`.

    Returns its status, its last lines, what its bytes depend on, and its busy seconds.
    """
    try:
        result = engines.run(replace(request, output=log))
        busy_s = None if result.status else busy.after_boot(request, result)
    except LabError as error:
        return EXIT_UNAVAILABLE, str(error), {}, None
    if result.reason:
        log.write(f"lab: {result.reason}; kernel log: {result.log}\n".encode())
    return result.status, log.text(), result.lab, busy_s


def _here(argv: Sequence[str], log: _Log) -> tuple[int, str]:
    """Run `argv` on this machine with its output in `log`; return its status and its last lines.

    The child has `log` open, too: the lock on it lasts until both have ended. When this process is
    interrupted the child is interrupted too, and has ended when KeyboardInterrupt arrives at the
    caller.
    """
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        start_new_session=True,
        pass_fds=[log.fileno()],
        preexec_fn=functools.partial(end_with, os.getpid()),
    )
    assert child.stdout
    try:
        for line in child.stdout:
            log.write(line)
        status = child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        try:
            child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise
    return status, log.text()


def _sockets(recipe: Recipe) -> tuple[int, int]:
    """Return the IP version, and how many TCP sockets the flows and programs may have at once."""
    version = 6 if any("-6" in batch.options for batch in recipe.batches) else 4
    return version, SOCKETS_PER_FLOW * (len(recipe.flows) + len(recipe.programs))


def _request(
    recipe: Recipe,
    asked: Mapping[str, Any],
    commands: Commands,
    lab_options: Mapping[str, Any],
) -> Request:
    """Return the request for a guest that carries out the commands, which are written."""
    # Boot, set-up, and no more than the slowest machine would need.
    wall = asked["clock"] == "wall"
    counted = unchanged_kernel.counted(asked["clock"], lab_options)
    first, turn = unchanged_kernel.TIMES_NS if counted else (FIRST_NS, TURN_NS)
    turns = [] if wall else ["--first", str(first), "--turn", str(turn)]
    files = (commands.shown(name) for name in (LIST, REPORT))
    seconds = recipe.duration_ms / 1000
    return Request(
        [f"{PROGRAMS_IN_GUEST}/conduct", *turns, *files],
        clock=asked["clock"],
        seed=asked["seed"],
        memory=f"{recipe.memory_gib}G",
        time_limit=300 + seconds * (1 if wall else unchanged_kernel.LIMIT if counted else 2),
        stall_limit=STALL_S,
        sockets=_sockets(recipe),
        share=[commands.directory, *map(Path, recipe.share)],
        inputs=commands.inputs() if counted else {},
        # Programs of the host need the host's files.
        own_root=recipe.generator == "flowgen" and not recipe.programs,
        **lab_options,
    )


@contextlib.contextmanager
def _bar(recipe: Recipe, steps: int, counted: bool) -> Iterator[Callable[[float], None] | None]:
    """Show on a terminal how much of a run is over, if it takes long. Yield what is to be told the
    guest's seconds since its boot; None elsewhere, and if QEMU does not show the guest's clock."""
    if not sys.stderr.isatty() or counted:
        yield None
        return
    from tqdm import tqdm  # a run of half a second does without

    end = (FIRST_NS + steps * TURN_NS) / 1e9 + recipe.duration_ms / 1000
    shape = "{desc} {percentage:3.0f} %|{bar}| {elapsed} gone, {remaining} left"
    with tqdm(total=end, desc="run", ascii=" =", bar_format=shape, delay=2, leave=False) as bar:
        yield lambda seconds: bar.update(min(seconds, end) - bar.n) and None


def run(
    recipe: Recipe,
    facts: Facts,
    asked: Mapping[str, Any],
    place: run_directory.Place,
    lab_options: Mapping[str, Any] | None,
) -> Cost:
    """Carry out `recipe` in `place`, where its logs are afterwards. Raises RunError.

    asked: as run_directory.claimed takes it; with clock and seed.
    lab_options: fields of the lab's request; None: on this machine, as root.
    """
    directory = place.directory
    run_json = {**asked, "facts": asdict(facts), "made_with": made_with()}
    (directory / run_directory.RUN).write_text(json.dumps(run_json, indent=1) + "\n")
    (directory / run_directory.RECIPE).write_text(json.dumps(recipe.as_json(), indent=1) + "\n")

    began, used = time.monotonic(), _used_s()
    log = _Log(place.log)
    with terminated_as_interrupt():
        if lab_options is None:
            here = [sys.executable, "-P", "-m", "aqmlab.run.here", str(directory)]
            status, said = _here(here, log)
        else:
            there = unchanged_kernel.directory(asked["clock"], lab_options)
            commands = Commands(directory, recipe.as_json(), in_guest, there=there)
            commands.write()
            request = _request(recipe, asked, commands, lab_options)
            with _bar(recipe, len(commands.steps()), counted=bool(there)) as watch:
                status, said, lab, busy_s = _in_lab(replace(request, watch=watch), log)
            if not status:
                try:
                    outcome.write(commands, lab, busy_s=busy_s)
                except Failure as failure:
                    log.write(f"error: {failure}\n".encode())
                    status, said = 1, log.text()
    if status:
        raise RunError(f"{said}\nrun failed with status {status}")
    return Cost(time.monotonic() - began, _used_s() - used)
