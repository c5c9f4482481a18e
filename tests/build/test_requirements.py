# SPDX-License-Identifier: GPL-2.0
"""Each group of requirements contains the packages that its code imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
#: Code that runs, reports and sweeps do not use. It may need the packages of tests.
RUN_GROUPS = ("run", "report", "pandas", "papers")
REPORTS = tuple(
    f"lab/aqmlab/report/{name}.py" for name in ("html_report", "interactive_plots", "record_report")
)
DEVELOPERS = (
    *("bench/", "docs/", "examples/", "lab/kit/", "selftests/", "setup.py", "tests/", "tools/"),
)


def listed(group: str) -> set[str]:
    """Return the distributions that requirements/GROUP.txt names, in lower case."""
    text = (TOP / "requirements" / f"{group}.txt").read_text()
    return {name.lower() for name in re.findall(r"^([\w-]+)", text, re.MULTILINE)}


def imported(paths: list[Path]) -> dict[str, str]:
    """Return the distribution of each third-party import, with one file that imports it."""
    owners = packages_distributions()
    found: dict[str, str] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top in owners:
                    found[owners[top][0].lower()] = f"{path.relative_to(TOP)}: {name}"
    return found


def reports(name: str) -> bool:
    return name.startswith(REPORTS)


def notebooks(name: str) -> bool:
    return name.startswith(("lab/aqm/", "lab/aqmlab/report/figures.py"))


def developers(name: str) -> bool:
    return name.startswith(DEVELOPERS)


def papers(name: str) -> bool:
    return name.startswith("papers/")


def runs(name: str) -> bool:
    """Return whether a file belongs to what the wheel runs with its own requirements only."""
    return not any(other(name) for other in (reports, notebooks, developers, papers))


def tracked(wanted: Callable[[str], bool]) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout.split()
    return [TOP / name for name in names if wanted(name) and (TOP / name).exists()]


@pytest.mark.parametrize(
    ("files", "groups"),
    [
        (runs, ("run", "completion")),
        (reports, ("run", "report")),
        (notebooks, ("run", "pandas")),
        (papers, RUN_GROUPS),
        (developers, (*RUN_GROUPS, "sweeps", "tests", "completion")),
    ],
)
def test_every_import_is_in_an_installed_group(
    files: Callable[[str], bool], groups: tuple[str, ...]
) -> None:
    known = set().union(*map(listed, groups))
    found = imported(tracked(files))
    assert found, "no imports found"
    assert {name: where for name, where in found.items() if name not in known} == {}


def test_no_package_is_in_two_groups() -> None:
    groups = [listed(path.stem) for path in (TOP / "requirements").glob("*.txt")]
    assert sum(map(len, groups)) == len(set().union(*groups))
