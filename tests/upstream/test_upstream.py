# SPDX-License-Identifier: GPL-2.0
"""Each defect that docs/upstream describes exists in mainline, and its patch fixes it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit.engines import default_kernel
from labkit.sources import ensure_source

TOP = Path(__file__).resolve().parents[2]
UPSTREAM = TOP / "docs" / "upstream"
PATCHES = sorted(UPSTREAM.glob("*/*.patch"))
CASES = UPSTREAM / "tdc-cases" / "cases.py"
NAMES = sorted({path.parent.name for path in (*PATCHES, CASES)})


@pytest.mark.extra
@pytest.mark.parametrize("name", [name for name in NAMES if name != "tc-json"])
def test_defect_is_in_mainline_and_not_in_the_patched_module(name: str) -> None:
    done = subprocess.run(
        [UPSTREAM / "check", name],
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: f"{path.parent.name}-{path.name[:4]}")
def test_patch_passes_checkpatch(patch: Path) -> None:
    tree = ensure_source(default_kernel()).tree
    # The source tree has no git repository in which checkpatch could look up commits.
    checkpatch = [
        "scripts/checkpatch.pl",
        f"--root={tree}",
        "--strict",
        "--terse",
        "--ignore",
        "UNKNOWN_COMMIT_ID",
    ]
    done = subprocess.run(
        [*checkpatch, patch],
        cwd=tree,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert not done.stdout
    assert done.returncode == 0


def test_cases_are_appended_to_those_of_mainline(tmp_path: Path) -> None:
    folder = "tools/testing/selftests/tc-testing/tc-tests/qdiscs"
    tree, copy = ensure_source(default_kernel()).tree / folder, tmp_path / folder
    copy.mkdir(parents=True)
    kinds = ("pie", "fq_pie", "drr", "skbprio", "choke")
    for kind in kinds:
        shutil.copy(tree / f"{kind}.json", copy)
    subprocess.run([CASES, tmp_path], check=True)
    added = json.loads(subprocess.run([CASES], stdout=subprocess.PIPE, check=True).stdout)
    for kind in kinds:
        old, new = ((where / f"{kind}.json").read_text() for where in (tree, copy))
        assert new.startswith(old.rstrip("]\n"))
        new_cases = json.loads(new)[len(json.loads(old)) :]
        assert new_cases == [case for case in added if case["category"] == ["qdisc", kind]]
        assert len(json.loads(new)) == 15


@pytest.mark.parametrize("name", NAMES)
def test_page_lists_every_defect_directory(name: str) -> None:
    page = (UPSTREAM / name / "README.md").read_text()
    for patch in (UPSTREAM / name).glob("*.patch"):
        assert f"({patch.name})" in page
    assert f"({name}/README.md)" in (UPSTREAM / "README.md").read_text()
