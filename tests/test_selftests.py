# SPDX-License-Identifier: GPL-2.0
"""Every discipline's selftests in the lab: its contract with parents, tc and netlink by tdc."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.selftests import TOP, few_parents, run_selftest

TDC = TOP / "selftests" / "tdc"


@dataclass(frozen=True)
class Kind:
    """A discipline.

    ``options`` go with the small matrix: a limit that a burst overflows, and with which a lone
    packet passes afterwards. ``excluded`` are PARENT:CASE as in its script, which says why.
    ``matrix`` is the least number of cases that its script must have passed.
    """

    name: str
    options: str
    matrix: int
    excluded: tuple[str, ...] = ()

    @property
    def cases(self) -> Path:
        return TDC / f"{self.name}.json"


KINDS = [
    Kind("qsdrr", "limit 2", 300),
    Kind("tdrr", "limit 2", 300),
    Kind("2regionred", "limit 2", 300),
    Kind("chokex", "limit 2 min 5 max 6 bandwidth 100gbit", 300),
    Kind("redtail", "limit 3kb", 280),
    Kind("cbt", "limit 2 bandwidth 100gbit", 290, ("netem:replace",)),
]
every_kind = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.xdist_group(kind.name)) for kind in KINDS],
    ids=lambda kind: kind.name,
)


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
    assert len(tap.passed) >= kind.matrix
    # hfsc stalls by itself when its link goes down and up.
    down = f"hfsc: {kind.name} {kind.options}: down"
    assert [name for name in tap.skipped if not name.startswith(down)] == []
    assert tap.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["kasan", "lockdep"])
@every_kind
def test_under_a_checking_kernel(kind: Kind, flavour: str) -> None:
    command = few_parents(kind.name, kind.options, excluded=kind.excluded)
    tap = run_selftest(command, ["--flavour", flavour])
    assert not tap.failed
    assert len(tap.passed) > 70
    assert tap.status == 0
