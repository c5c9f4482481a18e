# SPDX-License-Identifier: GPL-2.0
"""Build, load, configure and use each discipline on Debian's kernels.

Without KVM it takes 0.1 s to start a process there. So we run only a small part of the matrix: a
burst and GSO packets, at the root and two levels below an hfsc, which stalls if a count passes
through 0. test_parents.py runs the whole matrix on the lab's kernel.
"""

from __future__ import annotations

import pytest

from tests.selftests import KINDS, STOCK, run_selftest

PARENTS = ("root", "hfsc-ls:prio")
CASES = ("overflow", "gso")


@pytest.mark.extra
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("kernel", STOCK)
def test_short_matrix_passes_on_stock_kernel(kernel: str) -> None:
    words = " ".join([*(f"-p {name}" for name in PARENTS), *(f"-c {name}" for name in CASES)])
    one = "selftests/parents.sh -u {} {} '{}' || failed=1"
    runs = "; ".join(one.format(words, kind.name, kind.metadata["OPTIONS"]) for kind in KINDS)
    tap = run_selftest(
        ["bash", "-c", f"failed=0; {runs}; exit $failed"],
        ["--engine", "qemu", "--kernel", kernel],
        limit=1200,
    )
    assert not tap.failed
    assert tap.skipped == []
    assert len(tap.passed) == len(KINDS) * len(PARENTS) * len(CASES)
    assert tap.status == 0
