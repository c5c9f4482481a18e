# SPDX-License-Identifier: GPL-2.0
"""List the kinds of qdisc that exist, and say how to get a missing one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from aqmlab import ROOT
from aqmlab.exceptions import nearest

from . import interface

#: Configuration of the lab's kernels. They contain all of mainline's kinds.
CONFIG = ROOT / "lab" / "config" / "base.config"
#: Kinds that every kernel has. They have no configuration symbol.
FIFOS = ("pfifo", "bfifo", "pfifo_head_drop")

_ADDED = re.compile(r"qdisc (?:add|replace) dev \S+ (?:root|parent \S+) (?:handle \S+ )?(.+)")


def ours() -> list[str]:
    """Return this project's kinds."""
    return interface.kinds()


def mainline() -> list[str]:
    """Return mainline's kinds."""
    symbols = re.findall(r"^CONFIG_NET_SCH_(\w+)=y$", CONFIG.read_text(), re.M)
    return [*FIFOS, *(symbol.lower() for symbol in symbols if symbol != "MQPRIO_LIB")]


def words(line: str) -> list[str]:
    """Return the words of a line of --qdisc, kind first; each semicolon is a word of its own."""
    return line.replace(";", " ; ").split()


def kind(line: str) -> str:
    """Return the kind of a line of --qdisc, which is not empty."""
    return words(line)[0]


def added(lines: Iterable[str]) -> dict[str, str]:
    """Return each kind that lines for `tc -batch` add, with the words of its first use."""
    found: dict[str, str] = {}
    for line in lines:
        if at := _ADDED.match(line):
            found.setdefault(at[1].split()[0], at[1])
    return found


def unknown(error: str) -> bool:
    """Return whether an error message of tc says that a kind does not exist."""
    return "qdisc kind is unknown" in error or "Unknown qdisc" in error


def remedy(kind: str) -> str:
    """Return what the user can do about a kind that tc or the kernel does not know."""
    if kind in ours() and "LAB" not in os.environ:
        return f"{kind} is not installed on this machine: make install"
    if kind in mainline():
        return f"the kernel has not loaded {kind}: modprobe sch_{kind}, if it was built as a module"
    return nearest("qdisc", kind, {*ours(), *mainline()})
