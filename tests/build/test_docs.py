# SPDX-License-Identifier: GPL-2.0
"""Generated parts of the pages follow the sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.selftests import KINDS, TOP


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the files that `make generate` reads and writes."""
    for name in ("README.md", "tools/generate", "selftests/kinds"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (TOP / name).is_dir():
            shutil.copytree(TOP / name, target)
        else:
            shutil.copy2(TOP / name, target)
    (tmp_path / "build").mkdir()
    return tmp_path


def generate(copy: Path) -> str:
    subprocess.run([copy / "tools" / "generate"], check=True)
    return (copy / "README.md").read_text()


def test_generating_again_changes_nothing(copy: Path) -> None:
    written = (TOP / "README.md").read_text()
    assert generate(copy) == written
    assert all(f"| `{kind.name}` |" in written for kind in KINDS)


def test_metadata_appears_in_readme(copy: Path) -> None:
    (copy / "selftests" / "kinds" / "seventh").write_text('ABOUT="does this"\nFROM="Them 2001"\n')
    assert "| `seventh` | does this | Them 2001 |" in generate(copy)


def test_metadata_without_a_readme_line_is_named(copy: Path) -> None:
    (copy / "selftests" / "kinds" / "seventh").write_text('ABOUT="does this"\n')
    done = subprocess.run([copy / "tools" / "generate"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "FROM: missing in selftests/kinds/seventh" in done.stderr
