# SPDX-License-Identifier: GPL-2.0
"""What a run reads beside its words: the sources of modules, and files of the user."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit import bundle, outside
from labkit.cache import digest_files
from labkit.errors import LabError
from labkit.modules import module_sources
from labkit.paths import ROOT

#: Parameters that are paths of files.
FILES = ("trace", "trace_back")


def hash_of(content: bytes) -> str:
    """Return the hash of a file that a run reads, as run.json has it."""
    return hashlib.sha256(content).hexdigest()[:12]


@functools.cache
def sources() -> str:
    """Return a hash of the sources of our modules; in a wheel, its version."""
    return bundle.manifest().get("version") or digest_files(module_sources(), ROOT)


def changed(run: Mapping[str, Any], scenario: str) -> bool:
    """Return whether the same words would read other files now.

    run: run.json. scenario: the word that names it. Raises KeyError if the run does not tell.
    """
    files = dict(run.get("trace", {})) | ({scenario: run["file"]} if run["file"] else {})
    try:
        return (
            run["made_with"]["sources"] != sources()
            or any(outside.hash_of(Path(path)) != known for path, known in run["module"].items())
            or any(hash_of(Path(path).read_bytes()) != known for path, known in files.items())
        )
    except (OSError, LabError):
        return True
