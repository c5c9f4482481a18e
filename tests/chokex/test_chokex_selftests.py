# SPDX-License-Identifier: GPL-2.0
"""chokex's selftests in the lab: its contract with parents, and tc and netlink by tdc."""

from __future__ import annotations

import json

import pytest

from tests.selftests import TOP, few_parents, run_selftest

CASES = TOP / "selftests" / "tdc" / "chokex.json"


def test_tdc() -> None:
    tap = run_selftest(["selftests/tdc/run", "selftests/tdc/chokex.json"])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(json.loads(CASES.read_text()))
    assert tap.status == 0


@pytest.mark.slow
def test_under_every_parent() -> None:
    tap = run_selftest(["make", "-s", "-C", "selftests", "run_tests", "TEST_PROGS=chokex.sh"])
    assert not tap.failed
    assert len(tap.passed) > 250
    # hfsc stalls by itself when its link goes down and up.
    assert [name for name in tap.skipped if not name.startswith("hfsc: chokex")] == []
    assert tap.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["kasan", "lockdep"])
def test_under_a_checking_kernel(flavour: str) -> None:
    # A min that a lone packet passes, after a burst as well.
    command = few_parents("chokex", "limit 2 min 5 max 6 bandwidth 100gbit")
    tap = run_selftest(command, ["--flavour", flavour])
    assert not tap.failed
    assert len(tap.passed) > 70
    assert tap.status == 0
