# SPDX-License-Identifier: GPL-2.0
"""Describe runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab import ROOT

LOG = "sweep.log"


@dataclass(frozen=True)
class Job:
    """One run, and where it belongs in tables and plots.

    words: the words after `run`
    name: of the discipline
    buffer: in packets, if buffers are compared
    workload: its name, if the sweep has several
    varied: parameters that differ within a table, or "kernel"
    """

    words: list[str]
    name: str
    buffer: int | None = None
    workload: str = ""
    varied: Sequence[str] = ()


def settings(values: Mapping[str, float | str]) -> list[str]:
    """Words for `run` that set parameters."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def from_anywhere(words: Sequence[str]) -> list[str]:
    """Return the words for `run` with --module's directory, which is relative to the repository, as
    an absolute path."""
    return [
        str(ROOT / word) if before == "--module" else word
        for before, word in zip(("", *words), words, strict=False)
    ]
