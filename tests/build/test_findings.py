# SPDX-License-Identifier: GPL-2.0
"""Pages of findings: each row has a finding, how it was mended, and what keeps it so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
#: Mended findings without a test, by page. They are about words, or about what only the owner can
#: do.
WITHOUT = {"findings-of-users": 3, "findings-of-the-audit": 0}
#: How a finding is marked that remains.
REMAINS = ("**not mended**", "**in part**")
PAGES = pytest.mark.parametrize("page", WITHOUT)


def rows(page: str) -> list[list[str]]:
    text = (TOP / "docs" / f"{page}.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in found if row[0] != "finding"]


def exists(kept: str) -> bool:
    """Return whether the test, or the claims of a paper, exist."""
    if named := re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", kept):
        file = TOP / "tests" / named[1]
        return file.exists() and f"def {named[2]}(" in file.read_text()
    named = re.fullmatch(r"claim (\w+(?:, \w+)*) of \[(\w+)\]\(results/\2\.md\)", kept)
    file = TOP / "papers" / (named[2] if named else "") / "claims.toml"
    return bool(
        named
        and file.exists()
        and {*named[1].split(", ")} <= tomllib.loads(file.read_text())["claim"].keys()
    )


@PAGES
def test_each_finding_names_a_test_or_a_claim_that_exists(page: str) -> None:
    found = rows(page)
    assert len(found) > 20
    assert all(len(row) == 3 and row[0] and row[1] for row in found)
    assert [row for row in found if row[2] and not exists(row[2])] == []


@PAGES
def test_findings_that_remain_are_marked(page: str) -> None:
    found = rows(page)
    assert all("**not mended**" in row[1] for row in found if "not mended" in row[1])
    assert all(not row[2] for row in found if REMAINS[0] in row[1])
    unmarked = [row for row in found if not row[2] and not any(mark in row[1] for mark in REMAINS)]
    assert len(unmarked) == WITHOUT[page]
