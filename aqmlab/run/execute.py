# SPDX-License-Identifier: GPL-2.0
"""Carries out a recipe in the lab or on this machine, into a directory."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from labkit.toolchain import compiler

from aqmlab import ROOT
from aqmlab.exceptions import RunError

from . import run_directory
from .fair_shares import Facts
from .recipe import Recipe

GUEST_PROGRAM = Path(__file__).with_name("guest_program.py")
TOOLS = ROOT / "build" / "tools"

#: How many of a failed run's last lines are shown.
TAIL = 20
PR_SET_PDEATHSIG = 1

# The virtual clock's instants, ns after boot: each program begins at one of its own, and the
# traffic at the one after the last, whatever this machine's programs do before. A turn is far
# longer than the slowest of them needs.
FIRST_NS = 1_000_000_000
TURN_NS = 50_000_000


def made_with() -> dict[str, Any]:
    """The checkout, the compiler and the command that this run is of; the guest adds the rest."""
    version = subprocess.run([ROOT / "tools" / "version"], capture_output=True, text=True,
                             check=True)
    return {
        "version": version.stdout.strip(),
        "compiler": compiler(),
        "argv": sys.argv,
    }


@dataclass(frozen=True)
class Cost:
    """Of a run: seconds on the wall, and of a CPU."""

    wall_s: float
    cpu_s: float


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that children and namespaces go; and Ctrl-C does, too, where
    a shell that began this in the background has it ignored, for children inherit that."""

    def raise_interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, raise_interrupt)
              for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with(parent: int, libc: ctypes.CDLL) -> None:
    """In a child before its program begins: have it terminated when `parent` ends, even killed."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _run_logged(argv: Sequence[str], log: BinaryIO) -> tuple[int, str]:
    """Run `argv` with its output in `log`; return its exit status and its last lines.

    The output passes through here, because a log on a disk that is full cannot say so. The child
    has `log` open, too: the lock on it lasts until both have ended. When this process is
    interrupted the child is interrupted too, and has ended when KeyboardInterrupt arrives at the
    caller.
    """
    said = collections.deque[bytes](maxlen=TAIL)
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT,
        start_new_session=True, pass_fds=[log.fileno()],
        preexec_fn=functools.partial(_end_with, os.getpid(), ctypes.CDLL(None)))
    assert child.stdout
    try:
        for line in child.stdout:
            said.append(line)
            with contextlib.suppress(OSError):
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
    return status, b"".join(said).decode(errors="replace").rstrip()


def run(
    recipe: Recipe,
    facts: Facts,
    asked: Mapping[str, Any],
    place: run_directory.Place,
    lab_options: Sequence[str] | None,
) -> Cost:
    """Carry out `recipe` in `place`, where its logs are afterwards.

    asked: as run_directory.claimed takes it; with clock and seed.
    lab_options: words for lab/boot; None: on this machine, as root.
    """
    directory = place.directory
    run_json = {**asked, "facts": asdict(facts), "made_with": made_with()}
    (directory / run_directory.RUN).write_text(json.dumps(run_json, indent=1) + "\n")
    (directory / run_directory.RECIPE).write_text(json.dumps(recipe.as_json(), indent=1) + "\n")

    composer = [os.path.realpath(sys.executable), "-I", "-S", str(GUEST_PROGRAM), str(directory)]
    if lab_options is None:
        argv = [str(TOOLS / "conduct"), *composer, f"aqm{os.getpid()}-"]
    else:
        # Boot, set-up, and no more than the slowest machine would need.
        wall = asked["clock"] == "wall"
        limit = 300 + recipe.duration_ms / 1000 * (1 if wall else 2)
        turns = [] if wall else ["--first", str(FIRST_NS), "--turn", str(TURN_NS)]
        argv = [str(ROOT / "lab" / "boot"), "--clock", asked["clock"],
                "--seed", str(asked["seed"]), "--memory", f"{recipe.memory_gib}G",
                "--time-limit", f"{limit:.0f}", "--share", str(directory), *lab_options,
                "--", "conduct", *turns, *composer]
    began, used = time.monotonic(), _children_s()
    with terminated_as_interrupt():
        status, said = _run_logged(argv, place.log)
    if status:
        raise RunError(f"{said}\nrun failed with status {status}")
    return Cost(time.monotonic() - began, _children_s() - used)
