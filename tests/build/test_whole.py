# SPDX-License-Identifier: GPL-2.0
"""Each discipline has all its files, and each test of a header or suite is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aqmlab.qdiscs.metadata import parse_metadata
from tests.selftests import KINDS, TOP

# Files of a discipline, in addition to sch_X.c.
PARTS = {
    "the netlink interface": "include/uapi/linux/pkt_sched_{}.h",
    "the tc plugin": "tc/q_{}.c",
    "the man page": "man/man8/tc-{}.8",
    "the metadata": "selftests/kinds/{}",
    "the table for tdc": "selftests/tdc/tables/{}.py",
    "the oracle": "tests/oracle/{}/test_{}_oracle.py",
    "the oracle's model": "tests/oracle/{}/model.py",
}
LINES = {"Kbuild": "obj-m += sch_{}.o", "README.md": "| `{}` |"}
# Keys that the metadata must have. The value may be empty.
KEYS = ("ABOUT", "FROM", "SCENARIO", "DEMO", "OPTIONS", "CORNERS", "FILTERS", "BUSY", "MARKS")


def missing_parts(top: Path, kind: str) -> list[str]:
    """Return a description with a path for each missing part of a discipline."""
    # The name of a Python package cannot begin with a digit.
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
    path = top / "selftests" / "kinds" / kind
    if path.is_file():
        metadata = parse_metadata(path.read_text())
        missing += [f"{key} in selftests/kinds/{kind}" for key in KEYS if key not in metadata]
    return missing


def test_each_discipline_has_all_its_parts() -> None:
    kinds = sorted(path.stem.removeprefix("sch_") for path in TOP.glob("sch_*.c"))
    assert kinds
    assert {kind: missing_parts(TOP, kind) for kind in kinds} == {kind: [] for kind in kinds}


def test_each_pure_header_has_its_unit_test() -> None:
    """A header without sk_buff and Qdisc can be tested in user space."""
    pure = re.compile(r"sk_buff[\s*]+(?:or|and)[\s*]+(?:a|no)[\s*]+Qdisc")
    files = [*(TOP / "include" / "aqm").rglob("*.h"), *(TOP / "frame").glob("*.h")]
    headers = [path for path in files if pure.search(path.read_text())]
    assert headers
    tests = [TOP / "selftests" / "unit" / f"test_{header.stem}.c" for header in headers]
    assert [str(test.relative_to(TOP)) for test in tests if not test.is_file()] == []


def test_metadata_exists_only_for_disciplines() -> None:
    assert [kind.name for kind in KINDS if not (TOP / f"sch_{kind.name}.c").is_file()] == []


def test_tests_of_a_file_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """They share fixtures. pytest-xdist shows the group in a test's name."""
    if not hasattr(request.config, "workerinput"):
        pytest.skip("one process")
    assert "@tests/build/test_whole.py" in request.node.nodeid


def read_files(file: Path) -> set[Path]:
    """Return a file of ours and all that it includes, directly or not."""
    found = {file}
    for name in re.findall(r'^#include [<"]([\w/.]+)[>"]', file.read_text(), re.MULTILINE):
        places = ((place / name).resolve() for place in (file.parent, TOP / "include"))
        found |= next((read_files(path) for path in places if path.is_file()), set())
    return found


def test_readers_of_a_discipline_open_as_many_files_as_design_says() -> None:
    design = (TOP / "docs" / "DESIGN.md").read_text()
    said = re.search(
        r"For `(sch_\w+\.c)`.*the compiler reads (\d+) of our files with fewer than (\d+) lines",
        design,
    )
    assert said
    files = read_files(TOP / said[1])
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert len(files) == int(said[2]), sorted(file.name for file in files)
    assert int(said[3]) - 200 < lines < int(said[3])
