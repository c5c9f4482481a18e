# SPDX-License-Identifier: GPL-2.0
"""Paths of the lab."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGES / "aqm" / "checkout"
#: The checkout, or the copy of it in an installed package.
ROOT = _INSTALLED if _INSTALLED.exists() else _PACKAGES.parent
LAB = ROOT / "lab"
#: The built parts of a wheel (bundle.py), or None in a checkout.
BUNDLE = ROOT / "bundle" if (ROOT / "bundle").exists() else None
_FOUND = importlib.util.find_spec("aqm_build") if BUNDLE else None
#: The parts of the second wheel (kit.py), if it is installed beside the first.
KIT = Path(_FOUND.origin).parent if _FOUND and _FOUND.origin else None


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory of kernels, sources and packages that all checkouts of a user share."""
    named = environment.get("LAB_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    home = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(home).expanduser() / "sch-aqm").resolve()


CACHE = cache_directory(os.environ)
# Resolve links, because kernel builds contain absolute paths and build/ may be a link.
BUILD = CACHE / "state" if BUNDLE else (ROOT / "build").resolve()
LOGS = BUILD / "logs"
#: Where results go if the user names no directory.
OUT = (Path.cwd() if BUNDLE else ROOT) / "out"
