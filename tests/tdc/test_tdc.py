# SPDX-License-Identifier: GPL-2.0
"""What tc and netlink accept, show and refuse: each kind's table, by tdc in the lab."""

from __future__ import annotations

from pathlib import Path

from labkit.engines import default_kernel
from labkit.sources import ensure_source

from tests.selftests import KINDS, Kind, every_kind, run_selftest, tdc_cases


@every_kind
def test_tdc(kind: Kind, tmp_path: Path) -> None:
    ensure_source(default_kernel())  # tdc comes with it
    tap = run_selftest(["selftests/tdc/run", kind.name])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(tdc_cases(kind.name, tmp_path))
    assert tap.status == 0


def test_tdc_ids_are_unique(tmp_path: Path) -> None:
    ids = [case["id"] for kind in KINDS for case in tdc_cases(kind.name, tmp_path)]
    assert len(ids) == len(set(ids))
