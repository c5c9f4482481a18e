# SPDX-License-Identifier: GPL-2.0
"""Say what is built, and with which compiler."""

from __future__ import annotations

import os
import subprocess

from .errors import need
from .paths import ROOT


def compiler() -> str:
    """Return the C compiler's version, which is part of every key of compiled files."""
    output = subprocess.run(
        [need("cc", "gcc"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return output.splitlines()[0]


def jobs() -> int:
    """Return the number of compilers to run at once."""
    return max(1, len(os.sched_getaffinity(0)))


def version() -> str:
    """Return the version of the checkout, without its commit."""
    return (ROOT / "VERSION").read_text().strip()
