# SPDX-License-Identifier: GPL-2.0
"""Reads a discipline's own statistics (TCA_STATS_APP) as its uapi header lays them out.

Ours are described by include/uapi/linux/pkt_sched_KIND.h, mainline's by <linux/pkt_sched.h>. The
header is preprocessed by the C compiler, so macros may be used at will; of what is left the
structures are read, and laid out as a compiler for 64 bits does. Layouts grow only at their end,
so the newest header does for older kernels: what they did not send is absent.
"""

from __future__ import annotations

import functools
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit import sources

from aqmlab import ROOT

#: The C types of uapi headers as `struct` names them.
SCALARS = {"__u8": "B", "__s8": "b", "__u16": "H", "__s16": "h", "__u32": "I", "__s32": "i",
           "__u64": "Q", "__s64": "q"}

#: Kinds that have no statistics of their own, and do not mark.
FIFOS = frozenset({"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast"})

#: Kinds that put their marks into their options, where nothing samples them.
ELSEWHERE = frozenset({"sfq", "gred"})

#: Counters of marks where they are not what `counters` looks for: codel has two.
COUNTERS = {
    "codel": ("ecn_mark", "ce_mark"),
    "fq_codel": ("ecn_mark", "ce_mark"),
    "fq": ("ce_mark",),
}


class NoLayout(Exception):
    """There is no header that describes the kind's statistics."""


@dataclass(frozen=True)
class Field:
    """A number at `offset` bytes from the start; `code` is its type as `struct` names it."""

    name: str
    offset: int
    code: str

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize("=" + self.code)


@dataclass(frozen=True)
class Layout:
    """A structure: its fields in order, those of structures inside it included. Of a union, the
    first member's: that of the whole discipline."""

    fields: tuple[Field, ...]
    size: int
    align: int

    def values(self, raw: bytes) -> dict[str, int]:
        """The fields that `raw` holds, by name."""
        return {f.name: struct.unpack_from("=" + f.code, raw, f.offset)[0]
                for f in self.fields if f.offset + f.size <= len(raw)}


@dataclass(frozen=True)
class Header:
    """What a preprocessed header defines: bodies of structures, and numbers of enumerations."""

    bodies: Mapping[str, list[str]]
    numbers: Mapping[str, int]

    def layout(self, name: str) -> Layout:
        """The structure `name`."""
        return _lay_out(iter(self.bodies[name]), self, union=False)


