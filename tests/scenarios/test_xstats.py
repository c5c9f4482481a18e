# SPDX-License-Identifier: GPL-2.0
"""The layout of statistics equals the compiler's, and the marks of each qdisc are found."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest

from aqmlab.qdiscs import interface, xstats
from labkit.engines import default_kernel
from labkit.sources import ensure_source

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(path.stem.removeprefix("sch_") for path in ROOT.glob("sch_*.c"))


def compiles(tmp_path: Path, source: str) -> None:
    file = tmp_path / "check.c"
    file.write_text(source)
    done = subprocess.run(["cc", "-fsyntax-only", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


STRUCTS = {"fq_codel": ("tc_fq_codel_xstats", "qdisc_stats."), "fq": ("tc_fq_qd_stats", "")}


def asserted(struct_: str, place: str, offset: int, code: str) -> str:
    size, signed = struct.calcsize("=" + code), int(code.islower())
    member = f"((struct {struct_} *)0)->{place}"
    return (
        f"_Static_assert(offsetof(struct {struct_}, {place}) == {offset} && "
        f"sizeof({member}) == {size} && ((__typeof__({member}))-1 < 0) == {signed}, "
        f'"{place}");'
    )


@pytest.mark.parametrize("kind", xstats.MAINLINE)
def test_table_of_mainline_equals_the_compilers_layout(kind: str, tmp_path: Path) -> None:
    header = ensure_source(default_kernel()).tree / "include" / "uapi" / "linux" / "pkt_sched.h"
    name, inside = STRUCTS.get(kind, (f"tc_{kind}_xstats", ""))
    fields = xstats.fields(kind)
    lines = [
        "#include <stddef.h>",
        f'#include "{header}"',
        *(
            asserted(name, field if field == "type" else inside + field, offset, code)
            for field, offset, code in fields
        ),
    ]
    last, end = fields[-1], fields[-1][1] + struct.calcsize("=" + fields[-1][2])
    # Only padding follows.
    lines.append(f'_Static_assert(sizeof(struct {name}) - {end} < 8, "{last[0]} is the last");')
    compiles(tmp_path, "\n".join(lines) + "\n")


def test_attribute_numbers_of_cake_equal_the_headers(tmp_path: Path) -> None:
    header = ensure_source(default_kernel()).tree / "include" / "uapi" / "linux" / "pkt_sched.h"
    compiles(
        tmp_path,
        f'''#include "{header}"
_Static_assert(TCA_CAKE_STATS_TIN_STATS == {xstats.CAKE_TINS}, "tins");
_Static_assert(TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS == {xstats.CAKE_MARKED}, "marked");
''',
    )


HEADER = """
#include <linux/types.h>
#define GREATEST 4294967295
#define TC_MADE_UP_OPTIONS(_, x) \\
	_(x, 4, limit, PACKETS, "", 1, GREATEST, 0xffffffffffffffffULL, "at " "most") \\
	_(x, 7, mode, CHOICE, "a|b", 0, 1, 1, "a \\\\ b, \\"quoted\\"")
#define TC_MADE_UP_QDISC_STATS(_, x) \\
	_(x, __u64, marked, EVENTS, "packets", "marked") \\
	_(x, __u16, small, COUNT, "", "") \\
	_(x, __s32, level, COUNT, "", "after padding")
#define MEMBER(x, type, name, ...) type name;
struct tc_made_up_qdisc_stats { TC_MADE_UP_QDISC_STATS(MEMBER, 0) };
"""


def test_description_matches_the_compiled_lists(tmp_path: Path) -> None:
    (tmp_path / "pkt_sched_made_up.h").write_text(HEADER)
    assert json.loads(interface.describe(tmp_path)) == {
        "made_up": {
            "options": [
                {
                    "attribute": 4,
                    "name": "limit",
                    "type": "PACKETS",
                    "unit": "",
                    "help": "at most",
                    "least": 1,
                    "greatest": 2**32 - 1,
                    "default": 2**64 - 1,
                },
                {
                    "attribute": 7,
                    "name": "mode",
                    "type": "CHOICE",
                    "unit": "a|b",
                    "help": 'a \\ b, "quoted"',
                    "least": 0,
                    "greatest": 1,
                    "default": 1,
                },
            ],
            "qdisc": [
                {
                    "name": "marked",
                    "show": "EVENTS",
                    "unit": "packets",
                    "help": "marked",
                    "offset": 8,
                    "size": 8,
                    "signed": False,
                },
                {
                    "name": "small",
                    "show": "COUNT",
                    "unit": "",
                    "help": "",
                    "offset": 16,
                    "size": 2,
                    "signed": False,
                },
                {
                    "name": "level",
                    "show": "COUNT",
                    "unit": "",
                    "help": "after padding",
                    "offset": 20,
                    "size": 4,
                    "signed": True,
                },
            ],
            "cls": [],
        }
    }


@pytest.mark.parametrize("kind", OURS)
def test_every_kind_of_ours_counts_its_marks(kind: str) -> None:
    # All kinds have the common statistic `marked`. Without ecn it stays 0.
    assert xstats.counters(kind) == ["marked"]


@pytest.mark.parametrize("kind", OURS)
def test_offsets_count_from_the_start_of_xstats(kind: str, tmp_path: Path) -> None:
    lines = ["#include <stddef.h>", f'#include "{interface.HEADERS}/pkt_sched_{kind}.h"']
    read = interface.read(kind)
    for part, statistics in (("qdisc", read.qdisc), ("cls", read.cls)):
        lines += [
            f"_Static_assert(offsetof(struct tc_{kind}_xstats, "
            f'{part}.{one.name}) == {one.offset}, "{one.name}");'
            for one in statistics
        ]
    compiles(tmp_path, "\n".join(lines) + "\n")


def test_marks_of_known_statistics() -> None:
    assert xstats.marked("red limit 1 ecn", struct.pack("=4I", 1, 2, 3, 40)) == 40
    # maxpacket, count, lastcount, ldelay, drop_next, drop_overlimit, ecn_mark, dropping, ce_mark
    assert xstats.marked("codel ecn", struct.pack("=4Ii4I", 1, 2, 3, 4, -5, 6, 70, 8, 900)) == 970
    fq_codel = struct.pack("=10I", 0, 1, 2, 30, 4, 5, 6, 700, 8, 9)
    assert xstats.marked("fq_codel", fq_codel) == 730
    assert xstats.marked("fq_codel; filter parent 2: basic classid 2:1", fq_codel) == 730
    # The marks of the first two tins, each next to another attribute.
    # 2: TCA_CAKE_STATS_MEMORY_USED; 7: TCA_CAKE_TIN_STATS_DROPPED_PACKETS.
    tins = b"".join(
        attribute(at, attribute(7, u32(9)) + attribute(8, u32(marks)))
        for at, marks in ((1, 5), (2, 60))
    )
    cake = attribute(2, u32(7)) + attribute(10, tins)
    assert xstats.marked("cake bandwidth 1mbit", cake) == 65


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content


def test_missing_statistic_is_null_and_not_0() -> None:
    assert xstats.marked("red limit 1 ecn", struct.pack("=3I", 1, 2, 3)) is None
    assert xstats.marked("red limit 1 ecn", b"") is None
    assert xstats.marked("cake", b"") is None
    assert xstats.marked("unheard-of", bytes(100)) is None


def test_qdisc_without_ecn_has_zero_marks() -> None:
    assert xstats.marked("pfifo limit 200", b"") == 0
    assert xstats.marked("sfq limit 200", bytes(4)) == 0
    assert xstats.marked("hhf", bytes(16)) == 0
