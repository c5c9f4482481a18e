# SPDX-License-Identifier: GPL-2.0
"""The man pages agree with the lists of options and statistics."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from aqmlab.qdiscs import interface

TOP = Path(__file__).resolve().parents[2]
KINDS = interface.kinds()

# Factors of suffixes in the man pages, relative to the unit in the list.
UNITS = {
    "TIME": {"ms": 1000, "s": 1_000_000},
    "BYTES": {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30},
}


def section(kind: str, name: str) -> str:
    """Return the source of a section."""
    page = (TOP / "man" / "man8" / f"tc-{kind}.8").read_text()
    found = re.search(rf'^\.SH "?{name}"?\n(.*?)(?=^\.SH)', page, re.M | re.S)
    assert found, name
    return found[1]


def tagged(text: str) -> list[tuple[set[str], str]]:
    """Return the names in each tag of a section, and the source of the tag."""
    found = []
    for tag in re.findall(r"^\.T[PQ].*\n(.*)", text, re.M):
        words = re.sub(r"\(.*\)|\\f[RIBP]|\\|^\.[A-Z]+", "", tag)
        found.append((set(re.findall(r"\b[a-z0-9][a-z0-9_]*\b", words)), tag))
    return found


def test_options_in_the_pages_match_the_help_of_tc(tmp_path: Path) -> None:
    subprocess.run(["make", "-s", "-C", TOP / "tc", f"PLUGINS_DIR={tmp_path}"], check=True)
    done = subprocess.run(
        [TOP / "tools" / "man-options", "--check", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def numbers(text: str, option: interface.Option) -> set[float]:
    """Return the numbers of a text in the unit of the option."""
    plain = re.sub(r"\\(f[RIBP]|.)", "", text).lower()
    units = UNITS.get(option.type, {})
    found = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?) ?([a-z]*)", plain)
    return {float(number) * units.get(unit, 1) for number, unit in found}


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_have_one_tag_per_option_with_its_default(kind: str) -> None:
    tags = tagged(section(kind, "PARAMETERS"))
    for option in interface.read(kind).options:
        found = [tag for names, tag in tags if option.name in names]
        assert len(found) == 1, option.name
        if option.type in ("FLAG", "CHOICE", "CODEPOINTS", "MASKED") or option.default is None:
            continue
        default = round(option.default / 2**32, 6) if option.type == "FRACTION" else option.default
        assert default in numbers(found[0], option), option.name


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_name_each_counter_and_no_other(kind: str) -> None:
    text = section(kind, "STATISTICS").replace("\\", "")
    of_qdisc, _, of_class = text.partition("class show")
    listed = interface.read(kind)
    for part, statistics in ((of_qdisc, listed.qdisc), (of_class, listed.cls)):
        words = set(re.findall(r"[a-z][a-z0-9_]*", part))
        assert [s.name for s in statistics if s.name not in words] == []
    names = {statistic.name for statistic in (*listed.qdisc, *listed.cls)}
    assert {name for tags, _ in tagged(text) for name in tags} <= names
