# SPDX-License-Identifier: GPL-2.0
"""Each kernel that the lab builds for user mode runs programs. Takes minutes: `make test-extra`."""

from __future__ import annotations

import subprocess

import pytest

from aqmlab import ROOT
from labkit import records


@pytest.mark.extra
@pytest.mark.parametrize("name", records.names("uml"))
def test_a_user_mode_kernel_runs_a_program(name: str) -> None:
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--kernel", name, "--", "uname", "-r"],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}.")