def _padded(size: int, align: int) -> int:
    return -(-size // align) * align


def _member(token: str, tokens: Iterator[str], header: Header) -> Layout:
    """The type that begins with `token`."""
    if token not in ("struct", "union"):
        if token not in SCALARS:
            raise NoLayout(f"a field of type {token}")
        code = SCALARS[token]
        size = struct.calcsize("=" + code)
        return Layout((Field("", 0, code),), size, size)
    name = next(tokens)
    if name != "{":
        return header.layout(name)
    depth, body = 1, []
    for inner in tokens:
        depth += (inner == "{") - (inner == "}")
        if not depth:
            break
        body.append(inner)
    return _lay_out(iter(body), header, union=token == "union")


def _lay_out(tokens: Iterator[str], header: Header, *, union: bool) -> Layout:
    """Lay out the members of a body as a compiler does."""
    fields: list[Field] = []
    end, align = 0, 1
    for token in tokens:
        kind = _member(token, tokens, header)
        for name in tokens:
            if name == ";":
                name = ""
            count, after = 1, ";" if not name else next(tokens)
            if after == "[":
                count = int(next(tokens), 0)
                assert next(tokens) == "]"
                after = next(tokens)
            start = 0 if union else _padded(end, kind.align)
            plain = len(kind.fields) == 1 and not kind.fields[0].name
            if not (union and fields):
                for index in range(count):
                    for inner in kind.fields:
                        called = name + (f"[{index}]" if count > 1 else "") if plain else inner.name
                        fields.append(Field(called, start + index * kind.size + inner.offset,
                                            inner.code))
            end = max(end, start + count * kind.size)
            align = max(align, kind.align)
            if after == ";":
                break
    return Layout(tuple(fields), _padded(end, align), align)


@functools.cache
def read_header(path: Path) -> Header:
    """What the header at `path` defines."""
    return parse(preprocessed(f'#include "{path}"\n'))


def preprocessed(source: str) -> str:
    """C source as the compiler sees it once all macros are expanded."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise NoLayout("cc is missing: apt-get install gcc")
    done = subprocess.run([compiler, "-E", "-P", "-x", "c", "-"], input=source,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoLayout(done.stderr.strip())
    return done.stdout


def parse(text: str) -> Header:
    """What the preprocessed `text` defines."""
    tokens = re.findall(r"\w+|<<|\S", text)
    bodies: dict[str, list[str]] = {}
    numbers: dict[str, int] = {}
    at = 0
    while at < len(tokens):
        defined = tokens[at] == "struct" and tokens[at + 2 : at + 3] == ["{"]
        if not defined and tokens[at] != "enum":
            at += 1
            continue
        start = tokens.index("{", at) + 1
        depth, stop = 1, start
        while depth:
            depth += (tokens[stop] == "{") - (tokens[stop] == "}")
            stop += 1
        if tokens[at] == "struct":
            bodies[tokens[at + 1]] = tokens[start : stop - 1]
        else:
            _enumerate(tokens[start : stop - 1], numbers)
        at = stop
    return Header(bodies, numbers)


def _enumerate(tokens: list[str], numbers: dict[str, int]) -> None:
    """Number the names of one enumeration; what follows a value that is no literal is left out."""
    value: int | None = 0
    for item in " ".join(tokens).split(","):
        name, _, given = (part.strip() for part in item.partition("="))
        if given:
            value = numbers.get(given, int(given, 0) if re.fullmatch(r"\w+", given)
                                and given[0].isdigit() else None)
        if name and value is not None:
            numbers[name] = value
            value += 1


def header_of(kind: str) -> Path:
    """The header that describes `kind`: ours, the newest kernel source's at hand, the system's."""
    own = ROOT / "include" / "uapi" / "linux" / f"pkt_sched_{kind}.h"
    if own.exists():
        return own
    source = sources.newest_at_hand()
    if source:
        return source.tree / "include" / "uapi" / "linux" / "pkt_sched.h"
    return Path("/usr/include/linux/pkt_sched.h")


def layout_of(kind: str) -> Layout:
    """The layout of TCA_STATS_APP of `kind`; NoLayout when nothing describes it."""
    header = read_header(header_of(kind))
    for name in (f"tc_{kind}_xstats", f"tc_{kind}_qd_stats"):
        if name in header.bodies:
            return header.layout(name)
    raise NoLayout(f"no structure describes the statistics of {kind}")


def _attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Netlink attributes in `raw`: type without flags, and content."""
    at = 0
    while at + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, at)
        if length < 4:
            return
        yield kind & 0x3FFF, raw[at + 4 : at + length]
        at += _padded(length, 4)


def _cake(raw: bytes) -> int | None:
    """Marks of all of cake's tins: it sends attributes."""
    numbers = read_header(header_of("cake")).numbers
    marks = [int.from_bytes(value, "little")
             for outer, tins in _attributes(raw) if outer == numbers["TCA_CAKE_STATS_TIN_STATS"]
             for _, tin in _attributes(tins)
             for inner, value in _attributes(tin)
             if inner == numbers["TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS"]]
    return sum(marks) if marks else None


def counters(kind: str, layout: Layout) -> tuple[str, ...]:
    """The names of those statistics whose sum is the number of marks."""
    names = [f.name for f in layout.fields]
    if kind in COUNTERS:
        return COUNTERS[kind]
    for name in ("marked", "ecn_mark", "ecn_marked"):
        if name in names:
            return (name,)
    return tuple(name for name in names if re.search(r"(^|_)mark(ed)?(_|$)", name))


def marked(qdisc: str, raw: bytes) -> int | None:
    """Packets marked so far by `qdisc`, as tc was told it, whose statistics are `raw`.

    None when that is not known. A kind whose statistics are known and count no marks makes none.
    """
    kind, *options = qdisc.split()
    if kind in ELSEWHERE:
        return None if "ecn" in options else 0
    if kind == "cake":
        return _cake(raw)
    if not raw:
        return 0 if kind in FIFOS else None
    try:
        layout = layout_of(kind)
    except NoLayout:
        return None
    values = layout.values(raw)
    names = counters(kind, layout)
    return sum(values[name] for name in names) if set(names) <= set(values) else None
