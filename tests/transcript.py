# SPDX-License-Identifier: GPL-2.0
"""Run the transcripts in a page: blocks that begin with ```console.

A line after `$ ` is a command for bash, and `> ` continues it. The other lines are its output.
There, `...` matches any text, and a line of only `...` matches any number of lines.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path


def steps(page: Path) -> list[tuple[str, str]]:
    """Return each command of PAGE with the output that the page shows."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.S | re.M):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            elif line.startswith("> "):
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
            else:
                found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def pattern(shown: str) -> str:
    """Return the regular expression for output that a page shows."""
    text = re.escape(shown).replace(re.escape("..."), "...")
    text = re.sub(r"^\.\.\.(\\\n|\n)", r"(?:.*\n)*", text, flags=re.M)
    return text.replace("...", ".*").replace("\\\n", "\n")


def play(page: Path, checkout: Path) -> None:
    """Run the transcripts of PAGE in CHECKOUT; fail at the first output that differs."""
    done = steps(page)
    assert done, f"{page} has no transcript"
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    for command, shown in done:
        out = subprocess.run(
            ["bash", "-c", command],
            cwd=checkout,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        ).stdout
        assert re.fullmatch(pattern(shown), out), (
            f"{page.name}: $ {command}\nthe page shows:\n{shown}\nthe command printed:\n{out}"
        )
