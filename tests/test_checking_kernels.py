# SPDX-License-Identifier: GPL-2.0
"""Every discipline's contract with its parents on kernels that look for errors in memory and locks.

The lab fails a run in which such a kernel reports anything.
"""

from __future__ import annotations

import pytest

from tests.selftests import Kind, every_kind, few_parents, run_selftest


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["checked"])
@every_kind
def test_no_report_and_no_failure(kind: Kind, flavour: str) -> None:
    tap = run_selftest(few_parents(kind), ["--flavour", flavour])
    assert not tap.failed
    assert len(tap.passed) > (70 if kind.filters else 65)
    assert tap.status == 0
