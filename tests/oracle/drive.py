# SPDX-License-Identifier: GPL-2.0
"""Drive a discipline, one enqueue or dequeue at a time, in user space or on a kernel.

A trace is a list of operations in the language of ``selftests/qdrive.c``. On the kernel it runs
on a gate device, which sends only what the trace allows. All traces of one call share one boot. In
user space (``tests/userspace.py``) the same source runs thousands of times faster, and only the
trace advances the clock.

Both understand ``x OPTIONS`` (change) and ``r`` (reset). Further operations in
selftests/userspace/README.md work only in user space. A trace that failed stays in build/drive.
Repeat it with

    build/venv/bin/python -m tests.oracle.drive build/drive/NAME.trace [--engine kernel]
"""

from __future__ import annotations

import argparse
import builtins
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import pytest

from tests.userspace import Refused, World

Engine = Literal["user", "kernel"]

TOP = Path(__file__).resolve().parents[2]

# With TCQ_F_CAN_BYPASS the core gives the first packet of an idle queue directly to the (stopped)
# device. The first filter removes this flag for good. We delete the filter, because most
# disciplines are used without.
NO_BYPASS = (
    "tc filter add dev g0 parent 1: protocol all prio 1 "
    "basic match 'meta(priority eq 99)' classid 1:1",
    "tc filter del dev g0 parent 1: protocol all prio 1",
)

# Most real packets have a flow hash before they reach the discipline. On the kernel, filters at the
# device's egress compute it for packets with this mark ("hash=1" in a trace).
HASHED = 77
HASH = (
    "tc qdisc add dev g0 clsact",
    "tc filter add dev g0 egress protocol all prio 1 "
    f"basic match 'not meta(nf_mark eq {HASHED})' action pass",
    "tc filter add dev g0 egress protocol all prio 2 handle 1 flow hash keys rxhash divisor 1",
)

# Operation "r" on the kernel. It drops the packets without counting them.
RESET = "c ip link set g0 down && ip link set g0 up"


@dataclass(frozen=True)
class ClassState:
    """State of a class: queued packets and bytes, packets dropped, raw TCA_STATS_APP."""

    qlen: int
    backlog: int
    drops: int
    xstats: builtins.bytes


@dataclass(frozen=True)
class Step:
    """The effect of one operation, and the discipline's statistics after it.

    t: CLOCK_MONOTONIC before the operation, ns
    out: (packet number, TOS) of each packet that left, in order
    classes: state of each class, by minor number
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
    xstats: builtins.bytes
    classes: dict[int, ClassState]


@dataclass(frozen=True)
class Trace:
    """A discipline and a list of operations.

    before: commands that run before the device is up
    setup: commands that run after the discipline was added
    bypass: do not remove TCQ_F_CAN_BYPASS
    sample: handle of the discipline to report, if it is not the root
    """

    qdisc: str
    ops: Sequence[str]
    classes: bool = False
    bypass: bool = False
    setup: Sequence[str] = ()
    before: Sequence[str] = ()
    sample: str | None = None
    modules: Sequence[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Return the kind of the discipline."""
        return self.qdisc.partition(" ")[0]


class DriveError(RuntimeError):
    """The lab or the driver failed. The message contains their output."""


def _parse(line: str) -> Step:
    raw = json.loads(line)
    raw["out"] = [(number, tos) for number, tos in raw["out"]]
    raw["xstats"] = bytes.fromhex(raw["xstats"])
    raw["classes"] = {
        minor: ClassState(qlen, backlog, drops, bytes.fromhex(xstats))
        for minor, qlen, backlog, drops, xstats in raw.get("classes", [])
    }
    return Step(**raw)


def _on_kernel(trace: Trace, op: str) -> str:
    """Translate an operation for selftests/qdrive.c."""
    word, _, rest = op.partition(" ")
    if word == "x":
        return f"c tc qdisc change dev g0 root handle 1: {trace.kind} {rest}"
    if word == "r":
        return RESET
    if word not in ("e", "d", "t", "c"):
        raise DriveError(f"this operation works only in user space: {op}")
    return op.replace(" hash=1", f" mark={HASHED}").replace(" hash=0", "")


