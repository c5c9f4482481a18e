# SPDX-License-Identifier: GPL-2.0
"""Each defect that docs/upstream describes exists in mainline, and its patch fixes it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from labkit.engines import default_kernel
from labkit.sources import ensure_source

TOP = Path(__file__).resolve().parents[2]
UPSTREAM = TOP / "docs" / "upstream"
PATCHES = sorted(UPSTREAM.glob("*/*.patch"))
NAMES = sorted({path.parent.name for path in PATCHES})


@pytest.mark.parametrize("name", [name for name in NAMES if name != "tc-json"])
def test_defect_is_in_mainline_and_not_in_the_patched_module(name: str) -> None:
    done = subprocess.run([UPSTREAM / "check", name], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: f"{path.parent.name}-{path.name[:4]}")
def test_patch_passes_checkpatch(patch: Path) -> None:
    tree = ensure_source(default_kernel()).tree
    # The source tree has no git repository in which checkpatch could look up commits.
    checkpatch = ["scripts/checkpatch.pl", f"--root={tree}", "--strict", "--terse", "--ignore",
                  "UNKNOWN_COMMIT_ID"]  # fmt: skip
    done = subprocess.run([*checkpatch, patch], cwd=tree, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    assert not done.stdout
    assert done.returncode == 0


def test_patch_adds_exactly_the_generated_cases(tmp_path: Path) -> None:
    tree = ensure_source(default_kernel()).tree
    folder = "tools/testing/selftests/tc-testing/tc-tests/qdiscs"
    (patch,) = (UPSTREAM / "tdc-cases").glob("*.patch")
    for kind in ("pie", "fq_pie", "drr", "skbprio", "choke"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / folder / f"{kind}.json", tmp_path / folder)
    subprocess.run(["patch", "-s", "-p1", "-d", tmp_path, "-i", patch], check=True)
    for kind in ("pie", "fq_pie", "drr", "skbprio", "choke"):
        old, new = (json.loads((where / folder / f"{kind}.json").read_text())
                    for where in (tree, tmp_path))  # fmt: skip
        made = subprocess.run([sys.executable, UPSTREAM / "tdc-cases" / "cases.py", kind],
                              stdout=subprocess.PIPE, check=True).stdout  # fmt: skip
        assert new == old + json.loads(made)
        assert len(new) == 15


@pytest.mark.parametrize("name", NAMES)
def test_page_lists_every_defect_directory(name: str) -> None:
    page = (UPSTREAM / name / "README.md").read_text()
    for patch in (UPSTREAM / name).glob("*.patch"):
        assert f"({patch.name})" in page
    assert f"({name}/README.md)" in (UPSTREAM / "README.md").read_text()
