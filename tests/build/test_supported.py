# SPDX-License-Identifier: GPL-2.0
"""Kbuild and DKMS build for every kernel, and Kbuild decides by the headers what it needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROBED = "static inline struct sk_buff *qdisc_dequeue_internal(struct Qdisc *sch, bool direct)"
NOTE = "sch-aqm: this kernel lacks fixes of 2025, so the modules get protections for old parents"
RELEASES = (
    "5.10.0-32-amd64",
    "5.14.0-570.el9",
    "5.15.0-90-generic",
    "6.1.100",
    "6.6.105",
    "6.8.0-90-generic",
    "6.12.0-124.el10",
    "6.12.5",
    "6.15.2",
    "6.18.33",
    "7.0.0-38",
    "7.3.4+deb13-amd64",
    "10.1.0",
)


def kbuild(headers: Path, *variables: str) -> tuple[str, str]:
    """Let make read Kbuild three times, as a build does. Returns the flags and other lines."""
    makefile = headers / "read"
    makefile.write_text(
        f"src = {TOP}\nsrctree = {headers}\ninclude $(src)/Kbuild\n"
        "all:\n\t@echo FLAGS $(ccflags-y)\n"
    )
    lines: list[str] = []
    for words in ([], ["need-modorder=1"], []):
        done = subprocess.run(
            ["make", "-s", "-f", makefile, *words, *variables],
            capture_output=True,
            text=True,
            check=True,
        )
        lines += done.stdout.splitlines() + done.stderr.splitlines()
    flags = {line for line in lines if line.startswith("FLAGS")}
    assert len(flags) == 1
    return flags.pop(), "\n".join(line for line in lines if not line.startswith("FLAGS"))


def headers_with(tmp_path: Path, line: str) -> Path:
    path = tmp_path / "include" / "net" / "sch_generic.h"
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    return tmp_path


def test_headers_with_the_fixes_build_without_protections(tmp_path: Path) -> None:
    flags, said = kbuild(headers_with(tmp_path, PROBED))
    assert "AQM_OLD_PARENTS" not in flags
    assert said == ""


@pytest.mark.parametrize("variables", [[], ["AQM_OLD_PARENTS="]])
def test_headers_without_the_fixes_build_with_protections_and_one_line(
    variables: list[str], tmp_path: Path
) -> None:
    flags, said = kbuild(headers_with(tmp_path, "struct Qdisc;"), *variables)
    assert "-DAQM_OLD_PARENTS" in flags.split()
    assert said == NOTE


def test_protections_can_be_asked_for(tmp_path: Path) -> None:
    flags, said = kbuild(headers_with(tmp_path, PROBED), "AQM_OLD_PARENTS=1")
    assert "-DAQM_OLD_PARENTS" in flags.split()
    assert said == ""


@pytest.mark.parametrize("release", RELEASES)
def test_dkms_leaves_the_decision_to_kbuild(release: str) -> None:
    pattern = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', (TOP / "dkms.conf").read_text(), re.M)
    assert pattern
    assert re.search(pattern[1], release)


@pytest.mark.parametrize("release", ["4.19.0-27-amd64", "3.10.0"])
def test_dkms_skips_kernels_for_which_nobody_has_built(release: str) -> None:
    pattern = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', (TOP / "dkms.conf").read_text(), re.M)
    assert pattern
    assert not re.search(pattern[1], release)