class _Lines:
    """Translate the operations of a trace for user space, including its tc and ip commands."""

    CHANGE = re.compile(
        r"tc qdisc change dev g0 root (?:handle 1: )?(?P<kind>\S+) ?(?P<options>.*)"
    )
    ADD = re.compile(r"tc qdisc add dev g0 root handle 1: (?P<kind>\S+) ?(?P<options>.*)")
    VLAN = re.compile(
        r"tc filter add dev g0 egress (?:matchall|protocol all handle (?P<mark>\d+) fw)"
        r" action vlan push id (?P<id>\d+)"
    )
    MTU = re.compile(r"ip link set g0 mtu (?P<mtu>\d+)")

    def __init__(self, trace: Trace) -> None:
        self.tags: dict[str | None, str] = {}
        self.first = ["y 1"] if trace.bypass else []
        for line in (*trace.before, *trace.setup):
            if tag := self.VLAN.fullmatch(line):
                self.tags[tag["mark"]] = tag["id"]
            elif mtu := self.MTU.fullmatch(line):
                self.first.append(f"m {mtu['mtu']}")
            elif line != "tc qdisc add dev g0 clsact":
                raise DriveError(f"this command does not work in user space: {line}")

    def __call__(self, op: str) -> tuple[str, str | None]:
        """Return the operation, and the new discipline if it replaces the present one."""
        if op.startswith("e "):
            mark = next((word[5:] for word in op.split() if word.startswith("mark=")), None)
            tag = self.tags.get(mark) or self.tags.get(None)
            return (f"{op} tag={tag}" if tag else op), None
        if not op.startswith("c "):
            return op, None
        command = op[2:]
        if op == RESET:
            return "r", None
        if change := self.CHANGE.fullmatch(command):
            return f"x {change['options']}".strip(), None
        if add := self.ADD.fullmatch(command):
            return "t 0", f"{add['kind']} {add['options']}"
        if command == "tc qdisc del dev g0 root":
            return "t 0", None
        raise DriveError(f"this operation does not work in user space: {op}")


def _in_user_space(trace: Trace, seed: int) -> list[Step]:
    lines = _Lines(trace)
    steps: list[Step] = []

    def world(qdisc: str) -> World:
        kind, _, options = qdisc.partition(" ")
        try:
            w = World(kind, options, seed=seed)
        except Refused as error:
            raise DriveError(str(error)) from None
        for line in lines.first:
            w.do(line)
        return w

    w = world(trace.qdisc)
    try:
        for i, given in enumerate(trace.ops):
            op, qdisc = lines(given)
            if qdisc:
                before, w = w, world(qdisc)
                w.advance(max(0, before.now - w.now))
                before.close()
            t = w.now
            rc = w.do(op)
            st, out = w.stats(), w.out
            classes = {
                minor: ClassState(cl.qlen, cl.backlog, cl.drops, cl.xstats)
                for minor, cl in (w.classes() if trace.classes else {}).items()
            }
            steps.append(
                Step(
                    i,
                    t,
                    rc,
                    out,
                    st.qlen,
                    st.backlog,
                    st.drops,
                    st.overlimits,
                    st.bytes,
                    st.packets,
                    st.xstats,
                    classes,
                )
            )
    finally:
        w.close()
    return steps


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
            *(HASH if any(" hash=1" in op for op in trace.ops) else []),
            *([] if trace.bypass else NO_BYPASS),
            f"qdrive {options}g0 < {shlex.quote(str(where / f'{n}.trace'))} "
            f"> {shlex.quote(str(where / f'{n}.log'))}",
            "ip link del g0",
        ]
    return "\n".join(lines) + "\n"


def drive_many(
    traces: Sequence[Trace], *, engine: Engine = "kernel", seed: int = 1, lab: Sequence[str] = ()
) -> list[list[Step]]:
    """Run traces in user space or in one boot of the lab.

    lab: further options of ``lab/boot``
    Returns a list of steps for each trace. Raises DriveError if the lab fails, or if a trace gives
    fewer steps than it has operations.
    """
    if engine == "user":
        return [_in_user_space(trace, seed) for trace in traces]
    if os.environ.get("AQM_NO_KERNEL"):
        pytest.skip("AQM_NO_KERNEL is set")
    scratch = TOP / "build" / "drive"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        where = Path(name)
        for n, trace in enumerate(traces):
            lines = [_on_kernel(trace, op) for op in trace.ops]
            (where / f"{n}.trace").write_text("\n".join(lines) + "\n")
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


def near(seen: float, value: float, absolute: float, relative: float = 0.0) -> bool:
    """Return whether the numbers differ by at most the larger of two tolerances.

    pytest.approx needs 20 us, which is most of the time of a comparison after each packet.
    """
    return abs(seen - value) <= max(absolute, relative * abs(value))


