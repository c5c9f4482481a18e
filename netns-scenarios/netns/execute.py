# SPDX-License-Identifier: GPL-2.0
"""Has a recipe carried out in the lab or on this machine, into a directory of its own."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.toolchain import compiler

from . import rundir
from .errors import RunError, UserError
from .recipe import Recipe
from .settings import Settings
from .shares import Facts

ROOT = Path(__file__).resolve().parents[2]
CARRY_OUT = Path(__file__).with_name("carry_out.py")
TOOLS = ROOT / "build" / "tools"

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


def tools_or_fail() -> None:
    """UserError when a tool has not been built; the lab builds its own."""
    for name in ("conduct", "flowgen", "qsample"):
        if not (TOOLS / name).exists():
            raise UserError(f"{name} is missing: make tools")


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


def _run_logged(argv: Sequence[str], log: Path) -> int:
    """Exit status of argv, its output in `log`. When this process is interrupted the child is
    interrupted too, and has ended when KeyboardInterrupt arrives at the caller."""
    with log.open("ab") as out:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True)
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            raise


def _tail(log: Path, lines: int = 12) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def run(
    recipe: Recipe,
    facts: Facts,
    settings: Settings,
    scenario: str,
    directory: Path,
    *,
    here: bool,
    lab_options: Sequence[str] = (),
) -> Cost:
    """Carry out `recipe`; the logs are in `directory` afterwards."""
    if here:
        tools_or_fail()
    directory = directory.resolve()
    rundir.prepare(directory)
    log = directory / rundir.LOG
    run_json = {"scenario": scenario, "qdisc": settings.qdisc, "seed": settings.seed,
                "clock": settings.clock, "parameters": dict(settings.values),
                "facts": asdict(facts), "made_with": made_with()}
    (directory / rundir.RUN).write_text(json.dumps(run_json, indent=1) + "\n")
    (directory / rundir.RECIPE).write_text(json.dumps(recipe.as_json(), indent=1) + "\n")

    composer = [os.path.realpath(sys.executable), "-I", "-S", str(CARRY_OUT), str(directory)]
    if here:
        if os.geteuid():
            raise UserError("--here makes namespaces and qdiscs: run it as root")
        argv = [str(TOOLS / "conduct"), *composer, f"aqm{os.getpid()}-"]
    else:
        # Boot, set-up, and no more than the slowest machine would need.
        limit = 300 + recipe.duration_ms / 1000 * (1 if settings.clock == "wall" else 2)
        turns = ["--first", str(FIRST_NS), "--turn", str(TURN_NS)]
        argv = [str(ROOT / "lab" / "boot"), "--clock", settings.clock,
                "--seed", str(settings.seed), "--memory", f"{recipe.memory_gib}G",
                "--time-limit", f"{limit:.0f}", "--share", str(directory), *lab_options,
                "--", "conduct", *(turns if settings.clock == "virtual" else []), *composer]
    began, used = time.monotonic(), _children_s()
    with terminated_as_interrupt():
        status = _run_logged(argv, log)
    if status:
        raise RunError(f"{_tail(log)}\nrun failed with status {status}; see {log}")
    return Cost(time.monotonic() - began, _children_s() - used)
