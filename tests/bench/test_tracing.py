# SPDX-License-Identifier: GPL-2.0
"""What bench/run --profile and --memory read from their guests."""

from __future__ import annotations

import pytest

from bench.memory import PFIFO, Leaf, leaves, taken
from bench.tracing import Symbols, Trace, functions, hot, lines_of, private, read
from tests.selftests import KINDS, TOP

KALLSYMS = """\
0000000000000000 A fixed_percpu_data
0000000000030000 A __per_cpu_end
ffffffff81000000 T spread
ffffffff81000100 t hash
ffffffffc0000000 t x_enqueue\t[sch_x]
ffffffffc0000080 d x_data\t[sch_x]
"""
# Ten enqueues, of which four discarded. The Qdisc is 0x180 bytes at 0xff00000000100000.
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


def one(text: str = TRACE) -> Trace:
    [trace] = read(text, Symbols(KALLSYMS))
    return trace


def test_instructions_are_summed_by_function() -> None:
    by_phase = functions(one(), TOP / "no-modules")
    assert by_phase == {"enqueue": {"hash": 10, "x_enqueue": 40}}


def test_lines_are_told_apart_by_whose_they_are() -> None:
    lines = lines_of(one())
    # Each enqueue the Qdisc's first line, every other one two more; packets' by themselves,
    # and the CPU's data and the module's static data neither way the discipline's.
    assert lines["enqueue"].state == 2.0
    assert lines["enqueue"].private == 1.5
    assert lines["enqueue"].packets == 2.0
    assert lines["enqueue"].kernel == 2.0
    assert lines["drop"].state == 1.0
    assert hot(one()) == 1  # the private data begins at 0x100
    assert private(one()) == {0: {"enqueue": 1.0, "drop": 1.0}, 0x140: {"enqueue": 0.5}}


def test_a_line_that_is_not_understood_ends_it() -> None:
    with pytest.raises(SystemExit):
        one(TRACE + "nonsense 1\n")


def test_memory_is_shared_among_the_leaves() -> None:
    some = [Leaf("pfifo", "limit 1000", leaves=100), Leaf("qsdrr", leaves=100)]
    text = ("leaf 0\nmemory 30000 90000\nmemory 30000 90000\n"
            "leaf 1\nmemory 30000 90000\nmemory 37000 82900\n")  # fmt: skip
    found = dict(taken(some, text))
    assert found[some[0]].counted == PFIFO
    assert found[some[1]].counted == 7000 * 1024 // 100 + PFIFO
    assert found[some[1]].gone == 7100 * 1024 // 100 + PFIFO


def test_every_kind_of_ours_is_measured_as_it_comes() -> None:
    found = leaves([kind.name for kind in KINDS])
    assert {leaf.qdisc for leaf in found if not leaf.options} == {kind.name for kind in KINDS}
