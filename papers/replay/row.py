# SPDX-License-Identifier: GPL-2.0
"""Define the row of a cell that ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from aqmlab.run.params import Value


class Made(TypedDict):
    """What made a run.

    edition: see aqmlab.run.execute.EDITION; rows of edition 1 do not store it
    version: of this repository
    modules: hash of each module's sources, by name
    kernel, compiler, tc: their versions
    """

    edition: int
    version: str
    modules: dict[str, str]
    kernel: str
    compiler: str
    tc: str


class Origin(TypedDict):
    """Where a run's numbers come from.

    cpu_s, virtual_s: what it cost
    """

    made: Made
    digest: str
    cpu_s: float
    virtual_s: float


class Measured(Origin):
    """What a run gave.

    metrics: as result.json has them, by path
    """

    metrics: Mapping[str, Any]


class Row(Measured):
    """A cell that ran.

    tcp_profile: the paper's own or another
    cell: its name
    at: value of each axis
    command: words after `run`
    bounds: hash of the bounds of each claim when it ran, by the claim's id
    """

    tcp_profile: str
    cell: str
    experiment: str
    discipline: str
    at: Mapping[str, Value]
    seed: int
    command: str
    bounds: Mapping[str, str]
