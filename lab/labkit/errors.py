# SPDX-License-Identifier: GPL-2.0
"""Errors and exit statuses of the lab."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Sequence

EXIT_USAGE = 2
EXIT_UNAVAILABLE = 69  # EX_UNAVAILABLE: the lab itself could not be set up
EXIT_GUEST = 70  # EX_SOFTWARE: oops, report, panic, or a guest that died
EXIT_TIME = 124  # as timeout(1)


class LabError(Exception):
    """The lab cannot fulfil the request. The text says why and what to do."""


def say(text: str) -> None:
    """Print a message of the lab to standard error."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def need(tool: str, package: str) -> str:
    """Return the path of TOOL. Raise an error that says how to install it."""
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if not path:
        raise LabError(f"{tool} is missing: apt-get install {package}  (or run lab/setup)")
    return path


def nearest(what: str, name: str, known: Sequence[str]) -> LabError:
    """Return an error that lists the allowed names, the closest first."""
    close = difflib.get_close_matches(name, known, n=len(known), cutoff=0.0)
    return LabError(f"no {what} {name!r}; nearest: {', '.join(close)}")
