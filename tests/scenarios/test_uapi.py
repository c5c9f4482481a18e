# SPDX-License-Identifier: GPL-2.0
"""Layouts that are read off the uapi headers are the compiler's, and marks are where they say."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from aqmlab.qdiscs import uapi

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(path.stem.removeprefix("sch_") for path in ROOT.glob("sch_*.c"))
MAINLINE = ("red", "choke", "codel", "fq_codel", "pie", "fq_pie", "sfb", "fq", "hhf")

AWKWARD = """
#define FIELDS(X) X(__u8, first) X(__u32, second)
#define FIELD(type, name) type name;
enum { ONE = 1, TWO, OTHER = SOMETHING, LOST, SIX = TWO };
struct inner { __s16 a; __u64 b; };
struct outer {
	FIELDS(FIELD)
	__u16 many[3];
	struct inner in;
	union {
		struct inner one;
		struct { __u8 never; } two;
	};
	__u8 last;
};
"""


def compiles(tmp_path: Path, source: str) -> None:
    file = tmp_path / "check.c"
    file.write_text(source)
    done = subprocess.run(["cc", "-fsyntax-only", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [*OURS, *MAINLINE])
def test_layout_is_the_compilers(kind: str, tmp_path: Path) -> None:
    path, layout = uapi.header_of(kind), uapi.layout_of(kind)
    name = next(f"tc_{kind}_{end}" for end in ("xstats", "qd_stats")
                if f"tc_{kind}_{end}" in uapi.read_header(path).bodies)
    inside = {"fq_codel": "qdisc_stats."}.get(kind, "qdisc." if kind in OURS else "")
    head = {"type", "reserved"} if inside else set()
    lines = ["#include <stddef.h>", f'#include "{path}"',
             f"_Static_assert(sizeof(struct {name}) == {layout.size}, \"size\");"]
    for at, field in enumerate(layout.fields):
        place = field.name if at < 2 and field.name in head else inside + field.name
        lines.append(f'_Static_assert(offsetof(struct {name}, {place}) == {field.offset} && '
                     f'sizeof(((struct {name} *)0)->{place}) == {field.size}, "{field.name}");')
    assert len(lines) > 3
    compiles(tmp_path, "\n".join(lines) + "\n")


def test_macros_padding_arrays_and_unions(tmp_path: Path) -> None:
    (tmp_path / "x.h").write_text(AWKWARD)
    header = uapi.read_header(tmp_path / "x.h")
    layout = header.layout("outer")
    assert [(f.name, f.offset, f.code) for f in layout.fields] == [
        ("first", 0, "B"), ("second", 4, "I"), ("many[0]", 8, "H"), ("many[1]", 10, "H"),
        ("many[2]", 12, "H"), ("a", 16, "h"), ("b", 24, "Q"), ("a", 32, "h"), ("b", 40, "Q"),
        ("last", 48, "B"),
    ]
    assert (layout.size, layout.align) == (56, 8)
    assert header.numbers == {"ONE": 1, "TWO": 2, "SIX": 2}


@pytest.mark.parametrize("kind", OURS)
def test_every_kind_of_ours_has_a_layout(kind: str) -> None:
    assert uapi.header_of(kind).parent == ROOT / "include" / "uapi" / "linux"
    layout = uapi.layout_of(kind)
    # Also where there is no ecn: `marked` is one of the common statistics, and stays 0 there.
    assert uapi.counters(kind, layout) == ("marked",)


def test_marks_of_known_statistics() -> None:
    assert uapi.marked("red limit 1 ecn", struct.pack("=4I", 1, 2, 3, 40)) == 40
    # maxpacket, count, lastcount, ldelay, drop_next, drop_overlimit, ecn_mark, dropping, ce_mark
    assert uapi.marked("codel ecn", struct.pack("=4Ii4I", 1, 2, 3, 4, -5, 6, 70, 8, 900)) == 970
    fq_codel = struct.pack("=10I", 0, 1, 2, 30, 4, 5, 6, 700, 8, 9)
    assert uapi.marked("fq_codel", fq_codel) == 730
    # The first two tins' marks, each beside another attribute of the tin.
    numbers = uapi.read_header(uapi.header_of("cake")).numbers
    tins = b"".join(
        attribute(at, attribute(numbers["TCA_CAKE_TIN_STATS_DROPPED_PACKETS"], u32(9))
                  + attribute(numbers["TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS"], u32(marks)))
        for at, marks in ((1, 5), (2, 60)))
    cake = (attribute(numbers["TCA_CAKE_STATS_MEMORY_USED"], u32(7))
            + attribute(numbers["TCA_CAKE_STATS_TIN_STATS"], tins))
    assert uapi.marked("cake bandwidth 1mbit", cake) == 65


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content


def test_what_was_not_sent_is_not_0() -> None:
    assert uapi.marked("red limit 1 ecn", struct.pack("=3I", 1, 2, 3)) is None
    assert uapi.marked("red limit 1 ecn", b"") is None
    assert uapi.marked("cake", b"") is None
    assert uapi.marked("unheard-of", bytes(100)) is None


def test_who_cannot_mark_has_marked_nothing() -> None:
    assert uapi.marked("pfifo limit 200", b"") == 0
    assert uapi.marked("sfq limit 200", bytes(4)) == 0
    assert uapi.marked("hhf", bytes(16)) == 0
