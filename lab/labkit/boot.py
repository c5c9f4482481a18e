# SPDX-License-Identifier: GPL-2.0
"""The lab for other Python code: check a request, run it in the engine it names."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from . import kernels, qemu, stock, uml
from .common import LabError, say
from .guest import Request, Result

#: The kernels of each engine, the default first.
ENGINES: dict[str, tuple[str, ...]] = {
    "uml": tuple(kernels.UML_SOURCES),
    "qemu": tuple(reversed(stock.STOCK)),
}
CLOCKS = {"uml": ("virtual", "wall"), "qemu": ("wall",)}
#: Engines and kernels that give the same bytes for the same seed, by the virtual clock.
DETERMINISTIC = {("uml", "7.3"), ("uml", "6.12")}
FLAVOURS = {"uml": kernels.FLAVOURS, "qemu": ("fast",)}


def nearest(what: str, name: str, known: tuple[str, ...]) -> LabError:
    """An error that names what there is, the closest first."""
    close = difflib.get_close_matches(name, known, n=len(known), cutoff=0.0)
    return LabError(f"no {what} {name!r}; nearest: {', '.join(close)}")


def check(request: Request) -> None:
    """Raise LabError for what no engine can do, naming what is possible."""
    if not request.command:
        raise LabError("no command given")
    if request.engine not in ENGINES:
        raise nearest("engine", request.engine, tuple(ENGINES))
    for what, name, known, every in (
        ("clock", request.clock, CLOCKS[request.engine], CLOCKS["uml"]),
        ("flavour", request.flavour, FLAVOURS[request.engine], FLAVOURS["uml"]),
    ):
        if name not in every:
            raise nearest(what, name, every)
        if name not in known:
            raise LabError(f"engine {request.engine} has no {what} {name}, only {known[0]}")
    if request.kernel not in ENGINES[request.engine]:
        error = nearest("kernel", request.kernel, ENGINES[request.engine])
        others = [name for name, has in ENGINES.items() if request.kernel in has]
        hint = f"; --engine {others[0]} has {request.kernel}" if others else ""
        raise LabError(f"{error} (engine {request.engine}){hint}")
    if not 0 <= request.seed < 1 << 64:
        raise LabError(f"seed {request.seed} is not in 0 .. 2^64-1")
    if request.time_limit <= 0:
        raise LabError(f"time limit {request.time_limit:g} s is not above 0")
    if request.icount and request.engine != "qemu":
        raise LabError("--icount counts instructions under --engine qemu only")
    if request.nics and request.engine != "qemu":
        raise LabError("--nics plugs network cards in under --engine qemu only")
    if not 0 <= request.nics <= 8:
        raise LabError(f"--nics {request.nics} is not in 0 .. 8")
    for path in request.share:
        if Path(path).exists() and not Path(path).is_dir():
            raise LabError(f"--share {path}: not a directory")


def run(request: Request, capture: bool = False) -> Result:
    """Run REQUEST to its end.

    CAPTURE keeps the command's output in the result instead of passing it through. Raises
    LabError when the lab cannot be set up; whatever happens inside the guest is a Result.
    """
    check(request)
    engine = uml.run if request.engine == "uml" else qemu.run
    return engine(request, capture)


def run_default_kernel(request: Request, capture: bool = False) -> Result:
    """As run(), with the engine's default kernel, or an older one where that is not to be had."""
    first = ENGINES[request.engine][0]
    try:
        return run(replace(request, kernel=first), capture)
    except LabError as problem:
        if request.engine != "uml" or not str(problem).startswith("cannot fetch"):
            raise
        say(f"Linux {first} is not to be had, taking 6.12: {problem}")
        return run(replace(request, kernel="6.12"), capture)
