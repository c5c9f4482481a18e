# SPDX-License-Identifier: GPL-2.0
"""The host's compiler."""

from __future__ import annotations

import os
import subprocess

from .errors import need


def compiler() -> str:
    """What the C compiler calls itself; part of every key of compiled things."""
    output = subprocess.run(
        [need("cc", "gcc"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return output.splitlines()[0]


def jobs() -> int:
    """How many compilers to run at once."""
    return max(1, len(os.sched_getaffinity(0)))
