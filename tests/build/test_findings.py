# SPDX-License-Identifier: GPL-2.0
"""docs/findings-of-users.md: each row has a finding, how it was mended, and a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
#: Findings that no test can have: they are about words, or about what only the owner can do.
WITHOUT = 4


def rows() -> list[list[str]]:
    text = (TOP / "docs" / "findings-of-users.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_each_finding_names_a_test_that_exists() -> None:
    found = [row for row in rows() if row[0] != "finding"]
    assert all(len(row) == 3 and row[0] and row[1] for row in found)
    assert sum(not row[2] for row in found) == WITHOUT
    for finding, _, test in found:
        if not test:
            continue
        named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", test)
        assert named, finding
        assert f"def {named[2]}(" in (TOP / "tests" / named[1]).read_text(), test


def test_findings_that_remain_are_marked() -> None:
    assert all("**not mended**" in row[1] for row in rows() if "not mended" in row[1])
