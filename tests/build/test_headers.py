# SPDX-License-Identifier: GPL-2.0
"""Modules build without a warning for the header packages of Debian's suites.

A suite of updates holds one kernel at a time, so a row can stand for a newer kernel each month.
Distributions in README's table that have no row here are built by hand.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from labkit.errors import LabError
from labkit.headers import ARCHITECTURES, Headers, ensure_headers
from tests.build.test_build import build, modules, own_warnings

HEADERS = [
    Headers("bullseye", "linux-headers-amd64"),  # 5.10, without the fixes of 2025
    Headers("bullseye-security", "linux-headers-amd64"),  # 5.10, with them
    *(
        Headers("bookworm-security", f"linux-headers-{version}{flavour}amd64")
        for version in ("", "6.12-")
        for flavour in ("", "rt-", "cloud-")
    ),
    Headers("bookworm-security", "linux-headers-arm64", "arm64"),
    Headers("bookworm-security", "linux-headers-armmp", "armhf"),
    Headers("trixie", "linux-headers-s390x", "s390x"),  # big endian
    Headers("forky", "linux-headers-amd64"),  # 7.2
    Headers("trixie-backports", "linux-headers-amd64"),  # 7.3
]


def check(headers: Headers, copy: Path, *variables: str) -> None:
    output = build([*ensure_headers(headers), *variables], copy)
    assert not own_warnings(output)
    assert modules(copy)
    protected = b"protections=old_parents" in (copy / "sch_qsdrr.ko").read_bytes()
    assert protected == (headers.suite == "bullseye")
    assert output.count("sch-aqm: this kernel lacks fixes of 2025") == protected


@pytest.mark.extra
@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: headers.name)
def test_builds_without_warnings_for_header_packages(headers: Headers, tmp_path: Path) -> None:
    prefix = ARCHITECTURES[headers.arch][1]
    if not shutil.which(f"{prefix}gcc"):
        pytest.skip(f"apt-get install gcc-{prefix.removesuffix('-')}")
    try:
        ensure_headers(headers)
    except LabError as problem:
        if headers.arch == "amd64":
            raise
        pytest.skip(f"the mirror has no packages for {headers.arch}: {problem}")
    check(headers, tmp_path)


def newer_clang() -> str | None:
    """Return the suffix of a clang's name that knows the options of Debian's configuration."""
    for suffix in (*(f"-{version}" for version in range(30, 15, -1)), ""):
        if shutil.which(f"clang{suffix}") and shutil.which(f"ld.lld{suffix}"):
            done = subprocess.run(
                [f"clang{suffix}", "-dumpversion"], capture_output=True, text=True, check=True
            )
            if int(done.stdout.split(".")[0]) >= 16:
                return suffix
    return None


@pytest.mark.extra
def test_builds_with_clang_for_debian_headers(tmp_path: Path) -> None:
    """Debian configures its headers for gcc, so clang is told not to ask for gcc's plugins."""
    suffix = newer_clang()
    if suffix is None:
        pytest.skip("no clang from version 16 on with lld: apt-get install clang-16 lld-16 llvm-16")
    check(
        Headers("bookworm-security", "linux-headers-amd64"),
        tmp_path,
        f"LLVM={suffix or 1}",
        f"CC=clang{suffix}",
        "CONFIG_CC_IS_GCC=",
        "CONFIG_CC_IS_CLANG=y",
        "CONFIG_FTRACE_MCOUNT_USE_CC=",
        "KCFLAGS=-Wno-unknown-warning-option",
    )
