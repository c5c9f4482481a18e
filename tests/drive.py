# SPDX-License-Identifier: GPL-2.0
"""Drive a discipline in the lab, one enqueue or dequeue at a time.

A trace is a list of operations in the language of ``tools/qdrive.c``. It runs on a gate
device, whose transmit queue is stopped unless told otherwise, so nothing happens that the
trace does not say. All traces of one call share one boot.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# A filter that matches nothing. Its presence takes TCQ_F_CAN_BYPASS from the discipline:
# with it the core hands the first packet of an idle queue straight to the (stopped) device.
NO_BYPASS = (
    "tc filter add dev g0 parent 1: protocol all prio 1 "
    "basic match 'meta(priority eq 99)' classid 1:1"
)

# The operation that resets the discipline: its packets are gone, uncounted.
RESET = "c ip link set g0 down && ip link set g0 up"


@dataclass(frozen=True)
class ClassState:
    """One class at one moment: packets, bytes, packets dropped, raw TCA_STATS_APP."""

    qlen: int
    backlog: int
    drops: int
    xstats: bytes


@dataclass(frozen=True)
class Step:
    """What one operation did, and the discipline's statistics after it.

    ``t`` is CLOCK_MONOTONIC before the operation, ns. ``out`` holds (packet number, TOS)
    of the packets that left, in order. ``classes`` maps a minor number to its class.
    """

    i: int
    t: int
    rc: int
    out: list[tuple[int, int]]
    qlen: int
    backlog: int
    drops: int
    overlimits: int
    bytes: int
    packets: int
    xstats: bytes
    classes: dict[int, ClassState]


@dataclass(frozen=True)
class Trace:
    """A discipline and what to do to it.

    ``setup`` runs after the discipline is in place, ``before`` before the device goes up.
    ``bypass`` leaves TCQ_F_CAN_BYPASS alone. ``sample`` is the handle of the discipline to
    report when it is not the root.
    """

    qdisc: str
    ops: Sequence[str]
    classes: bool = False
    bypass: bool = False
    setup: Sequence[str] = ()
    before: Sequence[str] = ()
    sample: str | None = None
    modules: Sequence[str] = field(default_factory=list)


class DriveError(RuntimeError):
    """The lab or the driver failed; the text holds what they printed."""


def _parse(line: str) -> Step:
    raw = json.loads(line)
    raw["out"] = [(number, tos) for number, tos in raw["out"]]
    raw["xstats"] = bytes.fromhex(raw["xstats"])
    raw["classes"] = {
        minor: ClassState(qlen, backlog, drops, bytes.fromhex(xstats))
        for minor, qlen, backlog, drops, xstats in raw.get("classes", [])
    }
    return Step(**raw)


def _script(traces: Sequence[Trace], where: Path) -> str:
    lines = ["set -eu", "modprobe aqm_gate"]
    for n, trace in enumerate(traces):
        options = ("-c " if trace.classes else "") + (f"-h {trace.sample} " if trace.sample else "")
        lines += [f"modprobe {module}" for module in trace.modules]
        lines += [
            "ip link add g0 type gate",
            "echo 1 > /proc/sys/net/ipv6/conf/g0/disable_ipv6",
            *trace.before,
            "ip link set g0 up",
            f"tc qdisc add dev g0 root handle 1: {trace.qdisc}",
            *trace.setup,
            *([] if trace.bypass else [NO_BYPASS]),
            f"qdrive {options}g0 < {shlex.quote(str(where / f'{n}.trace'))} "
            f"> {shlex.quote(str(where / f'{n}.log'))}",
            "ip link del g0",
        ]
    return "\n".join(lines) + "\n"


def drive_many(
    traces: Sequence[Trace], *, seed: int = 1, lab: Sequence[str] = ()
) -> list[list[Step]]:
    """Run traces in one boot of the lab; one list of steps for each trace.

    ``lab`` holds further options of ``lab/boot``. Raises DriveError if the lab returns
    anything but 0, and if a trace yields fewer steps than operations.
    """
    scratch = TOP / "build" / "drive"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        where = Path(name)
        for n, trace in enumerate(traces):
            (where / f"{n}.trace").write_text("\n".join(trace.ops) + "\n")
        (where / "script").write_text(_script(traces, where))
        done = subprocess.run(
            [TOP / "lab" / "boot", "--seed", str(seed), *lab, "--", "sh", where / "script"],
            capture_output=True,
            text=True,
            check=False,
            cwd=TOP,
        )
        if done.returncode:
            raise DriveError(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        steps = [
            [_parse(line) for line in (where / f"{n}.log").read_text().splitlines()]
            for n in range(len(traces))
        ]
    for trace, got in zip(traces, steps, strict=True):
        if len(got) != len(trace.ops):
            raise DriveError(f"{len(got)} steps of {len(trace.ops)}\n{done.stdout}\n{done.stderr}")
    return steps


def drive(qdisc: str, ops: Sequence[str], *, classes: bool = False, seed: int = 1) -> list[Step]:
    """Run one trace; see drive_many()."""
    return drive_many([Trace(qdisc, ops, classes=classes)], seed=seed)[0]
