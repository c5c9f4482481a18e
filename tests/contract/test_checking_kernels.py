# SPDX-License-Identifier: GPL-2.0
"""The short matrix of parents on a kernel with KASAN and lockdep.

The lab fails a run if the kernel reports anything.
"""

from __future__ import annotations

import pytest

from aqmlab.qdiscs import interface
from tests.oracle.drive import RESET, Trace, drive_many
from tests.selftests import Kind, every_kind, matrix_names, run_selftest

pytestmark = [pytest.mark.extra, pytest.mark.slow]


@every_kind
def test_matrix_passes_without_kernel_reports(kind: Kind) -> None:
    tap = run_selftest(["selftests/matrix", "-q", kind.name], ["--flavour", "checked"])
    assert not tap.failed
    wanted = matrix_names(kind, "-q")
    ran = [name for name in wanted if kind.filters or ": filter-" not in name]
    assert sorted(tap.passed) == sorted(ran)
    assert tap.status == 0


def test_tables_grow_while_packets_are_queued() -> None:
    """300 flows wait in 32 queues, and 500 others pass. Queues and records are added."""
    ops = []
    for first in (0, 1000):
        for flow in range(first, first + 300):
            ops.append(f"e flow={flow} len=100 hash=1")
        ops += ["t 50000000", *(f"e flow={flow} len=100 hash=1" for flow in range(first, 300))]
        for flow in [*range(5000, 5500)] * 2:
            ops += [f"e flow={flow} len=100 hash=1", "d 1"]
        ops += ["t 50000000", "d 500", RESET]
    kinds = ("qsdrr", "tdrr")
    traces = [Trace(f"{kind} limit 1000 flows 32", ops) for kind in kinds]
    for kind, steps in zip(kinds, drive_many(traces, lab=("--flavour", "checked")), strict=True):
        stats = interface.read(kind).statistics(steps[-1].xstats)
        assert stats["flows"] == 8 * 32
        filled = interface.read(kind).statistics(steps[-2].xstats)  # before the reset
        assert kind != "tdrr" or (filled["records"] and filled["recalled"])
        assert not steps[-1].drops
