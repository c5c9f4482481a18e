# SPDX-License-Identifier: GPL-2.0
"""qsdrr on Debian's own kernels: it builds, loads, is configured, and carries traffic.

Without KVM a process takes a tenth of a second to start there, so what runs is a part: the
tdc cases of the category "smoke", and the matrix of parents with the cases that decide most.
The whole of both runs on the lab kernel.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.selftests import run_selftest, tdc_cases

PARENTS = ("root", "htb", "tbf-slow", "hfsc", "drr", "qfq", "ets", "prio", "netem", "mq")
CASES = ("overflow", "turns", "change")
SCRIPT = """
selftests/tdc/run qsdrr -- -c smoke; tdc=$?
selftests/parents.sh {words} qsdrr 'limit 2'; parents=$?
exit $((tdc | parents))
"""


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_on_a_stock_kernel(kernel: str, tmp_path: Path) -> None:
    words = " ".join([*(f"-p {name}" for name in PARENTS), *(f"-c {name}" for name in CASES)])
    tap = run_selftest(
        ["bash", "-c", SCRIPT.format(words=words)],
        ["--engine", "qemu", "--kernel", kernel],
        limit=1800,
    )
    smoke = [case for case in tdc_cases("qsdrr", tmp_path) if "smoke" in case["category"]]
    assert not tap.failed
    assert tap.skipped == []
    # One more: the module can be unloaded and loaded again.
    assert len(tap.passed) == len(smoke) + len(PARENTS) * len(CASES) + 1
    assert tap.status == 0
