# SPDX-License-Identifier: GPL-2.0
"""Read the options and statistics of this project's qdiscs from their uapi headers.

The headers hold them as lists (include/uapi/linux/pkt_sched_aqm.h). A C program, describe.c,
prints these lists as JSON. So the compiler computes all numbers and offsets. The JSON is cached in
build/ until a header changes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqmlab import ROOT
from labkit import bundle
from labkit.paths import BUILD, BUNDLE

HEADERS = ROOT / "include" / "uapi" / "linux"
PROGRAM = Path(__file__).with_name("describe.c")
CACHE = BUILD / "qdiscs"
HEADER_BYTES = 8  # type and padding before the statistics; describe.c adds them to the offsets

#: C function that describes one qdisc. K is the name of the kind in capitals.
DESCRIBE = """#include "pkt_sched_{kind}.h"
static void describe_{kind}(void)
{{
	begin("\\"options\\": [");
	TC_{K}_OPTIONS(OPTION, 0)
	begin("],\\n\\"qdisc\\": [");
	TC_{K}_QDISC_STATS(STATISTIC, struct tc_{kind}_qdisc_stats)
	begin("],\\n\\"cls\\": [");
#ifdef TC_{K}_CLASS_STATS
	TC_{K}_CLASS_STATS(STATISTIC, struct tc_{kind}_class_stats)
#endif
	printf("]");
}}
"""

_DERIVED = 2**64 - 1
_SCALES = {
    "PACKETS_Q32": 2.0**32,
    "PACKETS_Q40": 2.0**40,
    "PACKETS_Q8": 2.0**8,
    "FRACTION": 2.0**32 - 1,
}

#: struct's letters for whole numbers, by their bytes.
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}

Value = int | float | bool | str


@dataclass(frozen=True)
class Option:
    """An option of a qdisc.

    default: None if the kernel derives it from other options or from the device
    """

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
    """A statistic of a qdisc. ``offset`` is in bytes from the start of TCA_STATS_APP."""

    name: str
    show: str
    unit: str
    help: str
    offset: int
    size: int
    signed: bool

    def raw(self, data: bytes) -> int | None:
        """Return the number that the kernel sent, or None if it sent none."""
        part = data[self.offset : self.offset + self.size]
        if len(part) < self.size:
            return None
        return int.from_bytes(part, sys.byteorder, signed=self.signed)

    def value(self, raw: int) -> Value:
        """Convert the kernel's number to the value that tc prints in JSON."""
        if self.show == "FLAG":
            return bool(raw)
        if self.show == "CHOICE":
            words = self.unit.split("|")
            return words[raw] if raw < len(words) else "unknown"
        scale = _SCALES.get(self.show)
        return raw / scale if scale else raw


@dataclass(frozen=True)
class Kind:
    """The interface of a discipline. ``cls`` is empty if its classes have no statistics."""

    name: str
    options: tuple[Option, ...]
    qdisc: tuple[Statistic, ...]
    cls: tuple[Statistic, ...]

    def statistics(self, data: bytes) -> dict[str, int]:
        """Decode TCA_STATS_APP into numbers by name. Numbers that the kernel did not send miss."""
        if len(data) < HEADER_BYTES:
            return {}
        of_class = int.from_bytes(data[:4], sys.byteorder)
        names, layout = self._layouts[of_class]
        if len(data) >= layout.size:
            return dict(zip(names, layout.unpack_from(data), strict=True))
        found = {
            statistic.name: statistic.raw(data) for statistic in (self.qdisc, self.cls)[of_class]
        }
        return {name: raw for name, raw in found.items() if raw is not None}

    @functools.cached_property
    def _layouts(self) -> tuple[tuple[list[str], struct.Struct], ...]:
        """Return the names and the layout of the qdisc's and of the classes' statistics."""
        return tuple(
            _layout(sorted(which, key=lambda statistic: statistic.offset))
            for which in (self.qdisc, self.cls)
        )


def _layout(which: Sequence[Statistic]) -> tuple[list[str], struct.Struct]:
    text, end = "=", 0
    for statistic in which:
        code = _CODES[statistic.size]
        text += f"{statistic.offset - end}x{code.lower() if statistic.signed else code}"
        end = statistic.offset + statistic.size
    return [statistic.name for statistic in which], struct.Struct(text)


def _names(headers: Path) -> list[str]:
    names = (path.stem.removeprefix("pkt_sched_") for path in headers.glob("pkt_sched_*.h"))
    return sorted(name for name in names if name != "aqm")


def kinds() -> list[str]:
    """Return the names of this project's qdiscs."""
    return sorted(_described()) if BUNDLE else _names(HEADERS)


def _compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not found:
        raise FileNotFoundError("cc is missing: apt-get install gcc")
    return found


def describe(headers: Path) -> str:
    """Compile and run describe.c for all qdiscs with a header in a directory; return JSON.

    Raises CalledProcessError if a header does not compile. The compiler has then printed why.
    """
    names = _names(headers)
    calls = "".join(
        f'\tprintf("%s\\"{kind}\\": {{", {at} ? "}},\\n" : "");\n\tdescribe_{kind}();\n'
        for at, kind in enumerate(names)
    )
    source = (
        PROGRAM.read_text()
        + "".join(DESCRIBE.format(kind=kind, K=kind.upper()) for kind in names)
        + f'int main(void)\n{{\n\tprintf("{{");\n{calls}\tprintf("}}}}\\n");\n}}\n'
    )
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "describe"
        subprocess.run(
            [_compiler(), "-x", "c", "-I", headers, "-o", program, "-"],
            input=source,
            text=True,
            check=True,
        )
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


@functools.cache
def _described() -> dict[str, Any]:
    """Return the description of all qdiscs, from the cache if the headers are unchanged."""
    if BUNDLE:
        return dict(json.loads((BUNDLE / bundle.QDISCS).read_text()))
    made_from = [PROGRAM, Path(__file__), *sorted(HEADERS.glob("*.h"))]
    name = hashlib.sha256(b"\0".join(path.read_bytes() for path in made_from)).hexdigest()[:16]
    kept = CACHE / f"{name}.json"
    if not kept.exists():
        text = describe(HEADERS)
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob("*.json"):
            old.unlink(missing_ok=True)
        # Another process may do the same now, so replace the file in one step.
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(text)
        new.replace(kept)
        return dict(json.loads(text))
    return dict(json.loads(kept.read_text()))


@functools.cache
def read(kind: str) -> Kind:
    """Return the options and statistics of one of this project's qdiscs.

    Raises KeyError for any other qdisc, and FileNotFoundError without a C compiler.
    """
    described = _described()[kind]
    raw = (Option(**option) for option in described["options"])
    options = tuple(
        replace(option, default=None) if option.default == _DERIVED else option for option in raw
    )
    qdisc, cls = (tuple(Statistic(**each) for each in described[part]) for part in ("qdisc", "cls"))
    return Kind(kind, options, qdisc, cls)
