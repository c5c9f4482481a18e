# SPDX-License-Identifier: GPL-2.0
"""`make help` shows all targets and variables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def test_every_target_is_in_the_help() -> None:
    makefile = (TOP / "Makefile").read_text()
    phony = re.findall(r"^\.PHONY:(.*)$", makefile, flags=re.MULTILINE)
    targets = {name for line in phony for name in line.split()}
    told = subprocess.run(
        ["make", "-s", "help"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout
    listed = {name for name, _ in re.findall(r"^  make ([\w-]+) +(\S.*)$", told, re.MULTILINE)}
    assert listed == targets
    # All variables that the Makefile lets the user set.
    given = set(re.findall(r"^(?:override )?([A-Z_]+)\s*\?=", makefile, flags=re.MULTILINE))
    assert given - {name for name in given if name in told} == {
        "BUILD",
        "PLUGINS_DIR",
        "TOOLS_DIR",
        "VENV",
        "AQM_VERSION",
    }
