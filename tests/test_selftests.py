# SPDX-License-Identifier: GPL-2.0
"""Every discipline's selftests in the lab: its contract with parents, tc and netlink by tdc."""

from __future__ import annotations

from pathlib import Path

import pytest
from labkit.engines import default_kernel
from labkit.sources import ensure_source

from tests.selftests import (
    KINDS,
    TOP,
    Kind,
    every_kind,
    matrix_names,
    read_card,
    run_selftest,
    tdc_cases,
)

# What a discipline X consists of, besides sch_X.c.
PARTS = {
    "the netlink interface": "include/uapi/linux/pkt_sched_{}.h",
    "the tc plugin": "tc/q_{}.c",
    "the man page": "man/man8/tc-{}.8",
    "the card for the tests": "selftests/kinds/{}",
    "the table for tdc": "selftests/tdc/tables/{}.py",
    "the oracle": "tests/{}/test_{}_oracle.py",
    "the oracle's model": "tests/{}/model.py",
}
LINES = {
    "Kbuild": "obj-m += sch_{}.o",
    "README.md": "| `{}` |",
    "netns-scenarios/scenarios/kinds.py": 'Kind("{}',
}
# What a card must say, if only that there is nothing.
CARD = ("ABOUT", "FROM", "OPTIONS", "CORNERS", "FILTERS", "BUSY", "MARKS")


def lacking(top: Path, kind: str) -> list[str]:
    """What a discipline has not, in words that say where it belongs."""
    # A package of Python cannot begin with a digit.
    package = {"2regionred": "tworegionred"}.get(kind, kind)
    missing = []
    for what, pattern in PARTS.items():
        name = package if pattern.startswith("tests/") else kind
        path = pattern.replace("{}", name)
        if not (top / path).is_file():
            missing.append(f"{what}: {path}")
    for path, pattern in LINES.items():
        if pattern.format(kind) not in (top / path).read_text():
            missing.append(f'a line with "{pattern.format(kind)}" in {path}')
    card = top / "selftests" / "kinds" / kind
    if card.is_file():
        said = read_card(card.read_text())
        missing += [f"{key} in selftests/kinds/{kind}" for key in CARD if key not in said]
    return missing


def test_each_discipline_is_whole() -> None:
    kinds = sorted(path.stem.removeprefix("sch_") for path in TOP.glob("sch_*.c"))
    assert kinds
    assert {kind: lacking(TOP, kind) for kind in kinds} == {kind: [] for kind in kinds}


def test_no_card_is_of_nothing() -> None:
    assert [kind.name for kind in KINDS if not (TOP / f"sch_{kind.name}.c").is_file()] == []


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


@pytest.mark.slow
@every_kind
def test_under_every_parent(kind: Kind) -> None:
    tap = run_selftest(["selftests/matrix", kind.name])
    assert not tap.failed
    wanted = matrix_names(kind)
    assert len(wanted) > 100
    # hfsc stalls by itself when its link goes down and up.
    own = [name for name in wanted if name.startswith("hfsc") and name.endswith(": down")]
    if not kind.filters:
        own += [name for name in wanted if ": filter-" in name]
    skipped = [name.split(" # ")[0] for name in tap.skipped]
    assert sorted(set(skipped) - set(own)) == []
    # Once for each of the two parts: the module can be unloaded and loaded again.
    assert sorted([*tap.passed, *skipped]) == sorted([*wanted, *2 * [f"{kind.name}: unload"]])
    assert tap.status == 0
