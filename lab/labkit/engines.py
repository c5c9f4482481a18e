# SPDX-License-Identifier: GPL-2.0
"""Check a request and run it in its engine. Other Python code calls the lab here."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from . import bundle, icount, images, kernels, outside, qemu, records, sources, trees, uml
from .errors import LabError, nearest
from .request import Request, Result

ENGINES = ("uml", "qemu")
#: Clocks of each engine, the default first.
CLOCKS = {"uml": ("virtual", "wall"), "qemu": ("wall", "virtual")}

#: Variable of the environment by which a user accepts other bytes, see Request.ptrace.
PTRACE = "AQM_PTRACE"


def flavours(engine: str, kernel: str) -> tuple[str, ...]:
    """Return the flavours in which ENGINE boots KERNEL."""
    return kernels.flavours(kernel) if engine == "uml" else ("fast",)


def clocks(request: Request) -> tuple[str, ...]:
    """Return the clocks that REQUEST may use, the default first. Two CPUs exclude virtual time."""
    return ("wall",) if request.flavour == "smp" else CLOCKS[request.engine]


def table(engine: str, clock: str = "") -> str:
    """Return the table of kernels' records that ENGINE reads with CLOCK."""
    return "cloud" if (engine, clock) == ("qemu", "virtual") else engine


def kernel_names(engine: str, clock: str = "") -> tuple[str, ...]:
    """Return the kernels that ENGINE boots, the newest first; a substitute comes last."""
    known = records.names(table(engine, clock), seldom=True)
    if table(engine, clock) == "cloud":
        known += records.arm64_names()
    other = sources.substitute(known[0]) if engine == "uml" else ""
    return (*known, other) if other and other not in known else known


def default_kernel(engine: str = "uml", clock: str = "") -> str:
    """Return the newest kernel that ENGINE boots, or its substitute if it is not available."""
    newest = records.names(table(engine, clock))[0]
    if engine == "uml" and (given := bundle.manifest()):
        return given["kernel"]
    return sources.available_name(newest) if engine == "uml" else newest


def clock_of(request: Request) -> str:
    """Return REQUEST's clock, or the engine's default. A terminal needs the wall clock."""
    return request.clock or clocks(request)[-1 if request.terminal else 0]


def check(request: Request) -> None:
    """Raise LabError for an impossible request. The message names what is possible."""
    if not request.command:
        raise LabError("no command given")
    if request.engine not in ENGINES:
        raise nearest("engine", request.engine, ENGINES)
    clock = clock_of(request)
    if request.clock and request.clock not in CLOCKS["uml"]:
        raise nearest("clock", request.clock, CLOCKS["uml"])
    if images.is_image(request.kernel):
        if table(request.engine, clock) != "cloud":
            raise LabError(
                f"--kernel {request.kernel}: an image needs --engine qemu --clock virtual"
            )
        images.of_file(request.kernel)
    elif trees.is_tree(request.kernel):
        if request.engine != "uml":
            raise LabError(f"--kernel {request.kernel}: a tree needs --engine uml")
        trees.version(request.kernel)
    elif request.kernel and request.kernel not in kernel_names(request.engine, clock):
        error = nearest("kernel", request.kernel, kernel_names(request.engine, clock))
        others = [
            f"--engine {name} --clock {other}"
            for name in ENGINES
            for other in CLOCKS[name]
            if request.kernel in kernel_names(name, other)
        ]
        hint = f"; {others[0]} has {request.kernel}" if others else ""
        raise LabError(f"{error} (engine {request.engine}, clock {clock}){hint}")
    kernel = request.kernel or records.names(table(request.engine, clock))[0]
    for what, name, known, every, where in (
        (
            "flavour",
            request.flavour,
            flavours(request.engine, kernel),
            tuple(kernels.FRAGMENTS),
            f"kernel {kernel} in engine {request.engine}",
        ),
        (
            "clock",
            clock,
            clocks(request),
            CLOCKS["uml"],
            f"flavour {request.flavour} of engine {request.engine}",
        ),
    ):
        if name not in every:
            raise nearest(what, name, every)
        if name not in known:
            raise LabError(f"{where} has no {what} {name}, only {', '.join(known)}")
    if not 0 <= request.seed < 1 << 64:
        raise LabError(f"seed {request.seed} is not in 0 .. 2^64-1")
    if request.time_limit <= 0:
        raise LabError(f"time limit {request.time_limit:g} s is not above 0")
    if request.icount and request.engine != "qemu":
        raise LabError("--icount needs --engine qemu")
    if request.plugin and not request.icount:
        raise LabError("--plugin needs --icount")
    if request.nics and request.engine != "qemu":
        raise LabError("--nics needs --engine qemu")
    if not 0 <= request.nics <= 8:
        raise LabError(f"--nics {request.nics} is not in 0 .. 8")
    if request.terminal and request.engine != "uml":
        raise LabError("--shell needs --engine uml")
    if request.terminal and clock_of(request) != "wall":
        raise LabError("--shell needs the wall clock: nobody can type in virtual time")
    if request.terminal and not os.isatty(0):
        raise LabError("--shell needs a terminal. For a script use: lab/boot -- sh -c SCRIPT")
    if table(request.engine, clock) == "cloud":
        icount.check(request)
    for folder in request.modules:
        outside.check(folder)
    for path in request.share:
        if not Path(path).is_dir():
            raise LabError(f"--share {path}: there is no such directory")


def run(request: Request, capture: bool = False) -> Result:
    """Run REQUEST to its end and return the result.

    CAPTURE keeps the command's output in the result instead of passing it through. Raises
    LabError if the lab cannot be set up. Failures inside the guest are part of the Result.
    """
    request = settled(request)
    engine = {"uml": uml.run, "qemu": qemu.run, "cloud": icount.run}
    return engine[table(request.engine, request.clock)](request, capture)


def settled(request: Request) -> Request:
    """Return REQUEST with its clock and its kernel named. Raises LabError if it is impossible."""
    request = replace(
        request, kernel=trees.named(request.kernel), ptrace=bool(os.environ.get(PTRACE))
    )
    check(request)
    request = replace(request, clock=clock_of(request))
    kernel = request.kernel or default_kernel(request.engine, request.clock)
    request = replace(request, kernel=kernel)
    check(request)  # a substitute may have replaced the default kernel
    return request
