# SPDX-License-Identifier: GPL-2.0
"""Say what is built, and with which compiler."""

from __future__ import annotations

import os
import subprocess

from .errors import need
from .paths import ROOT

#: Compiles what runs on this machine, user-mode kernels and their modules.
CC = os.environ.get("AQM_CC", "cc")
#: Tell make of it.
MAKE_CC = (f"CC={CC}",) if CC != "cc" else ()


def compiler_path() -> str:
    """Return the path of the C compiler. Raises LabError."""
    return need(CC, "gcc" if CC == "cc" else CC)


def compiler() -> str:
    """Return the C compiler's version, which is part of every key of compiled files."""
    output = subprocess.run(
        [compiler_path(), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return output.splitlines()[0]


def jobs() -> int:
    """Return the number of compilers to run at once."""
    return max(1, len(os.sched_getaffinity(0)))


def version() -> str:
    """Return the version of the checkout, without its commit."""
    return (ROOT / "VERSION").read_text().strip()
