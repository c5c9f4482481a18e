# SPDX-License-Identifier: GPL-2.0
"""Read the metadata of the disciplines, selftests/kinds. selftests/matrix explains the keys."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from string import Template

from aqmlab import ROOT

METADATA = ROOT / "selftests" / "kinds"


def parse_metadata(text: str) -> dict[str, str]:
    """Parse lines of KEY="VALUE" as a shell does. $KEY is the value of an earlier line."""
    metadata: dict[str, str] = {}
    for word in shlex.split(text, comments=True):
        key, value = word.split("=", 1)
        metadata[key] = Template(value).substitute(metadata)
    return metadata


@functools.cache
def all_metadata() -> Mapping[str, Mapping[str, str]]:
    """Return the metadata of every discipline, by kind."""
    return {path.name: parse_metadata(path.read_text()) for path in sorted(METADATA.iterdir())}
