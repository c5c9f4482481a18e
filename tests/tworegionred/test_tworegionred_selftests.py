# SPDX-License-Identifier: GPL-2.0
"""2regionred's selftests in the lab: its contract with parents, and tc and netlink by tdc."""

from __future__ import annotations

import json

import pytest

from tests.selftests import TOP, few_parents, run_selftest

CASES = TOP / "selftests" / "tdc" / "2regionred.json"


def test_tdc() -> None:
    tap = run_selftest(["selftests/tdc/run", "selftests/tdc/2regionred.json"])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(json.loads(CASES.read_text()))
    assert tap.status == 0


def pfifo_fails(name: str) -> bool:
    """Whether ``PARENT: 2regionred OPTIONS: CASE`` fails with pfifo in its place, too."""
    parent, _, case = name.split(": ")
    command = ["selftests/parents.sh", "-p", parent, "-c", case, "pfifo", "limit 2"]
    return f"{parent}: pfifo limit 2: {case}" in run_selftest(command).failed


@pytest.mark.slow
def test_under_every_parent() -> None:
    tap = run_selftest(["make", "-s", "-C", "selftests", "run_tests", "TEST_PROGS=2regionred.sh"])
    # A slow htb holds on to a large packet, and multiq's count is late: not of our making.
    assert len(tap.failed) <= 2
    assert all(pfifo_fails(name) for name in tap.failed)
    assert len(tap.passed) > 150


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["kasan", "lockdep"])
def test_under_a_checking_kernel(flavour: str) -> None:
    tap = run_selftest(few_parents("2regionred", "limit 2"), ["--flavour", flavour])
    assert not tap.failed
    assert len(tap.passed) > 50
    assert tap.status == 0
