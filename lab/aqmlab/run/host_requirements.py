# SPDX-License-Identifier: GPL-2.0
"""Lists everything that this machine lacks for a run with --here."""

from __future__ import annotations

import os
import shutil
import subprocess

from aqmlab.exceptions import UserError
from aqmlab.qdiscs import names

from .recipe import Recipe
from .steps import HOW_TO_GET, SEARCH, Failure, tool

#: What every run starts, and what only one with iperf3 does.
PROGRAMS = ("ip", "tc", "conduct", "flowgen", "qsample", "inspace")
OF_IPERF3 = ("iperf3", "ss")


def _kind_is_missing(options: str) -> bool:
    """Try in a new network namespace whether tc and the kernel take a qdisc."""
    done = subprocess.run(
        [
            tool("unshare"),
            "--net",
            tool("tc"),
            "qdisc",
            "add",
            "dev",
            "lo",
            "root",
            *options.split(),
        ],
        capture_output=True,
        text=True,
    )
    return names.unknown(done.stderr)


def check(recipe: Recipe) -> None:
    """Raise UserError with a line for each thing that `recipe` needs and this machine lacks."""
    wanted = PROGRAMS + (OF_IPERF3 if recipe.generator == "iperf3" else ())
    missing = [
        f"{name}: {HOW_TO_GET[name]}" for name in wanted if not shutil.which(name, path=SEARCH)
    ]
    if os.geteuid():
        missing.append("root: namespaces and qdiscs are made by root only")
    elif shutil.which("tc", path=SEARCH):
        lines = [line for batch in recipe.batches if batch.tool == "tc" for line in batch.lines]
        try:
            missing += [
                f"{kind}: {names.remedy(kind)}"
                for kind, options in names.added(lines).items()
                if _kind_is_missing(options)
            ]
        except Failure as failure:
            missing.append(str(failure))
    if missing:
        raise UserError("--here: missing on this machine:\n  " + "\n  ".join(missing))
