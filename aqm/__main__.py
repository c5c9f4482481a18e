# SPDX-License-Identifier: GPL-2.0
"""The command `aqm` of an installed package: `aqm run dumbbell`, `aqm compare ...`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import TREE

PROGRAMS = {
    "boot": TREE / "lab" / "boot",
    **{name: TREE / "netns-scenarios" / name for name in ("run", "report", "compare", "demo")},
}


def main() -> NoReturn:
    """Become the program that the first word names."""
    name, *words = sys.argv[1:] or ["--help"]
    if name not in PROGRAMS:
        sys.exit(f"usage: aqm {' | '.join(PROGRAMS)} [--help] ...")
    os.execv(sys.executable, [sys.executable, str(PROGRAMS[name]), *words])


if __name__ == "__main__":
    main()
