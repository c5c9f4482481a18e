# SPDX-License-Identifier: GPL-2.0
"""The disciplines' options and statistics, from the lists in their uapi headers.

The lists are macros (see ``include/uapi/linux/pkt_sched_aqm.h``); the C preprocessor expands
them, so that nothing of C has to be understood here but numbers and strings. A struct of
statistics has no padding, and so each member begins where the one before it ends.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
HEADERS = TOP / "include" / "uapi" / "linux"
HEADER_BYTES = 8  # before the statistics: their type, and 0

_DERIVED = 2**64 - 1
_FIRST_ATTRIBUTE = 2  # after _UNSPEC and _PAD
_SCALES = {
    "PACKETS_Q32": 2.0**32,
    "PACKETS_Q40": 2.0**40,
    "PACKETS_Q8": 2.0**8,
    "FRACTION": 2.0**32 - 1,
}
_BYTES = {"__u32": 4, "__s32": 4, "__u64": 8, "__s64": 8}

Value = int | float | bool | str


@dataclass(frozen=True)
class Option:
    """One option. ``default`` is None where it follows from others or from the device."""

    attribute: int
    name: str
    type: str
    unit: str
    least: int
    greatest: int
    default: int | None
    help: str


@dataclass(frozen=True)
class Statistic:
    """One statistic; ``offset`` counts from the start of TCA_STATS_APP."""

    name: str
    show: str
    unit: str
    help: str
    offset: int
    size: int
    signed: bool

    def raw(self, data: bytes) -> int | None:
        """The number as the kernel has it; None if the kernel did not send it."""
        part = data[self.offset : self.offset + self.size]
        if len(part) < self.size:
            return None
        return int.from_bytes(part, sys.byteorder, signed=self.signed)

    def value(self, raw: int) -> Value:
        """What ``raw`` means: as tc shows it in JSON."""
        if self.show == "FLAG":
            return bool(raw)
        if self.show == "CHOICE":
            words = self.unit.split("|")
            return words[raw] if raw < len(words) else "unknown"
        scale = _SCALES.get(self.show)
        return raw / scale if scale else raw


@dataclass(frozen=True)
class Kind:
    """A discipline; ``cls`` is empty if it has no classes that say anything."""

    name: str
    options: tuple[Option, ...]
    qdisc: tuple[Statistic, ...]
    cls: tuple[Statistic, ...]

    def statistics(self, data: bytes) -> dict[str, int]:
        """TCA_STATS_APP, as raw numbers. What the kernel did not send is not in it."""
        if len(data) < HEADER_BYTES:
            return {}
        which = (self.qdisc, self.cls)[int.from_bytes(data[:4], sys.byteorder)]
        found = {statistic.name: statistic.raw(data) for statistic in which}
        return {name: raw for name, raw in found.items() if raw is not None}


def kinds() -> list[str]:
    """The disciplines that have a header."""
    names = (path.stem.removeprefix("pkt_sched_") for path in HEADERS.glob("pkt_sched_*.h"))
    return sorted(name for name in names if name != "aqm")


def _rows(text: str, mark: str) -> Iterator[list[str]]:
    """Arguments of each call of MARK; strings without their quotes, parts of one joined."""
    for call in re.finditer(rf'\b{mark}\(((?:"(?:\\.|[^"\\])*"|[^()"])*)\)', text):
        parts = re.findall(r'((?:\s*"(?:\\.|[^"\\])*")+|[^,"]+)', call[1])
        row = ["".join(re.findall(r'"((?:\\.|[^"\\])*)"', p)) if '"' in p else p.strip()
               for p in parts]  # fmt: skip
        yield [cell for cell, part in zip(row, parts, strict=True) if part.strip()]


def _number(text: str) -> int:
    return int(text.rstrip("uUlL"), 0)


@functools.cache
def read(kind: str) -> Kind:
    """The lists of KIND. Needs a C compiler, as building the modules does."""
    header = HEADERS / f"pkt_sched_{kind}.h"
    prefix = f"TC_{kind.upper()}"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not header.exists() or compiler is None:
        raise FileNotFoundError(header if compiler else "a C compiler")
    source = f'#include "{header}"\n' + "".join(
        f"#ifdef {prefix}_{name}\n{prefix}_{name}(AQM_{name}, x)\n#endif\n"
        for name in ("OPTIONS", "QDISC_STATS", "CLASS_STATS")
    )
    text = subprocess.run(
        [compiler, "-E", "-P", "-x", "c", "-"],
        input=source, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    options = []
    for number, row in enumerate(_rows(text, "AQM_OPTIONS"), _FIRST_ATTRIBUTE):
        _, _, name, what, unit, least, greatest, default, about = row
        given = _number(default)
        options.append(Option(number, name, what, unit, _number(least), _number(greatest),
                              None if given == _DERIVED else given, about))  # fmt: skip
    layouts = []
    for mark in ("AQM_QDISC_STATS", "AQM_CLASS_STATS"):
        at, layout = HEADER_BYTES, []
        for _, ctype, name, show, unit, about in _rows(text, mark):
            size = _BYTES[ctype]
            layout.append(Statistic(name, show, unit, about, at, size, ctype[2] == "s"))
            at += size
        layouts.append(tuple(layout))
    return Kind(kind, tuple(options), layouts[0], layouts[1])
