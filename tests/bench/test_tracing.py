# SPDX-License-Identifier: GPL-2.0
"""bench/run --profile and --memory read their guests' output correctly."""

from __future__ import annotations

import pytest

from bench.memory import PFIFO, Leaf, leaves, taken
from bench.tracing import MemoryTrace, Symbols, functions, hot, lines_of, private, read
from tests.selftests import KINDS, TOP

KALLSYMS = """\
0000000000000000 A fixed_percpu_data
0000000000030000 A __per_cpu_end
ffffffff81000000 T spread
ffffffff81000100 t hash
ffffffffc0000000 t x_enqueue\t[sch_x]
ffffffffc0000080 d x_data\t[sch_x]
"""
# Ten enqueues, four of them with a drop. The Qdisc has 0x180 bytes at 0xff00000000100000.
TRACE = """\
ops enqueue 6
ops drop 4
insn enqueue 0xffffffff81000104 10
insn enqueue 0xffffffffc0000010 20
insn enqueue 0xffffffffc0000014 20
line enqueue 0xff00000000100000 6
line enqueue 0xff00000000100140 3
line enqueue 0xff00000000100180 3
line enqueue 0xff00000000200040 6
line enqueue 0xffffffffc0000080 6
line drop 0xff00000000100000 4
foreign enqueue 0 12
foreign enqueue 1 18
qdisc 0xff00000000100000 0xff00000000100100 0xff0000000010017f
percpu 0xff00000000200000
end
"""


def one(text: str = TRACE) -> MemoryTrace:
    [trace] = read(text, Symbols(KALLSYMS))
    return trace


def test_instructions_are_summed_by_function() -> None:
    by_phase = functions(one(), TOP / "no-modules")
    assert by_phase == {"enqueue": {"hash": 10, "x_enqueue": 40}}


def test_cache_lines_are_attributed_to_their_owners() -> None:
    lines = lines_of(one())
    # Each enqueue touches the Qdisc's first line, and every second one two more. Lines of packets
    # count separately. Per-CPU data and static data do not belong to the discipline.
    assert lines["enqueue"].state == 2.0
    assert lines["enqueue"].private == 1.5
    assert lines["enqueue"].packets == 2.0
    assert lines["enqueue"].kernel == 2.0
    assert lines["drop"].state == 1.0
    assert hot(one()) == 1  # the private data begins at 0x100
    assert private(one()) == {0: {"enqueue": 1.0, "drop": 1.0}, 0x140: {"enqueue": 0.5}}


def test_unknown_line_is_an_error() -> None:
    with pytest.raises(SystemExit):
        one(TRACE + "nonsense 1\n")


def test_memory_is_divided_by_the_number_of_leaves() -> None:
    some = [Leaf("pfifo", "limit 1000", leaves=100), Leaf("qsdrr", leaves=100)]
    text = (
        "leaf 0\nmemory 30000 90000\nmemory 30000 90000\n"
        "leaf 1\nmemory 30000 90000\nmemory 37000 82900\n"
    )
    found = dict(taken(some, text))
    assert found[some[0]].counted == PFIFO
    assert found[some[1]].counted == 7000 * 1024 // 100 + PFIFO
    assert found[some[1]].gone == 7100 * 1024 // 100 + PFIFO


def test_each_of_our_kinds_is_measured_with_its_defaults() -> None:
    found = leaves([kind.name for kind in KINDS])
    assert {leaf.qdisc for leaf in found if not leaf.options} == {kind.name for kind in KINDS}
