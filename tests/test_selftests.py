# SPDX-License-Identifier: GPL-2.0
"""Every discipline's selftests in the lab: its contract with parents, tc and netlink by tdc."""

from __future__ import annotations

import json

import pytest

from tests.selftests import KINDS, TDC, TOP, Kind, every_kind, run_selftest


def test_no_discipline_is_left_out() -> None:
    names = {path.stem.removeprefix("sch_") for path in TOP.glob("sch_*.c")}
    assert {kind.name for kind in KINDS} == names
    assert {path.stem for path in TDC.glob("*.json")} == names


def test_tdc_ids_are_unique() -> None:
    ids = [case["id"] for path in TDC.glob("*.json") for case in json.loads(path.read_text())]
    assert len(ids) == len(set(ids))


@every_kind
def test_tdc(kind: Kind) -> None:
    tap = run_selftest(["selftests/tdc/run", str(kind.cases)])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(json.loads(kind.cases.read_text()))
    assert tap.status == 0


@pytest.mark.slow
@every_kind
def test_under_every_parent(kind: Kind) -> None:
    script = f"TEST_PROGS={kind.name}.sh"
    tap = run_selftest(["make", "-s", "-C", "selftests", "run_tests", script])
    assert not tap.failed
    # hfsc stalls by itself when its link goes down and up.
    own = [f"hfsc: {kind.name} {kind.options}: down"]
    own += [] if kind.filters else [": filter-drop", ": filter-steal"]
    assert [name for name in tap.skipped if not any(part in name for part in own)] == []
    assert len(tap.passed) > (300 if kind.filters else 270)
    assert tap.status == 0
