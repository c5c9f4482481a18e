# SPDX-License-Identifier: GPL-2.0
"""Run each discipline on two CPUs, where a missing lock causes a kernel report or a crash.

The lab fails a run if the kernel reports anything. A race shows up only by chance.
test_userspace.py checks deterministically that each lock is taken.
"""

from __future__ import annotations

import pytest

from tests.selftests import Kind, every_kind, run_selftest


@pytest.mark.slow
@pytest.mark.extra
@every_kind
def test_no_report_under_stress(kind: Kind) -> None:
    tap = run_selftest(["selftests/stress", kind.name], ["--flavour", "smp"], limit=300)
    assert not tap.failed
    assert not tap.skipped
    assert tap.passed == [f"{kind.name}: {part}" for part in ("as_root", "as_leaf", "unloads")]
    assert tap.status == 0
