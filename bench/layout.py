# SPDX-License-Identifier: GPL-2.0
"""Read the sizes of our structures from the modules for Debian's kernel."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LINE = 64  # bytes of a cache line
STRUCT = re.compile(r"^struct (\w+) \{", re.M)


def own(kind: str) -> set[str]:
    """Return the structures that a discipline's source and the shared headers define.

    Structures for options (aqm_...) are left out, because no packet uses them.
    """
    sources = [TOP / f"sch_{kind}.c", *(TOP / "include" / "aqm").rglob("*.h")]
    return {
        name
        for source in sources
        for name in STRUCT.findall(source.read_text())
        if not name.startswith("aqm_")
    }


def sizes(kind: str, modules: Path) -> dict[str, int]:
    """Return the bytes of each of our structures in a discipline's module, below ``modules``."""
    module = next(modules.rglob(f"extra/sch_{kind}.ko"))
    output = subprocess.run(
        ["pahole", "--sizes", module], capture_output=True, text=True, check=True
    ).stdout
    ours = own(kind)
    found = (line.split() for line in output.splitlines())
    return dict(sorted((name, int(size)) for name, size, _ in found if name in ours))
