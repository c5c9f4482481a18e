# SPDX-License-Identifier: GPL-2.0
"""The disciplines' options and statistics, from the lists in their uapi headers.

The lists are macros (see ``include/uapi/linux/pkt_sched_aqm.h``); the C preprocessor expands
them, so that nothing of C has to be understood here but numbers and strings. Where a statistic
lies is for `uapi` to say.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from aqmlab import ROOT

from . import uapi

HEADERS = ROOT / "include" / "uapi" / "linux"
HEADER_BYTES = 8  # before the statistics: their type, and 0

_DERIVED = 2**64 - 1
_FIRST_ATTRIBUTE = 4  # after _UNSPEC, _PAD, _GIVEN and _ASSUMED
_SCALES = {
    "PACKETS_Q32": 2.0**32,
    "PACKETS_Q40": 2.0**40,
    "PACKETS_Q8": 2.0**8,
    "FRACTION": 2.0**32 - 1,
}

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
    if not header.exists():
        raise FileNotFoundError(header)
    source = f'#include "{header}"\n' + "".join(
        f"#ifdef {prefix}_{name}\n{prefix}_{name}(AQM_{name}, x)\n#endif\n"
        for name in ("OPTIONS", "QDISC_STATS", "CLASS_STATS")
    )
    text = uapi.preprocessed(source)
    structures = uapi.read_header(header)

    options = []
    for number, row in enumerate(_rows(text, "AQM_OPTIONS"), _FIRST_ATTRIBUTE):
        _, _, name, what, unit, least, greatest, default, about = row
        given = _number(default)
        options.append(Option(number, name, what, unit, _number(least), _number(greatest),
                              None if given == _DERIVED else given, about))  # fmt: skip
    layouts = []
    for what in ("qdisc", "class"):
        rows = list(_rows(text, f"AQM_{what.upper()}_STATS"))
        laid = structures.layout(f"tc_{kind}_{what}_stats").fields if rows else ()
        layouts.append(tuple(
            Statistic(name, show, unit, about, HEADER_BYTES + field.offset, field.size,
                      field.code.islower())
            for (_, _, name, show, unit, about), field in zip(rows, laid, strict=True)
        ))
    return Kind(kind, tuple(options), layouts[0], layouts[1])
