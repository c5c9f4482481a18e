# SPDX-License-Identifier: GPL-2.0
"""The kinds of qdisc that there are, and how to get a missing one.

Standard library only: guest_program.py needs it in the lab's guest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from aqmlab import ROOT
from aqmlab.exceptions import nearest

#: The configuration of the lab's kernels, which have all of mainline's kinds.
CONFIG = ROOT / "lab" / "config" / "base.config"
#: Kinds of one file, sch_fifo.c, that every kernel has.
FIFOS = ("pfifo", "bfifo", "pfifo_head_drop")

_ADDED = re.compile(r"qdisc (?:add|replace) dev \S+ (?:root|parent \S+) (?:handle \S+ )?(.+)")


def ours() -> list[str]:
    """Name the kinds of this project."""
    return [path.stem.removeprefix("sch_") for path in ROOT.glob("sch_*.c")
            if not path.name.endswith(".mod.c")]


def mainline() -> list[str]:
    """Name mainline's kinds."""
    symbols = re.findall(r"^CONFIG_NET_SCH_(\w+)=y$", CONFIG.read_text(), re.M)
    return [*FIFOS, *(symbol.lower() for symbol in symbols if symbol != "MQPRIO_LIB")]


def added(lines: Iterable[str]) -> dict[str, str]:
    """Find each kind that lines of `tc -batch` add, with the options that it has first."""
    found: dict[str, str] = {}
    for line in lines:
        if at := _ADDED.match(line):
            found.setdefault(at[1].split()[0], at[1])
    return found


def unknown(said: str) -> bool:
    """Tell whether tc's complaint is that a kind does not exist."""
    return "qdisc kind is unknown" in said or "Unknown qdisc" in said


def remedy(kind: str) -> str:
    """Say what to do about a kind that tc or the kernel does not know."""
    if kind in ours() and "LAB" not in os.environ:
        return f"this machine has no {kind}: make install"
    if kind in mainline():
        return f"this kernel has no {kind}: modprobe sch_{kind}, if it is a module there"
    return nearest("qdisc", kind, {*ours(), *mainline()})
