# SPDX-License-Identifier: GPL-2.0
"""Kbuild and DKMS support the same kernels, and Kbuild explains a refusal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SUPPORTED = ("6.1", "6.12", "6.15", "6.18", "7.0", "7.3", "10.1")
REFUSED = ("4.19", "5.10", "6.0", "6.2", "6.6", "6.11", "6.13", "6.14")


def kbuild(release: str, *more: str) -> str:
    """Let make read Kbuild for a release, without building. Returns its output."""
    version, patchlevel = release.split(".")
    done = subprocess.run(
        ["make", "-f", "Kbuild", f"VERSION={version}", f"PATCHLEVEL={patchlevel}", "src=.", *more],
        cwd=TOP, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stderr


def dkms_builds_for(release: str) -> bool:
    pattern = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', (TOP / "dkms.conf").read_text(), re.M)
    assert pattern
    return bool(re.search(pattern[1], f"{release}.0-1-amd64"))


@pytest.mark.parametrize("release", SUPPORTED)
def test_supported_kernel_is_accepted(release: str) -> None:
    assert "not supported" not in kbuild(release)
    assert dkms_builds_for(release)


@pytest.mark.parametrize("release", REFUSED)
def test_unsupported_kernel_is_refused_with_a_sentence(release: str) -> None:
    said = kbuild(release)
    assert f"Linux {release} is not supported. sch-aqm runs on 6.1, 6.12, and 6.15 or later" in said
    assert not dkms_builds_for(release)
    assert "not supported" not in kbuild(release, "AQM_ANY_KERNEL=1")
