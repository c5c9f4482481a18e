# SPDX-License-Identifier: GPL-2.0
"""Run each kind's table in the lab with tdc: options that tc and netlink accept, show, refuse."""

from __future__ import annotations

from pathlib import Path

from labkit.engines import default_kernel
from labkit.sources import ensure_source

from tests.selftests import KINDS, Kind, every_kind, run_selftest, tdc_cases


@every_kind
def test_all_tdc_cases_pass(kind: Kind, tmp_path: Path) -> None:
    ensure_source(default_kernel())  # it contains tdc
    tap = run_selftest(["selftests/tdc/run", kind.name])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(tdc_cases(kind.name, tmp_path))
    assert tap.status == 0


def test_tdc_ids_are_unique(tmp_path: Path) -> None:
    ids = [case["id"] for kind in KINDS for case in tdc_cases(kind.name, tmp_path)]
    assert len(ids) == len(set(ids))
