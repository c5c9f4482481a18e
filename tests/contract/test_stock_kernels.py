# SPDX-License-Identifier: GPL-2.0
"""Every discipline on Debian's own kernels: it builds, loads, is configured, and carries traffic.

Without KVM a process takes a tenth of a second to start there, so what runs is the part of the
matrix of parents that decides most: a burst, and GSO packets whole and cut up, at the root and
two levels below an hfsc that stalls where a count passes through 0. The whole of the matrix on
the lab kernel.
"""

from __future__ import annotations

import pytest
from labkit import records

from tests.selftests import KINDS, run_selftest

PARENTS = ("root", "hfsc-ls:prio")
CASES = ("overflow", "gso")


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("kernel", records.names("qemu"))
def test_on_a_stock_kernel(kernel: str) -> None:
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
