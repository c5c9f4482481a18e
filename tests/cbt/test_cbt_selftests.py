# SPDX-License-Identifier: GPL-2.0
"""cbt's selftests in the lab: its contract with parents, and tc and netlink by tdc."""

from __future__ import annotations

import json

import pytest

from tests.selftests import TOP, few_parents, run_selftest

CASES = TOP / "selftests" / "tdc" / "cbt.json"


def test_tdc() -> None:
    tap = run_selftest(["selftests/tdc/run", "selftests/tdc/cbt.json"])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(json.loads(CASES.read_text()))
    assert tap.status == 0


@pytest.mark.slow
def test_under_every_parent() -> None:
    tap = run_selftest(["make", "-s", "-C", "selftests", "run_tests", "TEST_PROGS=cbt.sh"])
    assert not tap.failed
    assert len(tap.passed) > 270
    # hfsc stalls by itself when its link goes down and up.
    assert [name for name in tap.skipped if not name.startswith("hfsc: cbt")] == []
    assert tap.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["kasan", "lockdep"])
def test_under_a_checking_kernel(flavour: str) -> None:
    command = few_parents("cbt", "limit 2 bandwidth 100gbit")
    # What netem held arrives at a new child at once: too much for a class, see cbt.sh.
    at = command.index("netem")
    tap = run_selftest([*command[: at - 1], *command[at + 1 :]], ["--flavour", flavour])
    assert not tap.failed
    assert len(tap.passed) > 60
    assert tap.status == 0
