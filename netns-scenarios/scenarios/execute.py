# SPDX-License-Identifier: GPL-2.0
"""Runs a plan in the lab or on this machine, into a directory that is marked until it is whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.toolchain import compiler

from .errors import RunError, UserError
from .plan import Plan
from .scenario import Facts, Request

ROOT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).with_name("guest.py")
TOOLS = ROOT / "build" / "tools"

MARKER = "INCOMPLETE"
LOG = "log"

# The virtual clock's instants, ns after boot: each program begins at one of its own, and the
# traffic at the one after the last, whatever this machine's programs do before. A turn is far
# longer than the slowest of them needs.
FIRST_NS = 1_000_000_000
TURN_NS = 50_000_000

_OURS = {MARKER, LOG, "run.json", "plan.json", "flows.txt", "flows.csv", "progress.csv",
         "datagrams.csv", "delays.csv", "requests.csv", "queue.csv", "qdisc.txt", "qdisc.json",
         "guest.json",
         "result.json"}


def prepare(directory: Path) -> None:
    """Make `directory` an empty result directory, marked as incomplete. An earlier result is
    replaced; anything that is not one is left alone, with a UserError."""
    if directory.exists():
        if not directory.is_dir():
            raise UserError(f"--out {directory}: exists and is not a directory")
        present = {p.name for p in directory.iterdir()}
        foreign = {n for n in present - _OURS if not n.startswith("iperf3-")}
        if foreign:
            raise UserError(
                f"--out {directory}: holds {sorted(foreign)[0]}, which is no run's: "
                "choose another directory"
            )
        for name in present:
            (directory / name).unlink()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text("This run was interrupted, or failed, or is going on.\n")


def finish(directory: Path) -> None:
    """Last of all: from here on the directory is a result."""
    (directory / MARKER).unlink()


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


@contextlib.contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that children and namespaces go."""

    def raise_interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
    plan: Plan,
    facts: Facts,
    request: Request,
    scenario: str,
    directory: Path,
    *,
    here: bool,
    lab_options: Sequence[str] = (),
) -> float:
    """Carry out `plan`; the logs are in `directory` afterwards. Wall seconds that it took."""
    if here:
        tools_or_fail()
    directory = directory.resolve()
    prepare(directory)
    log = directory / LOG
    run_json = {"scenario": scenario, "qdisc": request.qdisc, "seed": request.seed,
                "clock": request.clock, "parameters": dict(request.values),
                "facts": asdict(facts), "made_with": made_with()}
    (directory / "run.json").write_text(json.dumps(run_json, indent=1) + "\n")
    (directory / "plan.json").write_text(json.dumps(plan.as_json(), indent=1) + "\n")

    python = os.path.realpath(sys.executable)
    guest = [python, "-I", "-S", str(GUEST), str(directory)]
    if here:
        if os.geteuid():
            raise UserError("--here makes namespaces and qdiscs: run it as root")
        argv = [str(TOOLS / "conduct"), *guest, f"aqm{os.getpid()}-"]
    else:
        # Boot, set-up, and no more than the slowest machine would need.
        limit = 300 + plan.duration_ms / 1000 * (1 if request.clock == "wall" else 2)
        turns = ["--first", str(FIRST_NS), "--turn", str(TURN_NS)]
        argv = [str(ROOT / "lab" / "boot"), "--clock", request.clock, "--seed", str(request.seed),
                "--time-limit", f"{limit:.0f}", "--share", str(directory), *lab_options,
                "--", "conduct", *(turns if request.clock == "virtual" else []), *guest]
    began = time.monotonic()
    with terminated_as_interrupt():
        status = _run_logged(argv, log)
    if status:
        raise RunError(f"{_tail(log)}\nrun failed with status {status}; see {log}")
    return time.monotonic() - began