class Case(Protocol):
    """A case of an oracle: a dataclass with a name and a seed, which returns a trace."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    name: str
    seed: int

    def trace(self) -> Trace: ...


C = TypeVar("C", bound=Case)
AGAIN = (pytest.mark.again,)


@dataclass(frozen=True)
class Run(Generic[C]):
    """A case on an engine. ``repetition``: 0, or how often its seed has been changed."""

    case: C
    engine: Engine
    repetition: int

    @property
    def designed(self) -> bool:
        """Return whether the case was designed for its seed."""
        return not self.repetition


class Oracle(Generic[C]):
    """The cases of one discipline. Each runs in user space with many seeds, some on the kernel.

    kernel: names of the cases that also run on the kernel, all in one boot
    seeds: number of seeds in user space; make test runs the first two
    The model must agree with every run. Only a ``Run.designed`` must show the case's purpose.
    """

    def __init__(
        self,
        cases: Sequence[C],
        *,
        kernel: Collection[str],
        seeds: int = 3,
        extra: Mapping[str, Trace] | None = None,
    ) -> None:
        self.cases = cases
        self.on_kernel = [case for case in cases if case.name in kernel]
        assert len(self.on_kernel) == len(kernel), "an entry of kernel is not the name of a case"
        self.extra_traces = dict(extra or {})
        self.runs = [Run(case, "kernel", 0) for case in self.on_kernel]
        self.runs += [
            Run(dataclasses.replace(case, seed=case.seed + 1000 * n), "user", n)
            for case in cases
            for n in range(seeds)
        ]

    def each(self, test: Callable[[Run[C], list[Step]], None]) -> Callable[[Run[C]], None]:
        """Decorate a test that takes a run and its steps."""
        params = [
            pytest.param(
                run,
                id=f"{run.case.name}-{run.engine}-{run.case.seed}",
                marks=((), AGAIN, (*AGAIN, pytest.mark.extra))[min(run.repetition, 2)],
            )
            for run in self.runs
        ]

        @pytest.mark.parametrize("run", params)
        def with_steps(run: Run[C]) -> None:
            print(f"seed {run.case.seed}, {run.engine}")
            with self.steps(run) as steps:
                test(run, steps)

        with_steps.__name__ = test.__name__
        with_steps.__doc__ = test.__doc__
        with_steps.__module__ = test.__module__
        return with_steps

    @cached_property
    def _kernel(self) -> dict[str, list[Step]]:
        names = [*(case.name for case in self.on_kernel), *self.extra_traces]
        traces = [*(case.trace() for case in self.on_kernel), *self.extra_traces.values()]
        return dict(zip(names, drive_many(traces), strict=True))

    @cached_property
    def _user(self) -> dict[str, list[Step]]:
        traces = list(self.extra_traces.values())
        return dict(zip(self.extra_traces, drive_many(traces, engine="user"), strict=True))

    def extra(self, engine: Engine, name: str) -> list[Step]:
        """Return the steps of an extra trace."""
        return (self._kernel if engine == "kernel" else self._user)[name]

    @contextmanager
    def steps(self, run: Run[C]) -> Iterator[list[Step]]:
        """Yield the steps of a run. If the block fails, keep trace and log in build/drive."""
        steps: list[Step] = []
        try:
            if run.engine == "kernel":
                steps = self._kernel[run.case.name]
            else:
                steps = _in_user_space(run.case.trace(), run.case.seed)
            yield steps
        except Exception:
            keep(run.case.trace(), steps, run.engine, f"{run.case.name} {run.case.seed}")
            raise


def keep(trace: Trace, steps: Sequence[Step], engine: Engine, name: str) -> Path:
    """Write a trace and its log to build/drive, and print the command that repeats it."""
    where = TOP / "build" / "drive"
    where.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"\W+", "-", f"{trace.kind} {name} {engine}")
    path = where / f"{slug}.trace"
    about = {
        field.name: getattr(trace, field.name)
        for field in dataclasses.fields(Trace)
        if field.name != "ops"
    }
    path.write_text("\n".join([f"# {json.dumps(about)}", *trace.ops]) + "\n")
    path.with_suffix(".log").write_text("".join(f"{step}\n" for step in steps))
    print(f"repeat: build/venv/bin/python -m tests.oracle.drive {path} --engine {engine}")
    return path


def main(arguments: Sequence[str]) -> int:
    """Run a kept trace and print its steps."""
    parser = argparse.ArgumentParser(prog="tests.oracle.drive", description=main.__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--engine", choices=("user", "kernel"), default="user")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    about, *ops = options.trace.read_text().splitlines()
    trace = Trace(**json.loads(about.removeprefix("# ")), ops=ops)
    for step in drive_many([trace], engine=options.engine, seed=options.seed)[0]:
        print(step)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
